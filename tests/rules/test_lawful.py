"""A fix is forbidden exactly while it breaks the order too probably, and so orders are kept."""

import numpy as np
import pytest

from standing_orders.belief import Belief
from standing_orders.cage2.actions import HOST_OF_ACTION, encode
from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.defenders import ScriptedDefender
from standing_orders.cage2.policy import Policy
from standing_orders.cage2.scenario import UNIT_TYPE_OF_HOST
from standing_orders.config import SimConfig
from standing_orders.errors import ConfigError
from standing_orders.rules.compliance import (
    NUM_TALLIES,
    OrderCompliance,
    count_episodes,
    judge_all,
    look_all,
)
from standing_orders.rules.lawful import LawfulPolicy, lawful_fixes
from standing_orders.rules.orders import ORDERS, Order

FIXES = [*range(15, 28), *range(132, 145)]
LATE = SimConfig(red="b_line", head_start=20)


def plainly_lawful(chances: np.ndarray, order: int, certainty: float, action: int) -> bool:
    """The definition, word for word."""
    if action not in FIXES:
        return True
    unit_type = UNIT_TYPE_OF_HOST[HOST_OF_ACTION[action]]
    judged = violation = 0.0
    for types in range(1, 32):
        top = next(t for t in ORDERS[order] if types >> t & 1)
        judged += chances[types]
        violation += chances[types] * (top != unit_type)
    return judged == 0 or violation / judged <= 1 - certainty + 1e-12


@pytest.mark.parametrize("certainty", [0.0, 0.5, 0.95, 1.0])
def test_the_mask_is_the_definition(certainty: float) -> None:
    rng = np.random.default_rng(3)
    held_types = rng.dirichlet(np.full(32, 0.05), size=60)
    held_types[:20] *= rng.random((20, 32)) < 0.15
    held_types[0] = 0
    held_types[0, 0] = 1.0
    orders = rng.integers(0, 120, 60)
    mask = lawful_fixes(held_types, orders, certainty)
    wanted = [
        [plainly_lawful(held_types[i], int(orders[i]), certainty, a) for a in range(145)]
        for i in range(60)
    ]
    assert mask.tolist() == wanted


def test_nothing_is_forbidden_while_nothing_can_be_held() -> None:
    held_types = np.zeros((1, 32))
    held_types[0, 0] = 1.0
    assert lawful_fixes(held_types, np.array([7]), 1.0).all()


def test_a_small_chance_that_something_is_held_decides_alone() -> None:
    held_types = np.zeros((1, 32))
    held_types[0, 0], held_types[0, 0b10000] = 0.999, 0.001  # if anything, a user host
    mask = lawful_fixes(held_types, np.array([0]), 0.95)[0]
    assert mask[encode("Remove", "User3")]
    assert not mask[encode("Restore", "Op_Server0")]


def test_it_writes_where_it_is_told() -> None:
    out = np.zeros((1, 145), np.bool_)
    held_types = np.zeros((1, 32))
    held_types[0, 1] = 1.0
    assert lawful_fixes(held_types, np.array([0]), 0.95, out) is out
    assert out[0, encode("Restore", "Defender")]


@pytest.mark.parametrize("certainty", [-0.1, 1.1, float("nan")])
def test_a_certainty_that_is_none_is_refused(certainty: float) -> None:
    with pytest.raises(ConfigError, match="certainty"):
        lawful_fixes(np.zeros((1, 32)), np.array([0]), certainty)
    with pytest.raises(ConfigError, match="certainty"):
        LawfulPolicy(ScriptedDefender("sleep"), [0], LATE, certainty=certainty)


def test_an_order_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="order 120"):
        LawfulPolicy(ScriptedDefender("sleep"), [120], LATE)


def obedience(policy: Policy, order: int, num_envs: int = 60) -> OrderCompliance:
    batch = Cage2Batch(num_envs, LATE)
    observations = batch.reset(seed=90)
    policy.reset(np.arange(num_envs, dtype=np.uint64))
    orders = np.full(num_envs, order)
    top, num_held = np.zeros(num_envs, np.int8), np.zeros(num_envs, np.int8)
    held_hosts = np.zeros(num_envs, np.int16)
    verdicts = np.zeros(num_envs, np.int8)
    tallies = np.zeros((num_envs, NUM_TALLIES), np.int64)
    for _ in range(100):
        look_all(batch.states, orders, False, top, num_held, held_hosts)
        actions = policy.act(observations)
        judge_all(actions, top, num_held, held_hosts, verdicts, tallies)
        observations, _ = batch.step(actions)
    return count_episodes(tallies)


@pytest.mark.parametrize("defender", ["useful-random", "react_restore"])
@pytest.mark.parametrize("order", ["least_critical_first", "user_priority"])
def test_any_defender_keeps_its_order(defender: str, order: str) -> None:
    index = Order.parse(order).index
    free = obedience(ScriptedDefender(defender), index)
    policy = LawfulPolicy(ScriptedDefender(defender), [index], LATE)
    counts = obedience(policy, index)
    assert counts.judged > 200
    assert counts.strict_compliance >= 0.95 > free.strict_compliance
    assert counts.contested_compliance is None or counts.contested_compliance >= 0.95
    assert 0 < policy.num_replaced < policy.num_fixes


def test_without_certainty_the_defender_plays_as_it_likes() -> None:
    policy = LawfulPolicy(ScriptedDefender("useful-random"), [0], LATE, certainty=0.0)
    free = obedience(ScriptedDefender("useful-random"), 0)
    assert obedience(policy, 0) == free
    assert policy.num_replaced == 0


def test_what_replaces_a_fix_is_lawful() -> None:
    policy = LawfulPolicy(ScriptedDefender("random"), [117], LATE)
    batch, watcher = Cage2Batch(40, LATE), Belief(LATE, 40)
    observations = batch.reset(seed=1)
    policy.reset(np.arange(40, dtype=np.uint64))
    actions = np.zeros(40, np.int64)
    for step in range(60):
        watcher.reset(observations) if step == 0 else watcher.update(actions, observations)
        actions = policy.act(observations).copy()
        mask = lawful_fixes(watcher.held_types, np.full(40, 117), 0.95)
        assert mask[np.arange(40), actions].all()
        observations, _ = batch.step(actions)
    assert policy.num_replaced > 0
