"""A trained team that judges new events: whole tables at once, or as they arrive."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

from standing_orders.detect.actions import ALERT, ALLOW
from standing_orders.detect.data.columns import NumericColumn, plain_values, read_times, read_words
from standing_orders.detect.data.drift import count_columns
from standing_orders.detect.data.events import Events
from standing_orders.detect.data.options import fill_options
from standing_orders.detect.data.sessions import GAP
from standing_orders.detect.engine import (
    Agent,
    Batch,
    JudgeEngine,
    LocalEngine,
    agents_of,
    suspicion_of,
)
from standing_orders.detect.learn.run import load_alone
from standing_orders.detect.service.rules import Watch
from standing_orders.detect.service.sessions import NO_ROW, Arrivals, HistoryTable, SessionTable
from standing_orders.detect.service.summary import SCORE, Summary, Tally, drift_of
from standing_orders.detect.service.verdicts import Verdicts, merge, unreadable
from standing_orders.detect.service.why import Explainer
from standing_orders.detect.standard import Standard
from standing_orders.detect.team import Team, make_book, prepare
from standing_orders.errors import ConfigError

SESSION = "session"  # the column of sessions where training named none


@dataclass(frozen=True)
class Options:
    """How events are judged in service."""

    max_sessions: int = 10_000  # open at the same time; the oldest is closed for a new one
    idle: float | None = None  # seconds after which a session has ended, by the events' clock
    why: int = 3  # columns told for each event that is flagged
    unfit: Literal["vote", "alert"] = "vote"  # an event that does not fit: at least an alert
    rules: bool = True  # tell the margins of the rules


class Judge:
    """A team at its last checkpoint, with all that it needs to read events."""

    def __init__(self, team: Team, standard: Standard) -> None:
        self.team, self.standard = team, standard
        self.config = team.config
        filled = fill_options(team.config.data_config())
        is_sessions = standard.schema.task == "sessions"
        self.session = (filled.session or SESSION) if is_sessions else None
        self.time = filled.time or next(
            (one.name for one in standard.schema.plan if one.why.startswith("a time")), None
        )

    def judge(
        self, table: pa.Table | Mapping[str, Sequence[Any]], options: Options | None = None
    ) -> Verdicts:
        """Judge all events of a table, in its order; every session begins and ends in it.

        It has the columns of the training file, in any order; no label is needed.

        Raises:
            ConfigError: it is no table.
        """
        rows = table if isinstance(table, pa.Table) else pa.table(dict(table))
        follower = Follower(self, options or Options())
        return merge(follower.judge(rows), follower.close())

    def agents(self) -> list[Agent]:
        """The agents, each with its own weights and view and nothing else."""
        return agents_of(self.team.network)

    def engine(self) -> JudgeEngine:
        """The agents and their vote, in this process."""
        return LocalEngine(self.agents(), self.config.team)

    def wanted(self) -> dict[str, pa.DataType]:
        """Columns that are read, with the types by which a CSV is read fastest."""
        inputs = self.standard.schema.inputs.values()
        types = {
            one.name: pa.float64() if one.kind == "number" or one.of_numbers else pa.string()
            for one in inputs
            if one.name != GAP
        }
        others = (self.session, self.time)
        return types | {name: pa.string() for name in others if name and name not in types}


def open_team(path: Path) -> Judge:
    """The team of a run folder, by the folder alone.

    Raises:
        CheckpointError: the folder holds no such run, or too little of it.
    """
    return Judge(*load_alone(path))


class Follower:
    """Judges events as they arrive, batch by batch; the batches change nothing.

    Without an engine the agents vote in this process.
    """

    def __init__(self, judge: Judge, options: Options, engine: JudgeEngine | None = None) -> None:
        team, standard = judge.team, judge.standard
        self.judge_, self.options, self.standard = judge, options, standard
        self.engine = engine or judge.engine()
        self._lean = float(team.network.lean)
        self._with_ends = team.config.session_end and judge.session is not None
        self.sessions = SessionTable(options.max_sessions, options.idle, with_ends=self._with_ends)
        self.history = HistoryTable(len(standard.schema.encoder.columns))
        self.watch = Watch(make_book(team.config.rules, team.task), team.task)
        self.tally = Tally()
        has_memory = team.config.team.network == "lstm"
        self._explainer = (
            None if has_memory or not options.why
            else Explainer(team.network, standard)
        )  # fmt: skip

    def judge(self, table: pa.Table, faults: dict[int, str] | None = None) -> Verdicts:
        """Judge the next events.

        Args:
            table: of them, in the order of arrival.
            faults: rows that could not be read, and why; the table holds nothing of them.
        """
        faults = faults or {}
        kept = np.delete(np.arange(table.num_rows), [*faults])
        good = table.take(pa.array(kept)) if faults else table
        times = self._times(good)
        arrivals = self._arrive(good, times)
        if GAP in self.standard.schema.inputs:
            good = good.append_column(GAP, pa.array(arrivals.gaps))
        reading = self.standard.schema.read(good)
        self.tally.add_bins(count_columns(reading.columns, self.standard.schema.histograms))
        told = self._judge(arrivals, reading.features)
        unfit: dict[int, list[str]] = {}
        for what, mask in reading.misfits.items():
            for row in np.flatnonzero(mask).tolist():
                unfit.setdefault(row, []).append(what)
        told = self._mark(told, unfit)
        told = replace(told, rows=np.where(told.rows < 0, NO_ROW, kept[told.rows] if len(kept)
                                           else told.rows))  # fmt: skip
        lost = unreadable(told.votes.shape[1], faults, [*told.margins])
        told = merge(told, lost)
        self.tally.add(told, times)
        return told

    def close(self) -> Verdicts:
        """End all open sessions."""
        width = self.history.last.shape[1]
        told = self._judge(self.sessions.close_all(), np.zeros((0, width), dtype=np.float32))
        self.tally.add(told, np.zeros(0))
        return told

    def summary(self, name: str, seconds: float) -> Summary:
        """What has come of it so far."""
        has_sessions = self.judge_.session is not None
        return Summary(
            name=name,
            tally=self.tally,
            open_sessions=len(self.sessions.open) if has_sessions else None,
            closed_sessions=self.sessions.num_closed if has_sessions else None,
            seconds=seconds,
            drift=drift_of(self.tally, self.standard),
        )

    def _times(self, table: pa.Table) -> NDArray[np.float64]:  # (num_rows,)
        name, nothing = self.judge_.time, np.full(table.num_rows, np.nan)
        if name is None or name not in table.column_names:
            return nothing
        try:
            return read_times(name, plain_values(table[name]))
        except ConfigError:  # one that is no time spoils the column; the others are read alone
            return np.array([self._time(name, one) for one in plain_values(table[name])])

    @staticmethod
    def _time(name: str, value: pa.Scalar) -> float:
        try:
            return float(read_times(name, pa.array([value.as_py()]))[0])
        except (ConfigError, ValueError, TypeError):
            return float("nan")

    def _arrive(self, table: pa.Table, times: NDArray[np.float64]) -> Arrivals:
        name = self.judge_.session
        if name is None:
            rows = np.arange(table.num_rows)
            nothing = np.zeros(len(rows))
            return Arrivals(rows, [], nothing.astype(np.int64), nothing)
        keys: list[str | None] = [None] * table.num_rows
        if name in table.column_names:
            words = read_words(name, plain_values(table[name]))
            keys = [words.words[code] if code >= 0 else None for code in words.values.tolist()]
        return self.sessions.arrive(keys, times)

    def _judge(self, arrivals: Arrivals, features: NDArray[np.float32]) -> Verdicts:
        """Judge events whose own features are known, in the order of arrival."""
        prepared, slots = self._prepare(arrivals, features)
        batch = Batch(prepared, slots, arrivals.places == 0)
        ballots = self.engine.judge(batch)
        scores = suspicion_of(ballots.probs, ballots.doubts, self._lean)
        self.tally.add_bins({SCORE: self.standard.scores.count(NumericColumn(SCORE, scores))})
        proposed = ballots.outcome.actions
        actions, counts = self.watch.decide(proposed, scores, arrivals.sessions)
        margins = {}
        if self.options.rules or self.watch.has_shield:
            margins = self.watch.margins(actions, scores, arrivals.sessions, counts)
        still = self.sessions.open
        self.watch.forget(one for one in arrivals.sessions if still.get(one.key) is not one)
        why = {}
        flagged = np.flatnonzero(actions != ALLOW)
        if self._explainer is not None and len(flagged):
            found = self._explainer.reasons(prepared[flagged], scores[flagged], self.options.why)
            why = dict(zip(flagged.tolist(), found, strict=True))
        return Verdicts(
            rows=arrivals.rows,
            keys=[one.key if one.key[:1] != "\x1f" else None for one in arrivals.sessions]
            or [None] * len(proposed),
            actions=actions,
            proposed=proposed,
            scores=scores,
            threat=self.standard.calibration.of(scores),
            votes=ballots.votes,
            has_quorum=ballots.outcome.has_quorum,
            margins=margins,
            why=why,
        )

    def _prepare(
        self, arrivals: Arrivals, features: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Inputs of the networks, and the slot of each event; the sessions' memory moves on."""
        num_events = len(arrivals.rows)
        if self.judge_.session is None:
            return features, np.arange(num_events)
        slots = np.array([one.slot for one in arrivals.sessions], dtype=np.int64)
        numbers = np.array([one.number for one in arrivals.sessions], dtype=np.int64)
        self.history.make_room(int(slots.max(initial=-1)) + 1)
        order = np.argsort(numbers, kind="stable")
        firsts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
        starts = np.append(firsts, num_events).astype(np.int64)
        first_rows = order[firsts]
        is_new = arrivals.places[first_rows] == 0
        own = self._own_features(arrivals, features, order, slots)
        encoder, nothing = self.standard.schema.encoder, np.full(num_events, -1)
        events = Events(
            own, encoder.columns, encoder.sources, nothing, (), starts,
            is_end=arrivals.is_end[order] if self._with_ends else None,
            before=self.history.before(slots[first_rows], is_new)
            if self.standard.is_summarised else None,
        )  # fmt: skip
        prepared = np.empty((num_events, len(self.standard.columns)), dtype=np.float32)
        if num_events:
            prepared[order] = prepare(events, self.judge_.config).features
            self._remember(events, slots[order])
        return prepared, slots

    def _own_features(
        self,
        arrivals: Arrivals,
        features: NDArray[np.float32],
        order: NDArray[np.int64],
        slots: NDArray[np.int64],
    ) -> NDArray[np.float32]:
        """Features of the events, session by session; an end shows what its last event showed."""
        rows = arrivals.rows[order]
        own = np.empty((len(order), features.shape[1]), dtype=np.float32)
        own[rows >= 0] = features[rows[rows >= 0]]
        for place in np.flatnonzero(rows < 0).tolist():
            session = arrivals.sessions[order[place]]
            if place and arrivals.sessions[order[place - 1]] is session:
                own[place] = own[place - 1]
            else:
                own[place] = self.history.last[slots[order[place]]]
        return own

    def _remember(self, events: Events, slots: NDArray[np.int64]) -> None:
        lasts = events.starts[1:] - 1
        where = slots[lasts]  # a slot that was used again keeps the last of its sessions
        if self.standard.is_summarised:
            self.history.totals[where] = events.history.totals[lasts]
            self.history.maxima[where] = events.history.maxima[lasts]
            self.history.counts[where] = events.history.counts[lasts]
        self.history.last[where] = events.features[lasts]

    def _mark(self, told: Verdicts, unfit: dict[int, list[str]]) -> Verdicts:
        """Verdicts with what did not fit, by the event it is about."""
        if not unfit:
            return told
        place = {row: index for index, row in enumerate(told.rows.tolist()) if row >= 0}
        marked = {place[row]: what for row, what in unfit.items()}
        actions = told.actions
        if self.options.unfit == "alert":
            actions = actions.copy()
            where = [*marked]
            actions[where] = np.maximum(actions[where], ALERT)
        return replace(told, actions=actions, unfit=marked)

    def to_state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """All that is remembered, as arrays and plain data."""
        arrays = self.watch.to_arrays() | self.engine.memory()
        if self.judge_.session is not None:
            arrays |= self.history.to_arrays()
        return arrays, {"sessions": self.sessions.to_json(), "tally": self.tally.to_json()}

    def load_state(self, arrays: dict[str, NDArray[Any]], data: dict[str, Any]) -> None:
        """Go on from what `to_state` gave."""
        self.sessions.load_json(data["sessions"])
        self.tally = Tally.from_json(data["tally"])
        self.watch.load_arrays(arrays)
        self.engine.recall(arrays)
        if self.judge_.session is not None:
            self.history.load_arrays(arrays)
