"""How a search looks on a terminal."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table

from standing_orders.cli.tables import percent, wide_console
from standing_orders.rules.orders import describe_order
from standing_orders.search.mirrors import leaderboard
from standing_orders.search.state import Record, SearchState
from standing_orders.stats import NORMAL_95

_SHOWN = 8


def leaderboard_table(state: SearchState, count: int) -> Table:
    """The best orders visited."""
    rows = leaderboard(state)
    passed = sum(row["passed"] for row in rows)
    table = _table(f"{len(rows)} orders visited, {passed} passed the gate; compliance in per cent")
    names = ("", "order", "return", "posterior", "strict", "95 %", "contested", "trained", "start")
    for name in names:
        table.add_column(name, justify="left" if name == "order" else "right", no_wrap=True)
    for row in rows[:count]:
        kept = row["compliance"]
        low, high = kept.get("strict_interval95", (None, None))
        table.add_row(
            str(row["rank"]) if row["passed"] else "failed",
            row["order"],
            with_error(row["reward"], row["std_error"]),
            with_error(row["posterior"]["mean"], row["posterior"]["std"]) if row["passed"] else "-",
            percent(kept.get("strict")),
            f"{percent(low)} to {percent(high)}",
            percent(kept.get("contested")),
            str(row["trained"]),
            row["start"],
        )
    return table


def candidates_table(state: SearchState, count: int) -> Table:
    """Orders that the surrogate thinks highest of, visited or not."""
    table = _table("what the surrogate believes")
    for name in ("order", "mean", "std", "chance to pass", "visited"):
        table.add_column(name, justify="left" if name == "order" else "right", no_wrap=True)
    visited = {record["order_id"] for record in state.results}
    belief = state.belief
    for order in np.argsort(-belief.mean, kind="stable")[:count]:
        table.add_row(
            describe_order(int(order)),
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
    measured = final["measured"]
    console.print(
        f"\nbest order: {final['order']}" + ("" if final["passed"] else " (it failed the gate)")
    )
    if measured:
        mean, error = measured["return"], measured["std_error"]
        interval = ""
        if error is not None:
            low, high = mean - NORMAL_95 * error, mean + NORMAL_95 * error
            interval = f", 95 % interval {low:.2f} to {high:.2f}"
        console.print(
            f"its fresh score: {mean:.2f}{interval}, n = {measured['episodes']} episodes; "
            f"strict compliance {percent(measured['strict'])}, gate "
            + ("passed" if measured["passed"] else "failed")
        )
    console.print(f"its policy: {folder / 'best'}\nall of it: {folder}")


def episodes_line(state: SearchState) -> str:
    """Episodes by what they were played for."""
    sums: dict[str, int] = {}
    for record in state.records:
        for name, count in record.get("episodes", {}).items():
            sums[name] = sums.get(name, 0) + count
    parts = ", ".join(f"{name} {count}" for name, count in sums.items())
    return f"episodes: {parts}; {state.used} of {state.config.budget}"


def with_error(value: float | None, error: float | None) -> str:
    """A measured value and its standard error."""
    if value is None:
        return "-"
    return f"{value:.1f}" + ("" if error is None else f" ± {error:.1f}")


class _View:
    """Draws the state of a search, and how fast it goes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._clock = time.perf_counter
        self._began = self._clock()
        self._begin_used: int | None = None
        self._pending = 0  # episodes of the visits that are running
        self._line = "starting"

    def update(self, state: SearchState, record: Record | None) -> None:
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
def watch_search(folder: Path) -> Iterator[Callable[[SearchState, Record | None], None]]:
    """A live view of a search; where there is no terminal, a line for each result."""
    console = Console(stderr=True, highlight=False)
    view = _View(folder)
    with Live(console=console, transient=True, auto_refresh=False) as live:

        def watch(state: SearchState, record: Record | None) -> None:
            view.update(state, record)
            if console.is_terminal:
                live.update(view.draw(state), refresh=True)
            elif record is None and state.records:
                last = state.records[-1]
                if last["event"] == "result":
                    console.print(describe_result(last, state.config.budget))
            elif record is not None and record["order_id"] is None and record["update"] % 50 == 1:
                console.print(view.status(state))

        yield watch


def describe_result(record: Record, budget: int) -> str:
    """One line about one visit."""
    verdict = "passed" if record["passed"] else "failed"
    return (
        f"{record['iteration']:3} {record['order']}: {verdict}, return "
        f"{with_error(record['reward'], record['std_error'])}, strict compliance "
        f"{percent(record['compliance'].get('strict'))}, {record['episodes']['training']} episodes "
        f"from {record['start']}; {record['total_episodes']} of {budget}"
    )


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
