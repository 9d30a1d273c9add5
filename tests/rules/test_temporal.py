"""Temporal rules on episodes of CAGE-2: signals, verdicts, costs."""

import numpy as np
import pytest
from numpy.typing import NDArray

from standing_orders.cage2.actions import encode
from standing_orders.cage2.scenario import HOSTS
from standing_orders.errors import ConfigError
from standing_orders.rules.stl import robustness
from standing_orders.rules.temporal import (
    RuleWatch,
    TemporalRule,
    Trace,
    read_rules,
    rule_costs,
    signals_of,
)

RESTORE, SLEEP = encode("Restore", "Op_Server0"), encode("Sleep")
ENTERPRISE = 1 << HOSTS.index("Enterprise1")


def trace(held: list[int], actions: list[int] | None = None) -> Trace:
    """One episode."""
    steps = len(held)
    played = np.array(actions or [SLEEP] * steps)[:, None]
    return Trace(np.array(held, dtype=np.int16)[:, None], played, np.arange(steps)[:, None] * -1.0)


def test_signals_say_what_is_held_done_and_earned() -> None:
    names = frozenset({"enterprise", "Enterprise1", "user", "restore", "fix", "idle", "reward"})
    found = signals_of(trace([0, ENTERPRISE], [SLEEP, RESTORE]), names)
    assert {name: values[0].tolist() for name, values in found.items()} == {
        "enterprise": [0, 1], "Enterprise1": [0, 1], "user": [0, 0], "restore": [0, 1],
        "fix": [0, 1], "idle": [1, 0], "reward": [0, -1],
    }  # fmt: skip


def test_a_rule_is_broken_where_the_answer_comes_too_late() -> None:
    rule = TemporalRule.read("answer = always (enterprise -> eventually[0,2] not enterprise)")
    held = [0, ENTERPRISE, ENTERPRISE, ENTERPRISE, 0, ENTERPRISE, ENTERPRISE]
    judged = rule.judge(trace(held))
    assert judged.is_violated[0].tolist() == [False, True, False, False, False, False, False]
    assert judged.is_obliged[0].tolist() == [False, True, True, True, False, False, False]
    assert judged.is_broken.tolist() == [True]
    assert judged.lowest.tolist() == [-0.5]


def test_what_the_end_cuts_is_not_judged() -> None:
    rule = TemporalRule.read("enterprise -> eventually[0,5] not enterprise")
    assert not rule.judge(trace([ENTERPRISE] * 5)).is_broken[0]
    assert rule.judge(trace([ENTERPRISE] * 6)).is_broken[0]


@pytest.mark.parametrize(
    ("formula", "is_own", "memory"),
    [
        ("restore -> not once[1,1] restore", True, 1),
        ("always (restores_10 <= 3)", True, 9),
        ("restore -> once[0,2] (fixes_4 < 2)", True, 5),
        ("restore -> eventually[1,1] analyse", False, 0),
        ("restore -> enterprise", False, 0),
    ],
)
def test_a_rule_knows_whether_blue_alone_can_keep_it(
    formula: str, is_own: bool, memory: int
) -> None:
    rule = TemporalRule("r", formula)
    assert rule.is_own is is_own
    if is_own:
        assert rule.memory == memory


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("always (mailserver -> fix)", "no signal is called `mailserver`"),
        ("a = enterprise ->", "rule `a`"),
        ("enterprise -> eventually not enterprise", "reaches inf steps"),
        ("restores_0 < 1", "no signal"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        read_rules([text])


def test_rules_have_different_names() -> None:
    assert [rule.name for rule in read_rules(["fix", "b = fix"])] == ["rule1", "b"]
    with pytest.raises(ConfigError, match="two rules"):
        read_rules(["a = fix", "a: restore"])


def test_every_broken_obligation_costs_its_share_when_the_verdict_falls() -> None:
    rule = TemporalRule.read("answer = enterprise -> eventually[0,1] not enterprise")
    seen = trace([ENTERPRISE, ENTERPRISE, ENTERPRISE, 0, 0])
    costs = rule_costs({"answer": rule.judge(seen)}, [rule], {"answer": 6.0})
    assert costs[:, 0].tolist() == [0, 3, 3, 0, 0]


def random_trace(seed: int) -> tuple[NDArray[np.int16], NDArray[np.int64]]:
    generator = np.random.default_rng(seed)
    held = generator.integers(0, 2, 40) * ENTERPRISE
    return held.astype(np.int16), generator.choice([SLEEP, RESTORE], 40)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "formula", ["enterprise -> eventually[0,2] not enterprise", "restores_5 <= 3"]
)
def test_watching_gives_the_verdicts_of_the_whole_episode(formula: str, seed: int) -> None:
    rule = TemporalRule("r", formula)
    held, actions = random_trace(seed)
    watch = RuleWatch(rule)
    for step in range(40):
        watch.see(int(held[step]), int(actions[step]), 0.0)
    seen = Trace(held[:, None], actions[:, None], np.zeros((40, 1)))
    broken = np.flatnonzero(rule.judge(seen).is_violated[0]) + 1
    assert watch.broken_at == broken.tolist()
    assert ("BROKEN" in str(watch)) == bool(len(broken))
    assert robustness(rule.body, signals_of(seen, rule.names)).shape == (1, 40)
