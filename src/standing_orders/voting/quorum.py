"""Quorum vote for an honest counter: n >= 2f + 1.

**Model.** n agents each cast one ballot per event: allow, alert, block or quarantine. At most f of
them are faulty: they may know every other ballot before they cast their own, conspire, cast
anything or nothing. The counter is honest, and an honest ballot reaches it in time; an agent whose
ballot is missing (silent, late, malformed) counts as faulty. Everybody learns the counter's
result, so there is one.

**Rule.** Honest agents may differ in good faith, block against quarantine, so equal ballots are
not what is counted. Each rung of the ladder is a question of its own: "at least alert?", "at least
block?", "at least quarantine?"; an action has a quorum if more than half of the valid ballots
ask for at least that much (allow: if more than half ask for no more). The most severe action with a
quorum wins. A tie says no to block and to quarantine; a tie between allow and everything else is
no quorum, and the team alerts. Less than n - f valid ballots are no quorum either: more agents
failed than the vote is made for. (In other words: the median ballot, and of two middle ballots
what is nearest to alert. It is a median with a phantom voter, so no agent gains by lying about what
it wants.)

**Claims**, for any honest ballots and anything that f faulty agents do:

1. *Range*: the outcome lies between the mildest and the most severe honest ballot.
2. *Majority*: if more than n / 2 agents are honest and ask for at least `a`, the outcome is at
   least `a`; the same for at most. So if they all cast `a`, or all honest agents do, it is `a`.
3. *Fallback*: without a quorum the outcome is alert, and the event is counted. Claims 1 and 2 hold
   for it too: f faulty agents cannot force an alert that is out of range.
4. *Sets of ballots*: for n >= 3f + 1 claim 1 also holds when up to f ballots of honest agents are
   missing and f others lie, as long as n - f ballots are there; so does claim 2 for honest agents
   that all cast the same. The agreement without trust (`pbft`) rests on this.

With f + 1 faulty agents claim 1 fails for every n = 2f + 1 and 2f + 2. The tests enumerate all of
this up to n = 7.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.actions import ALERT, ALLOW, NUM_ACTIONS
from standing_orders.errors import VotingError
from standing_orders.voting.record import settle_ties

# The ballot of an agent that cast none; any other number that is no action is treated the same.
MISSING = -1

Ties = Literal["alert", "record"]
TIES: tuple[str, ...] = get_args(Ties)


@dataclass(frozen=True)
class Decision:
    """Outcome of a vote on each of many events."""

    actions: NDArray[np.int8]  # (num_events,): alert where there is no quorum, unless ties say else
    has_quorum: NDArray[np.bool_]  # (num_events,)

    @property
    def num_fallbacks(self) -> int:
        """Number of events without a quorum."""
        return int((~self.has_quorum).sum())


def decide(
    votes: NDArray[np.integer],  # (num_events, n)
    f: int,
    *,
    ties: Ties = "alert",
) -> Decision:
    """Count the ballots of many events; see the rule and its claims at the top of this module.

    Args:
        votes: one row per event in the order of arrival, one column per agent: an action, or
            `MISSING`. A number that is no action is a missing ballot.
        f: number of faulty agents that the vote must bear, at least 0.
        ties: between allow and everything else: `alert`, or what the track `record` of the agents
            over the earlier events says (allow or alert; `record.settle_ties`). Claim 1 holds
            either way: both sides of a tie hold an honest ballot. Both count as no quorum.

    Returns:
        The action of each event and whether it had a quorum.

    Raises:
        VotingError: n < 2f + 1, a quorum of one, or votes that are no table of whole numbers.

    Example:
        >>> votes = np.array([[3, 2, 2, 0], [0, 0, 2, 3], [2, 2, MISSING, MISSING]], dtype=np.int8)
        >>> decision = decide(votes, f=1)
        >>> decision.actions
        array([2, 1, 1], dtype=int8)
        >>> decision.has_quorum
        array([ True, False, False])
    """
    if votes.ndim != 2 or not np.issubdtype(votes.dtype, np.integer):
        raise VotingError(
            f"votes of shape {votes.shape} and type {votes.dtype}: must be whole numbers, one row "
            "per event and one column per agent"
        )
    if ties not in TIES:
        raise VotingError(f"ties {ties!r}: must be one of {', '.join(TIES)}")
    num_agents = votes.shape[1]
    check_quorum_bound(num_agents, f)
    num_valid, num_at_least = _count(votes)
    actions = np.zeros(len(votes), dtype=np.int8)
    for action in range(ALERT, NUM_ACTIONS):
        # At least `action` implies at least everything below it, so the rungs add up.
        actions += 2 * num_at_least[action] > num_valid
    is_tied = 2 * num_at_least[ALERT] == num_valid
    has_enough = num_valid >= num_agents - f
    has_quorum = has_enough & ~is_tied
    actions[~has_quorum] = ALERT
    if ties == "record":
        settle_ties(actions, votes, has_quorum=has_quorum, is_tied=is_tied & has_enough)
    return Decision(actions=actions, has_quorum=has_quorum)


def check_quorum_bound(n: int, f: int) -> None:
    """Refuse a vote that cannot bear f faulty agents.

    Raises:
        VotingError: n < 2f + 1, or a single agent would be its own quorum; says which n is needed.
    """
    check_counts(n, f)
    if n < 2 * f + 1:
        raise VotingError(
            f"n = {n} agents, f = {f} faulty: a quorum vote needs n >= 2f + 1 = {2 * f + 1}"
        )
    if n == 1:
        raise VotingError("n = 1 agent: a quorum of one is no vote; needs n >= 2, or 3 for f = 1")


def check_counts(n: int, f: int) -> None:
    """Refuse numbers of agents and faulty agents that are no such numbers.

    Raises:
        VotingError: n < 1, f < 0, or not whole numbers.
    """
    for name, value, least in (("n", n, 1), ("f", f, 0)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise VotingError(f"{name} = {value!r}: must be a whole number of at least {least}")


def _count(votes: NDArray[np.integer]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Number of valid ballots (num_events,), and of those for at least each action (4, ...)."""
    num_at_least = np.zeros((NUM_ACTIONS, len(votes)), dtype=np.int32)
    for ballots in votes.T:
        is_action = ballots < NUM_ACTIONS
        for action in range(ALLOW, NUM_ACTIONS):
            num_at_least[action] += is_action & (ballots >= action)
    return num_at_least[ALLOW], num_at_least
