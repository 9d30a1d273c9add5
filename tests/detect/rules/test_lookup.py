"""Tables of what rules break give the decisions of the shield that asks the rules themselves."""

import itertools

import numpy as np
import pytest

from standing_orders.detect.data.events import Sessions, Task
from standing_orders.detect.rules import Rule, RuleBook, Shield
from standing_orders.detect.rules.lookup import TableShield, fits_a_table, shield_by_tables

RULES = (
    Rule(name="blocking", formula="blocked_share <= 0.2", mode="shield", scope="stream",
               window=9),
    Rule(name="steady", formula="num_changes <= 2", mode="shield", window=6),
    Rule(name="shown", formula="changed -> severity <= 2", mode="shield", window=5),
)  # fmt: skip


def by_events(
    book: RuleBook, proposed: np.ndarray, sessions: Sessions, task: Task
) -> tuple[np.ndarray, dict[str, object]]:
    """The same by `Shield`, one event after the other."""
    actions, shield = proposed.copy(), Shield(book, 1)
    for first, end in itertools.pairwise(sessions.starts):
        for index in range(first, end):
            actions[index] = shield.apply(actions[index], np.zeros(1)).actions
            if task == "sessions" and actions[index, 0] >= 2:
                break
        if task == "sessions":
            shield.end(is_last=np.ones(1, dtype=bool))
    return actions, shield.to_json()


@pytest.mark.parametrize("task", ["records", "sessions"])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_decisions_and_counts_are_those_of_the_shield(task: Task, number: int) -> None:
    rng = np.random.default_rng(number)
    proposed = rng.choice(4, size=(150, 1), p=[0.5, 0.3, 0.1, 0.1])
    lengths = rng.integers(1, 12, 60)
    lengths = lengths[: np.searchsorted(np.cumsum(lengths), 150)]
    sessions = Sessions.of_lengths([*lengths, 150 - lengths.sum()])
    book = RuleBook(RULES[:number], check=False)
    found, counts = shield_by_tables(book, proposed, sessions, task)
    expected, expected_counts = by_events(book, proposed, sessions, task)
    assert np.array_equal(found, expected)
    assert counts == expected_counts
    assert counts["replaced"] > 0


def test_in_pieces_with_some_of_the_past_retold_the_decisions_are_the_same() -> None:
    proposed = np.random.default_rng(4).choice(4, size=200, p=[0.4, 0.3, 0.2, 0.1])
    book = RuleBook(RULES, check=False)
    expected, _ = by_events(book, proposed[:, None], Sessions.of_lengths([200]), "records")
    tables = TableShield(book)
    found = [tables.apply(part) for part in np.split(proposed[:90], [1, 2, 40])]
    told = TableShield(book)
    told.note(np.concatenate(found)[-10:])  # the longest window, and the event before it
    found.append(told.apply(proposed[90:]))
    assert np.array_equal(np.concatenate(found), expected[:, 0])
    assert not np.array_equal(expected[:, 0], proposed)


@pytest.mark.parametrize(
    ("formula", "fits"),
    [
        ("num_changes <= 4", True),
        ("suspected -> flagged", False),
        ("blocked -> once[0,5] alert", False),
        ("alert -> eventually[0,3] block", False),
    ],
)
def test_rules_with_a_past_or_a_suspicion_fit_no_table(formula: str, fits: bool) -> None:
    assert fits_a_table(Rule(name="r", formula=formula)) == fits


def test_a_very_long_window_fits_no_table() -> None:
    config = Rule(name="r", formula="blocked_share <= 0.1", window=5_000)
    assert not fits_a_table(config)
