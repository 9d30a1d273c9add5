"""What a search knows, read from its records alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.config import KernelName, SearchConfig
from standing_orders.rules.orders import Order
from standing_orders.search.acquisition import Situation
from standing_orders.search.records import Base, Choice, Final, Prior, Record, Result, Round
from standing_orders.search.surrogate import (
    Belief,
    Observation,
    Outcome,
    fit_surrogate,
    pass_chance,
)
from standing_orders.seeding import child_seed

_NUM_LANDSCAPES = 2_000  # drawn to see whether a further visit is worth it


@lru_cache(maxsize=4)
def _fit(
    observations: tuple[Observation, ...],
    prior: tuple[float, ...] | None,
    kernel: KernelName,
    seed: int,
) -> Belief:
    """States between two results believe the same."""
    mean = None if prior is None else np.array(prior)
    return fit_surrogate(observations, kernel=kernel, seed=seed, prior=mean).belief


@dataclass(frozen=True)
class Standing:
    """A row of the leaderboard: the last result of an order, and what is believed of it."""

    rank: int
    result: Result
    mean: float
    std: float
    trained: int  # training episodes of all visits

    def to_json(self) -> dict[str, Any]:
        """Plain data for a table."""
        return self.result.to_json() | {
            "rank": self.rank,
            "posterior": {"mean": self.mean, "std": self.std},
            "trained": self.trained,
        }


@dataclass(frozen=True)
class SearchState:
    """What the records say; a new record makes a new state."""

    config: SearchConfig
    records: tuple[Record, ...] = ()

    def having(self, record: Record) -> "SearchState":
        """The state after one more record."""
        return SearchState(self.config, (*self.records, record))

    @property
    def has_base(self) -> bool:
        """Whether the base policy has been trained here."""
        return any(isinstance(record, Base) for record in self.records)

    @property
    def prior(self) -> Prior | None:
        """What the base policy earns with each order, if it was asked."""
        return next((record for record in self.records if isinstance(record, Prior)), None)

    @cached_property
    def results(self) -> list[Result]:
        """What came of each finished visit."""
        return [record for record in self.records if isinstance(record, Result)]

    @cached_property
    def pending(self) -> list[Choice]:
        """Choices without a result."""
        rounds = [record for record in self.records if isinstance(record, Round)]
        choices = [choice for one in rounds for choice in one.choices]
        return choices[len(self.results) :]

    @property
    def used(self) -> int:
        """Episodes played so far by everything that is finished."""
        return sum(sum(record.episodes.values()) for record in self.records)

    @property
    def final(self) -> Final | None:
        """The last record, once the search has ended and its budget has not been raised since."""
        last = self.records[-1] if self.records else None
        if not isinstance(last, Final):
            return None
        return last if self.used >= self.config.budget or self.is_over else None

    @property
    def last_round(self) -> list[Result]:
        """Results of the choices that were made together last."""
        return [one for one in self.results if one.round == self.results[-1].round]

    @cached_property
    def belief(self) -> Belief:
        """What the surrogate believes of all orders, from those that passed the gate."""
        observations = tuple(
            Observation(one.order.index, *one.observed)
            for one in self.results
            if one.observed is not None
        )
        seed = child_seed(self.config.seed, "fit", len(self.results))
        prior = None if self.prior is None else self.prior.returns
        return _fit(observations, prior, self.config.kernel, seed)

    @property
    def is_over(self) -> bool:
        """Whether the search ends here, whatever is left of its budget."""
        return self.visits_left == 0 or self.is_settled

    @property
    def visits_left(self) -> int | None:
        """Visits that may still be made; None: as many as the budget allows."""
        wanted = self.config.max_orders
        return None if wanted is None else max(0, wanted - len(self.results))

    @cached_property
    def is_settled(self) -> bool:
        """Whether an order that is not visited yet is hardly ever better than the best one."""
        followed = [one.order.index for one in self.results if one.has_passed]
        config = self.config
        if self.prior is None or not config.stop_chance or len(self.results) < config.spread:
            return False
        if not followed:
            return False
        drawn = self.belief.sample(
            np.random.default_rng(child_seed(config.seed, "settled", len(self.results))),
            _NUM_LANDSCAPES,
        )
        best = max(followed, key=lambda order: float(self.belief.mean[order]))
        margin = config.stop_margin * abs(float(self.belief.mean[best]))
        others = np.delete(drawn, [one.order.index for one in self.results], axis=1)
        if not others.shape[1]:
            return True
        is_better = others.max(axis=1) > drawn[:, best] + margin
        return bool(is_better.mean() < config.stop_chance)

    @cached_property
    def pass_chance(self) -> NDArray[np.float64]:  # (120,)
        """Chance of each order to pass the gate."""
        outcomes = [Outcome(one.order.index, one.has_passed) for one in self.results]
        return pass_chance(outcomes, self.config.kernel)

    def situation(self, pending: Sequence[int]) -> Situation:
        """What the next order is chosen from; `pending` are those chosen already."""
        return Situation(
            self.belief,
            self.pass_chance,
            visited=[one.order.index for one in self.results],
            pending=pending,
            just_failed=[one.order.index for one in self.last_round if not one.has_passed],
            found=[one.order.index for one in self.results if one.has_passed],
            has_prior=self.prior is not None,
        )

    def visits_of(self, order: Order) -> list[Result]:
        """Results of one order."""
        return [one for one in self.results if one.order == order]

    def nearest(self, order: Order) -> Result | None:
        """The result of the trained order nearest to this one, passed ones first among equals."""
        return min(
            self.results,
            key=lambda one: (order.distance(one.order), not one.has_passed, -one.iteration),
            default=None,
        )

    def ranking(self) -> list[Result]:
        """The last result of each order visited, best first.

        Orders that passed the gate come first, by the surrogate's mean; then those that were tested
        and failed, and then the untested, by their compliance.
        """
        latest = {one.order: one for one in self.results}

        def key(one: Result) -> tuple[bool, bool, float]:
            if one.has_passed:
                return True, True, float(self.belief.mean[one.order.index])
            strict = None if one.measured is None else one.measured.strict.value
            return False, one.gate.verdict == "failed", strict or 0.0

        return sorted(latest.values(), key=key, reverse=True)

    def leaderboard(self) -> list[Standing]:
        """Every order visited, best first, with what the surrogate believes of it."""
        belief = self.belief
        return [
            Standing(
                rank,
                one,
                mean=float(belief.mean[one.order.index]),
                std=float(belief.std[one.order.index]),
                trained=sum(other.episodes["training"] for other in self.visits_of(one.order)),
            )
            for rank, one in enumerate(self.ranking(), start=1)
        ]
