"""How compliance becomes reward: the alignment bonus, kept apart from the environment's reward.

The bonus of a step is the change of `weight * shape(compliance so far)`, so the bonuses of an
episode sum to `weight * shape(final compliance)`; an episode without a fix gets none.
"""

import numpy as np
from numpy.typing import NDArray

from standing_orders.config import AlignmentConfig
from standing_orders.rules.compliance import COMPLIANT, NEUTRAL, NO_FIX, VIOLATION

BONUS_FROM = 0.90
TARGET = 0.95
STEEPNESS = 10.0


def linear(compliance: NDArray[np.float64]) -> NDArray[np.float64]:
    """The compliance itself."""
    return compliance


def progressive(compliance: NDArray[np.float64]) -> NDArray[np.float64]:
    """c below 0.90; from there c * (1 + exp(-10 * (0.95 - c))), as published.

    It jumps at 0.90, from 0.90 to 0.90 * (1 + exp(-0.5)) = 1.446: an agent at the edge sees a
    large reward for one more compliant fix. `progressive_continuous` has no jump.
    """
    raised = compliance * (1 + np.exp(-STEEPNESS * (TARGET - compliance)))
    return np.where(compliance < BONUS_FROM, compliance, raised)


def progressive_continuous(compliance: NDArray[np.float64]) -> NDArray[np.float64]:
    """As `progressive`, with the exponential shifted to begin at 0.90 without a jump."""
    extra = np.exp(-STEEPNESS * (TARGET - compliance)) - np.exp(-STEEPNESS * (TARGET - BONUS_FROM))
    return compliance * (1 + np.maximum(extra, 0))


SHAPES = {
    "linear": linear,
    "progressive": progressive,
    "progressive-continuous": progressive_continuous,
}


def alignment_bonus(
    verdicts: NDArray[np.int8],  # (steps, num_envs)
    num_held: NDArray[np.int8],  # (steps, num_envs)
    config: AlignmentConfig,
    *,
    weight: float,
) -> NDArray[np.float64]:  # (steps, num_envs)
    """Bonus of every step of complete episodes.

    Args:
        verdicts: of every step, see `compliance.judge_all`.
        num_held: number of types held before every step.
        config: shape, bonus and penalties.
        weight: lambda, which a schedule may have changed.
    """
    is_fix = verdicts != NO_FIX
    is_good = (verdicts == NEUTRAL) | (verdicts == COMPLIANT)
    fixes, good = is_fix.cumsum(axis=0), is_good.cumsum(axis=0)
    so_far = good / np.maximum(fixes, 1)
    shaped = np.where(fixes > 0, weight * SHAPES[config.shape](so_far), 0.0)
    bonus = np.diff(shaped, axis=0, prepend=0.0)
    bonus += config.fix_bonus * (verdicts == COMPLIANT)
    bonus -= config.violation_cost * (verdicts == VIOLATION)
    is_idle = (fixes[-1] == 0) & (num_held > 0).any(axis=0)
    bonus[-1] -= config.idle_cost * is_idle
    return bonus
