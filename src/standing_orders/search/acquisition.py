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

Whoever looks for the best order visits few that contradict what makes it good, and cannot say what
matters. So every `contrast_every`-th pick is a *contrast*: the order whose evaluation makes the
worths of the precedences (B f, see `answer`) most certain. One evaluation of order o, with noise
variance v, takes |B S e_o|^2 / (S_oo + v) off the sum of their variances.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr  # type: ignore[import-untyped]

from standing_orders.config import BetaSchedule, SearchConfig
from standing_orders.errors import ConfigError
from standing_orders.rules.orders import KENDALL_DISTANCES, NUM_ORDERS
from standing_orders.search.answer import WORTHS
from standing_orders.search.surrogate import Belief


@dataclass(frozen=True)
class Situation:
    """What an order is chosen from."""

    belief: Belief  # of the surrogate, without the pending evaluations
    pass_chance: NDArray[np.float64]  # (120,): chance of each order to pass the gate
    visited: Sequence[int] = ()  # the order of each finished evaluation; repeats count
    pending: Collection[int] = ()  # orders that are being evaluated
    just_failed: Collection[int] = ()  # orders of the last round that failed the gate
    found: Collection[int] | None = None  # could be named the best, for ei; all visited if None
    has_prior: bool = False  # the belief tells orders apart before any is visited

    @property
    def seen(self) -> set[int]:
        """Orders visited or about to be."""
        return {*self.visited, *self.pending}

    @property
    def picks(self) -> int:
        """Which pick the next one is, from 1."""
        return len(self.visited) + len(self.pending) + 1


@dataclass(frozen=True)
class Pick:
    """An order, and the score that decided."""

    order: int
    score: float | None  # the highest of all orders that could be picked; None: there was none
    decided_by: str  # a strategy, `spread`: distance to the nearest order seen, or `contrast`


def choose(config: SearchConfig, known: Situation, rng: np.random.Generator) -> Pick:
    """Choose the order to evaluate next; never one that is pending.

    The strategies that ask the model (ucb, thompson, ei) first pick `config.spread` orders far from
    each other, beginning with their own choice where there is a prior; then every
    `config.contrast_every`-th pick is one that tells what precedences are worth. They take pending
    evaluations as if they came out as expected, so that several calls, each with the earlier
    answers as pending, choose orders to evaluate at once.

    An order that has just failed is not picked, unless `config.continue_failed` or nothing else is
    left. One visited `config.max_visits` times is not picked again while others are left: a new
    order tells more than a second look at one whose neighbours are known. With `config.candidates`
    the model's best of so many random ones of the rest is picked, as other systems do.

    Args:
        config: strategy and its settings.
        known: what it is chosen from.
        rng: where ties, draws and random choices come from; the same state gives the same order.

    Raises:
        ConfigError: all orders are pending.
    """
    visits = np.bincount(np.array(known.visited, dtype=np.int64), minlength=NUM_ORDERS)
    allowed = _allowed(known.pending, () if config.continue_failed else known.just_failed)
    strategy = config.acquisition
    if strategy in ("random", "sweep"):
        allowed &= visits == visits[allowed].min()
        order = int(np.argmax(allowed)) if strategy == "sweep" else _draw(allowed, rng)
        return Pick(order, None, strategy)
    allowed = _some(_fresh(config, known, visits, allowed), config.candidates, rng)
    if len(known.seen) < config.spread and (known.seen or not known.has_prior):
        return _best(spread_score(known.seen), allowed, rng, "spread")
    if config.contrast_every and known.picks % config.contrast_every == 0:
        belief = known.belief.condition_on(known.pending)
        return _best(contrast_score(belief) * known.pass_chance, allowed, rng, "contrast")
    return _best(_score(config, known, rng), allowed, rng, strategy)


def _score(
    config: SearchConfig, known: Situation, rng: np.random.Generator
) -> NDArray[np.float64]:  # (120,)
    """Score of each order by the strategy; see the table of this module."""
    belief = known.belief.condition_on(known.pending)
    if config.acquisition == "ei":
        found = known.visited if known.found is None else known.found
        best = belief.mean[sorted({*found, *known.pending})]
        improvement = expected_improvement(belief, float(best.max(initial=-np.inf)))
        return np.asarray(improvement * known.pass_chance)
    if config.acquisition == "thompson":
        draw = belief.sample(rng)[0]
        return np.asarray((draw - draw.min()) * known.pass_chance)
    width = beta_at(known.picks, beta=config.beta, schedule=config.schedule)
    return optimistic_score(belief, known.pass_chance, width)


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


def contrast_score(belief: Belief) -> NDArray[np.float64]:  # (120,)
    """What one evaluation of each order takes off the summed variance of the precedences' worths.

    An order whose value is certain, and whose evaluation would be exact, tells nothing.
    """
    told = np.square(WORTHS @ belief.covariance).sum(axis=0)
    variance = np.square(belief.std) + belief.noise
    return np.asarray(np.divide(told, variance, out=np.zeros_like(told), where=variance > 0))


def spread_score(seen: Collection[int]) -> NDArray[np.float64]:  # (120,)
    """Smallest Kendall distance of each order to those seen; equal for all if there are none."""
    if not seen:
        return np.zeros(NUM_ORDERS)
    return np.asarray(KENDALL_DISTANCES[:, sorted(seen)].min(axis=1), dtype=np.float64)


def beta_at(t: int, *, beta: float = 2.0, schedule: BetaSchedule = "log") -> float:
    """Width of the confidence band at the t-th choice, t from 1.

    With a constant one, fitted, hence too certain, beliefs can hold the search on a plateau.

    Example:
        >>> beta_at(1, schedule="constant"), round(beta_at(40), 2)
        (2.0, 3.85)
    """
    return beta * math.sqrt(math.log(1 + t)) if schedule == "log" else beta


def _allowed(pending: Collection[int], just_failed: Collection[int]) -> NDArray[np.bool_]:  # (120,)
    allowed = np.ones(NUM_ORDERS, dtype=np.bool_)
    allowed[sorted(pending)] = False
    if not allowed.any():
        raise ConfigError(f"all {NUM_ORDERS} orders are pending: nothing is left to choose")
    others = allowed.copy()
    others[sorted(just_failed)] = False
    return others if others.any() else allowed


def _fresh(
    config: SearchConfig,
    known: Situation,
    visits: NDArray[np.int64],  # (120,)
    allowed: NDArray[np.bool_],  # (120,)
) -> NDArray[np.bool_]:  # (120,)
    """Those of the allowed orders that may be visited once more; all if there is none."""
    if config.max_visits is None:
        return allowed
    is_fresh = allowed & (visits < config.max_visits)
    if config.continue_failed:
        is_fresh[sorted(set(known.just_failed) - set(known.pending))] = True
    return is_fresh if is_fresh.any() else allowed


def _some(
    allowed: NDArray[np.bool_],  # (120,)
    count: int | None,
    rng: np.random.Generator,
) -> NDArray[np.bool_]:  # (120,)
    """So many of the allowed orders, drawn at random; all without a number."""
    orders = np.flatnonzero(allowed)
    if count is None or count >= len(orders):
        return allowed
    kept = np.zeros(NUM_ORDERS, dtype=np.bool_)
    kept[rng.choice(orders, count, replace=False)] = True
    return kept


def _best(
    score: NDArray[np.float64],  # (120,)
    allowed: NDArray[np.bool_],  # (120,)
    rng: np.random.Generator,
    decided_by: str,
) -> Pick:
    highest = score[allowed].max()
    return Pick(_draw(allowed & (score == highest), rng), float(highest), decided_by)


def _draw(candidates: NDArray[np.bool_], rng: np.random.Generator) -> int:
    return int(rng.choice(np.flatnonzero(candidates)))
