"""The rules online: streams side by side that begin and end at different times."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.rules.rule import Rule
from standing_orders.detect.rules.rulebook import CHARGED, RuleBook
from standing_orders.detect.rules.signals import Signals, SignalTracker, check_given
from standing_orders.detect.rules.streams import Scope, check_actions, check_suspicion
from standing_orders.rules.stl import Monitor, history

Bools = NDArray[np.bool_]
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sample:
    """The next event of every stream; use `Sample.of`."""

    actions: NDArray[np.int64]  # (num_streams,)
    is_threat: Bools  # (num_streams,)
    suspicion: NDArray[np.float64] | None  # (num_streams,)
    is_valid: Bools  # (num_streams,)

    @classmethod
    def of(
        cls,
        actions: NDArray[np.integer[Any]],
        is_threat: Bools | None,
        suspicion: NDArray[np.floating[Any]] | None,
        is_valid: Bools | None,
    ) -> "Sample":
        """Check what is given and fill in what is not; a stream without an event gets zeros.

        Raises:
            ConfigError: an action or a suspicion is out of range.
        """
        valid = np.ones(actions.shape, dtype=np.bool_) if is_valid is None else is_valid
        check_actions(actions[valid])
        threat = np.zeros(actions.shape, dtype=np.bool_) if is_threat is None else is_threat
        doubt = None
        if suspicion is not None:
            check_suspicion(suspicion[valid])
            doubt = np.where(valid, suspicion, 0).astype(np.float64)
        return cls(np.where(valid, actions, 0).astype(np.int64), threat & valid, doubt, valid)


class Senses:
    """The signals that some rules look at, for each scope and window they use."""

    def __init__(self, rules: Sequence[Rule], num_streams: int) -> None:
        self._trackers: dict[tuple[Scope, int], SignalTracker] = {}
        for rule in rules:
            key = rule.config.scope, rule.config.window
            if key not in self._trackers:
                self._trackers[key] = SignalTracker(num_streams, rule.config.window)

    def look(self, sample: Sample, *, commit: bool) -> Mapping[tuple[Scope, int], Signals]:
        """Signals of a sample, which is taken as having happened if `commit`."""
        named = {}
        for key, tracker in self._trackers.items():
            given = (sample.actions, sample.is_threat, sample.suspicion)
            named[key] = (
                tracker.push(*given, is_valid=sample.is_valid) if commit else tracker.peek(*given)
            )
        return named

    def reset(self, which: Bools, scope: Scope) -> None:
        """Begin new traces of this scope."""
        for (own_scope, _), tracker in self._trackers.items():
            if own_scope == scope:
                tracker.reset(which)


@dataclass
class _Group:
    """Streams whose traces began together, and have been in step ever since."""

    monitor: Monitor
    streams: NDArray[np.int64]  # (batch_size,): of the monitor
    is_member: Bools = field(init=False)  # (batch_size,): False once the stream has left

    def __post_init__(self) -> None:
        self.is_member = np.ones(len(self.streams), dtype=np.bool_)

    def split(self, is_active: Bools) -> "_Group":  # (batch_size,)
        """Leave behind the members that are not active."""
        other = copy.deepcopy(self)
        other.is_member &= ~is_active
        self.is_member &= is_active
        return other


class MonitorBank:
    """Online monitors of one rule, as many as there are different ages of traces."""

    def __init__(self, rule: Rule, num_streams: int) -> None:
        self.rule = rule
        self._num_streams = num_streams
        self._groups: list[_Group] = []
        self._is_new = np.ones(num_streams, dtype=np.bool_)  # has no monitor yet
        # A rule about the signals of one event has no ages: one monitor will do for all.
        self._is_ageless = not rule.delay and not history(rule.body)
        self._everyone = _Group(Monitor(rule.body, num_streams), np.arange(num_streams))

    def push(
        self, named: Mapping[tuple[Scope, int], Signals], is_valid: Bools
    ) -> Bools:  # (num_streams,)
        """Take the signals of the next event; where the verdict that comes with it is `broken`."""
        is_broken = np.zeros(self._num_streams, dtype=np.bool_)
        for group in self._active_groups(is_valid):
            value = group.monitor.update(self._sample(named, group))
            if value is not None:
                is_broken[group.streams] |= (value < 0) & group.is_member
        return is_broken

    def foresee(
        self, named: Mapping[tuple[Scope, int], Signals], is_valid: Bools
    ) -> tuple[Counts, Counts]:  # each (num_streams,)
        """Obligations that would be broken for certain after an event with these signals.

        Returns:
            (all of them, those whose verdict would still be to come). Nothing changes.
        """
        now = np.zeros(self._num_streams, dtype=np.int64)
        later = np.zeros(self._num_streams, dtype=np.int64)
        for group in self._active_groups(is_valid):
            monitor = group.monitor if self._is_ageless else copy.deepcopy(group.monitor)
            value = monitor.update(self._sample(named, group))
            if value is not None:
                now[group.streams] += (value < 0) & group.is_member
            if monitor.delay:
                _, upper = monitor.interval()
                later[group.streams] += (upper < 0).sum(axis=1) * group.is_member
        return now + later, later

    def finish(self, which: Bools) -> Counts:  # (num_streams,)
        """Open obligations that are broken if the traces of these streams end here."""
        num_broken = np.zeros(self._num_streams, dtype=np.int64)
        if not self.rule.delay:
            return num_broken
        for group in self._groups:
            is_ending = which[group.streams] & group.is_member
            if is_ending.any():
                num_broken[group.streams] += (group.monitor.finish() < 0).sum(axis=1) * is_ending
        return num_broken

    def reset(self, which: Bools) -> None:
        """Begin new traces in these streams."""
        if self._is_ageless:
            return
        self._is_new |= which
        for group in self._groups:
            group.is_member &= ~which[group.streams]
        self._groups = [group for group in self._groups if group.is_member.any()]

    def _active_groups(self, is_valid: Bools) -> list[_Group]:
        """Groups all of whose members have an event; those without one are set apart."""
        if self._is_ageless:
            self._everyone.is_member = is_valid
            return [self._everyone]
        active = []
        for group in tuple(self._groups):
            is_active = is_valid[group.streams] & group.is_member
            if is_active.any():
                if (group.is_member & ~is_active).any():
                    self._groups.append(group.split(is_active))
                active.append(group)
        beginning = np.flatnonzero(self._is_new & is_valid)
        if len(beginning):
            monitor = Monitor(self.rule.body, batch_size=len(beginning))
            active.append(_Group(monitor, beginning))
            self._groups.append(active[-1])
            self._is_new[beginning] = False
        return active

    def _sample(
        self, named: Mapping[tuple[Scope, int], Signals], group: _Group
    ) -> dict[str, NDArray[np.float64]]:
        signals = named[self.rule.config.scope, self.rule.config.window]
        check_given(self.rule.names, signals, self.rule.name)
        return {name: signals[name][group.streams] for name in self.rule.names}


class Watch:
    """Charges the rules of a book while streams grow; the same as `RuleBook.judge` afterwards.

    Args:
        book: its prices are read at every step.
        num_streams: streams side by side.

    Example:
        >>> from standing_orders.detect.rules.rule import RuleConfig
        >>> book = RuleBook([RuleConfig(name="answered", mode="fine", price=2.0,
        ...                             formula="threat -> eventually[0,1] flagged")])
        >>> watch = Watch(book, num_streams=1)
        >>> allow = np.array([0])
        >>> watch.step(allow, np.array([True])), watch.step(allow, np.array([False]))
        (array([0.]), array([-2.]))
    """

    def __init__(self, book: RuleBook, num_streams: int) -> None:
        self._book = book
        self._senses = Senses(book.rules, num_streams)
        self._banks = [MonitorBank(rule, num_streams) for rule in book.rules]
        self._none = np.zeros(num_streams, dtype=np.bool_)
        self.num_violations = {rule.name: 0 for rule in book.rules}

    def step(
        self,
        actions: NDArray[np.integer[Any]],  # (num_streams,)
        is_threat: Bools,  # (num_streams,)
        *,
        suspicion: NDArray[np.floating[Any]] | None = None,  # (num_streams,)
        is_valid: Bools | None = None,  # (num_streams,)
        is_last: Bools | None = None,  # (num_streams,)
        is_over: Bools | None = None,  # (num_streams,)
    ) -> NDArray[np.float64]:  # (num_streams,)
        """Take the next event of every stream that has one; the penalty that belongs to it.

        Args:
            actions: what was decided.
            is_threat: the truth.
            suspicion: what the team believed, from 0 to 1.
            is_valid: streams that have an event; all if None.
            is_last: streams whose session ends with it.
            is_over: streams that end with it.

        Raises:
            ConfigError: an action or a suspicion is out of range, or none is given that is needed.
        """
        sample = Sample.of(actions, is_threat, suspicion, is_valid)
        named = self._senses.look(sample, commit=True)
        over = self._none if is_over is None else is_over & sample.is_valid
        ending: dict[Scope, Bools] = {"stream": over, "session": over}
        if is_last is not None:
            ending["session"] = over | (is_last & sample.is_valid)
        penalty = np.zeros(len(self._none))
        for bank in self._banks:
            which = ending[bank.rule.config.scope]
            num_certain = bank.push(named, sample.is_valid) + bank.finish(which)
            bank.reset(which)
            self.num_violations[bank.rule.name] += int(num_certain.sum())
            if bank.rule.config.mode in CHARGED:
                penalty -= self._book.price(bank.rule) * num_certain
        for scope, which in ending.items():
            self._senses.reset(which, scope)
        return penalty
