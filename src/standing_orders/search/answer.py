"""What a search may say at its end: the best order, its ties, and which precedences matter.

| symbol | meaning |
|---|---|
| f | true values of the 120 orders, by the posterior normal with mean m and covariance S |
| X | (120, 11): a constant and, for each pair (a, b), +1/2 if a comes before b, else -1/2 |
| B | (10, 120): rows of the pseudo-inverse of X that belong to the pairs |
| B f | worth of each precedence: what a before b adds, all others alike; normal(B m, B S B') |

B f is the least-squares fit of f over all orders, so that a precedence which matters does not lend
its worth to those that tend to go with it.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri  # type: ignore[import-untyped]

from standing_orders.cage2.scenario import UNIT_TYPES
from standing_orders.errors import ConfigError
from standing_orders.rules.orders import NUM_ORDERS, PAIRS, PRECEDENCE_BITS, Order
from standing_orders.search.surrogate import Belief

LEVEL = 0.95


@dataclass(frozen=True)
class Precedence:
    """What it is worth to rank one type before another, all else alike."""

    first: str  # the type that is better ranked before the other
    second: str
    worth: float  # at least 0, in points of return
    error: float  # standard deviation of the posterior
    matters: bool  # whether it differs from zero at the answer's level, all ten taken together

    def describe(self) -> str:
        """It in words, such as `op_server before user: +18.2 ± 0.9`."""
        return f"{self.first} before {self.second}: {self.worth:+.1f} ± {self.error:.1f}"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "first": self.first,
            "second": self.second,
            "worth": self.worth,
            "error": self.error,
            "matters": self.matters,
        }


@dataclass(frozen=True)
class Answer:
    """What is known at the end of a search, at a stated level."""

    level: float
    best: int  # the order with the highest mean
    ties: tuple[int, ...]  # other orders that cannot be told apart from it, likeliest best first
    precedences: tuple[Precedence, ...]  # all ten, most important first

    @property
    def matters(self) -> bool:
        """Whether any precedence makes a measurable difference."""
        return bool(self.important)

    @property
    def important(self) -> tuple[Precedence, ...]:
        """The precedences that matter, most important first."""
        return tuple(one for one in self.precedences if one.matters)

    def sentence(self) -> str:
        """The answer in words."""
        top, share = self.precedences[0], f"{100 * self.level:.0f} %"
        worth = f"{top.worth:+.1f} ± {top.error:.1f}"
        if not self.matters:
            return (
                "In this game the order makes no measurable difference: no precedence is worth "
                f"more than its error at the {share} level (the largest, {top.first} before "
                f"{top.second}, is {worth}), and {len(self.ties)} of the other {NUM_ORDERS - 1} "
                "orders cannot be told apart from the best."
            )
        others = {0: "no other order comes near it", 1: "one other order is"}.get(
            len(self.ties), f"{len(self.ties)} others are"
        )
        apart = "" if not self.ties else f" not to be told apart from it at the {share} level"
        return (
            f"The best order is {Order(self.best).typed}; {others}{apart}. What matters most is "
            f"{top.first} before {top.second}, worth {worth}."
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data for a journal or a report."""
        return {
            "level": self.level,
            "best": str(Order(self.best)),
            "ties": [str(Order(order)) for order in self.ties],
            "matters": self.matters,
            "precedences": [one.to_json() for one in self.precedences],
            "sentence": self.sentence(),
        }


def answer(belief: Belief, *, best: int | None = None, level: float = LEVEL) -> Answer:
    """What a belief about all orders says.

    Args:
        belief: joint posterior of the orders' values.
        best: the order that others are compared with; the one with the highest mean if left out.
        level: probability that the statements must have, those about ties all together and those
            about precedences all together.

    Raises:
        ConfigError: the level is not between 0.5 and 1.

    Example:
        >>> values = np.where(PRECEDENCE_BITS[:, 0], 10.0, 0.0)  # defender before enterprise
        >>> found = answer(Belief(values, np.eye(120) * 0.01))
        >>> found.precedences[0].first, found.precedences[0].second, len(found.ties)
        ('defender', 'enterprise', 59)
    """
    if not 0.5 < level < 1:
        raise ConfigError(f"level = {level}: must be between 0.5 and 1")
    best = int(np.argmax(belief.mean)) if best is None else best
    return Answer(level, best, ties_of(belief, best, level=level), _precedences(belief, level))


def ties_of(belief: Belief, best: int, *, level: float = LEVEL) -> tuple[int, ...]:
    """Orders that cannot be told apart from the best one, best mean first.

    The level holds for all other orders at once (Bonferroni). One by one, a search that names
    the best of 60 equal orders would call more than half of the others worse.
    """
    variance = (
        np.diag(belief.covariance) + belief.covariance[best, best] - 2 * belief.covariance[:, best]
    )
    gap = belief.mean[best] - belief.mean
    std = np.sqrt(np.maximum(variance, 0.0))
    # Without any spread a difference is certain, and no difference is none.
    worse = np.where(std > 0, ndtr(gap / np.where(std > 0, std, 1.0)), np.where(gap > 0, 1.0, 0.5))
    needed = 1 - (1 - level) / (NUM_ORDERS - 1)
    ranking = np.argsort(-belief.mean, kind="stable")
    return tuple(int(order) for order in ranking if order != best and worse[order] < needed)


def _precedences(belief: Belief, level: float) -> tuple[Precedence, ...]:
    worth = WORTHS @ belief.mean
    variance = np.einsum("ij,jk,ik->i", WORTHS, belief.covariance, WORTHS)
    error = np.sqrt(np.maximum(variance, 0.0))
    # Bonferroni: the level holds for all ten statements at once, and each may err to either side.
    width = float(ndtri(1 - (1 - level) / (2 * len(PAIRS))))
    found = []
    for (a, b), value, std in zip(PAIRS, worth.tolist(), error.tolist(), strict=True):
        first, second = (a, b) if value >= 0 else (b, a)
        matters = abs(value) > width * std and not math.isclose(value, 0.0, abs_tol=1e-9)
        found.append(Precedence(UNIT_TYPES[first], UNIT_TYPES[second], abs(value), std, matters))
    return tuple(sorted(found, key=lambda one: (not one.matters, -one.worth)))


def _worths() -> NDArray[np.float64]:  # (10, 120)
    design = np.column_stack([np.ones(NUM_ORDERS), PRECEDENCE_BITS - 0.5])
    return np.asarray(np.linalg.pinv(design)[1:])


#: (10, 120): B of this module's table, from values of all orders to the worth of each precedence.
WORTHS = _worths()
