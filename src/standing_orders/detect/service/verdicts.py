"""What a team says about events: one row for each, as plain data for lines, CSV and Parquet."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

from standing_orders.detect.actions import ACTION_NAMES, ALERT, ALLOW
from standing_orders.detect.service.why import Reason

_DIGITS = 6  # of probabilities and margins in the output
NO_VOTE = "none"


@dataclass(frozen=True, eq=False)
class Verdicts:
    """Verdicts about the rows of a table, and about sessions that ended between them."""

    rows: NDArray[np.int64]  # (num_events,): of the table; -1: the end of a session
    keys: list[str | None]  # of the sessions; None of records
    actions: NDArray[np.int64]  # (num_events,): what is done
    proposed: NDArray[np.int64]  # (num_events,): what the vote wanted, before the shield
    scores: NDArray[np.float64]  # (num_events,)
    threat: NDArray[np.float64]  # (num_events,): calibrated probability; NaN: could not be read
    votes: NDArray[np.int8]  # (num_events, num_agents)
    has_quorum: NDArray[np.bool_]  # (num_events,)
    margins: dict[str, NDArray[np.float64]]  # (num_events,) by rule; NaN: none
    unfit: dict[int, list[str]] = field(default_factory=dict)  # by event: what does not fit
    why: dict[int, list[Reason]] = field(default_factory=dict)  # by event

    @property
    def certainty(self) -> NDArray[np.float64]:  # (num_events,)
        """Share of the agents on the side of the vote's outcome, to flag or to allow."""
        is_flag = (self.proposed != ALLOW)[:, None]
        agrees = (self.votes >= 0) & ((self.votes > 0) == is_flag)
        return np.asarray(agrees.mean(axis=1))

    def lines(self, offsets: NDArray[np.int64]) -> Iterator[dict[str, Any]]:
        """A plain record for each event.

        Args:
            offsets: (num_rows,), where each row of the table comes from.
        """
        threat, certainty = np.round(self.threat, _DIGITS), np.round(self.certainty, _DIGITS)
        margins = {name: np.round(values, _DIGITS) for name, values in self.margins.items()}
        last = int(offsets[0]) if len(offsets) else 0
        for index, row in enumerate(self.rows.tolist()):
            last = int(offsets[row]) if row >= 0 else last
            votes = self.votes[index].tolist()
            line: dict[str, Any] = {
                "offset": last,
                "verdict": ACTION_NAMES[self.actions[index]],
                "threat": _plain(threat[index]),
                "votes": [ACTION_NAMES[vote] if vote >= 0 else NO_VOTE for vote in votes],
                "certainty": float(certainty[index]),
                "quorum": bool(self.has_quorum[index]),
                "session": self.keys[index],
                "margins": {name: _plain(values[index]) for name, values in margins.items()},
                "why": [
                    {"column": one.column, "effect": round(one.effect, _DIGITS)}
                    for one in self.why.get(index, ())
                ],
            }
            if row < 0:
                line["end"] = True
            if self.actions[index] != self.proposed[index]:
                line["proposed"] = ACTION_NAMES[self.proposed[index]]
            if index in self.unfit:
                line["unfit"] = self.unfit[index]
            yield line

    def table(self) -> pa.Table:
        """All of it as a table, a row for each row that was judged."""
        offsets = np.arange(max(int(self.rows.max(initial=-1)) + 1, 1))
        return flat_table(list(self.lines(offsets)), [*self.margins])


def _plain(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def unreadable(num_agents: int, faults: dict[int, str], margins: list[str]) -> Verdicts:
    """The verdict about lines that cannot be read: an alert, as when there is no quorum."""
    rows = np.array(sorted(faults), dtype=np.int64)
    count = len(rows)
    alert, nothing = np.full(count, ALERT, dtype=np.int64), np.full(count, np.nan)
    return Verdicts(
        rows=rows,
        keys=[None] * count,
        actions=alert,
        proposed=alert,
        scores=nothing,
        threat=nothing,
        votes=np.full((count, num_agents), -1, dtype=np.int8),
        has_quorum=np.zeros(count, dtype=np.bool_),
        margins=dict.fromkeys(margins, nothing),
        unfit={index: [f"unreadable: {faults[row]}"] for index, row in enumerate(rows.tolist())},
    )


def merge(first: Verdicts, second: Verdicts) -> Verdicts:
    """Verdicts about different rows of one table, in their order; ends stay behind their rows."""
    if not len(second.rows):
        return first
    place = np.maximum.accumulate(np.concatenate([[-1], first.rows]))[1:]
    order = np.argsort(np.concatenate([place, second.rows]), kind="stable")
    back = {int(old): new for new, old in enumerate(order)}
    shift = len(first.rows)

    def join(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([a, b])[order]

    def move(a: dict[int, Any], b: dict[int, Any]) -> dict[int, Any]:
        return {back[i]: v for i, v in a.items()} | {back[i + shift]: v for i, v in b.items()}

    keys = [*first.keys, *second.keys]
    arrays = ("rows", "actions", "proposed", "scores", "threat", "votes", "has_quorum")
    return Verdicts(
        **{name: join(getattr(first, name), getattr(second, name)) for name in arrays},
        keys=[keys[index] for index in order],
        margins={name: join(v, second.margins[name]) for name, v in first.margins.items()},
        unfit=move(first.unfit, second.unfit),
        why=move(first.why, second.why),
    )


def flatten_line(line: dict[str, Any]) -> dict[str, Any]:
    """A record without anything nested, for CSV and Parquet."""
    why = "; ".join(f"{one['column']} {one['effect']:+g}" for one in line["why"])
    flat = {name: line[name] for name in ("offset", "verdict", "threat")}
    flat |= {"votes": " ".join(line["votes"])}
    flat |= {name: line[name] for name in ("certainty", "quorum", "session")}
    flat |= {f"margin.{name}": value for name, value in line["margins"].items()}
    flat |= {"why": why, "end": line.get("end", False), "proposed": line.get("proposed")}
    return flat | {"unfit": "; ".join(line.get("unfit", ()))}


_TYPES = {
    "offset": pa.int64(),
    "threat": pa.float64(),
    "certainty": pa.float64(),
    "quorum": pa.bool_(),
    "end": pa.bool_(),
}


def flat_names(rules: Sequence[str]) -> list[str]:
    """Columns of a CSV or a Parquet file."""
    empty: dict[str, Any] = {"margins": dict.fromkeys(rules), "votes": (), "why": ()}
    empty |= dict.fromkeys(("offset", "verdict", "threat", "certainty", "quorum", "session"))
    return list(flatten_line(empty))


def flat_table(lines: Sequence[dict[str, Any]], rules: Sequence[str]) -> pa.Table:
    """Records as a table."""
    fields = [
        (name, pa.float64() if name.startswith("margin.") else _TYPES.get(name, pa.string()))
        for name in flat_names(rules)
    ]
    return pa.Table.from_pylist([flatten_line(line) for line in lines], pa.schema(fields))
