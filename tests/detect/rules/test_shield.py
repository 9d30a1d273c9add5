"""The shield: rules that are never broken, and as little interference as possible."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from standing_orders.detect.rules import RuleBook, Shield, Streams, default_rules
from tests.detect.rules.toys import random_streams, rule_of
from tests.effort import effort

SHIELDABLE = (
    "always (blocked_share <= 0.3)",
    "num_changes <= 2",
    "changed -> always[1,3] not changed",
    "suspected -> flagged",
    "suspected -> eventually[0,2] restrictive",
    "suspicion > 0.8 -> not quarantine until[0,3] block",
    "restrictive -> once[0,4] suspected",
    "quarantine -> historically[1,2] flagged",
    "not allow since[0,3] suspected or not quarantine",
)


def shielded(book: RuleBook, proposed: Streams) -> tuple[Streams, Shield]:
    """What is done when a team proposes these streams."""
    shield = Shield(book, proposed.shape[1])
    actions = np.zeros_like(proposed.actions)
    for t, valid in enumerate(proposed.valid):
        result = shield.apply(proposed.actions[t], proposed.doubts[t], is_valid=valid)
        assert result.is_replaced.tolist() == (result.actions != proposed.actions[t]).tolist()
        actions[t] = result.actions
        if proposed.is_last is not None:
            shield.end(is_last=proposed.is_last[t] & valid)
    done = Streams(
        actions, proposed.is_threat, proposed.is_valid, proposed.is_last, proposed.suspicion,
        is_over=False,
    )  # fmt: skip
    return done, shield


@settings(max_examples=effort(40, 15), deadline=None)
@given(
    seed=st.integers(0, 10**6),
    formula=st.sampled_from(SHIELDABLE),
    scope=st.sampled_from(["session", "stream"]),
)
def test_a_shielded_rule_is_never_broken(seed: int, formula: str, scope: str) -> None:
    options = {"is_valid": None, "is_last": None} if scope == "session" else {}
    proposed = random_streams(seed, steps=24, num_streams=3, **options)
    book = RuleBook([rule_of(formula, mode="shield", scope=scope)])
    done, shield = shielded(book, proposed)
    assert book.judge(done).verdicts["rule"].num_violations == 0
    assert shield.to_json()["unavoidable"] == 0
    unshielded = book.judge(
        Streams(
            proposed.actions, proposed.is_threat, proposed.is_valid, proposed.is_last,
            proposed.suspicion, is_over=False,
        )
    )  # fmt: skip
    counts = shield.to_json()
    assert (counts["replaced"] > 0) == (unshielded.verdicts["rule"].num_violations > 0)
    assert counts["decisions"] == proposed.valid.sum()
    assert counts["replaced"] == (done.actions != proposed.actions)[proposed.valid].sum()


def test_sessions_begin_anew_under_the_shield() -> None:
    book = RuleBook([rule_of("num_changes <= 1", mode="shield", window=9)])
    actions = np.array([0, 1, 0, 0, 1, 0])[:, None]
    last = np.array([0, 0, 1, 0, 0, 0], dtype=bool)[:, None]
    done, _ = shielded(book, Streams(actions, last & False, is_last=last))
    assert done.actions[:, 0].tolist() == [0, 1, 1, 0, 1, 1]


def test_whole_streams_go_on_under_the_shield() -> None:
    book = RuleBook([rule_of("blocked_share <= 0.5", mode="shield", window=2, scope="stream")])
    shield = Shield(book, 2)
    block = np.array([2, 2])
    assert shield.apply(block, np.zeros(2)).actions.tolist() == [2, 2]
    shield.end(is_last=np.array([True, False]))
    assert shield.apply(block, np.zeros(2)).actions.tolist() == [1, 1]


def test_streams_that_rest_do_not_age() -> None:
    book = RuleBook([
        rule_of("suspected -> eventually[0,1] flagged", mode="shield", scope="stream")
    ])  # fmt: skip
    shield = Shield(book, 2)
    allow, sure, only_first = np.zeros(2, int), np.ones(2), np.array([True, False])
    assert shield.apply(allow, suspicion=sure).actions.tolist() == [0, 0]
    done = shield.apply(np.array([0, 99]), suspicion=0 * sure, is_valid=only_first)
    assert done.actions.tolist() == [1, 99]
    assert shield.apply(allow, suspicion=0 * sure).actions.tolist() == [0, 1]


def test_traces_of_one_age_share_a_monitor_and_left_ones_are_dropped() -> None:
    book = RuleBook([rule_of("suspected -> eventually[0,2] flagged", mode="shield")])
    shield = Shield(book, 4)
    for t in range(50):
        shield.apply(np.zeros(4, int), suspicion=np.zeros(4))
        shield.end(is_last=np.array([t % 5 == 4, t % 5 == 4, t % 7 == 6, False]))
        assert len(shield._banks[0]._groups) <= 3


@pytest.mark.parametrize(
    ("formula", "replacements"),
    [
        ("flagged", [1, 1, 2, 3]),
        ("restrictive", [2, 2, 2, 3]),
        ("not restrictive", [0, 1, 1, 1]),
        ("not alert", [0, 0, 2, 3]),  # of two as near, the milder
        ("allow or quarantine", [0, 0, 3, 3]),
    ],
)
def test_the_replacement_is_the_nearest_in_severity(formula: str, replacements: list[int]) -> None:
    book = RuleBook([rule_of(formula, mode="shield")])
    assert Shield(book, 4).apply(np.arange(4), np.zeros(4)).actions.tolist() == replacements


def test_a_team_may_wait_as_long_as_the_rule_lets_it() -> None:
    book = RuleBook([rule_of("suspected -> eventually[0,2] restrictive", mode="shield")])
    shield = Shield(book, 1)
    done = [
        int(shield.apply(np.array([0]), suspicion=np.array([suspicion])).actions[0])
        for suspicion in (0.9, 0.1, 0.1, 0.1, 0.6, 0.6, 0.0, 0.0)
    ]
    assert done == [0, 0, 2, 0, 0, 0, 2, 0]
    assert shield.to_json() == {
        "decisions": 8,
        "replaced": 2,
        "unavoidable": 0,
        "replaced_by_rule": {"rule": 2},
    }


@pytest.mark.parametrize("seed", range(3))
def test_the_default_shields_hold_together(seed: int) -> None:
    book = RuleBook(default_rules("records", mode="shield", window=30))
    proposed = random_streams(seed, steps=120, num_streams=5, is_valid=None, is_last=None)
    done, shield = shielded(book, proposed)
    verdicts = book.judge(done).verdicts
    broken = [verdicts[rule.name].is_violated for rule in book.rules_of("shield")]
    counts = shield.to_json()
    assert counts["replaced_by_rule"]["blocking"] > 0
    assert counts["replaced_by_rule"]["steadiness"] > 0
    assert sum(map(np.sum, broken)) >= counts["unavoidable"]
    assert (np.sum(broken, axis=0) > 0).sum() == counts["unavoidable"]


def test_where_no_action_will_do_the_least_is_broken_and_counted() -> None:
    rules = [
        rule_of("suspected -> flagged", name="a", mode="shield"),
        rule_of("suspected -> not alert", name="b", mode="shield"),
        rule_of("not restrictive", name="c", mode="shield"),
        rule_of("severity < 2.5", name="d", mode="shield"),
    ]
    book = RuleBook(rules)
    shield = Shield(book, 2)
    result = shield.apply(np.array([3, 0]), suspicion=np.array([1.0, 0.0]))
    assert result.actions.tolist() == [2, 0]
    assert result.is_unavoidable.tolist() == [True, False]
    assert result.is_replaced.tolist() == [True, False]
    assert shield.to_json()["unavoidable"] == 1


def test_what_is_lost_does_not_blind_the_shield() -> None:
    """A broken promise stays open for five events; meanwhile the other rule is still kept."""
    rules = [
        rule_of("alert -> always[1,5] flagged", name="a", mode="shield"),
        rule_of("suspected -> allow", name="b", mode="shield"),
        rule_of("suspected -> severity < 0.5", name="c", mode="shield"),
        rule_of("not quarantine", name="d", mode="shield"),
    ]
    shield = Shield(RuleBook(rules), 1)
    results = [
        shield.apply(np.array([action]), suspicion=np.array([suspicion]))
        for action, suspicion in ((1, 0.0), (3, 1.0), (3, 0.0), (3, 0.0), (0, 0.0))
    ]
    assert [bool(result.is_unavoidable[0]) for result in results] == [False, True] + [False] * 3
    assert [int(result.actions[0]) for result in results] == [1, 0, 2, 2, 0]
    shield.end(is_last=np.array([True]))  # what was lost there is none of the next session's
    done = [shield.apply(np.array([action]), suspicion=np.zeros(1)) for action in (3, 1, 0)]
    assert [int(result.actions[0]) for result in done] == [2, 1, 1]


def test_the_shield_never_replaces_more_than_it_must() -> None:
    """Against all continuations: an action is certain to break only if each continuation does."""
    formula, window, steps = "suspected -> not quarantine until[0,2] block", 3, 5
    book = RuleBook([rule_of(formula, mode="shield", window=window, scope="stream")])
    rng = np.random.default_rng(8)
    for _ in range(12):
        prefix = rng.integers(0, 4, (3, 1))
        doubt = rng.random((steps, 1))
        shield = Shield(book, 1)
        kept = [shield.apply(prefix[t], suspicion=doubt[t]).actions[0] for t in range(2)]
        result = shield.apply(prefix[2], suspicion=doubt[2])

        def can_be_saved(action: int, kept: list[int] = kept, doubt: np.ndarray = doubt) -> bool:
            endings = np.array(list(itertools.product(range(4), repeat=2))).T
            start = np.repeat(np.array([*kept, action])[:, None], endings.shape[1], axis=1)
            whole = np.concatenate((start, endings))
            streams = Streams(whole, whole < 0, suspicion=np.repeat(doubt, 16, 1), is_over=False)
            violated = book.judge(streams).verdicts["rule"].is_violated[:3]
            return not violated.any(axis=0).all()

        assert can_be_saved(int(result.actions[0]))
        assert bool(result.is_replaced[0]) == (not can_be_saved(int(prefix[2, 0])))


def test_a_shield_without_rules_changes_nothing() -> None:
    shield = Shield(RuleBook([rule_of("flagged")]), 3)
    result = shield.apply(np.array([0, 2, 3]), np.zeros(3))
    assert result.actions.tolist() == [0, 2, 3]
    assert not result.is_replaced.any()
    shield.end(is_last=np.array([True, False, True]))
