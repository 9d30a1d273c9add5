"""A search while it runs."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.live import Live

from standing_orders.cli.tables import PlainConsole, percent
from standing_orders.search.records import Result
from standing_orders.search.state import SearchState
from standing_orders.search.tables import belief_table, leaderboard_table

_EVER = 1e6  # seconds: no time worth saying
_MOST = 12  # rows of each table
_OTHER_LINES = 13  # of the view: titles, headings and the status


class _View:
    """Draws the state of a search, and how fast it goes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._clock = time.perf_counter
        self._began = self._clock()
        self._begin_used: int | None = None
        self._pending = 0  # episodes of the visits that are running
        self._line = "starting: compiling and playing the first episodes"

    def update(self, state: SearchState, record: dict[str, Any] | None) -> None:
        """Take note of an update, or of a new state."""
        if self._begin_used is None:
            self._begin_used = state.used
        if record is None:
            self._pending = 0
            return
        self._pending += record["episodes"]
        strict = percent(record["compliance"]["strict"])
        self._line = (
            f"{record['order'].replace('>', ',')}: update {record['update']}, environment "
            f"{record['reward']['environment']:.1f}, strict compliance {strict} %"
        )

    def status(self, state: SearchState) -> str:
        """One line: what runs, the budget, the speed and the time left."""
        used = state.used + self._pending
        speed = (used - (self._begin_used or 0)) / max(self._clock() - self._began, 1e-9)
        left = (state.config.budget - used) / speed if speed > 0 else float("inf")
        pace = f", {speed:.0f}/s, {left / 60:.0f} min left" if left < _EVER else ""
        return f"{self._line}\n{used:,} of {state.config.budget:,} episodes{pace}"

    def draw(self, state: SearchState, width: int, height: int) -> RenderableType:
        """The whole view, in so many columns and lines."""
        shown = min(max((height - _OTHER_LINES) // 2, 2), _MOST)
        parts: list[RenderableType] = [f"{self._folder}\n{self.status(state)}"]
        if state.results:
            tables = (leaderboard_table(state, shown), belief_table(state, shown))
            parts += [table.fit(width) for table in tables]
        return Group(*parts)


@contextmanager
def watch_search(folder: Path) -> Iterator[Callable[[SearchState, dict[str, Any] | None], None]]:
    """A live view of a search; where there is no terminal, a line for each result."""
    console = PlainConsole(stderr=True)
    view = _View(folder)
    with Live(console=console, transient=True, auto_refresh=False) as live:

        def watch(state: SearchState, record: dict[str, Any] | None) -> None:
            view.update(state, record)
            if console.is_terminal:
                live.update(view.draw(state, console.width, console.height), refresh=True)
            elif record is None and state.records:
                last = state.records[-1]
                if isinstance(last, Result):
                    console.print(describe_result(last, state.config.budget))
            elif record is not None and record["order_id"] is None and record["update"] % 50 == 1:
                console.print(view.status(state))

        yield watch


def describe_result(result: Result, budget: int) -> str:
    """One line about one visit."""
    measured = result.measured
    strict = measured.strict.value if measured else None
    score = "-" if measured is None else f"{measured.mean_return:.1f}"
    if measured is not None and measured.std_error is not None:
        score += f" ± {measured.std_error:.1f}"
    return (
        f"{result.iteration:3} {result.order.typed}: {result.gate.verdict}, return {score}, strict "
        f"compliance {percent(strict)}, {result.episodes['training']} episodes from "
        f"{result.start}; {result.total_episodes} of {budget}"
    )
