"""Quorum vote: every claim of the module, for every ballot up to seven agents."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from standing_orders.errors import StandingOrdersError, VotingError
from standing_orders.voting import MISSING, Committee, Decision, check_quorum_bound
from standing_orders.voting import decide as decide_among

NUM_CHOICES = 4
ALLOW, ALERT, BLOCK, QUARANTINE = range(NUM_CHOICES)

ACTIONS = np.arange(NUM_CHOICES, dtype=np.int8)
ANY = np.arange(MISSING, NUM_CHOICES, dtype=np.int8)  # what a faulty agent may cast
BOUNDS = [(n, f) for n in range(2, 8) for f in range((n - 1) // 2 + 1)]


def decide(votes: np.ndarray, f: int, **options: Any) -> Decision:
    return decide_among(votes, f, num_choices=NUM_CHOICES, **options)


def table(*choices: np.ndarray) -> np.ndarray:
    """Every row that can be made by taking one number of each choice."""
    grid = np.meshgrid(*choices, indexing="ij")
    return np.stack([axis.ravel() for axis in grid], axis=1)


def worlds(n: int, num_faulty: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """All ballots and those of the honest agents, for every set of faulty agents."""
    for faulty in combinations(range(n), num_faulty):
        votes = table(*(ANY if agent in faulty else ACTIONS for agent in range(n)))
        yield votes, np.delete(votes, faulty, axis=1)


def is_in_range(actions: np.ndarray, honest: np.ndarray) -> np.ndarray:
    return (actions >= honest.min(axis=1)) & (actions <= honest.max(axis=1))


@pytest.mark.parametrize(("n", "f"), BOUNDS)
def test_f_faulty_agents_cannot_move_the_outcome_out_of_the_honest_range(n, f) -> None:
    for votes, honest in worlds(n, f):
        assert is_in_range(decide(votes, f).choices, honest).all()


@pytest.mark.parametrize(("n", "f"), BOUNDS)
def test_more_than_half_honest_agents_win_on_every_rung(n, f) -> None:
    for votes, honest in worlds(n, f):
        actions = decide(votes, f).choices
        for action in range(NUM_CHOICES):
            assert (actions >= action)[2 * (honest >= action).sum(axis=1) > n].all()
            assert (actions <= action)[2 * (honest <= action).sum(axis=1) > n].all()
            assert (actions == action)[2 * (honest == action).sum(axis=1) > n].all()
            assert (actions == action)[(honest == action).all(axis=1)].all()


@pytest.mark.parametrize(("n", "f"), BOUNDS)
def test_without_a_quorum_the_team_alerts(n, f) -> None:
    for votes, _ in worlds(n, f):
        decision = decide(votes, f)
        num_valid = (votes != MISSING).sum(axis=1)
        is_tied = 2 * (votes > ALLOW).sum(axis=1) == num_valid
        assert (decision.has_quorum == (~is_tied & (num_valid >= n - f))).all()
        assert (decision.choices[~decision.has_quorum] == ALERT).all()
        assert decision.num_fallbacks == (~decision.has_quorum).sum()


@pytest.mark.parametrize(("n", "f"), [(n, f) for n, f in BOUNDS if f and n <= 2 * f + 2])
def test_one_faulty_agent_more_breaks_the_range(n, f) -> None:
    votes, honest = next(worlds(n, f + 1))
    assert not is_in_range(decide(votes, f).choices, honest).all()


@pytest.mark.parametrize(("n", "f"), [(4, 1), (5, 1), (6, 1), (7, 1), (7, 2)])
def test_any_n_minus_f_ballots_keep_the_range_where_n_is_3f_plus_1(n, f) -> None:
    for num_missing in range(f + 1):
        for missing in combinations(range(f, n), num_missing):
            votes = table(*(ANY if agent < f else ACTIONS for agent in range(n)))
            honest = votes[:, f:].copy()
            votes[:, missing] = MISSING
            has_enough = (votes != MISSING).sum(axis=1) >= n - f
            actions = decide(votes, f).choices[has_enough]
            assert is_in_range(actions, honest[has_enough]).all()
            for action in range(NUM_CHOICES):
                is_same = (honest[has_enough] == action).all(axis=1)
                assert (actions[is_same] == action).all()


@pytest.mark.parametrize("num_choices", [2, 3, 6])
def test_the_range_is_kept_for_any_number_of_choices(num_choices: int) -> None:
    honest = np.arange(num_choices, dtype=np.int8)
    votes = table(honest, honest, np.arange(MISSING, num_choices + 1, dtype=np.int8))
    choices = decide_among(votes, 1, num_choices=num_choices).choices
    assert is_in_range(choices, votes[:, :2]).all()
    assert set(choices.tolist()) == set(range(num_choices))


def test_a_vote_needs_two_choices() -> None:
    for num_choices in (1, 0, True, 2.5):
        with pytest.raises(VotingError, match=r"num_choices = .*: must be a whole number"):
            decide_among(np.zeros((1, 3), dtype=np.int8), 1, num_choices=num_choices)


def test_three_agents_without_a_counter_are_refused_and_told_how_many_it_takes() -> None:
    """The published team claimed Byzantine votes with three agents, which bear no liar at all."""
    with pytest.raises(VotingError, match=r"n = 3 .* f = 1 .* n >= 3f \+ 1 = 4$"):
        Committee(3, 1, NUM_CHOICES)
    with pytest.raises(VotingError, match=r"n = 3 agents, f = 0: .* one needs n >= 4"):
        Committee(3, 0, NUM_CHOICES)
    with pytest.raises(VotingError, match="n = 7 tolerates up to 2"):
        Committee(7, 0, NUM_CHOICES)


@pytest.mark.parametrize("n", range(4, 30))
def test_any_two_quorums_share_an_honest_agent_and_honest_agents_make_one(n: int) -> None:
    for f in range(1, (n - 1) // 3 + 1):
        committee = Committee(n, f, NUM_CHOICES)
        assert 2 * committee.quorum - n > f
        assert committee.quorum <= n - f
        assert committee.quorum > 1


@settings(deadline=None)
@given(st.data())
def test_the_order_of_the_agents_does_not_matter_and_more_severe_ballots_never_make_it_milder(data):
    n = data.draw(st.integers(2, 9))
    f = data.draw(st.integers(0, (n - 1) // 2))
    row = data.draw(st.lists(st.integers(-1, 3), min_size=n, max_size=n))
    shuffled = data.draw(st.permutations(row))
    more = [min(b + 1, QUARANTINE) if b >= 0 and i == 0 else b for i, b in enumerate(row)]
    actions = decide(np.array([row, shuffled, more], dtype=np.int8), f).choices
    assert actions[0] == actions[1] <= actions[2]


def test_honest_agents_may_differ_about_how_severe() -> None:
    votes = np.array(
        [
            [BLOCK, QUARANTINE, QUARANTINE, ALLOW],  # a tie says no to quarantine
            [BLOCK, BLOCK, ALERT, ALERT],  # and to block
            [ALLOW, ALLOW, ALLOW, QUARANTINE],
            [ALLOW, ALLOW, BLOCK, QUARANTINE],  # half allow: no quorum
        ],
        dtype=np.int8,
    )
    decision = decide(votes, f=1)
    assert decision.choices.tolist() == [BLOCK, ALERT, ALLOW, ALERT]
    assert decision.has_quorum.tolist() == [True, True, True, False]


def test_more_missing_ballots_than_f_are_no_quorum() -> None:
    votes = np.array([[ALLOW, ALLOW, ALLOW, MISSING], [ALLOW, ALLOW, MISSING, MISSING]])
    decision = decide(votes, f=1)
    assert decision.choices.tolist() == [ALLOW, ALERT]
    assert decision.has_quorum.tolist() == [True, False]


@pytest.mark.parametrize("garbage", [-128, -2, 4, 99, 127])
def test_a_number_that_is_no_action_is_a_missing_ballot(garbage: int) -> None:
    rows = table(ACTIONS, ACTIONS, ACTIONS)
    for column in range(4):
        decisions = [decide(np.insert(rows, column, b, axis=1), 1) for b in (garbage, MISSING)]
        assert (decisions[0].choices == decisions[1].choices).all()
        assert (decisions[0].has_quorum == decisions[1].has_quorum).all()


@pytest.mark.parametrize(("n", "f", "needed"), [(2, 1, 3), (4, 2, 5), (6, 3, 7), (1, 1, 3)])
def test_below_the_bound_it_refuses_and_says_what_is_needed(n, f, needed) -> None:
    with pytest.raises(VotingError, match=rf"n = {n} agents, f = {f} .* 2f \+ 1 = {needed}$"):
        decide(np.zeros((1, n), dtype=np.int8), f)


def test_a_quorum_of_one_is_refused() -> None:
    """The published vote took 2f + 1 = 1 ballot for a quorum of its three agents, f = 0."""
    with pytest.raises(VotingError, match="quorum of one"):
        check_quorum_bound(1, 0)
    # One voice does not decide for three, whoever else is silent.
    lone = np.array([[QUARANTINE, MISSING, MISSING], [QUARANTINE, ALLOW, ALLOW]], dtype=np.int8)
    for f in (0, 1):
        decision = decide(lone, f)
        assert decision.choices.tolist() == [ALERT, ALLOW]
        assert decision.has_quorum.tolist() == [False, True]


@pytest.mark.parametrize(("n", "f"), [(0, 0), (3, -1), (3, True), (3, 1.0), (3, "1")])
def test_counts_must_be_whole_numbers(n, f) -> None:
    with pytest.raises(VotingError, match="must be a whole number"):
        check_quorum_bound(n, f)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(VotingError, match="whole numbers, one row per event"):
        decide(np.zeros((2, 3)), 1)
    with pytest.raises(VotingError, match="one column per agent"):
        decide(np.zeros(3, dtype=np.int8), 1)
    assert issubclass(VotingError, StandingOrdersError)
    assert VotingError.exit_code == 2


def test_no_events_are_no_problem() -> None:
    assert decide(np.zeros((0, 4), dtype=np.int8), 1).choices.shape == (0,)
