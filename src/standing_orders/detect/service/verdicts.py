"""What a team says about events: one row for each, as plain data for lines, CSV and Parquet."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

from standing_orders.detect.actions import ACTION_NAMES, ALERT, ALLOW
from standing_orders.detect.service.why import Reason

_DIGITS = 6  # of probabilities and margins in the output
NO_VOTE = "none"
Columns = dict[str, Any]  # see `Verdicts.columns`


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

    def columns(self, offsets: NDArray[np.int64]) -> Columns:
        """Plain values by field, a list for each, and None where a line has no such field."""
        num_events, margins = len(self.rows), self.margins
        changed = self.actions != self.proposed
        names = np.array(ACTION_NAMES)
        return {
            "offset": _offsets_of(self.rows, offsets),
            "verdict": names[self.actions].tolist(),
            "threat": _plain(self.threat),
            "votes": _ballots(self.votes),
            "certainty": _plain(self.certainty),
            "quorum": self.has_quorum.tolist(),
            "session": self.keys,
            "margins": {name: _plain(values) for name, values in margins.items()},
            "why": _spread(self.why, num_events, ()),
            "end": (self.rows < 0).tolist(),
            "proposed": _spread(
                {int(at): ACTION_NAMES[self.proposed[at]] for at in np.flatnonzero(changed)},
                num_events,
                None,
            ),
            "unfit": _spread(self.unfit, num_events, None),
        }

    def table(self) -> pa.Table:
        """All of it as a table, a row for each row that was judged."""
        offsets = np.arange(max(int(self.rows.max(initial=-1)) + 1, 1))
        return flat_table(self.columns(offsets))


def _offsets_of(rows: NDArray[np.int64], offsets: NDArray[np.int64]) -> list[int]:
    """Offset of each event; an end has that of the row before it, or of the first."""
    before = np.maximum.accumulate(np.where(rows >= 0, np.arange(len(rows)), -1))
    found = np.where(before >= 0, rows[before], 0)
    return offsets[found].tolist() if len(offsets) else [0] * len(rows)


def _plain(values: NDArray[np.float64]) -> list[float | None]:
    """Rounded, and None for what is no number."""
    rounded: list[float | None] = np.round(values, _DIGITS).tolist()
    for index in np.flatnonzero(~np.isfinite(values)).tolist():
        rounded[index] = None
    return rounded


def _spread(of_some: dict[int, Any], num_events: int, otherwise: Any) -> list[Any]:
    """What is known of some events, as a list for all."""
    found = [otherwise] * num_events
    for index, value in of_some.items():
        found[index] = value
    return found


def _ballots(votes: NDArray[np.int8]) -> list[tuple[str, ...]]:  # of (num_events, num_agents)
    """Names of the votes, the same tuple for events with the same ones."""
    size, raw = votes.shape[1], np.ascontiguousarray(votes).view(np.uint8).tobytes()
    rows = [raw[at : at + size] for at in range(0, len(raw), size)]
    names = dict(enumerate(ACTION_NAMES))
    named = {row: tuple(names.get(vote, NO_VOTE) for vote in row) for row in set(rows)}
    return [named[row] for row in rows]


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
    """Verdicts about different rows of one table, in their order.

    Ends of sessions stay behind their rows in the first, and come last in the second.
    """
    if not len(second.rows):
        return first
    place = np.maximum.accumulate(np.concatenate([[-1], first.rows]))[1:]
    later = np.where(second.rows < 0, np.iinfo(np.int64).max, second.rows)
    order = np.argsort(np.concatenate([place, later]), kind="stable")
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


_NUMBERS, _WORDS = ("offset", "threat", "certainty", "quorum"), ("verdict", "votes", "session")
_JSON = json.JSONEncoder(separators=(",", ":"))


def json_lines(columns: Columns) -> list[str]:
    """A line of JSON for each event."""
    texts = {name: _number_texts(columns[name]) for name in _NUMBERS}
    texts |= {name: _word_texts(columns[name]) for name in _WORDS}
    rules = [
        [f"{_JSON.encode(name)}:{text}" for text in _number_texts(values)]
        for name, values in columns["margins"].items()
    ]
    inside = zip(*rules, strict=True) if rules else ((),) * len(columns["end"])
    texts["margins"] = [f"{{{','.join(one)}}}" for one in inside]
    texts["why"] = [_JSON.encode(_reasons(one)) if one else "[]" for one in columns["why"]]
    order = ("offset", "verdict", "threat", "votes", "certainty", "quorum", "session", "margins",
             "why")  # fmt: skip
    template = ",".join(f'"{name}":%s' for name in order)
    lines = [template % one for one in zip(*(texts[name] for name in order), strict=True)]
    for index, is_end in enumerate(columns["end"]):
        if is_end:
            lines[index] += ',"end":true'
    for name in ("proposed", "unfit"):
        for index, value in enumerate(columns[name]):
            if value is not None:
                lines[index] += f',"{name}":{_JSON.encode(value)}'
    return [f"{{{line}}}" for line in lines]


def _number_texts(values: Sequence[float | None]) -> list[str]:
    """Numbers and truth values, whose texts have no comma, in one go."""
    return _JSON.encode(values)[1:-1].split(",") if values else []


def _word_texts(values: Sequence[Any]) -> list[str]:
    """Anything else; the same value is written once."""
    text = {value: _JSON.encode(value) for value in set(values)}
    return [text[value] for value in values]


def _reasons(found: Sequence[Reason]) -> list[dict[str, Any]]:
    return [{"column": one.column, "effect": round(one.effect, _DIGITS)} for one in found]


def flat_columns(columns: Columns) -> dict[str, list[Any]]:
    """The same without anything nested, for CSV and Parquet."""
    why = [
        "; ".join(f"{one.column} {round(one.effect, _DIGITS):+g}" for one in found)
        for found in columns["why"]
    ]
    return {
        **{name: columns[name] for name in ("offset", "verdict", "threat")},
        "votes": [" ".join(one) for one in columns["votes"]],
        **{name: columns[name] for name in ("certainty", "quorum", "session")},
        **{f"margin.{name}": values for name, values in columns["margins"].items()},
        "why": why,
        "end": columns["end"],
        "proposed": columns["proposed"],
        "unfit": ["; ".join(one or ()) for one in columns["unfit"]],
    }


_TYPES = {
    "offset": pa.int64(),
    "threat": pa.float64(),
    "certainty": pa.float64(),
    "quorum": pa.bool_(),
    "end": pa.bool_(),
}


def no_columns(rules: Sequence[str]) -> Columns:
    """What there is of no event."""
    return unreadable(1, {}, [*rules]).columns(np.zeros(0, dtype=np.int64))


def flat_table(columns: Columns) -> pa.Table:
    """The same as a table."""
    flat = flat_columns(columns)
    kinds = [
        pa.float64() if name.startswith("margin.") else _TYPES.get(name, pa.string())
        for name in flat
    ]
    return pa.table([pa.array(v, k) for v, k in zip(flat.values(), kinds, strict=True)], [*flat])
