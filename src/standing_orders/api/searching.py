"""Searches: begin, go on, look at."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from standing_orders.config import SearchConfig
from standing_orders.runs.folder import RunFolder
from standing_orders.tables import Table, to_text

if TYPE_CHECKING:  # torch and Numba take seconds
    from standing_orders.rules.orders import Order
    from standing_orders.search.answer import Answer
    from standing_orders.search.state import SearchState, Standing


@dataclass(frozen=True)
class SearchResult:
    """A run folder of `search`, as far as the search has come."""

    path: Path
    state: "SearchState"

    @property
    def best(self) -> "Order | None":
        """The order that came first; None before any has been visited."""
        return self.leaderboard[0].result.order if self.leaderboard else None

    @property
    def best_path(self) -> Path:
        """Run folder of the best order's policy, once the search has ended."""
        return self.path / "best"

    @cached_property
    def leaderboard(self) -> "list[Standing]":
        """Every order visited, best first: what leaderboard.csv holds."""
        return self.state.leaderboard()

    @cached_property
    def ties(self) -> "list[Order]":
        """Other orders that cannot be told apart from the best one, likeliest best first.

        None of them is worse with a probability of 95 %, by the surrogate's joint belief.
        """
        from standing_orders.rules.orders import Order
        from standing_orders.search.answer import ties_of

        if self.best is None:
            return []
        return [Order(order) for order in ties_of(self.state.belief, self.best.index)]

    @cached_property
    def answer(self) -> "Answer | None":
        """What may be said of all 120 orders; None before any has passed the gate."""
        from standing_orders.search.tables import answer_of

        return answer_of(self.state)

    def tables(self) -> list[Table]:
        """The leaderboard and what came of the search."""
        from standing_orders.search.tables import result_table

        return [result_table(self.state, self.path)]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        final = self.state.final
        return {
            "path": str(self.path),
            "best": None if self.best is None else str(self.best),
            "ties": [str(order) for order in self.ties],
            "answer": None if self.answer is None else self.answer.to_json(),
            "episodes": self.state.used,
            "final": None if final is None else final.to_json(),
            "leaderboard": [row.to_json() for row in self.leaderboard],
            "config": self.state.config.model_dump(mode="json"),
        }

    def __str__(self) -> str:
        return to_text(self.tables())


def search(
    config: SearchConfig,
    run: str | Path,
    *,
    base: str | Path | None = None,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    watch: "Callable[[SearchState, dict[str, Any] | None], None]" = lambda *_: None,
    report: Callable[[str], None] = print,
) -> SearchResult:
    """Search the 120 orders for the best one, in a new run folder.

    Args:
        config: everything about the search.
        run: the folder, new or empty.
        base: a training run whose policy every order starts from, instead of one trained here.
        engine: where orders are trained: in this process, or on a Ray cluster.
        address: of the cluster; one on this machine if left out.
        watch: told of every update and every record.
        report: told what a user should know.

    Raises:
        ConfigError: the budget does not suffice for the base policy.
        CheckpointError: the folder or the base cannot be used.
        NumericsError, WorkerError: a number is not finite; the workers are lost.
    """
    from standing_orders.search.engines import open_engine
    from standing_orders.search.run import search as begin

    path = Path(run)
    with open_engine(engine, address, config.parallel) as opened:
        given = None if base is None else Path(base)
        if given is not None and config.start == "base":  # else it is refused as of no use
            given = RunFolder.open(given, kind="train").path  # one of the zoo is in the package
        state = begin(config, path, base=given, engine=opened, watch=watch, report=report)
    return SearchResult(path, state)


def resume_search(
    run: str | Path,
    *,
    budget: int | None = None,
    max_orders: int | None = None,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    watch: "Callable[[SearchState, dict[str, Any] | None], None]" = lambda *_: None,
    report: Callable[[str], None] = print,
) -> SearchResult:
    """Go on with a search that was stopped or killed; its own config holds.

    Args:
        run: the folder.
        budget: a larger one, also for a search that has ended.
        max_orders: a larger number of visits, likewise.
        engine: where orders are trained: in this process, or on a Ray cluster.
        address: of the cluster; one on this machine if left out.
        watch: told of every update and every record.
        report: told what a user should know.

    Raises:
        CheckpointError: the folder holds no such search, or another process writes it.
        ConfigError: the budget or the number of visits is not larger.
        NumericsError, WorkerError: a number is not finite; the workers are lost.
    """
    from standing_orders.search.engines import open_engine
    from standing_orders.search.run import resume_search as go_on
    from standing_orders.search.run import stored_config

    path = Path(run)
    with open_engine(engine, address, stored_config(path).parallel) as opened:
        state = go_on(
            path, budget=budget, max_orders=max_orders, engine=opened, watch=watch, report=report
        )
    return SearchResult(path, state)


def load_search(path: Path) -> SearchResult:
    """What is in the run folder of a search.

    Raises:
        CheckpointError: the folder holds no search.
    """
    from standing_orders.search.records import read_record
    from standing_orders.search.run import stored_config
    from standing_orders.search.state import SearchState

    journal = RunFolder.open(path, kind="search").journal()
    records = tuple(read_record(data) for data in journal.read())
    return SearchResult(path, SearchState(stored_config(path), records))
