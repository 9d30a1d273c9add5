"""A shield: an action that would break a rule for certain is replaced before it is taken.

It knows what the team knows: its decisions so far and its own suspicion, never the truth. "For
certain" is what the online monitor can tell: whatever events follow, the obligation is broken. So
an obligation that is still open when a trace ends is beyond it, for it cannot see the end coming.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.actions import NUM_ACTIONS
from standing_orders.detect.rules.rule import Rule
from standing_orders.detect.rules.rulebook import RuleBook
from standing_orders.detect.rules.signals import Signals, SignalTracker, check_given
from standing_orders.detect.rules.streams import Scope, check_actions, check_suspicion
from standing_orders.rules.stl import Monitor, history

Bools = NDArray[np.bool_]
Counts = NDArray[np.int64]
Named = Mapping[tuple[Scope, int], Signals]  # by scope and window

_ACTIONS = np.arange(NUM_ACTIONS)
# From each proposed action, how far every other one is; of two as far, the milder one is nearer.
_DISTANCE = 2 * np.abs(_ACTIONS[:, None] - _ACTIONS) + (_ACTIONS > _ACTIONS[:, None])


@dataclass(frozen=True, eq=False)
class _Sample:
    """The next event of every stream; zeros where there is none."""

    actions: NDArray[np.int64]  # (num_streams,)
    suspicion: NDArray[np.float64] | None  # (num_streams,)
    is_valid: Bools  # (num_streams,)


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


class _MonitorBank:
    """Online monitors of one rule, as many as there are different ages of traces."""

    def __init__(self, rule: Rule, num_streams: int) -> None:
        self.rule = rule
        self._num_streams = num_streams
        self._groups: list[_Group] = []
        self._is_new = np.ones(num_streams, dtype=np.bool_)  # has no monitor yet
        # A rule about the signals of one event has no ages: one monitor will do for all.
        self._is_ageless = not rule.delay and not history(rule.body)
        self._everyone = _Group(Monitor(rule.body, num_streams), np.arange(num_streams))

    def push(self, named: Named, is_valid: Bools) -> None:
        """Take the signals of the next event."""
        for group in self._active_groups(is_valid):
            group.monitor.update(self._signals(named, group))

    def foresee(self, named: Named, is_valid: Bools) -> tuple[Counts, Counts]:
        """Obligations that would be broken for certain after an event with these signals.

        Returns:
            All of them, and those whose verdict would still be to come, each (num_streams,).
            Nothing changes.
        """
        now, later = np.zeros((2, self._num_streams), dtype=np.int64)
        for group in self._active_groups(is_valid):
            monitor = group.monitor if self._is_ageless else copy.deepcopy(group.monitor)
            value = monitor.update(self._signals(named, group))
            if value is not None:
                now[group.streams] += (value < 0) & group.is_member
            if monitor.delay:
                _, upper = monitor.interval()
                later[group.streams] += (upper < 0).sum(axis=1) * group.is_member
        return now + later, later

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

    def _signals(self, named: Named, group: _Group) -> Signals:
        signals = named[self.rule.config.scope, self.rule.config.window]
        check_given(self.rule.names, signals, self.rule.name)
        return {name: signals[name][group.streams] for name in self.rule.names}


@dataclass(frozen=True, eq=False)
class Shielded:
    """What the shield made of a proposal; each (num_streams,)."""

    actions: NDArray[np.int64]  # to be taken
    is_replaced: Bools  # differs from the proposal
    is_unavoidable: Bools  # every action breaks something for certain; the least of it was chosen


class Shield:
    """Replaces actions that would break the book's rules of mode `shield`.

    The replacement is the nearest action in severity that breaks none of them, the milder one of
    two as near. One rule of the kind that doing nothing new can keep is never broken. Rules that
    contradict each other can leave no way out: then as few obligations as possible are broken,
    and it is counted.

    Args:
        book: the rules.
        num_streams: streams side by side.

    Example:
        >>> from standing_orders.detect.rules.rule import RuleConfig
        >>> book = RuleBook([RuleConfig(name="blocking", mode="shield", window=4,
        ...                             formula="blocked_share <= 0.25")])
        >>> shield = Shield(book, num_streams=1)
        >>> [int(shield.apply(np.array([2])).actions[0]) for _ in range(6)]
        [2, 1, 1, 1, 2, 1]
        >>> shield.to_json()
        {'decisions': 6, 'replaced': 4, 'unavoidable': 0, 'replaced_by_rule': {'blocking': 4}}
    """

    def __init__(self, book: RuleBook, num_streams: int) -> None:
        rules = book.rules_of("shield")
        keys = {(rule.config.scope, rule.config.window) for rule in rules}
        self._trackers = {key: SignalTracker(num_streams, key[1]) for key in keys}
        self._banks = [_MonitorBank(rule, num_streams) for rule in rules]
        # Obligations that are lost already: each action would break them.
        self._num_lost = np.zeros((len(rules), num_streams), dtype=np.int64)
        self._num_decisions = self._num_replaced = self._num_unavoidable = 0
        self._replaced_by_rule = {rule.name: 0 for rule in rules}

    def apply(
        self,
        proposed: NDArray[np.integer[Any]],  # (num_streams,)
        *,
        suspicion: NDArray[np.floating[Any]] | None = None,  # (num_streams,)
        is_valid: Bools | None = None,  # (num_streams,)
    ) -> Shielded:
        """Decide about the next event of every stream; the result counts as what is done.

        Args:
            proposed: what the team would do.
            suspicion: what it believes, from 0 to 1.
            is_valid: streams that have an event; all if None.

        Raises:
            ConfigError: a proposal or a suspicion is out of range, or none is given that is needed.
        """
        valid = np.ones(proposed.shape, dtype=np.bool_) if is_valid is None else is_valid
        check_actions(proposed[valid])
        doubt = None
        if suspicion is not None:
            check_suspicion(suspicion[valid])
            doubt = np.where(valid, suspicion, 0).astype(np.float64)
        sample = _Sample(np.where(valid, proposed, 0).astype(np.int64), doubt, valid)
        broken, lost = self._foresee(sample)
        taken, fewest = sample, broken.sum(axis=0)
        if fewest.any():
            taken, fewest = self._search(sample)
            _, lost = self._foresee(taken)
        self._num_lost = lost
        named = {
            key: tracker.push(taken.actions, taken.suspicion, is_valid=valid)
            for key, tracker in self._trackers.items()
        }
        for bank in self._banks:
            bank.push(named, valid)
        actions = np.where(valid, taken.actions, proposed)
        result = Shielded(actions, actions != proposed, fewest > 0)
        self._count(result, broken, valid)
        return result

    def end(self, *, is_last: Bools) -> None:  # (num_streams,)
        """End sessions with the event just decided."""
        for (scope, _), tracker in self._trackers.items():
            if scope == "session":
                tracker.reset(is_last)
        for lost, bank in zip(self._num_lost, self._banks, strict=True):
            if bank.rule.config.scope == "session":
                bank.reset(is_last)
                lost[is_last] = 0

    def to_json(self) -> dict[str, Any]:
        """How many decisions there were and what became of them, as plain data."""
        return {
            "decisions": self._num_decisions,
            "replaced": self._num_replaced,
            "unavoidable": self._num_unavoidable,
            "replaced_by_rule": dict(self._replaced_by_rule),
        }

    def _foresee(self, sample: _Sample) -> tuple[Counts, Counts]:  # each (num_rules, num_streams)
        """Obligations that a sample newly breaks for certain; those that are lost after it."""
        named = {
            key: tracker.peek(sample.actions, sample.suspicion)
            for key, tracker in self._trackers.items()
        }
        broken = np.zeros_like(self._num_lost)
        lost = self._num_lost.copy()
        for index, bank in enumerate(self._banks):
            total, later = bank.foresee(named, sample.is_valid)
            broken[index] = np.where(sample.is_valid, total - self._num_lost[index], 0)
            lost[index] = np.where(sample.is_valid, later, lost[index])
        return broken, lost

    def _search(self, sample: _Sample) -> tuple[_Sample, Counts]:
        """The nearest action that breaks least, and how much it breaks."""
        same = np.ones_like(sample.actions)
        tried = [self._foresee(replace(sample, actions=same * action))[0] for action in _ACTIONS]
        cost = np.stack([broken.sum(axis=0) for broken in tried])  # (num_actions, num_streams)
        fewest = cost.min(axis=0)
        distance = _DISTANCE[sample.actions].T  # (num_actions, num_streams)
        chosen = np.where(cost == fewest, distance, distance.max() + 1).argmin(axis=0)
        return replace(sample, actions=np.where(sample.is_valid, chosen, 0)), fewest

    def _count(self, result: Shielded, broken: Counts, is_valid: Bools) -> None:
        self._num_decisions += int(is_valid.sum())
        self._num_replaced += int(result.is_replaced.sum())
        self._num_unavoidable += int(result.is_unavoidable.sum())
        for name, num_broken in zip(self._replaced_by_rule, broken, strict=True):
            self._replaced_by_rule[name] += int(((num_broken > 0) & result.is_replaced).sum())
