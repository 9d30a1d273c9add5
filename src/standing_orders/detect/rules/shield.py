"""A shield: an action that would break a rule for certain is replaced before it is taken.

It knows what the team knows: its decisions so far and its own suspicion, never the truth. "For
certain" is what the online monitor can tell: whatever events follow, the obligation is broken. So
an obligation that is still open when a trace ends is beyond it, for it cannot see the end coming.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.actions import NUM_ACTIONS
from standing_orders.detect.rules.rulebook import RuleBook
from standing_orders.detect.rules.watch import Bools, Counts, MonitorBank, Sample, Senses

_ACTIONS = np.arange(NUM_ACTIONS)
# From each proposed action, how far every other one is; of two as far, the milder one is nearer.
_DISTANCE = 2 * np.abs(_ACTIONS[:, None] - _ACTIONS) + (_ACTIONS > _ACTIONS[:, None])


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
        self._senses = Senses(rules, num_streams)
        self._banks = [MonitorBank(rule, num_streams) for rule in rules]
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
        sample = Sample.of(proposed, None, suspicion, is_valid)
        broken, lost = self._foresee(sample)
        taken, fewest = sample, broken.sum(axis=0)
        if fewest.any():
            taken, fewest = self._search(sample)
            _, lost = self._foresee(taken)
        self._num_lost = lost
        named = self._senses.look(taken, commit=True)
        for bank in self._banks:
            bank.push(named, taken.is_valid)
        actions = np.where(taken.is_valid, taken.actions, proposed)
        result = Shielded(actions, actions != proposed, fewest > 0)
        self._count(result, broken, sample.is_valid)
        return result

    def end(self, *, is_last: Bools | None = None, is_over: Bools | None = None) -> None:
        """End sessions, or whole streams, with the event just decided; each (num_streams,)."""
        over = np.zeros(self._num_lost.shape[1], dtype=np.bool_) if is_over is None else is_over
        session = over if is_last is None else over | is_last
        self._senses.reset(over, "stream")
        self._senses.reset(session, "session")
        for lost, bank in zip(self._num_lost, self._banks, strict=True):
            which = over if bank.rule.config.scope == "stream" else session
            bank.reset(which)
            lost[which] = 0

    def to_json(self) -> dict[str, Any]:
        """How many decisions there were and what became of them, as plain data."""
        return {
            "decisions": self._num_decisions,
            "replaced": self._num_replaced,
            "unavoidable": self._num_unavoidable,
            "replaced_by_rule": dict(self._replaced_by_rule),
        }

    def _foresee(self, sample: Sample) -> tuple[Counts, Counts]:  # each (num_rules, num_streams)
        """Obligations that a sample newly breaks for certain; those that are lost after it."""
        named = self._senses.look(sample, commit=False)
        broken = np.zeros_like(self._num_lost)
        lost = self._num_lost.copy()
        for index, bank in enumerate(self._banks):
            total, later = bank.foresee(named, sample.is_valid)
            broken[index] = np.where(sample.is_valid, total - self._num_lost[index], 0)
            lost[index] = np.where(sample.is_valid, later, lost[index])
        return broken, lost

    def _search(self, sample: Sample) -> tuple[Sample, Counts]:
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
