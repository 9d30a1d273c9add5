"""Several searches side by side: what each answers, and how fast it came to it."""

from collections.abc import Sequence
from typing import Any

from standing_orders.report import document as doc
from standing_orders.report.document import Block
from standing_orders.report.search import Found
from standing_orders.rules.orders import Order
from standing_orders.stats import NORMAL_95

Said = dict[str, Any]


def overlay_section(founds: Sequence[Found]) -> Block:
    """Answers, worths of the precedences, and the best so far, all in the same charts."""
    return doc.section(
        "Runs side by side",
        doc.table(
            [doc.column("run"), doc.column("best order"), doc.column("fresh score", "two"),
             doc.column("±", "two"), doc.column("ties", "whole"), doc.column("visited", "whole"),
             doc.column("episodes", "whole"), doc.column("what matters most", wrap=True)],
            [_row(found) for found in founds],
        ),
        doc.grid(
            doc.wide(doc.intervals(
                "Worth of each precedence", _worths(founds), x="points of return, all else alike",
                level=0.0, note="From each run's surrogate, with 95 % intervals, by run.",
            )),
            doc.wide(doc.lines(
                "Best so far", [_best(found) for found in founds], x="episodes",
                y="measured return", note="The best return measured of an order that passed.",
            )),
        ),
        short="Side by side",
    )  # fmt: skip


def _row(found: Found) -> list[Any]:
    said, final = found.answer, found.state.final
    measured = None if final is None else final.measured
    score = None if measured is None else measured.mean_return
    error = None if measured is None else measured.std_error
    if said is None:
        return [found.run.name, "none yet", score, error, None, 0, found.state.used, ""]
    most = said.important[0].describe() if said.matters else "nothing measurable"
    return [
        found.run.name, str(Order(said.best)), score, error, len(said.ties), len(found.board),
        found.state.used, most,
    ]  # fmt: skip


def _worths(founds: Sequence[Found]) -> list[Said]:
    """Rows by precedence, that of the first run first; a worth has the sign of the first's."""
    first = next((found.answer for found in founds if found.answer is not None), None)
    rows: list[Said] = []
    for wanted in () if first is None else first.precedences:
        for found in founds:
            for one in () if found.answer is None else found.answer.precedences:
                if {one.first, one.second} != {wanted.first, wanted.second}:
                    continue
                worth = one.worth if one.first == wanted.first else -one.worth
                rows.append(
                    {
                        "name": f"{wanted.first} before {wanted.second}, {found.run.name}",
                        "mean": worth,
                        "error": one.error,
                        "low": worth - NORMAL_95 * one.error,
                        "high": worth + NORMAL_95 * one.error,
                        "paint": founds.index(found),
                    }
                )
    return rows


def _best(found: Found) -> Said:
    x, y = [], []
    best: float | None = None
    for result in found.state.results:
        if result.observed is not None:
            best = result.observed[0] if best is None else max(best, result.observed[0])
        x.append(result.total_episodes)
        y.append(best)
    return {"name": found.run.name, "x": x, "y": y}
