"""A shield: an action that would break a rule for certain is replaced before it is taken.

It knows what the team knows: its decisions so far and its own suspicion, never the truth. "For
certain" is what the online monitor can tell: whatever events follow, the obligation is broken. So
an obligation that is still open when a trace ends is beyond it, for it cannot see the end coming.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.actions import NUM_ACTIONS
from standing_orders.detect.rules.rule import Rule
from standing_orders.detect.rules.rulebook import RuleBook
from standing_orders.detect.rules.signals import Signals, SignalTracker
from standing_orders.detect.rules.streams import Scope
from standing_orders.rules.stl import Monitor, history

Bools = NDArray[np.bool_]
Counts = NDArray[np.int64]
Named = Mapping[tuple[Scope, int], Signals]  # by scope and window

_ACTIONS = np.arange(NUM_ACTIONS)
# From each proposed action, how far every other one is; of two as far, the milder one is nearer.
DISTANCE = 2 * np.abs(_ACTIONS[:, None] - _ACTIONS) + (_ACTIONS > _ACTIONS[:, None])


@dataclass
class _Group:
    """Streams whose traces began together, and have been in step ever since."""

    monitor: Monitor
    streams: NDArray[np.int64]  # (batch_size,): of the monitor
    is_member: Bools  # (batch_size,): False once the stream has left

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
        self.num_lost = np.zeros(num_streams, dtype=np.int64)  # each action would break them
        # A rule about the signals of one event has no ages: one monitor will do for all, and for
        # all actions at once.
        self.is_ageless = not rule.delay and not history(rule.body)
        self._for_all = Monitor(rule.body, NUM_ACTIONS * num_streams)

    def foresee_all(self, named: Named) -> Counts:  # (NUM_ACTIONS, num_streams)
        """Obligations that each action breaks, if the rule is ageless; signals as many."""
        signals = named[self.rule.scope, self.rule.window]
        value = self._for_all.update({name: signals[name].ravel() for name in self.rule.names})
        assert value is not None
        return (value < 0).reshape(NUM_ACTIONS, -1).astype(np.int64)

    def foresee(
        self, named: Named, is_valid: Bools, *, is_taken: bool = False
    ) -> tuple[Counts, Counts]:
        """Obligations that would be broken for certain after an event with these signals.

        Returns:
            All of them, and those whose verdict would still be to come, each (num_streams,).
            Nothing changes, unless the event is taken.
        """
        now, later = np.zeros((2, self._num_streams), dtype=np.int64)
        for group in self._active_groups(is_valid):
            monitor = group.monitor if is_taken else copy.deepcopy(group.monitor)
            value = monitor.update(self._signals(named, group))
            if value is not None:
                now[group.streams] += (value < 0) & group.is_member
            if monitor.delay:
                _, upper = monitor.interval()
                later[group.streams] += (upper < 0).sum(axis=1) * group.is_member
        return now + later, later

    def reset(self, which: Bools) -> None:
        """Begin new traces in these streams."""
        self.num_lost[which] = 0
        self._is_new |= which
        for group in self._groups:
            group.is_member &= ~which[group.streams]
        self._groups = [group for group in self._groups if group.is_member.any()]

    def _active_groups(self, is_valid: Bools) -> list[_Group]:
        """Groups all of whose members have an event; those without one are set apart."""
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
            active.append(_Group(monitor, beginning, np.ones(len(beginning), dtype=np.bool_)))
            self._groups.append(active[-1])
            self._is_new[beginning] = False
        return active

    def _signals(self, named: Named, group: _Group) -> Signals:
        signals = named[self.rule.scope, self.rule.window]
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
        stream: a shield whose rules of scope `stream` are shared: that of many sessions at once.

    Example:
        >>> book = RuleBook([Rule("blocking", "blocked_share <= 0.25", mode="shield", window=4)])
        >>> shield = Shield(book, num_streams=1)
        >>> [int(shield.apply(np.array([2]), np.zeros(1)).actions[0]) for _ in range(6)]
        [2, 1, 1, 1, 2, 1]
        >>> shield.to_json()
        {'decisions': 6, 'replaced': 4, 'unavoidable': 0, 'replaced_by_rule': {'blocking': 4}}
    """

    def __init__(self, book: RuleBook, num_streams: int, *, stream: "Shield | None" = None) -> None:
        rules = book.rules_of("shield")
        keys = {(rule.scope, rule.window) for rule in rules}
        self._trackers = {key: SignalTracker(num_streams, key[1]) for key in keys}
        self._banks = [_MonitorBank(rule, num_streams) for rule in rules]
        if stream is not None:
            self._trackers |= {k: v for k, v in stream._trackers.items() if k[0] == "stream"}
            pairs = zip(self._banks, stream._banks, strict=True)
            self._banks = [b if b.rule.scope == "stream" else a for a, b in pairs]
        self._num_decisions = self._num_replaced = self._num_unavoidable = 0
        self._replaced_by_rule = {rule.name: 0 for rule in rules}

    def apply(
        self,
        proposed: NDArray[np.integer[Any]],  # (num_streams,)
        suspicion: NDArray[np.floating[Any]],  # (num_streams,)
        *,
        is_valid: Bools | None = None,  # (num_streams,): streams that have an event; all if None
    ) -> Shielded:
        """Decide about the next event of every stream; the result counts as what is done."""
        valid = np.ones(proposed.shape, dtype=np.bool_) if is_valid is None else is_valid
        doubt = np.where(valid, suspicion, 0).astype(np.float64)
        taken = wanted = np.where(valid, proposed, 0).astype(np.int64)
        broken = self._broken(np.unique(wanted), doubt, valid)
        first = broken[:, wanted, np.arange(len(wanted))]  # (num_rules, num_streams)
        fewest = first.sum(axis=0)
        if fewest.any():
            cost = self._broken(_ACTIONS, doubt, valid).sum(axis=0)  # (NUM_ACTIONS, num_streams)
            fewest = cost.min(axis=0)
            distance = DISTANCE[wanted].T
            chosen = np.where(cost == fewest, distance, distance.max() + 1).argmin(axis=0)
            taken = np.where(valid, chosen, 0)
        self.note(taken, doubt, is_valid=valid)
        actions = np.where(valid, taken, proposed)
        result = Shielded(actions, actions != proposed, fewest > 0)
        self._count(result, first, valid)
        return result

    def note(
        self,
        taken: NDArray[np.int64],  # (num_streams,)
        suspicion: NDArray[np.float64],  # (num_streams,)
        *,
        is_valid: Bools,  # (num_streams,)
        scopes: tuple[Scope, ...] = ("session", "stream"),
    ) -> None:
        """Take what is done about the next event of every stream as it is."""
        named = {
            key: tracker.push(taken, suspicion, is_valid=is_valid)
            for key, tracker in self._trackers.items()
            if key[0] in scopes
        }
        for bank in self._banks:
            if bank.rule.scope in scopes and not bank.is_ageless:
                _, later = bank.foresee(named, is_valid, is_taken=True)
                bank.num_lost = np.where(is_valid, later, bank.num_lost)

    def end(self, *, is_last: Bools) -> None:  # (num_streams,)
        """End sessions with the event just decided."""
        for (scope, _), tracker in self._trackers.items():
            if scope == "session":
                tracker.reset(is_last)
        for bank in self._banks:
            if bank.rule.scope == "session":
                bank.reset(is_last)

    def to_json(self) -> dict[str, Any]:
        """How many decisions there were and what became of them, as plain data."""
        return {
            "decisions": self._num_decisions,
            "replaced": self._num_replaced,
            "unavoidable": self._num_unavoidable,
            "replaced_by_rule": dict(self._replaced_by_rule),
        }

    def _broken(
        self, tried: NDArray[np.int64], suspicion: NDArray[np.float64], is_valid: Bools
    ) -> Counts:  # (num_rules, NUM_ACTIONS, num_streams)
        """Obligations that each action newly breaks for certain, where there is an event.

        Of rules with a past, which take long, only the actions to be tried.
        """
        actions = np.repeat(_ACTIONS[:, None], len(suspicion), axis=1)
        doubts = np.tile(suspicion, (NUM_ACTIONS, 1))
        named = {key: tracker.peek(actions, doubts) for key, tracker in self._trackers.items()}
        broken = np.zeros((len(self._banks), *actions.shape), dtype=np.int64)
        for index, bank in enumerate(self._banks):
            if bank.is_ageless:
                broken[index] = bank.foresee_all(named)
                continue
            for action in tried:
                one = {key: {name: v[action] for name, v in told.items()}
                       for key, told in named.items()}  # fmt: skip
                broken[index, action] = bank.foresee(one, is_valid)[0] - bank.num_lost
        return broken * is_valid

    def _count(self, result: Shielded, broken: Counts, is_valid: Bools) -> None:
        self._num_decisions += int(is_valid.sum())
        self._num_replaced += int(result.is_replaced.sum())
        self._num_unavoidable += int(result.is_unavoidable.sum())
        for name, num_broken in zip(self._replaced_by_rule, broken, strict=True):
            self._replaced_by_rule[name] += int(((num_broken > 0) & result.is_replaced).sum())
