"""Ten ways to lie, as ballots of many events at once.

What each one does here, where an honest counter gets one ballot per agent and event:

| liar | its ballot |
|---|---|
| silent | missing |
| random | any action, each equally likely |
| always-allow | allow |
| always-block | block |
| flip | its own vote mirrored: allow for quarantine, alert for block |
| collude | all liars know the honest ballots and push the same way, to the end of the ladder that \
the honest agents did not choose |
| equivocate | two ballots that contradict each other; the counter cannot tell which one is meant \
and drops both: missing. It can do more only without a counter (`byzantine`) |
| replay | its own vote on the event before; missing on the first event. (An old signed ballot is \
void, it names its event; what is left is to cast the old vote again) |
| late | its own vote, but after the deadline half of the time: missing then |
| malformed | a number that is no action; counted as missing |
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.actions import ALLOW, BLOCK, NUM_ACTIONS, QUARANTINE
from standing_orders.errors import VotingError
from standing_orders.voting.quorum import MISSING

Votes = NDArray[np.int8]
Liar = Callable[[Votes, Sequence[int], np.random.Generator], Votes]

# Share of its ballots that a late agent casts too late.
LATE_PROB = 0.5


def lie(
    kind: str,
    votes: Votes,  # (num_events, n)
    liar_indices: Sequence[int],
    rng: np.random.Generator,
) -> Votes:  # (num_events, n)
    """Ballots as the counter gets them when some agents lie.

    Args:
        kind: one of `LIARS`; see the table of this module.
        votes: what every agent would vote if it were honest.
        liar_indices: which agents lie; none to all of them.
        rng: where random ballots come from.

    Returns:
        A copy of the votes in which the columns of the liars have changed.

    Raises:
        VotingError: there is no such liar, or no such agent.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> lie("flip", np.array([[0, 1, 3]], dtype=np.int8), [0, 2], rng)
        array([[3, 1, 0]], dtype=int8)
    """
    if kind not in LIARS:
        raise VotingError(f"liar {kind!r}: must be one of {', '.join(LIARS)}")
    n = votes.shape[1]
    if len(set(liar_indices)) < len(liar_indices) or not all(0 <= i < n for i in liar_indices):
        raise VotingError(f"liars {list(liar_indices)}: must be different agents from 0 to {n - 1}")
    return LIARS[kind](votes, liar_indices, rng)


def _fixed(action: int) -> Liar:
    def cast(votes: Votes, liars: Sequence[int], rng: np.random.Generator) -> Votes:  # noqa: ARG001
        return _replace(votes, liars, np.int8(action))

    return cast


def _random(votes: Votes, liars: Sequence[int], rng: np.random.Generator) -> Votes:
    shape = (len(votes), len(liars))
    return _replace(votes, liars, rng.integers(NUM_ACTIONS, size=shape, dtype=np.int8))


def _flip(votes: Votes, liars: Sequence[int], rng: np.random.Generator) -> Votes:  # noqa: ARG001
    own = votes[:, liars]
    return _replace(votes, liars, np.where(own == MISSING, own, QUARANTINE - own))


def _collude(votes: Votes, liars: Sequence[int], rng: np.random.Generator) -> Votes:  # noqa: ARG001
    honest = np.delete(votes, liars, axis=1)
    is_flagged = 2 * (honest > ALLOW).sum(axis=1) >= (honest >= ALLOW).sum(axis=1)
    return _replace(votes, liars, np.where(is_flagged, ALLOW, QUARANTINE)[:, None])


def _replay(votes: Votes, liars: Sequence[int], rng: np.random.Generator) -> Votes:  # noqa: ARG001
    first = np.full((min(len(votes), 1), len(liars)), MISSING, dtype=np.int8)
    return _replace(votes, liars, np.concatenate([first, votes[:-1, liars]]))


def _late(votes: Votes, liars: Sequence[int], rng: np.random.Generator) -> Votes:
    is_late = rng.random((len(votes), len(liars))) < LATE_PROB
    return _replace(votes, liars, np.where(is_late, MISSING, votes[:, liars]))


def _malformed(votes: Votes, liars: Sequence[int], rng: np.random.Generator) -> Votes:
    shape = (len(votes), len(liars))
    garbage = rng.integers(NUM_ACTIONS, 128, size=shape, dtype=np.int8)
    return _replace(votes, liars, np.where(rng.random(shape) < 0.5, garbage, -garbage))


def _replace(votes: Votes, liars: Sequence[int], ballots: NDArray[np.generic] | np.int8) -> Votes:
    changed = votes.copy()
    changed[:, liars] = ballots
    return changed


LIARS: dict[str, Liar] = {
    "silent": _fixed(MISSING),
    "random": _random,
    "always-allow": _fixed(ALLOW),
    "always-block": _fixed(BLOCK),
    "flip": _flip,
    "collude": _collude,
    "equivocate": _fixed(MISSING),
    "replay": _replay,
    "late": _late,
    "malformed": _malformed,
}
