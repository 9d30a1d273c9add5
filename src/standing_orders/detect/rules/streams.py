"""What the team did, as arrays over steps and streams, and its events laid out trace by trace."""

from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

Scope = Literal["session", "stream"]
Kind = TypeVar("Kind", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Streams:
    """Decisions on streams of events that run side by side; a stream is one session or several.

    What is no event is passed over, so that sessions of different lengths may share a batch.
    """

    # Each (steps, num_streams).
    actions: NDArray[np.integer[Any]]
    is_threat: NDArray[np.bool_]
    is_valid: NDArray[np.bool_] | None = None  # where there is an event; everywhere if None
    is_last: NDArray[np.bool_] | None = None  # of a session, which ends with its events too
    suspicion: NDArray[np.floating[Any]] | None = None  # of the team, 0 to 1; 0 if None
    is_over: bool = True  # they end with the last step; else what is open there gets no verdict

    @property
    def shape(self) -> tuple[int, ...]:
        """(steps, num_streams)."""
        return self.actions.shape

    @property
    def valid(self) -> NDArray[np.bool_]:  # (steps, num_streams)
        """Where there is an event."""
        return np.ones(self.shape, dtype=np.bool_) if self.is_valid is None else self.is_valid

    @property
    def doubts(self) -> NDArray[np.floating[Any]]:  # (steps, num_streams)
        """What the team believed."""
        return np.zeros(self.shape) if self.suspicion is None else self.suspicion


@dataclass(frozen=True, eq=False)
class Traces:
    """The events of streams in one row, trace after trace, without the gaps.

    A trace is a session, or all that a stream has: that depends on the scope.
    """

    rows: NDArray[np.int64]  # (num_events,): step of each event
    columns: NDArray[np.int64]  # (num_events,): its stream
    first: NDArray[np.int64]  # (num_events,): index of the first event of its trace
    last: NDArray[np.int64]  # (num_events,): index of the last one
    is_open: NDArray[np.bool_]  # (num_events,): the trace may go on beyond what is known
    shape: tuple[int, ...]  # (steps, num_streams)

    @property
    def num_events(self) -> int:
        """Events of all traces."""
        return len(self.rows)

    @property
    def place(self) -> NDArray[np.int64]:  # (num_events,)
        """How many events of its trace come before each event."""
        return np.arange(self.num_events) - self.first

    @property
    def mirror(self) -> NDArray[np.int64]:  # (num_events,)
        """Each event's counterpart when its trace is read backwards."""
        return self.first + self.last - np.arange(self.num_events)

    def take(self, values: NDArray[Kind]) -> NDArray[Kind]:  # (steps, num_streams) -> (num_events,)
        """Values of the events."""
        return values[self.rows, self.columns]

    def put(self, values: NDArray[Kind]) -> NDArray[Kind]:  # (num_events,) -> (steps, num_streams)
        """Values at the places of the events, 0 elsewhere."""
        array = np.zeros(self.shape, dtype=values.dtype)
        array[self.rows, self.columns] = values
        return array


def lay_out(streams: Streams, scope: Scope) -> Traces:
    """Find the traces.

    Example:
        >>> valid = np.array([[1, 1], [1, 0]], dtype=bool)
        >>> traces = lay_out(Streams(np.zeros((2, 2), int), valid, is_valid=valid), "session")
        >>> traces.rows.tolist(), traces.columns.tolist(), traces.place.tolist()
        ([0, 1, 0], [0, 0, 1], [0, 1, 0])
    """
    columns, rows = np.nonzero(streams.valid.T)
    is_first = np.diff(columns, prepend=-1) != 0
    if scope == "session":
        is_first |= np.diff(rows, prepend=-1) != 1  # a gap
        if streams.is_last is not None:
            is_first[1:] |= streams.is_last[rows[:-1], columns[:-1]]
    begins = np.flatnonzero(is_first)
    trace = np.cumsum(is_first) - 1
    ends = np.append(begins, len(rows))[1:] - 1
    is_open = np.full(len(ends), not streams.is_over)
    if scope == "session":
        is_open &= rows[ends] == streams.shape[0] - 1
        if streams.is_last is not None:
            is_open &= ~streams.is_last[rows[ends], columns[ends]]
    return Traces(rows, columns, begins[trace], ends[trace], is_open[trace], streams.shape)
