"""Byzantine-fault-tolerant vote with an honest counter: n agents, f faulty ones tolerated.

**Model.** Each agent casts one ballot per event on a ladder of choices: 0 asks for nothing, every
further number for more. At most f agents are faulty: they may know every other ballot, conspire,
cast anything or nothing. The counter is honest; a ballot that is missing, late or malformed counts
as faulty.

**Rule.** Honest agents may differ in good faith, so equal ballots are not what is counted. Each
rung is a question of its own, "at least this much?", and has a quorum if more than half of the
valid ballots say so; the highest rung with a quorum wins. A tie says no, except between 0 and more:
that is no quorum, and neither are less than n - f valid ballots; the outcome then is 1, the least
that is not nothing. (It is the median ballot, and of two middle ones what is nearest to 1: a median
with a phantom voter, so that no agent gains by lying about what it wants.)

**Claims**, for n >= 2f + 1, any honest ballots and anything that f faulty agents do:

1. *Range*: the outcome lies between the lowest and the highest honest ballot.
2. *Majority*: if more than n / 2 agents are honest and ask for at least `a`, the outcome is at
   least `a`; the same for at most. So if they all cast `a`, or all honest agents do, it is `a`.
3. *Fallback*: without a quorum the outcome is 1, and counted; claims 1 and 2 hold for it too.
4. *Sets of ballots*: for n >= 3f + 1 claim 1 also holds when up to f honest ballots are missing
   and f others lie, as long as n - f are there; so does claim 2 for honest agents that all cast the
   same. The vote without a trusted counter (`pbft`) rests on this.

With f + 1 faulty agents claim 1 fails for n = 2f + 1 and 2f + 2. The tests enumerate all of this up
to n = 7.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from standing_orders.errors import VotingError

MISSING = -1  # the ballot of an agent that cast none; any number that is no choice is the same
FALLBACK = 1  # the outcome without a quorum


@dataclass(frozen=True)
class Committee:
    """Agents that vote without a trusted counter: n >= 3f + 1, f >= 1.

    Raises:
        VotingError: too few agents for f, f = 0 or less than two choices; says which n is needed.

    Example:
        >>> Committee(n=4, f=1, num_choices=4).quorum, Committee(n=6, f=1, num_choices=4).quorum
        (3, 4)
    """

    n: int
    f: int  # faulty agents tolerated
    num_choices: int  # at least 2

    def __post_init__(self) -> None:
        _check_counts(self.n, self.f, self.num_choices)
        if self.f == 0:
            most = (self.n - 1) // 3
            advice = f"n = {self.n} tolerates up to {most}" if most else "one needs n >= 4"
            raise VotingError(
                f"n = {self.n} agents, f = 0: no faulty agent would be tolerated; {advice}"
            )
        if self.n < 3 * self.f + 1:
            raise VotingError(
                f"n = {self.n} agents, f = {self.f} faulty: a Byzantine-fault-tolerant vote "
                f"without a trusted counter needs n >= 3f + 1 = {3 * self.f + 1}"
            )

    @property
    def quorum(self) -> int:
        """Smallest number such that any two quorums share f + 1 agents, so an honest one.

        It is 2f + 1 for n = 3f + 1; for more agents 2f + 1 would not be enough.
        """
        return (self.n + self.f) // 2 + 1

    @property
    def num_ballots(self) -> int:
        """Number of ballots a proposal must hold: as many as are certain to come."""
        return self.n - self.f

    def primary(self, slot: int, view: int) -> int:
        """Agent that proposes in a view; the office goes round, from slot to slot as well."""
        return (slot + view) % self.n


@dataclass(frozen=True)
class Decision:
    """Outcome of a vote on each of many events."""

    choices: NDArray[np.int8]  # (num_events,): 1 where there is no quorum
    has_quorum: NDArray[np.bool_]  # (num_events,)

    @property
    def num_fallbacks(self) -> int:
        """Number of events without a quorum."""
        return int((~self.has_quorum).sum())


def decide(
    votes: NDArray[np.integer],  # (num_events, n)
    f: int,
    *,
    num_choices: int,
) -> Decision:
    """Count the ballots of many events; see the rule and its claims at the top of this module.

    Args:
        votes: one row per event, one column per agent: a choice, or `MISSING`. A number that is no
            choice is a missing ballot.
        f: number of faulty agents tolerated, at least 0.
        num_choices: rungs of the ladder, at least 2.

    Raises:
        VotingError: n < 2f + 1, a quorum of one, or votes that are no table of whole numbers.

    Example:
        >>> votes = np.array([[3, 2, 2, 0], [0, 0, 2, 3], [2, 2, MISSING, MISSING]], dtype=np.int8)
        >>> decision = decide(votes, f=1, num_choices=4)
        >>> decision.choices
        array([2, 1, 1], dtype=int8)
        >>> decision.has_quorum
        array([ True, False, False])
    """
    if votes.ndim != 2 or not np.issubdtype(votes.dtype, np.integer):
        raise VotingError(
            f"votes of shape {votes.shape} and type {votes.dtype}: must be whole numbers, one row "
            "per event and one column per agent"
        )
    num_agents = votes.shape[1]
    check_quorum_bound(num_agents, f)
    _check_counts(num_agents, f, num_choices)
    by_agent = np.where(votes.T < num_choices, votes.T, MISSING)
    rungs = [(by_agent >= choice).sum(axis=0, dtype=np.int32) for choice in range(num_choices)]
    num_at_least = np.stack(rungs)  # (num_choices, num_events)
    num_valid = num_at_least[0]
    # At least `choice` implies at least everything below it, so the rungs add up.
    choices = (2 * num_at_least[1:] > num_valid).sum(axis=0).astype(np.int8)
    has_enough = num_valid >= num_agents - f
    is_tied = has_enough & (2 * num_at_least[1] == num_valid)
    has_quorum = has_enough & ~is_tied
    choices[~has_quorum] = FALLBACK
    return Decision(choices=choices, has_quorum=has_quorum)


def check_quorum_bound(n: int, f: int) -> None:
    """Refuse a vote that cannot tolerate f faulty agents.

    Raises:
        VotingError: n < 2f + 1, or a single agent would be its own quorum; says which n is needed.
    """
    _check_counts(n, f)
    if n < 2 * f + 1:
        raise VotingError(
            f"n = {n} agents, f = {f} faulty: a Byzantine-fault-tolerant vote needs "
            f"n >= 2f + 1 = {2 * f + 1}"
        )
    if n == 1:
        raise VotingError("n = 1 agent: a quorum of one is no vote; needs n >= 2, or 3 for f = 1")


def _check_counts(n: int, f: int, num_choices: int = 2) -> None:
    for name, value, least in (("n", n, 1), ("f", f, 0), ("num_choices", num_choices, 2)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise VotingError(f"{name} = {value!r}: must be a whole number of at least {least}")
