"""How a search looks on a terminal."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table

from standing_orders.cli.tables import percent, wide_console
from standing_orders.evaluate.measure import Measured
from standing_orders.rules.orders import Order
from standing_orders.search.records import Result
from standing_orders.search.state import SearchState
from standing_orders.stats import Ratio, normal_interval

_SHOWN = 8


def leaderboard_table(state: SearchState, count: int) -> Table:
    """The best orders visited."""
    rows = state.leaderboard()
    passed = sum(row.result.has_passed for row in rows)
    table = _table(f"{len(rows)} orders visited, {passed} passed the gate; compliance in per cent")
    names = ("", "order", "return", "posterior", "strict", "95 %", "contested", "trained", "start")
    for name in names:
        table.add_column(name, justify="left" if name == "order" else "right", no_wrap=True)
    for row in rows[:count]:
        result, measured = row.result, row.result.measured
        strict = measured.strict if measured else Ratio(None, None, None)
        table.add_row(
            str(row.rank) if result.has_passed else result.gate.verdict,
            str(result.order),
            _with_error(measured),
            f"{row.mean:.1f} ± {row.std:.1f}" if result.has_passed else "-",
            percent(strict.value),
            f"{percent(strict.low)} to {percent(strict.high)}",
            percent(measured.contested.value if measured else None),
            str(row.trained),
            result.start,
        )
    return table


def candidates_table(state: SearchState, count: int) -> Table:
    """Orders that the surrogate thinks highest of, visited or not."""
    table = _table("what the surrogate believes")
    for name in ("order", "mean", "std", "chance to pass", "visited"):
        table.add_column(name, justify="left" if name == "order" else "right", no_wrap=True)
    visited = {one.order.index for one in state.results}
    belief = state.belief
    for order in np.argsort(-belief.mean, kind="stable")[:count]:
        table.add_row(
            str(Order(int(order))),
            f"{belief.mean[order]:.1f}",
            f"{belief.std[order]:.1f}",
            percent(float(state.pass_chance[order])),
            "yes" if order in visited else "",
        )
    return table


def print_search(state: SearchState, folder: Path) -> None:
    """What came of a search."""
    console = wide_console()
    console.print(leaderboard_table(state, 10))
    console.print(episodes_line(state))
    final = state.final
    if final is None:
        return
    measured = final.measured
    console.print(
        f"\nbest order: {final.order}" + ("" if final.has_passed else " (it failed the gate)")
    )
    if measured:
        interval = ""
        if measured.std_error is not None:
            low, high = normal_interval(measured.mean_return, measured.std_error)
            interval = f", 95 % interval {low:.2f} to {high:.2f}"
        console.print(
            f"its fresh score: {measured.mean_return:.2f}{interval}, "
            f"n = {measured.kept.episodes} episodes; strict compliance "
            f"{percent(measured.strict.value)}, gate {measured.gate.verdict}"
        )
    console.print(f"its policy: {folder / 'best'}\nall of it: {folder}")


def episodes_line(state: SearchState) -> str:
    """Episodes by what they were played for."""
    sums: dict[str, int] = {}
    for record in state.records:
        for name, count in record.episodes.items():
            sums[name] = sums.get(name, 0) + count
    parts = ", ".join(f"{name} {count}" for name, count in sums.items())
    return f"episodes: {parts}; {state.used} of {state.config.budget}"


def _with_error(measured: Measured | None) -> str:
    """A measured return and its standard error."""
    if measured is None:
        return "-"
    error = measured.std_error
    return f"{measured.mean_return:.1f}" + ("" if error is None else f" ± {error:.1f}")


class _View:
    """Draws the state of a search, and how fast it goes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._clock = time.perf_counter
        self._began = self._clock()
        self._begin_used: int | None = None
        self._pending = 0  # episodes of the visits that are running
        self._line = "starting"

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
            f"{record['order']}: update {record['update']}, environment "
            f"{record['reward']['environment']:.1f}, strict compliance {strict}"
        )

    def status(self, state: SearchState) -> str:
        """One line: what runs, the budget, the speed and the time left."""
        used = state.used + self._pending
        speed = (used - (self._begin_used or 0)) / max(self._clock() - self._began, 1e-9)
        left = (state.config.budget - used) / speed if speed > 0 else float("inf")
        shown = f"{left / 60:.0f} min left" if left < 1e6 else ""
        return f"{self._line}\n{used} of {state.config.budget} episodes, {speed:.0f}/s, {shown}"

    def draw(self, state: SearchState) -> RenderableType:
        """The whole view."""
        parts: list[RenderableType] = [f"{self._folder}\n{self.status(state)}"]
        if state.results:
            parts += [leaderboard_table(state, _SHOWN), candidates_table(state, _SHOWN)]
        return Group(*parts)


@contextmanager
def watch_search(folder: Path) -> Iterator[Callable[[SearchState, dict[str, Any] | None], None]]:
    """A live view of a search; where there is no terminal, a line for each result."""
    console = Console(stderr=True, highlight=False)
    view = _View(folder)
    with Live(console=console, transient=True, auto_refresh=False) as live:

        def watch(state: SearchState, record: dict[str, Any] | None) -> None:
            view.update(state, record)
            if console.is_terminal:
                live.update(view.draw(state), refresh=True)
            elif record is None and state.records:
                last = state.records[-1]
                if isinstance(last, Result):
                    console.print(describe_result(last, state.config.budget))
            elif record is not None and record["order_id"] is None and record["update"] % 50 == 1:
                console.print(view.status(state))

        yield watch


def describe_result(result: Result, budget: int) -> str:
    """One line about one visit."""
    strict = result.measured.strict.value if result.measured else None
    return (
        f"{result.iteration:3} {result.order}: {result.gate.verdict}, return "
        f"{_with_error(result.measured)}, strict compliance {percent(strict)}, "
        f"{result.episodes['training']} episodes from {result.start}; "
        f"{result.total_episodes} of {budget}"
    )


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
