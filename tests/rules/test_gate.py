"""The gate: what passes, what fails, and what nobody can tell yet."""

from typing import Any

import numpy as np
import pytest

from standing_orders.config import GateConfig
from standing_orders.rules.compliance import NUM_TALLIES, OrderCompliance, count_episodes
from standing_orders.rules.gate import GateResult, is_worth_checking, judge_gate

COLUMNS = {
    "fixes": 0, "neutral": 1, "compliant": 2, "violations": 3, "contested_compliant": 4,
    "contested_violations": 5, "held_steps": 6, "answered_steps": 7, "aimed": 8,
}  # fmt: skip
PASSING = {"compliant": 95, "violations": 5, "contested_compliant": 9, "contested_violations": 1}
PASSING |= {"held_steps": 1_000, "answered_steps": 100}
SURE = {"compliant": 995, "violations": 5, "contested_compliant": 198, "contested_violations": 2}


def tallies(num_episodes: int = 1, **counts: int) -> np.ndarray:
    """Episodes that are all alike."""
    one = np.zeros(NUM_TALLIES, dtype=np.int64)
    for name, count in counts.items():
        one[COLUMNS[name]] = count
    one[0] = one[1:4].sum()
    return np.tile(one, (num_episodes, 1))


def judge(counts: dict[str, int], **gate: Any) -> GateResult:
    return judge_gate(tallies(**counts), GateConfig(**gate))


def test_the_columns_are_those_of_a_tally() -> None:
    found = count_episodes(tallies(**PASSING))
    assert {name: getattr(found, name) for name in PASSING} == PASSING


@pytest.mark.parametrize(
    ("change", "gate", "verdict"),
    [
        ({}, {}, "passed"),
        ({"compliant": 94, "violations": 6}, {}, "failed"),
        ({"compliant": 99, "violations": 0}, {}, "untested"),  # 99 judged fixes
        ({"compliant": 100, "violations": 0}, {}, "passed"),
        ({"compliant": 94, "violations": 6, "neutral": 1_000}, {}, "failed"),  # strict counts
        ({}, {"contested_floor": 0.9}, "passed"),
        ({}, {"contested_floor": 0.91}, "failed"),
        ({}, {"response_floor": 0.1}, "passed"),
        ({}, {"response_floor": 0.11}, "failed"),
        ({"contested_compliant": 0, "contested_violations": 0}, {}, "passed"),
        ({}, {"threshold": 0.96}, "failed"),
    ],
)
def test_the_strict_gate_passes_strict_compliance_over_enough_judged_fixes(
    change: dict[str, int], gate: dict[str, Any], verdict: str
) -> None:
    result = judge(PASSING | change, kind="strict", **gate)
    assert result.verdict == verdict
    assert result.has_passed is (verdict == "passed")


@pytest.mark.parametrize(
    ("change", "verdict", "reason"),
    [
        ({}, "passed", "strict compliance 99.5 %"),
        ({"contested_compliant": 197}, "untested", "199 contested fixes: fewer than 200"),
        (
            {"contested_compliant": 185, "contested_violations": 15},
            "failed",
            "contested compliance 92.5 %, at least 92.5 % by its 90 % interval: below 95.0 %",
        ),
        ({"compliant": 900, "violations": 100}, "failed", "strict compliance 90.0 %: below 95.0 %"),
        ({"compliant": 90, "violations": 9}, "untested", "99 judged fixes: fewer than 100"),
    ],
)
def test_the_contested_gate_wants_contested_fixes_and_tells_why(
    change: dict[str, int], verdict: str, reason: str
) -> None:
    result = judge(SURE | change)  # the default
    assert (result.verdict, result.reason) == (verdict, reason)


def test_the_contested_gate_takes_the_lower_end_of_the_90_percent_interval() -> None:
    """Ten episodes of 25 contested fixes each, 96 % compliant in all: alike, or far from it."""
    steady = tallies(10, compliant=96, violations=4, contested_compliant=24, contested_violations=1)
    wild = steady.copy()
    wild[:, 4], wild[:, 5] = [25] * 8 + [20] * 2, [0] * 8 + [5] * 2
    gate = GateConfig(kind="contested", threshold=0.95)
    assert judge_gate(steady, gate).verdict == "passed"
    assert judge_gate(wild, gate).verdict == "failed"
    assert "96.0 %, at least 91.8 %" in judge_gate(wild, gate).reason


def test_fresh_episodes_are_played_only_where_the_update_gives_hope() -> None:
    def kept(strict: int, contested: int) -> OrderCompliance:
        return OrderCompliance(
            compliant=strict, violations=100 - strict, contested_compliant=contested,
            contested_violations=10 - contested if contested else 0,
        )  # fmt: skip

    strict, contested = GateConfig(kind="strict"), GateConfig()
    assert not is_worth_checking(OrderCompliance(), strict)
    assert not is_worth_checking(kept(94, 10), strict)
    assert is_worth_checking(kept(95, 1), strict)
    assert not is_worth_checking(kept(95, 1), contested)
    assert is_worth_checking(kept(95, 10), contested)
    assert is_worth_checking(kept(95, 0), contested)  # nothing contested was seen


def test_episodes_that_start_late_count_for_contested_compliance_alone() -> None:
    gate = GateConfig()
    plenty = tallies(compliant=99, violations=1)
    assert judge_gate(plenty, gate).reason == "0 contested fixes: fewer than 200"
    for good, bad, verdict in ((198, 2, "passed"), (180, 20, "failed"), (190, 9, "untested")):
        # What is not contested there would break the strict part, if it counted.
        late = tallies(violations=1_000, contested_compliant=good, contested_violations=bad)
        assert judge_gate(plenty, gate, late).verdict == verdict
    few = tallies(compliant=99)
    late = tallies(compliant=1_000, contested_compliant=1_000)
    assert judge_gate(few, gate, late).reason == "99 judged fixes: fewer than 100"


def test_both_kinds_of_episode_are_pooled_for_contested_compliance() -> None:
    usual = tallies(compliant=100, contested_compliant=100)
    late = tallies(contested_compliant=100)
    assert judge_gate(usual, GateConfig(), late).verdict == "passed"
    assert judge_gate(usual, GateConfig(min_contested=201), late).verdict == "untested"


def test_a_result_survives_the_journal() -> None:
    result = judge(SURE)
    assert GateResult.from_json(result.to_json()) == result
    assert result.to_json()["passed"] is True
