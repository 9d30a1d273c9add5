"""What a search knows, read from its journal alone.

The journal has one record for each event, in this order: `base` (if the search trains a base
policy), then for each `round`, whose choices are made together, a `result` for every choice, and
at last `final`.
"""

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.config import KernelName, SearchConfig
from standing_orders.rules.orders import describe_order, kendall_distance
from standing_orders.search.acquisition import beta_at, choose
from standing_orders.search.surrogate import (
    Belief,
    Observation,
    Outcome,
    PassModel,
    fit_surrogate,
)
from standing_orders.seeding import child_seed

Record = dict[str, Any]


@lru_cache(maxsize=4)
def _fit(observations: tuple[Observation, ...], kernel: KernelName, seed: int) -> Belief:
    """States between two results believe the same."""
    return fit_surrogate(observations, kernel=kernel, seed=seed).joint


@dataclass(frozen=True)
class SearchState:
    """What the records say; a new record makes a new state."""

    config: SearchConfig
    records: tuple[Record, ...] = field(default=())

    def having(self, record: Record) -> "SearchState":
        """The state after one more record."""
        return SearchState(self.config, (*self.records, record))

    def of(self, event: str) -> list[Record]:
        """All records of one kind."""
        return [record for record in self.records if record["event"] == event]

    @cached_property
    def results(self) -> list[Record]:
        """What came of each finished visit."""
        return self.of("result")

    @cached_property
    def pending(self) -> list[Record]:
        """Choices without a result."""
        choices = [choice for record in self.of("round") for choice in record["choices"]]
        return choices[len(self.results) :]

    @property
    def used(self) -> int:
        """Episodes played so far by everything that is finished."""
        return sum(sum(record.get("episodes", {}).values()) for record in self.records)

    @property
    def final(self) -> Record | None:
        """The last record, once the search has ended."""
        found = self.of("final")
        return found[0] if found else None

    @property
    def last_round(self) -> list[Record]:
        """Results of the choices that were made together last."""
        if not self.results:
            return []
        last = self.results[-1]["round"]
        return [record for record in self.results if record["round"] == last]

    @cached_property
    def belief(self) -> Belief:
        """What the surrogate believes of all orders, from those that passed the gate.

        The return of a policy that does not follow its order says nothing about the order.
        """
        observations = tuple(
            Observation(record["order_id"], record["reward"], record["std_error"])
            for record in self.results
            if record["gp_updated"]
        )
        seed = child_seed(self.config.seed, "fit", len(self.results))
        return _fit(observations, self.config.kernel, seed)

    @cached_property
    def pass_chance(self) -> NDArray[np.float64]:  # (120,)
        """Chance of each order to pass the gate."""
        outcomes = [Outcome(record["order_id"], record["passed"]) for record in self.results]
        return PassModel(kernel=self.config.kernel).chance(outcomes)

    def choose(self, iteration: int, pending: list[int]) -> dict[str, Any]:
        """The order to visit next, and what is believed of it.

        Args:
            iteration: number of the visit, from 1.
            pending: orders chosen in this round already.
        """
        config = self.config
        visited = [record["order_id"] for record in self.results]
        failed = [record["order_id"] for record in self.last_round if not record["passed"]]
        passed = [record["order_id"] for record in self.results if record["passed"]]
        order = choose(
            config.acquisition,
            self.belief,
            pass_chance=self.pass_chance,
            visited=visited,
            pending=pending,
            rng=np.random.default_rng(child_seed(config.seed, "choice", iteration)),
            just_failed=failed,
            may_continue=config.continue_failed,
            max_visits=config.max_visits,
            found=passed,
            beta=config.beta,
            schedule=config.schedule,
            num_spread=config.spread,
        )
        believed = self.belief.pretend(pending)
        width = beta_at(len(visited) + len(pending) + 1, beta=config.beta, schedule=config.schedule)
        mean, std = float(believed.mean[order]), float(believed.std[order])
        return {
            "order_id": order,
            "order": describe_order(order),
            "ucb": mean + width * std,
            "mean": mean,
            "std": std,
            "chance": float(self.pass_chance[order]),
        }

    def nearest(self, order: int) -> Record | None:
        """The result of the trained order nearest to this one, passed ones first among equals."""
        return min(
            self.results,
            key=lambda record: (
                kendall_distance(order, record["order_id"]),
                not record["passed"],
                -record["iteration"],
            ),
            default=None,
        )

    def ranking(self) -> list[Record]:
        """The last result of each order visited, best first.

        Orders that passed the gate come first, by the surrogate's mean; then those with enough
        judged fixes for the gate, and then the others, by their compliance.
        """
        latest = {record["order_id"]: record for record in self.results}
        mean = self.belief.mean

        def key(record: Record) -> tuple[bool, bool, float]:
            if record["passed"]:
                return True, True, float(mean[record["order_id"]])
            kept = record["compliance"]
            judged = kept.get("compliant", 0) + kept.get("violations", 0)
            return False, judged >= self.config.gate.min_judged, kept.get("strict") or 0.0

        return sorted(latest.values(), key=key, reverse=True)
