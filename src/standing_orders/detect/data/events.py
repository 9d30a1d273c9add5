"""Events in sessions, as every part of the detection team sees them."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from standing_orders.errors import DataError, NumericsError

if TYPE_CHECKING:
    from standing_orders.detect.data.schema import Schema

Task = Literal["records", "sessions"]
Kind = TypeVar("Kind", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Sessions:
    """How a row of events is cut into sessions; a record is a session of one event.

    Example:
        >>> sessions = Sessions.of_lengths([2, 3])
        >>> sessions.starts.tolist(), sessions.index.tolist(), sessions.place.tolist()
        ([0, 2, 5], [0, 0, 1, 1, 1], [0, 1, 0, 1, 2])
        >>> sessions.fold(np.add, np.arange(5)).tolist()
        [1, 9]
        >>> sessions.running(np.maximum, np.array([3.0, 1.0, 2.0, 5.0, 4.0])).tolist()
        [3.0, 3.0, 2.0, 5.0, 5.0]
    """

    starts: NDArray[np.int64]  # (num_sessions + 1,): session s is events starts[s]:starts[s + 1]

    @classmethod
    def of_lengths(cls, lengths: ArrayLike) -> Self:
        """Sessions with these numbers of events, one after the other."""
        return cls(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))

    @property
    def num_events(self) -> int:
        """Number of events."""
        return int(self.starts[-1])

    @property
    def num_sessions(self) -> int:
        """Number of sessions."""
        return len(self.starts) - 1

    @cached_property
    def lengths(self) -> NDArray[np.int64]:  # (num_sessions,)
        """Number of events of each session."""
        return np.diff(self.starts)

    @cached_property
    def index(self) -> NDArray[np.int64]:  # (num_events,)
        """Session of each event."""
        return np.repeat(np.arange(self.num_sessions), self.lengths)

    @cached_property
    def place(self) -> NDArray[np.int64]:  # (num_events,)
        """How many events of its session come before each event."""
        return np.arange(self.num_events) - np.repeat(self.starts[:-1], self.lengths)

    @cached_property
    def is_last(self) -> NDArray[np.bool_]:  # (num_events,)
        """Whether an event is the last one of its session."""
        is_last = np.zeros(self.num_events, dtype=np.bool_)
        is_last[self.starts[1:] - 1] = True
        return is_last

    def rows(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:  # (num_chosen_events,)
        """Events of whole sessions, in the order given; one may be given more than once."""
        new = self.of_lengths(self.lengths[chosen])
        # Position inside the new row, moved to where each session starts in this one.
        return np.arange(new.num_events) + np.repeat(
            self.starts[chosen] - new.starts[:-1], new.lengths
        )

    def take(self, chosen: NDArray[np.int64]) -> "Sessions":
        """The sessions to which `rows` belong."""
        return self.of_lengths(self.lengths[chosen])

    def fold(self, ufunc: np.ufunc, values: NDArray[Kind]) -> NDArray[Any]:  # (num_sessions, ...)
        """Fold the values of each session, such as their sum (np.add) or maximum."""
        folded: NDArray[Any] = ufunc.reduceat(values, self.starts[:-1])
        return folded

    def running(self, ufunc: np.ufunc, values: NDArray[Kind]) -> NDArray[Kind]:  # (num_events, ...)
        """Fold the values of each session from its start to each event, itself included."""
        if ufunc is np.add and values.dtype.kind == "i":  # exact in any order
            sums = np.cumsum(values, axis=0)
            return sums - (sums - values)[self.starts[:-1]][self.index]
        folded = values.copy()
        longest_first = np.argsort(-self.lengths, kind="stable")
        firsts, lengths = self.starts[:-1][longest_first], self.lengths[longest_first]
        for place in range(1, int(lengths.max(initial=0))):
            num_open = int(np.searchsorted(-lengths, -place, side="left"))
            rows = firsts[:num_open] + place
            folded[rows] = ufunc(folded[rows - 1], folded[rows])
        return folded


@dataclass(frozen=True, eq=False)
class History:
    """What sessions have shown so far, a row for each."""

    totals: NDArray[np.float64]  # (num_sessions, num_features)
    maxima: NDArray[np.float32]  # (num_sessions, num_features)
    counts: NDArray[np.int64]  # (num_sessions,): events; 0: nothing yet


@dataclass(frozen=True, eq=False)
class Events:
    """Events with their truth, grouped into sessions; a record is a session of one event.

    Raises:
        DataError: the arrays do not fit each other.
        NumericsError: a feature is not finite.
    """

    features: NDArray[np.float32]  # (num_events, num_features): scaled, finite
    columns: tuple[str, ...]  # name of each feature; "service=http" for a value of a column
    sources: tuple[str, ...]  # input column each feature comes from; views are split by it
    attacks: NDArray[np.int64]  # (num_events,): index into attack_names, -1 = benign
    attack_names: tuple[str, ...]
    starts: NDArray[np.int64]  # (num_sessions + 1,): session s is events starts[s]:starts[s + 1]
    is_end: NDArray[np.bool_] | None = None  # (num_events,): only says that its session has ended
    before: History | None = None  # of sessions that began earlier

    def __post_init__(self) -> None:
        num_events, num_features = self.features.shape
        if not (
            len(self.columns) == len(self.sources) == num_features
            and self.attacks.shape == (num_events,)
            and (not num_events or self.attacks.max() < len(self.attack_names))
        ):
            raise DataError("events: features, columns and labels do not fit each other")
        if not (
            self.starts[0] == 0
            and self.starts[-1] == num_events
            and np.all(np.diff(self.starts) > 0)
        ):
            raise DataError(
                f"events: session starts must grow from 0 to {num_events}, one event a session or "
                "more"
            )
        if not np.isfinite(self.features).all():
            bad = int(np.flatnonzero(~np.isfinite(self.features).all(axis=0))[0])
            raise NumericsError(f"events: column {self.columns[bad]!r} is not finite")

    @cached_property
    def is_threat(self) -> NDArray[np.bool_]:  # (num_events,)
        """Whether an event belongs to an attack; in a session, from the onset on."""
        return self.attacks >= 0

    @property
    def num_events(self) -> int:
        """Number of events."""
        return len(self.attacks)

    @property
    def num_features(self) -> int:
        """Number of features of an event."""
        return len(self.columns)

    @cached_property
    def sessions(self) -> Sessions:
        """How the events are cut into sessions."""
        return Sessions(self.starts)

    @property
    def num_sessions(self) -> int:
        """Number of sessions."""
        return self.sessions.num_sessions

    @cached_property
    def session_is_threat(self) -> NDArray[np.bool_]:  # (num_sessions,)
        """Whether a session contains an attack."""
        return np.bincount(self.sessions.index, self.is_threat, minlength=self.num_sessions) > 0

    @property
    def prevalence(self) -> float:
        """Share of events that are threats; NaN without events."""
        return float(self.is_threat.mean()) if self.num_events else float("nan")

    def take_sessions(self, indices: ArrayLike) -> "Events":
        """Whole sessions, in the order given; one may be taken more than once."""
        chosen = np.asarray(indices, dtype=np.int64)
        rows = self.sessions.rows(chosen)
        is_end = None if self.is_end is None else self.is_end[rows]
        return self._at(rows, self.sessions.take(chosen), is_end)

    def _at(
        self, rows: NDArray[np.int64], sessions: Sessions, is_end: NDArray[np.bool_] | None
    ) -> "Events":
        return replace(
            self,
            features=self.features[rows],
            attacks=self.attacks[rows],
            starts=sessions.starts,
            is_end=is_end,
        )

    def followed_by(self, *others: "Events") -> "Events":
        """The sessions of several parts of the data, one part behind the other."""
        parts = (self, *others)
        ends = [part.is_end for part in parts if part.is_end is not None]
        lengths = [part.sessions.lengths for part in parts]
        return replace(
            self,
            features=np.concatenate([part.features for part in parts]),
            attacks=np.concatenate([part.attacks for part in parts]),
            starts=Sessions.of_lengths(np.concatenate(lengths)).starts,
            is_end=np.concatenate(ends) if ends else None,
        )

    def with_ends(self) -> "Events":
        """With one more event for each session: that it has ended, or been idle for too long.

        It shows what the last event showed and belongs to the attack if that did, so it is the last
        chance to answer; for a stop it counts as one more event that passed.
        """
        rows = np.insert(np.arange(self.num_events), self.starts[1:], self.starts[1:] - 1)
        sessions = Sessions.of_lengths(self.sessions.lengths + 1)
        return self._at(rows, sessions, sessions.is_last)

    @cached_property
    def history(self) -> History:
        """Totals, maxima and counts of the session up to each event, a row for each event."""
        totals, maxima = self.features.astype(np.float64), self.features.copy()
        counts = self.sessions.place + 1
        if (before := self.before) is not None:
            goes_on = before.counts > 0
            firsts = self.starts[:-1][goes_on]
            totals[firsts] += before.totals[goes_on]
            maxima[firsts] = np.maximum(maxima[firsts], before.maxima[goes_on])
            counts = counts + before.counts[self.sessions.index]
        running = self.sessions.running
        return History(running(np.add, totals), running(np.maximum, maxima), counts)

    def with_history(self) -> NDArray[np.float32]:  # (num_events, 3 * num_features + 1)
        """Features of each event beside their mean and maximum over its session so far.

        The last column is the number of events so far. Nothing of a later event is used; of
        records it says the same thing three times.
        """
        counts = self.history.counts[:, None]
        parts = (self.features, self.history.totals / counts, self.history.maxima, counts)
        return np.concatenate([part.astype(np.float32) for part in parts], axis=1)


@dataclass(frozen=True, eq=False)
class DataSet:
    """Training, validation and test events with the same features and attack names.

    Scaling and the values of categorical columns come from the training part alone.
    """

    name: str
    task: Task
    train: Events
    validation: Events
    test: Events
    dropped: dict[str, str]  # column -> why it is not an input
    schema: "Schema | None" = None  # how more of such events are read; None: they cannot be
    notes: tuple[str, ...] = ()  # what was done to the data or looks odd about it, one line each

    def with_ends(self) -> "DataSet":
        """With an event for the end of each session; see `Events.with_ends`."""
        parts = {name: getattr(self, name).with_ends() for name in ("train", "validation", "test")}
        return replace(self, **parts)
