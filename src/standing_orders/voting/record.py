"""How a tie is settled by the agents' track record.

Earlier events show how each agent votes when the team flags and when it allows. For a tie at event
t, with the counts of the events before t (each started at 1):

    score = log (P(flagged) / P(allowed)) + sum_i log (P(vote_i | flagged) / P(vote_i | allowed))

over the agents that voted; the event is flagged if the score is positive. An earlier tie counts
half as flagged, half as allowed: left out, an agent whose errors all ended in ties would seem to
make none. An agent that always blocks, or always allows, adds nothing to the sum, so that one such
liar of four leaves the three honest ones to decide. (This is the naive Bayes model of Dawid and
Skene, 1979, with the vote in place of the truth.) A liar with a good record can win a tie, and
cannot do more than that.
"""

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.actions import ALERT, ALLOW, NUM_ACTIONS


def settle_ties(
    actions: NDArray[np.int8],  # (num_events,), changed in place
    votes: NDArray[np.integer],  # (num_events, n)
    *,
    has_quorum: NDArray[np.bool_],  # (num_events,)
    is_tied: NDArray[np.bool_],  # (num_events,)
) -> None:
    """Give tied events the action allow or alert, whichever the track record favours."""
    tied = np.flatnonzero(is_tied)
    flagged = np.where(is_tied, 0.5, has_quorum & (actions != ALLOW))
    allowed = np.where(is_tied, 0.5, has_quorum & (actions == ALLOW))
    score = np.log((_before(flagged, tied) + 1) / (_before(allowed, tied) + 1))
    for ballots in votes.T:
        is_valid = (ballots >= ALLOW) & (ballots < NUM_ACTIONS)
        num_ballots = [_before(is_valid * weight, tied) for weight in (flagged, allowed)]
        for is_vote in (ballots == ALLOW, is_valid & (ballots > ALLOW)):
            num_votes = [_before(is_vote * weight, tied) for weight in (flagged, allowed)]
            share = [(num_votes[k] + 1) / (num_ballots[k] + 2) for k in range(2)]
            score += np.where(is_vote[tied], np.log(share[0] / share[1]), 0.0)
    actions[tied] = np.where(score > 0, ALERT, ALLOW)


def _before(weights: NDArray[np.float64], events: NDArray[np.int64]) -> NDArray[np.float64]:
    """Sum of the weights before each of some events."""
    return np.asarray((np.cumsum(weights) - weights)[events])
