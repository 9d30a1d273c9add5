"""Liars of the bulk vote: each does what the table says, and nothing to anyone else's ballot."""

import numpy as np
import pytest

from standing_orders.errors import VotingError
from standing_orders.voting import LIARS, MISSING, decide, lie
from standing_orders.voting.byzantine import MESSAGE_LIES
from standing_orders.voting.liars import KINDS, withhold

NUM_CHOICES = 4
ALLOW, BLOCK, QUARANTINE = 0, 2, 3
TEN = {"silent", "random", "always-allow", "always-block", "flip", "collude", "equivocate",
       "replay", "late", "malformed"}  # fmt: skip


def honest_votes(num_events: int = 400, n: int = 5) -> np.ndarray:
    return np.random.default_rng(7).integers(NUM_CHOICES, size=(num_events, n), dtype=np.int8)


def cast(kind: str, votes: np.ndarray, liars: list[int], seed: int = 0) -> np.ndarray:
    return lie(kind, votes, liars, np.random.default_rng(seed), num_choices=NUM_CHOICES)


def test_there_are_ten_in_bulk_and_at_message_level() -> None:
    assert set(LIARS) == TEN
    assert set(KINDS) == set(MESSAGE_LIES) == TEN | {"omniscient"}


@pytest.mark.parametrize("kind", LIARS)
@pytest.mark.parametrize("liars", [[], [1], [4, 0], [0, 1, 2, 3, 4]])
def test_only_the_liars_ballots_change_and_the_seed_repeats_them(kind, liars) -> None:
    votes = honest_votes()
    before = votes.copy()
    ballots = cast(kind, votes, liars)
    others = [agent for agent in range(5) if agent not in liars]
    assert ballots.dtype == np.int8
    assert ballots.shape == votes.shape
    assert (ballots[:, others] == votes[:, others]).all()
    assert (votes == before).all()
    assert (ballots == cast(kind, votes, liars)).all()
    decide(ballots, 2, num_choices=NUM_CHOICES)


@pytest.mark.parametrize(
    ("kind", "action"),
    [
        ("silent", MISSING),
        ("equivocate", MISSING),
        ("always-allow", ALLOW),
        ("always-block", BLOCK),
    ],
)
def test_some_always_cast_the_same(kind: str, action: int) -> None:
    assert (cast(kind, honest_votes(), [2])[:, 2] == action).all()


def test_random_casts_every_action_about_equally() -> None:
    counts = np.bincount(cast("random", honest_votes(4_000), [0])[:, 0], minlength=4)
    assert (np.abs(counts - 1_000) < 150).all()


def test_flip_mirrors_its_own_vote() -> None:
    votes = np.array([[0, 1], [1, 1], [2, 1], [3, 1], [MISSING, 1]], dtype=np.int8)
    assert cast("flip", votes, [0])[:, 0].tolist() == [3, 2, 1, 0, MISSING]


def test_colluders_push_together_against_the_honest() -> None:
    votes = np.array([[2, 2, 0, 1, 1], [0, 0, 2, 2, 2], [0, 3, 0, 1, 1]], dtype=np.int8)
    assert cast("collude", votes, [3, 4])[:, 3:].tolist() == [
        [ALLOW, ALLOW], [QUARANTINE, QUARANTINE], [QUARANTINE, QUARANTINE]
    ]  # fmt: skip


def test_replay_casts_the_vote_on_the_event_before() -> None:
    votes = honest_votes()
    ballots = cast("replay", votes, [1])
    assert ballots[0, 1] == MISSING
    assert (ballots[1:, 1] == votes[:-1, 1]).all()


def test_late_misses_the_deadline_half_of_the_time() -> None:
    votes = honest_votes(4_000)
    own = cast("late", votes, [3])[:, 3]
    assert 0.45 < (own == MISSING).mean() < 0.55
    assert ((own == votes[:, 3]) | (own == MISSING)).all()


def test_malformed_is_never_an_action() -> None:
    own = cast("malformed", honest_votes(4_000), [0])[:, 0]
    assert ((own < MISSING) | (own >= NUM_CHOICES)).all()


def test_unknown_liars_are_refused() -> None:
    with pytest.raises(VotingError, match="liar 'honest': must be one of silent, random"):
        cast("honest", honest_votes(), [0])
    for liars in ([5], [-1], [0, 0]):
        with pytest.raises(VotingError, match="must be different agents from 0 to 4"):
            cast("flip", honest_votes(), liars)


def test_one_that_knows_the_truth_asks_for_the_opposite_and_must_be_told_it() -> None:
    votes, is_right = honest_votes(50), np.arange(50) % 3 == 0
    rng = np.random.default_rng(0)
    changed = lie("omniscient", votes, [1], rng, num_choices=NUM_CHOICES, is_right=is_right)
    assert (changed[:, 1] == np.where(is_right, ALLOW, QUARANTINE)).all()
    assert (np.delete(changed, 1, axis=1) == np.delete(votes, 1, axis=1)).all()
    with pytest.raises(VotingError, match="must be told what is right"):
        cast("omniscient", votes, [1])


@pytest.mark.parametrize(("n", "f"), [(4, 1), (7, 2)])
def test_no_other_ballots_left_out_do_more_harm(n: int, f: int) -> None:
    rng = np.random.default_rng(1)
    votes, is_right = honest_votes(300, n), rng.random(300) < 0.4
    liars = list(range(f))
    lies = lie("omniscient", votes, liars, rng, num_choices=NUM_CHOICES, is_right=is_right)

    def wrong(absent: np.ndarray) -> int:
        left = np.where(absent, MISSING, lies).astype(np.int8)
        return int(((decide(left, f, num_choices=NUM_CHOICES).choices > 0) != is_right).sum())

    worst = withhold(lies, liars, f, num_choices=NUM_CHOICES, is_right=is_right)
    assert not worst[:, liars].any()
    assert (worst.sum(axis=1) == f).all()
    tries = [np.argsort(rng.random((300, n - f))) < f for _ in range(50)]
    others = [wrong(np.concatenate([np.zeros((300, f), bool), one], axis=1)) for one in tries]
    assert wrong(worst) > max(others) > wrong(np.zeros((300, n), bool))
    together = withhold(lies, liars, f, num_choices=NUM_CHOICES, is_right=is_right, batch=50)
    assert together.shape == (6, n)
    assert wrong(worst) > wrong(np.repeat(together, 50, axis=0)) > np.mean(others)
