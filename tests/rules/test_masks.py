"""Rules about blue's own actions are kept whatever a policy wants."""

import numpy as np
import pytest

from standing_orders.cage2.actions import NUM_ACTIONS
from standing_orders.errors import ConfigError
from standing_orders.rules.masks import RuleMask
from standing_orders.rules.temporal import (
    GROUP_OF_ACTION,
    GROUPS,
    TemporalRule,
    Trace,
    read_rules,
)

RULES = read_rules(
    ["calm = restore -> not once[1,1] restore", "ration = restores_10 <= 3",
     "work = not idle or not once[1,1] idle", "few = fixes_5 <= 3"]
)  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_random_actions_among_the_allowed_keep_every_rule(seed: int) -> None:
    generator = np.random.default_rng(seed)
    mask, played = RuleMask(RULES, 20), []
    for _ in range(60):
        wanted = generator.random((20, NUM_ACTIONS))
        wanted[:, GROUP_OF_ACTION == GROUPS.index("restore")] += 0.5
        allowed = mask.allowed()[:, GROUP_OF_ACTION]
        actions = np.where(allowed, wanted, -1).argmax(axis=1)
        mask.note(actions)
        played.append(actions)
    seen = Trace(np.zeros((60, 20), dtype=np.int16), np.stack(played), np.zeros((60, 20)))
    assert [rule.judge(seen).is_broken.any() for rule in RULES] == [False] * len(RULES)
    assert (GROUP_OF_ACTION[np.stack(played)] == GROUPS.index("restore")).sum() > 100


def test_nothing_is_forbidden_that_keeps_the_rules() -> None:
    mask = RuleMask([RULES[1]], 1)
    for _ in range(3):
        assert mask.allowed().all()
        mask.note(np.array([NUM_ACTIONS - 1]))
    assert mask.allowed()[0].tolist() == [True, True, True, True, False]
    for _ in range(6):
        mask.note(np.array([0]))
    assert mask.allowed()[0].tolist() == [True, True, True, True, False]
    mask.note(np.array([0]))  # the first of the three is ten steps ago by now
    assert mask.allowed().all()


def test_a_rule_that_nothing_keeps_gives_way() -> None:
    mask = RuleMask(read_rules(["never = restore and remove"]), 2)
    assert mask.allowed().all()


def test_rules_that_contradict_each_other_forbid_nothing() -> None:
    assert RuleMask(read_rules(["restore", "remove"]), 1).allowed().all()


def test_a_rule_about_the_state_cannot_be_kept_so() -> None:
    with pytest.raises(ConfigError, match="cannot be kept by construction"):
        RuleMask([TemporalRule.read("enterprise -> restore")], 1)
