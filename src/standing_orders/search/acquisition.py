"""Which order to try next.

Every strategy gives each order a score and takes the best one; ties are broken at random.

| strategy | score |
|---|---|
| ucb | (mean + beta * std - floor) * chance, floor = the lowest mean - beta * std of any order |
| ei | E[max(value - best, 0)] * chance, best = the highest mean of what was found so far |
| thompson | (draw - floor) * chance, draw = a landscape of the belief, floor = its lowest value |
| random | equal for all orders that were visited least: a permutation of the 120, then another |
| sweep | the same, in the order of their index |

`chance` is the chance to pass the gate. An order that fails is worth the floor, the worst plausible
value, so a try is worth chance * value + (1 - chance) * floor; the floor, the same for all, is
subtracted. (A negative return times the chance would favour orders that fail.)
"""

import math
from collections.abc import Collection, Sequence
from typing import get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr  # type: ignore[import-untyped]

from standing_orders.config import BetaSchedule, Strategy
from standing_orders.errors import ConfigError
from standing_orders.rules.orders import NUM_ORDERS, PRECEDENCE_BITS
from standing_orders.search.surrogate import Belief, check_order

STRATEGIES: tuple[str, ...] = get_args(Strategy)
BETA_SCHEDULES: tuple[str, ...] = get_args(BetaSchedule)

# (120, 120): Kendall distance of any two orders.
KENDALL_DISTANCES = (PRECEDENCE_BITS[:, None] != PRECEDENCE_BITS[None]).sum(axis=2)


def choose(
    strategy: Strategy,
    belief: Belief,
    *,
    pass_chance: NDArray[np.float64],  # (120,)
    visited: Sequence[int],
    pending: Collection[int],
    rng: np.random.Generator,
    just_failed: Collection[int] = (),
    may_continue: bool = False,
    max_visits: int | None = 1,
    found: Collection[int] | None = None,
    beta: float = 2.0,
    schedule: BetaSchedule = "log",
    num_spread: int = 6,
) -> int:
    """Choose the order to evaluate next; never one that is pending.

    The strategies that ask the model (ucb, thompson, ei) first pick `num_spread` orders far from
    each other, then take pending evaluations as if they came out as expected, so that several
    calls, each with the earlier answers as pending, choose orders to evaluate at once.

    Args:
        strategy: one of `STRATEGIES`.
        belief: of the surrogate, without the pending evaluations.
        pass_chance: chance of each order to pass the gate, 0 to 1.
        visited: the order of each finished evaluation; repeats count.
        pending: orders that are being evaluated.
        rng: where ties, draws and random choices come from; the same state gives the same order.
        just_failed: orders of the last round that failed the gate. None of them is picked, unless
            `may_continue`, or nothing else is left.
        may_continue: may an order that has just failed be picked again, to train it further.
        max_visits: an order visited this often is not picked again while others are left; None:
            no limit. A new order tells more than a second look at one whose neighbours are known.
            An order that may be continued is not subject to it.
        found: orders that could be named the best, for ei; all visited if left out.
        beta: of ucb, standard deviations of optimism, at least 0.
        schedule: `log`: beta * sqrt(log(1 + t)) at the t-th choice, t from 1; or `constant`, with
            which fitted, hence too certain, beliefs can hold the search on a plateau.
        num_spread: number of first picks.

    Returns:
        Index of an order, 0 to 119.

    Raises:
        ConfigError: an argument is not acceptable, or all orders are pending.
    """
    _check_choice("strategy", strategy, STRATEGIES)
    _check_chances(pass_chance)
    width = beta_at(len(visited) + len(pending) + 1, beta=beta, schedule=schedule)
    if num_spread < 0:
        raise ConfigError(f"num_spread = {num_spread}: must be at least 0")
    if max_visits is not None and max_visits < 1:
        raise ConfigError(f"max_visits = {max_visits}: must be at least 1")
    for order in (*visited, *pending, *just_failed, *(found or ())):
        check_order(order)
    visits = np.bincount(np.array(visited, dtype=np.int64), minlength=NUM_ORDERS)
    allowed = _allowed(pending, () if may_continue else just_failed)
    if strategy in ("random", "sweep"):
        allowed &= visits == visits[allowed].min()
        return int(np.argmax(allowed)) if strategy == "sweep" else _pick(allowed, rng)
    if max_visits is not None:
        is_fresh = allowed & (visits < max_visits)
        if may_continue:
            is_fresh[sorted(set(just_failed) - set(pending))] = True
        allowed = is_fresh if is_fresh.any() else allowed
    seen = {*visited, *pending}
    if len(seen) < num_spread:
        return _best(spread_score(seen), allowed, rng)
    belief = belief.pretend(pending)
    if strategy == "ei":
        best = belief.mean[sorted({*(visited if found is None else found), *pending})]
        score = expected_improvement(belief, float(best.max(initial=-np.inf)))
        return _best(score * pass_chance, allowed, rng)
    if strategy == "thompson":
        draw = belief.sample(rng)[0]
        return _best((draw - draw.min()) * pass_chance, allowed, rng)
    return _best(optimistic_score(belief, pass_chance, width), allowed, rng)


def optimistic_score(
    belief: Belief,
    pass_chance: NDArray[np.float64],  # (120,)
    beta: float,
) -> NDArray[np.float64]:  # (120,)
    """Score of ucb: (mean + beta * std - floor) * chance; see the table of this module."""
    floor = (belief.mean - beta * belief.std).min()
    return np.asarray((belief.mean + beta * belief.std - floor) * pass_chance)


def expected_improvement(belief: Belief, best: float) -> NDArray[np.float64]:  # (120,)
    """E[max(value - best, 0)] of each order: s * (z * Phi(z) + phi(z)), z = (mean - best) / s.

    Without anything to improve on (best = -inf) it is the mean, moved up to be at least 0.
    """
    if best == -np.inf:
        return np.asarray(belief.mean - belief.mean.min())
    gain = belief.mean - best
    std = belief.std
    z = np.divide(gain, std, out=np.zeros_like(gain), where=std > 0)
    density = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
    return np.where(std > 0, gain * ndtr(z) + std * density, np.maximum(gain, 0.0))


def spread_score(seen: Collection[int]) -> NDArray[np.float64]:  # (120,)
    """Smallest Kendall distance of each order to those seen; equal for all if there are none."""
    if not seen:
        return np.zeros(NUM_ORDERS)
    return np.asarray(KENDALL_DISTANCES[:, sorted(seen)].min(axis=1), dtype=np.float64)


def beta_at(t: int, *, beta: float = 2.0, schedule: BetaSchedule = "log") -> float:
    """Width of the confidence band at the t-th choice, t from 1.

    Raises:
        ConfigError: beta or the schedule is not acceptable.

    Example:
        >>> beta_at(1, schedule="constant"), round(beta_at(40), 2)
        (2.0, 3.85)
    """
    _check_choice("schedule", schedule, BETA_SCHEDULES)
    if not (math.isfinite(beta) and beta >= 0):
        raise ConfigError(f"beta = {beta}: must be finite and at least 0")
    return beta * math.sqrt(math.log(1 + t)) if schedule == "log" else beta


def _allowed(pending: Collection[int], just_failed: Collection[int]) -> NDArray[np.bool_]:  # (120,)
    allowed = np.ones(NUM_ORDERS, dtype=np.bool_)
    allowed[sorted(pending)] = False
    if not allowed.any():
        raise ConfigError(f"all {NUM_ORDERS} orders are pending: nothing is left to choose")
    others = allowed.copy()
    others[sorted(just_failed)] = False
    return others if others.any() else allowed


def _best(score: NDArray[np.float64], allowed: NDArray[np.bool_], rng: np.random.Generator) -> int:
    return _pick(allowed & (score == score[allowed].max()), rng)


def _pick(candidates: NDArray[np.bool_], rng: np.random.Generator) -> int:
    return int(rng.choice(np.flatnonzero(candidates)))


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigError(f"{name} {value!r}: must be one of {', '.join(choices)}")


def _check_chances(chances: NDArray[np.float64]) -> None:
    if chances.shape != (NUM_ORDERS,):
        raise ConfigError(f"pass_chance of shape {chances.shape}: must be ({NUM_ORDERS},)")
    if not ((chances >= 0) & (chances <= 1)).all():
        raise ConfigError(f"pass_chance from {chances.min()} to {chances.max()}: must be in 0 to 1")
