"""How a search looks: its leaderboard, what the surrogate believes, what came of it."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from standing_orders.rules.orders import Order
from standing_orders.search.answer import Answer, answer
from standing_orders.search.mirrors import LEADERBOARD
from standing_orders.search.state import SearchState, Standing
from standing_orders.stats import normal_interval
from standing_orders.tables import Cell, Column, Table

_SHOWN = 10
_BOARD_COLUMNS = (
    Column("rank"),
    Column("order", is_text=True),
    Column("return", ".1f"),
    Column("std error", ".1f", drop=2),
    Column("posterior", ".1f", drop=3),
    Column("± std", ".1f", drop=3),
    Column("strict", ".1%"),
    Column("low 95 %", ".1%", drop=4),
    Column("high 95 %", ".1%", drop=4),
    Column("contested", ".1%", drop=1),
    Column("trained", drop=5),
    Column("start", drop=6),
)
_BELIEF_COLUMNS = (
    Column("order", is_text=True),
    Column("mean", ".1f"),
    Column("std", ".1f"),
    Column("chance to pass", ".1%", drop=1),
    Column("visited"),
)


def leaderboard_table(state: SearchState, count: int) -> Table:
    """Every order visited, best first, of which so many are printed."""
    board = state.leaderboard()
    num_passed = sum(row.result.has_passed for row in board)
    title = f"{len(board)} orders visited, {num_passed} passed the gate"
    rows = tuple(_row(row) for row in board)
    return Table(title, _BOARD_COLUMNS, rows, shown=count, more=LEADERBOARD)


def _row(row: Standing) -> tuple[Cell, ...]:
    result, measured = row.result, row.result.measured
    passed = result.has_passed
    figures: tuple[Cell, ...] = (None,) * 4
    if measured is not None:
        strict = measured.strict
        figures = (strict.value, strict.low, strict.high, measured.contested.value)
    return (
        row.rank if passed else result.gate.verdict,
        result.order.typed,
        measured.mean_return if measured else None,
        measured.std_error if measured else None,
        row.mean if passed else None,
        row.std if passed else None,
        *figures,
        row.trained,
        result.start,
    )


def belief_table(state: SearchState, count: int) -> Table:
    """Orders that the surrogate thinks highest of, visited or not."""
    visited = {one.order.index for one in state.results}
    belief = state.belief
    rows = tuple(
        (
            Order(order).typed,
            float(belief.mean[order]),
            float(belief.std[order]),
            float(state.pass_chance[order]),
            order in visited,
        )
        for order in np.argsort(-belief.mean, kind="stable")[:count].tolist()
    )
    return Table("what the surrogate believes", _BELIEF_COLUMNS, rows)


def answer_of(state: SearchState) -> Answer | None:
    """What the search may say of all orders; None before any has passed the gate."""
    passed = [one.order for one in state.ranking() if one.has_passed]
    return answer(state.belief, best=passed[0].index) if passed else None


def result_table(state: SearchState, path: Path) -> Table:
    """The leaderboard, and below it what came of the search."""
    notes = (episodes_line(state), *_outcome(state, path))
    return replace(leaderboard_table(state, _SHOWN), notes=notes)


def _outcome(state: SearchState, path: Path) -> list[str]:
    final = state.final
    if final is None:
        return []
    failed = "" if final.has_passed else " (it has not passed the gate)"
    lines = [f"\nbest order: {final.order.typed}{failed}"]
    said = answer_of(state)
    if said is not None:
        lines = [] if said.matters else lines  # else the sentence names it
        lines += [f"\n{said.sentence()}", *(f"  {one.describe()}" for one in said.important)]
    measured = final.measured
    if measured is not None:
        interval = ""
        if measured.std_error is not None:
            low, high = normal_interval(measured.mean_return, measured.std_error)
            interval = f", 95 % interval {low:.2f} to {high:.2f}"
        strict = measured.strict.value
        lines.append(
            f"its fresh score: {measured.mean_return:.2f}{interval}, "
            f"n = {measured.kept.episodes} episodes; strict compliance "
            f"{'-' if strict is None else f'{strict:.1%}'}, gate {measured.gate.verdict}"
        )
    return [*lines, f"its policy: {path / 'best'}", f"all of it: {path}"]


def episodes_line(state: SearchState) -> str:
    """Episodes by what they were played for."""
    sums: dict[str, int] = {}
    for record in state.records:
        for name, count in record.episodes.items():
            sums[name] = sums.get(name, 0) + count
    parts = ", ".join(f"{name} {count:,}" for name, count in sums.items())
    return f"episodes: {parts}; {state.used:,} of {state.config.budget:,}"
