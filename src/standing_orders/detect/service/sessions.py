"""What is remembered of open sessions, within bounds: the oldest one is closed for a new one."""

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.data.events import History

NO_ROW = -1


@dataclass
class Session:
    """One open session."""

    key: str
    slot: int
    number: int  # of all sessions, in the order of their beginnings
    count: int = 0  # events so far
    last_time: float | None = None  # seconds, of its last event with one
    is_ended: bool = False  # the team has blocked it: what follows counts for no rule


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Rows of a batch, and the ends of sessions between them, in the order of arrival."""

    rows: NDArray[np.int64]  # (num_events,): of the batch; NO_ROW for the end of a session
    sessions: list[Session]  # of each event
    places: NDArray[np.int64]  # (num_events,): how many events of its session came before
    gaps: NDArray[np.float64]  # (num_rows,): seconds since the event before; NaN: none

    @property
    def is_end(self) -> NDArray[np.bool_]:  # (num_events,)
        """Events that only say that their session has ended."""
        return self.rows == NO_ROW


class SessionTable:
    """The open sessions, so many at most; the end of one may be an event of its own.

    Without events for `idle` seconds of their own clock a session has ended.
    """

    def __init__(self, max_sessions: int, idle: float | None, *, with_ends: bool) -> None:
        self._max, self._idle, self._with_ends = max_sessions, idle, with_ends
        self.open: OrderedDict[str, Session] = OrderedDict()  # the oldest first
        self._free = list(range(max_sessions - 1, -1, -1))
        self.num_begun = 0
        self.num_closed = 0

    def arrive(
        self,
        keys: Sequence[str | None],
        times: NDArray[np.float64],  # (num_rows,)
    ) -> Arrivals:
        """Find the session of each row; a row without a key is a session of its own."""
        rows: list[int] = []
        sessions: list[Session] = []
        gaps = np.full(len(keys), np.nan)
        for row, (key, time) in enumerate(zip(keys, times.tolist(), strict=True)):
            named = f"\x1f{self.num_begun}" if key is None else key
            for ended in self._due(named, time):
                self._close(ended, rows, sessions)
            session = self.open.get(named)
            if session is None:
                session = Session(named, self._free.pop(), self.num_begun)
                self.num_begun += 1
                self.open[named] = session
            self.open.move_to_end(named)
            if session.last_time is not None:
                gaps[row] = np.maximum(time - session.last_time, 0.0)  # NaN stays NaN
            if not math.isnan(time):
                session.last_time = time
            rows.append(row)
            sessions.append(session)
            if key is None:
                self._close(session, rows, sessions)
        return self._arrivals(rows, sessions, gaps)

    def close_all(self) -> Arrivals:
        """The ends of all open sessions."""
        rows: list[int] = []
        sessions: list[Session] = []
        for session in tuple(self.open.values()):
            self._close(session, rows, sessions)
        return self._arrivals(rows, sessions, np.zeros(0))

    def _due(self, key: str, time: float) -> list[Session]:
        """Sessions that end before an event of this one."""
        due: list[Session] = []
        if self._idle is not None and not math.isnan(time):
            for session in self.open.values():  # the oldest first
                if session.last_time is None or session.last_time >= time - self._idle:
                    break
                due.append(session)
        if not due and key not in self.open and not self._free:
            due.append(next(iter(self.open.values())))
        return due

    def _close(self, session: Session, rows: list[int], sessions: list[Session]) -> None:
        del self.open[session.key]
        self._free.append(session.slot)
        self.num_closed += 1
        if self._with_ends:
            rows.append(NO_ROW)
            sessions.append(session)

    def _arrivals(
        self, rows: list[int], sessions: list[Session], gaps: NDArray[np.float64]
    ) -> Arrivals:
        places = np.empty(len(rows), dtype=np.int64)
        for index, session in enumerate(sessions):
            places[index] = session.count
            session.count += 1
        return Arrivals(np.array(rows, dtype=np.int64), sessions, places, gaps)

    def to_json(self) -> dict[str, Any]:
        """Plain data for a snapshot."""
        return {
            "open": [asdict(one) for one in self.open.values()],
            "free": self._free,
            "begun": self.num_begun,
            "closed": self.num_closed,
        }

    def load_json(self, data: dict[str, Any]) -> None:
        """Go on from what `to_json` gave."""
        self.open.update((one["key"], Session(**one)) for one in data["open"])
        self._free = list(data["free"])
        self.num_begun, self.num_closed = data["begun"], data["closed"]


class HistoryTable:
    """Totals, maxima, counts and last features of the open sessions, by slot."""

    def __init__(self, num_features: int) -> None:
        self.totals = np.zeros((0, num_features))
        self.maxima = np.zeros((0, num_features), dtype=np.float32)
        self.last = np.zeros((0, num_features), dtype=np.float32)
        self.counts = np.zeros(0, dtype=np.int64)

    def make_room(self, num_slots: int) -> None:
        """Have at least so many slots."""
        more = num_slots - len(self.counts)
        if more > 0:
            more = max(more, len(self.counts))  # doubling, so that growth costs little
            for name in ("totals", "maxima", "last"):
                setattr(self, name, np.pad(getattr(self, name), ((0, more), (0, 0))))
            self.counts = np.pad(self.counts, (0, more))

    def before(
        self, slots: NDArray[np.int64], is_new: NDArray[np.bool_]
    ) -> History:  # (num_sessions,)
        """What sessions have shown so far; nothing for those that are new."""
        return History(
            self.totals[slots], self.maxima[slots], np.where(is_new, 0, self.counts[slots])
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays, for a snapshot."""
        return {f"history.{name}": value for name, value in vars(self).items()}

    def load_arrays(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Go on from what `to_arrays` gave."""
        for name in vars(self):
            setattr(self, name, arrays[f"history.{name}"].copy())
