"""Rules over the team's own decisions, while events arrive: margins, and the shield.

A margin that is told with an event is that of the obligation whose verdict comes with it. What a
rule can look back on is kept for each open session and for the stream, and no more. Rules that need
the truth, or look back without bound, have no margin here.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.actions import BLOCK
from standing_orders.detect.data.events import Task
from standing_orders.detect.rules import RuleBook, Shield, Streams
from standing_orders.detect.rules.judge import RuleJudge
from standing_orders.detect.rules.lookup import TableShield, fits_a_table
from standing_orders.detect.rules.rule import Rule
from standing_orders.detect.rules.signals import SIGNALS
from standing_orders.detect.rules.streams import Scope
from standing_orders.detect.service.sessions import Session

_ONE = np.ones(1, dtype=np.bool_)


@dataclass
class Trace:
    """The last decisions of a session, or of the stream."""

    actions: deque[int]
    doubts: deque[float]  # the team's suspicion
    shield: Shield | None


class Watch:
    """The rules of a team in service; of records all events are one trace."""

    def __init__(self, book: RuleBook, task: Task) -> None:
        self._book, self._task = book, task
        self.rules = [rule for rule in book.rules if _can_be_watched(rule)]
        self.has_shield = bool(book.rules_of("shield"))
        known = (rule.memory for rule in (*self.rules, *book.rules_of("shield")))
        self._memory = int(max((one for one in known if one < float("inf")), default=0)) + 2
        # Of records all events are one stream, in which tables are a hundred times as fast.
        has_tables = (
            self.has_shield
            and task == "records"
            and all(map(fits_a_table, book.rules_of("shield")))
        )
        self._tables = TableShield(book) if has_tables else None
        self._stream = self._new_trace(None)
        self._sessions: dict[int, Trace] = {}

    def _new_trace(self, stream: Shield | None) -> Trace:
        is_asked = self.has_shield and self._tables is None
        shield = Shield(self._book, 1, stream=stream) if is_asked else None
        return Trace(deque(maxlen=self._memory), deque(maxlen=self._memory), shield)

    def _trace_of(self, session: Session) -> Trace:
        if session.number not in self._sessions:
            self._sessions[session.number] = self._new_trace(self._stream.shield)
        return self._sessions[session.number]

    def decide(
        self,
        proposed: NDArray[np.int64],  # (num_events,)
        doubts: NDArray[np.float64],  # (num_events,)
        sessions: Sequence[Session],  # of the events; empty for records
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:  # each (num_events,)
        """What is done about the events, and which of them count: those before a session's end."""
        actions, counts = proposed.copy(), np.ones(len(proposed), dtype=np.bool_)
        if self._tables is not None:
            return self._tables.apply(proposed), counts
        if self._task == "records" and not self.has_shield:
            return actions, counts
        for row in range(len(proposed)):
            session = sessions[row] if sessions else None
            counts[row] = session is None or not session.is_ended
            if not counts[row]:
                continue
            shield = (self._stream if session is None else self._trace_of(session)).shield
            if shield is not None:
                taken = shield.apply(proposed[row : row + 1], doubts[row : row + 1])
                actions[row] = taken.actions[0]
            if session is not None:
                session.is_ended = bool(actions[row] >= BLOCK)
        return actions, counts

    def margins(
        self,
        actions: NDArray[np.int64],  # (num_events,)
        doubts: NDArray[np.float64],  # (num_events,)
        sessions: Sequence[Session],
        counts: NDArray[np.bool_],  # (num_events,)
    ) -> dict[str, NDArray[np.float64]]:  # (num_events,) by rule: NaN where there is none
        """Margins of the rules with each event; what happened is remembered."""
        told = {rule.name: np.full(len(actions), np.nan) for rule in self.rules}
        rows = np.flatnonzero(counts)
        if not self.rules and not self.has_shield:
            return told
        whole = [(self._stream, rows)]
        traces = whole
        if self._task == "sessions":
            by_session: dict[int, list[int]] = {}
            for row in rows.tolist():
                by_session.setdefault(sessions[row].number, []).append(row)
            traces = [(self._trace_of(sessions[of[0]]), np.array(of)) for of in by_session.values()]
        for scope, chosen in (("stream", whole), ("session", traces)):
            rules = [rule for rule in self.rules if rule.scope == scope]
            if len(rows) and rules:
                _judge(rules, chosen, actions, doubts, told)
        for trace, of in [*whole, *(traces if self._task == "sessions" else [])]:
            trace.actions.extend(actions[of].tolist())
            trace.doubts.extend(doubts[of].tolist())
        return told

    def forget(self, sessions: Iterable[Session]) -> None:
        """Sessions that are closed."""
        for session in sessions:
            self._sessions.pop(session.number, None)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """What is remembered, for a snapshot."""
        traces = [self._stream, *self._sessions.values()]
        return {
            "rules.numbers": np.array([-1, *self._sessions], dtype=np.int64),
            "rules.lengths": np.array([len(one.actions) for one in traces], dtype=np.int64),
            "rules.actions": np.array([a for one in traces for a in one.actions], dtype=np.int64),
            "rules.doubts": np.array([d for one in traces for d in one.doubts], dtype=np.float64),
        }

    def load_arrays(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Go on from what `to_arrays` gave."""
        ends = np.cumsum(arrays["rules.lengths"])
        for number, length, end in zip(
            arrays["rules.numbers"].tolist(), arrays["rules.lengths"].tolist(), ends, strict=True
        ):
            trace = self._stream
            if number >= 0:
                trace = self._sessions[number] = self._new_trace(self._stream.shield)
            trace.actions.extend(arrays["rules.actions"][end - length : end].tolist())
            trace.doubts.extend(arrays["rules.doubts"][end - length : end].tolist())
            if self._tables is not None:
                self._tables.note(np.array(trace.actions, dtype=np.int64))
            if trace.shield is not None:
                self._tell(trace, is_stream=number < 0)

    def _tell(self, trace: Trace, *, is_stream: bool) -> None:
        """Bring the shield of a trace to where it was."""
        assert trace.shield is not None
        scopes: tuple[Scope, ...] = ("stream",) if is_stream else ("session",)
        if self._task == "records":
            scopes = ("session", "stream")
        for action, doubt in zip(trace.actions, trace.doubts, strict=True):
            trace.shield.note(np.array([action]), np.array([doubt]), is_valid=_ONE, scopes=scopes)


def _can_be_watched(rule: Rule) -> bool:
    is_bounded = rule.memory < float("inf")
    return is_bounded and all(SIGNALS[name].is_observable for name in rule.names)


def _judge(
    rules: Sequence[Rule],
    traces: Sequence[tuple[Trace, NDArray[np.int64]]],
    actions: NDArray[np.int64],
    doubts: NDArray[np.float64],
    told: dict[str, NDArray[np.float64]],
) -> None:
    """Judge the decisions of traces, each with what it remembers before it."""
    known = [len(trace.actions) for trace, _ in traces]
    joined = np.concatenate(
        [np.concatenate([np.array(t.actions, dtype=np.int64), actions[of]]) for t, of in traces]
    )
    doubt = np.concatenate([np.concatenate([np.array(t.doubts), doubts[of]]) for t, of in traces])
    lengths = np.array([k + len(of) for k, (_, of) in zip(known, traces, strict=True)])
    ends = np.cumsum(lengths)
    is_last = np.zeros(len(joined), dtype=np.bool_)
    is_last[ends - 1] = True
    streams = Streams(
        joined[:, None], np.zeros((len(joined), 1), dtype=np.bool_), is_last=is_last[:, None],
        suspicion=doubt[:, None], is_over=False,
    )  # fmt: skip
    judge = RuleJudge(streams)
    rows = np.concatenate([of for _, of in traces])
    first = np.repeat(ends - lengths, [len(of) for _, of in traces])
    pairs = zip(ends, traces, strict=True)
    at = np.concatenate([np.arange(end - len(of), end) for end, (_, of) in pairs])
    for rule in rules:
        margins = judge.judge(rule).margins[:, 0]
        due = at - rule.delay
        told[rule.name][rows] = np.where(due >= first, margins[np.maximum(due, 0)], np.nan)
