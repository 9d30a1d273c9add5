"""Shields whose rules ask about single events and windows of counts: a table says what breaks.

Such a rule depends on the decision, whether it changed, and how many changes and blocks its window
holds, so its verdicts are a table of four small whole numbers, filled in once by the rule itself. A
compiled loop then goes through whole streams, or through the next events of one; `Shield` does the
same for any rule, event by event.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.compiled import jit
from standing_orders.detect.actions import BLOCK, NUM_ACTIONS
from standing_orders.detect.data.events import Sessions, Task
from standing_orders.detect.rules.rule import Rule
from standing_orders.detect.rules.rulebook import RuleBook
from standing_orders.detect.rules.shield import DISTANCE
from standing_orders.detect.rules.signals import observable_signals
from standing_orders.rules.stl import Monitor, history

MAX_WINDOW = 500  # events; a longer one makes a large table
_Ints = NDArray[np.int64]
_Tables = tuple[NDArray[np.bool_], _Ints, _Ints, NDArray[np.bool_]]
_Past = tuple[_Ints, _Ints, _Ints, _Ints]  # see `_go_through`: recent, sums, seen and last


def fits_a_table(rule: Rule) -> bool:
    """Whether a rule has no past of its own, no view of the suspicion and a short window."""
    looks_back = rule.delay or history(rule.body)
    return not looks_back and not {"suspicion", "suspected"} & rule.names and (
        rule.window <= MAX_WINDOW
    )  # fmt: skip


@lru_cache(maxsize=8)
def _tabulate(rules: tuple[Rule, ...]) -> _Tables:
    """Ask each rule about every case there is; tables for `_go_through`, one behind the other."""
    parts, windows = [], [rule.window for rule in rules]
    for rule, window in zip(rules, windows, strict=True):
        shape = (NUM_ACTIONS, 2, window + 1, window + 1)
        action, changed, changes, blocks = (axis.ravel() for axis in np.indices(shape))
        sums = np.stack([blocks, changes]).astype(np.float64)
        signals = observable_signals(action, changed.astype(np.float64), sums, window)
        asked = {name: signals[name] for name in rule.names}
        value = Monitor(rule.body, len(action)).update(asked)
        assert value is not None
        parts.append(value < 0)
    return (
        np.concatenate(parts),
        np.cumsum([0, *(len(part) for part in parts[:-1])]).astype(np.int64),
        np.array(windows, dtype=np.int64),
        np.array([rule.scope == "session" for rule in rules]),
    )


def shield_by_tables(
    book: RuleBook,
    proposed: NDArray[np.int64],  # (rows, num_deciders)
    sessions: Sessions,
    task: Task,
) -> tuple[NDArray[np.int64], dict[str, Any]]:
    """Replace decisions as `Shield` does, if all rules of the shield fit a table.

    Returns:
        The decisions, and what the shield did, as `Shield.to_json`.
    """
    rules = book.rules_of("shield")
    tables = _tabulate(rules)
    actions = proposed.T.copy()
    totals = np.zeros(3 + len(rules), dtype=np.int64)
    for row in actions:
        past = _no_past(rules)
        _go_through(row, sessions.starts, task == "sessions", *tables, DISTANCE, *past, totals)
    decisions, replaced, unavoidable, *by_rule = totals.tolist()
    names = (rule.name for rule in rules)
    return np.ascontiguousarray(actions.T), {
        "decisions": decisions,
        "replaced": replaced,
        "unavoidable": unavoidable,
        "replaced_by_rule": dict(zip(names, by_rule, strict=True)),
    }


class TableShield:
    """A shield whose rules fit a table, over one stream without sessions, as it arrives."""

    def __init__(self, book: RuleBook) -> None:
        self._rules = book.rules_of("shield")
        self._past = _no_past(self._rules)

    def apply(self, proposed: NDArray[np.int64]) -> NDArray[np.int64]:  # both (num_events,)
        """Decide about the next events, one after the other; the result is what is done."""
        return self._pass(proposed, _tabulate(self._rules))

    def note(self, taken: NDArray[np.int64]) -> None:  # (num_events,)
        """Take what is done about the next events as it is."""
        broken, offsets, windows, of_session = _tabulate(self._rules)
        self._pass(taken, (np.zeros_like(broken), offsets, windows, of_session))

    def _pass(self, proposed: NDArray[np.int64], tables: _Tables) -> NDArray[np.int64]:
        actions, starts = proposed.copy(), np.array([0, len(proposed)])
        totals = np.zeros(3 + len(self._rules), dtype=np.int64)
        _go_through(actions, starts, False, *tables, DISTANCE, *self._past, totals)
        return actions


def _no_past(rules: Sequence[Rule]) -> _Past:
    """What is remembered before the first event."""
    num_rules, longest = len(rules), max(rule.window for rule in rules)
    recent = np.zeros((2, num_rules, longest), dtype=np.int64)
    seen, last = np.zeros((2, num_rules), dtype=np.int64)
    return recent, np.zeros_like(recent[:, :, 0]), seen, last


@jit
def _go_through(
    actions: NDArray[np.int64],  # (rows,): replaced in place
    starts: NDArray[np.int64],  # (num_sessions + 1,)
    in_sessions: bool,
    broken: NDArray[np.bool_],  # (size of all tables,)
    offsets: NDArray[np.int64],  # (num_rules,): beginning of each table
    windows: NDArray[np.int64],  # (num_rules,)
    of_session: NDArray[np.bool_],  # (num_rules,): begins anew with each session
    distance: NDArray[np.int64],  # (NUM_ACTIONS, NUM_ACTIONS)
    recent: NDArray[np.int64],  # (2, num_rules, longest window): blocks and changes; moves on
    sums: NDArray[np.int64],  # (2, num_rules): of them over the window; moves on
    seen: NDArray[np.int64],  # (num_rules,): events; moves on
    last: NDArray[np.int64],  # (num_rules,): action; moves on
    totals: NDArray[np.int64],  # decisions, replaced, unavoidable, replaced by each rule: added to
) -> None:
    """One decider's stream, event by event."""
    num_rules = len(windows)
    first = np.zeros(num_rules, dtype=np.int64)  # what the proposed action breaks
    for session in range(len(starts) - 1):
        for event in range(starts[session], starts[session + 1]):
            proposed = actions[event]
            chosen, fewest = proposed, 0
            for action in range(-1, NUM_ACTIONS):  # -1: the proposed one, before all others
                tried = proposed if action < 0 else action
                cost = 0
                for rule in range(num_rules):
                    place, window = seen[rule] % windows[rule], windows[rule] + 1
                    changed = 1 if seen[rule] > 0 and tried != last[rule] else 0
                    blocks = sums[0, rule] - recent[0, rule, place] + (tried >= BLOCK)
                    changes = sums[1, rule] - recent[1, rule, place] + changed
                    row = ((tried * 2 + changed) * window + changes) * window + blocks
                    is_broken = broken[offsets[rule] + row]
                    if action < 0:
                        first[rule] = is_broken
                    cost += is_broken
                if action < 0:
                    fewest = cost
                    if cost == 0:
                        break
                elif cost < fewest or (
                    cost == fewest and distance[proposed, tried] < distance[proposed, chosen]
                ):
                    chosen, fewest = tried, cost
            actions[event] = chosen
            totals[0] += 1
            totals[1] += chosen != proposed
            totals[2] += fewest > 0
            for rule in range(num_rules):
                totals[3 + rule] += first[rule] > 0 and chosen != proposed
                place = seen[rule] % windows[rule]
                changed = 1 if seen[rule] > 0 and chosen != last[rule] else 0
                is_block = 1 if chosen >= BLOCK else 0
                sums[0, rule] += is_block - recent[0, rule, place]
                sums[1, rule] += changed - recent[1, rule, place]
                recent[0, rule, place], recent[1, rule, place] = is_block, changed
                seen[rule] += 1
                last[rule] = chosen
            if in_sessions and chosen >= BLOCK:
                break
        if in_sessions:
            for rule in range(num_rules):
                if of_session[rule]:
                    recent[:, rule] = 0
                    sums[:, rule] = 0
                    seen[rule] = 0
