"""Ten ways to lie, and the worst there is, as ballots of many events at once.

What each one does where an honest counter gets one ballot per agent and event; `byzantine` is what
they do to messages:

| liar | its ballot |
|---|---|
| silent | missing |
| random | any choice, each equally likely |
| always-allow | 0 |
| always-block | the lowest choice of the upper half |
| flip | its own vote mirrored: the highest choice for 0 |
| collude | all liars know the honest ballots and push the same way, to the end of the ladder that \
the honest agents did not choose |
| equivocate | two ballots that contradict each other; the counter drops both: missing |
| replay | its own vote on the event before; missing on the first event. (An old signed ballot is \
void, it names its event) |
| late | its own vote, but after the deadline half of the time: missing then |
| malformed | a number that is no choice; counted as missing |
| omniscient | knows the right outcome and asks for the other end of the ladder |

Where nobody is trusted to count, the network has a say too: it may keep f honest ballots from
whoever counts. `withhold` names those that harm most: with an omniscient liar, nothing that PBFT
tolerates does worse to an event.
"""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from standing_orders.errors import VotingError
from standing_orders.voting.quorum import MISSING, decide

Votes = NDArray[np.int8]
# From all votes, who lies, the number of choices and a source of chance to the liars' ballots.
Liar = Callable[[Votes, Sequence[int], int, np.random.Generator], NDArray[np.integer] | int]

LATE_PROB = 0.5  # share of its ballots that a late agent casts too late


def lie(
    kind: str,
    votes: Votes,  # (num_events, n)
    liar_indices: Sequence[int],
    rng: np.random.Generator,
    *,
    num_choices: int,
    is_right: NDArray[np.bool_] | None = None,  # (num_events,)
) -> Votes:  # (num_events, n)
    """Ballots as the counter gets them when some agents lie.

    Args:
        kind: one of `KINDS`; see the table of this module.
        votes: what every agent would vote if it were honest.
        liar_indices: which agents lie; none to all of them.
        rng: where random ballots come from.
        num_choices: choices that there are.
        is_right: whether more than 0 is right, for liars that know.

    Returns:
        A copy of the votes in which the columns of the liars have changed.

    Raises:
        VotingError: there is no such liar, or no such agent, or nobody says what is right.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> lie("flip", np.array([[0, 1, 3]], dtype=np.int8), [0, 2], rng, num_choices=4)
        array([[3, 1, 0]], dtype=int8)
    """
    if kind not in KINDS:
        raise VotingError(f"liar {kind!r}: must be one of {', '.join(KINDS)}")
    n = votes.shape[1]
    if len(set(liar_indices)) < len(liar_indices) or not all(0 <= i < n for i in liar_indices):
        raise VotingError(f"liars {list(liar_indices)}: must be different agents from 0 to {n - 1}")
    changed = votes.copy()
    if kind == OMNISCIENT:
        if is_right is None:
            raise VotingError(f"liar {kind!r}: must be told what is right")
        changed[:, liar_indices] = np.where(is_right, 0, num_choices - 1)[:, None]
        return changed
    changed[:, liar_indices] = LIARS[kind](votes, liar_indices, num_choices, rng)
    return changed


def withhold(
    votes: Votes,  # (num_events, n): as cast, lies included
    liar_indices: Sequence[int],
    f: int,
    *,
    num_choices: int,
    is_right: NDArray[np.bool_],  # (num_events,)
    batch: int = 1,
) -> NDArray[np.bool_]:  # (num_slots, n)
    """The f honest agents without whose ballots most events of a slot come out wrong.

    Args:
        votes: what every agent casts.
        liar_indices: who lies; their ballots come.
        f: number of faulty agents tolerated: so many honest ballots can be left out.
        num_choices: choices that there are.
        is_right: whether more than 0 is right.
        batch: events of a slot; ballots on them are withheld together.

    Example:
        >>> votes = np.array([[2, 2, 0, 0], [0, 0, 3, 3]], dtype=np.int8)
        >>> withhold(votes, [3], 1, num_choices=4, is_right=np.array([True, False])).astype(int)
        array([[1, 0, 0, 0],
               [1, 0, 0, 0]])
    """
    num_events, n = votes.shape
    honest = [agent for agent in range(n) if agent not in liar_indices]
    starts = np.arange(0, num_events, batch)
    options = list(combinations(honest, min(f, len(honest))))
    harms = np.empty((len(options), len(starts)), dtype=np.int64)
    for harm, absent in zip(harms, options, strict=True):
        left = votes.copy()
        left[:, absent] = MISSING
        choices = decide(left, f, num_choices=num_choices).choices.astype(np.int64)
        # Wrong or not is what counts; then how far from what is right.
        is_wrong = (choices > 0) != is_right
        far = np.where(is_right, num_choices - 1 - choices, choices)
        harm[:] = np.add.reduceat(num_choices * is_wrong + far, starts)
    chosen = np.array(options, dtype=np.int64)[harms.argmax(axis=0)]  # (num_slots, f)
    found = np.zeros((len(starts), n), dtype=np.bool_)
    np.put_along_axis(found, chosen, np.True_, axis=1)
    return found


def _collude(
    votes: Votes, liars: Sequence[int], num_choices: int, _: np.random.Generator
) -> NDArray[np.integer]:
    honest = np.delete(votes, liars, axis=1)
    asks_for_more = 2 * (honest > 0).sum(axis=1) >= (honest >= 0).sum(axis=1)
    return np.where(asks_for_more, 0, num_choices - 1)[:, None]


def _replay(
    votes: Votes, liars: Sequence[int], _: int, __: np.random.Generator
) -> NDArray[np.integer]:
    first = np.full((min(len(votes), 1), len(liars)), MISSING, dtype=np.int8)
    return np.concatenate([first, votes[:-1, liars]])


def _malformed(
    votes: Votes, liars: Sequence[int], num_choices: int, rng: np.random.Generator
) -> NDArray[np.integer]:
    shape = (len(votes), len(liars))
    garbage = rng.integers(num_choices, 128, size=shape, dtype=np.int8)
    return np.where(rng.random(shape) < 0.5, garbage, -garbage)


LIARS: dict[str, Liar] = {
    "silent": lambda *_: MISSING,
    "random": lambda votes, liars, num_choices, rng: rng.integers(
        num_choices, size=(len(votes), len(liars)), dtype=np.int8
    ),
    "always-allow": lambda *_: 0,
    "always-block": lambda _, __, num_choices, ___: num_choices // 2,
    "flip": lambda votes, liars, num_choices, _: np.where(
        votes[:, liars] == MISSING, MISSING, num_choices - 1 - votes[:, liars]
    ),
    "collude": _collude,
    "equivocate": lambda *_: MISSING,
    "replay": _replay,
    "late": lambda votes, liars, _, rng: np.where(
        rng.random((len(votes), len(liars))) < LATE_PROB, MISSING, votes[:, liars]
    ),
    "malformed": _malformed,
}

OMNISCIENT = "omniscient"
KINDS = (*LIARS, OMNISCIENT)
# Those that cast a false ballot and only that; the others lie about messages.
BALLOT_LIARS = ("random", "always-allow", "always-block", "flip", OMNISCIENT)
