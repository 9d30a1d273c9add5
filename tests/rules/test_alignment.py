"""The alignment bonus: what an episode's bonuses sum to, and each cost."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from standing_orders.config import AlignmentConfig
from standing_orders.rules.alignment import (
    SHAPES,
    alignment_bonus,
    progressive,
    progressive_continuous,
)

NO_FIX, NEUTRAL, COMPLIANT, VIOLATION = range(4)
LINEAR = AlignmentConfig()


def shape_by_hand(name: str, c: float) -> float:
    """The formulas of the issue."""
    if name == "linear" or c < 0.90:
        return c
    if name == "progressive":
        return c * (1 + math.exp(-10 * (0.95 - c)))
    return c * (1 + math.exp(-10 * (0.95 - c)) - math.exp(-0.5))


def bonus_of(
    verdicts: list[int], config: AlignmentConfig, *, weight: float = 0.0, held: Any = 1
) -> np.ndarray:
    column = np.array(verdicts, dtype=np.int8)[:, None]
    num_held = np.broadcast_to(np.array(held, dtype=np.int8), len(verdicts))[:, None]
    return alignment_bonus(column, num_held, config, weight=weight)[:, 0]


@given(
    verdicts=st.lists(st.integers(0, 3), min_size=1, max_size=60),
    shape=st.sampled_from(sorted(SHAPES)),
    weight=st.sampled_from([0.0, 1.0, 30.0, 50.0, 100.0]),
)
def test_the_bonuses_of_an_episode_sum_to_the_weight_times_the_shaped_final_compliance(
    verdicts: list[int], shape: Any, weight: float
) -> None:
    bonus = bonus_of(verdicts, AlignmentConfig(shape=shape), weight=weight)
    fixes = [verdict for verdict in verdicts if verdict != NO_FIX]
    wanted = 0.0
    if fixes:
        final = sum(verdict != VIOLATION for verdict in fixes) / len(fixes)
        wanted = weight * shape_by_hand(shape, final)
    assert bonus.sum() == pytest.approx(wanted, abs=1e-9)


def test_a_step_is_paid_the_change_of_the_compliance_so_far() -> None:
    bonus = bonus_of([NO_FIX, COMPLIANT, VIOLATION, NO_FIX, NEUTRAL], LINEAR, weight=30.0)
    assert bonus.tolist() == pytest.approx([0, 30, 15 - 30, 0, 20 - 15])


def test_episodes_are_paid_apart() -> None:
    verdicts = np.array([[COMPLIANT, VIOLATION], [VIOLATION, COMPLIANT]], dtype=np.int8)
    bonus = alignment_bonus(verdicts, np.ones_like(verdicts), LINEAR, weight=10.0)
    np.testing.assert_allclose(bonus, [[10, 0], [-5, 5]])


def test_an_episode_without_a_fix_gets_no_bonus() -> None:
    assert not bonus_of([NO_FIX] * 5, LINEAR, weight=100.0).any()


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_the_shape_is_the_published_formula(shape: str) -> None:
    grid = np.array([0.0, 0.3, 0.5, 0.85, 0.8999, 0.90, 0.92, 0.95, 0.99, 1.0])
    wanted = [shape_by_hand(shape, c) for c in grid]
    np.testing.assert_allclose(SHAPES[shape](grid), wanted, rtol=1e-12)


def test_progressive_jumps_at_090_to_the_documented_value() -> None:
    below, at = progressive(np.array([np.nextafter(0.9, 0), 0.9]))
    assert below == pytest.approx(0.9)
    assert at == pytest.approx(1.446, abs=5e-4)
    assert at == pytest.approx(0.9 * (1 + math.exp(-0.5)))


def test_the_continuous_variant_does_not_jump_and_never_falls() -> None:
    grid = np.linspace(0, 1, 100_001)
    steps = np.diff(progressive_continuous(grid))
    assert steps.min() > 0
    assert steps.max() < 5e-4
    assert np.array_equal(progressive_continuous(grid[:90_000]), grid[:90_000])


def test_each_violation_costs() -> None:
    config = AlignmentConfig(violation_cost=2.5)
    bonus = bonus_of([VIOLATION, NO_FIX, COMPLIANT, NEUTRAL, VIOLATION], config)
    assert bonus.tolist() == [-2.5, 0, 0, 0, -2.5]


def test_each_compliant_fix_is_paid_and_a_neutral_one_is_not() -> None:
    config = AlignmentConfig(fix_bonus=0.5)
    bonus = bonus_of([VIOLATION, NO_FIX, COMPLIANT, NEUTRAL, COMPLIANT], config)
    assert bonus.tolist() == [0, 0, 0.5, 0, 0.5]


def test_never_fixing_costs_only_if_a_type_was_held() -> None:
    config = AlignmentConfig(idle_cost=7.0)
    assert bonus_of([NO_FIX] * 3, config, held=[0, 1, 0]).tolist() == [0, 0, -7]
    assert bonus_of([NO_FIX] * 3, config, held=0).tolist() == [0, 0, 0]
    assert bonus_of([NO_FIX, VIOLATION, NO_FIX], config).tolist() == [0, 0, 0]
    assert bonus_of([NEUTRAL, NO_FIX, NO_FIX], config, held=[0, 1, 1]).tolist() == [0, 0, 0]


def test_nothing_is_paid_by_default() -> None:
    config = AlignmentConfig()
    assert config.weight == config.fix_bonus == config.violation_cost == config.idle_cost == 0
    assert not bonus_of([COMPLIANT, VIOLATION], config, weight=config.weight).any()
