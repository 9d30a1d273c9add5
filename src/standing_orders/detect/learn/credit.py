"""What each action was worth: exactly, from the table of the game, or from the one that was drawn.

*Expected.* The events of a session do not depend on the actions, only whether it goes on does. So
the value of a policy on a recorded session, and the worth of each action in it, is a sum over the
rest of the session that can be written down. With pi the agent's probabilities and s whether an
alert has been raised since the onset,

    Q(t, s, a) = r(t, a, s) + gamma * [a does not end the session] * V(t + 1, s')
    V(t, s) = sum_a pi(a | t) Q(t, s, a)
    reach(t, s) = chance to get to event t in state s

and sum_t sum_s reach(t, s) sum_a pi(a | t) (Q - V)(t, s, a) grad log pi(a | t) is the gradient of
the expected return without any noise from sampling (the all-actions policy gradient). For records
it is that of a contextual bandit whose four rewards are all known.

*Sampled.* GAE on the actions drawn, with a critic.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from standing_orders.compiled import jit
from standing_orders.detect.actions import ALERT, ALLOW, NUM_ACTIONS
from standing_orders.detect.costs import Game, Played
from standing_orders.detect.data.events import Sessions
from standing_orders.detect.network import lay_side_by_side
from standing_orders.learn.advantages import generalised_advantages


@dataclass(frozen=True)
class Credit:
    """What the actions of each agent were worth."""

    advantages: NDArray[np.float64]  # (agents, rows, NUM_ACTIONS), or (agents, rows): of the drawn
    targets: NDArray[np.float64]  # (agents, rows): for the critics
    weights: NDArray[np.float64]  # (agents, rows): chance or fact that the agent got there

    @property
    def is_expected(self) -> bool:
        """Whether the advantages are those of all actions."""
        return self.advantages.ndim == 3


@jit
def _expect(
    probs: NDArray[np.float64],
    rewards: NDArray[np.float64],
    extra: NDArray[np.float64],
    has_begun: NDArray[np.bool_],
    starts: NDArray[np.int64],
    gamma: float,
    advantages: NDArray[np.float64],
    values: NDArray[np.float64],
    reach: NDArray[np.float64],
) -> None:
    worth = np.zeros((2, NUM_ACTIONS))
    ahead = np.zeros(2)
    now = np.zeros(2)
    for i in range(len(probs)):
        for session in range(len(starts) - 1):
            first, end = starts[session], starts[session + 1]
            quiet, alerted = 1.0, 0.0
            for t in range(first, end):
                total = quiet + alerted
                reach[i, t] = total
                values[i, t] = alerted / total if total > 0 else 0.0  # kept here for the way back
                allow, alert = probs[i, t, ALLOW], probs[i, t, ALERT]
                if has_begun[t]:
                    alerted = alerted * (allow + alert) + quiet * alert
                    quiet *= allow
                else:
                    quiet *= allow + alert
            ahead[:] = 0.0
            for t in range(end - 1, first - 1, -1):
                for state in range(2):
                    now[state] = 0.0
                    for a in range(NUM_ACTIONS):
                        follows = 1 if state == 1 or (a == ALERT and has_begun[t]) else 0
                        goes_on = gamma if a <= ALERT and t < end - 1 else 0.0
                        worth[state, a] = rewards[t, a, state] + extra[i, t, a]
                        worth[state, a] += goes_on * ahead[follows]
                        now[state] += probs[i, t, a] * worth[state, a]
                share = values[i, t]
                for a in range(NUM_ACTIONS):
                    advantages[i, t, a] = (1 - share) * (worth[0, a] - now[0])
                    advantages[i, t, a] += share * (worth[1, a] - now[1])
                values[i, t] = (1 - share) * now[0] + share * now[1]
                ahead[:] = now


def expected_credit(
    probs: NDArray[np.float64],  # (agents, rows, NUM_ACTIONS)
    game: Game,
    *,
    gamma: float,
    extra: NDArray[np.float64] | None = None,  # (agents, rows, NUM_ACTIONS)
) -> Credit:
    """Worth of all actions of each agent, as if it alone decided.

    Returns:
        Advantages of all actions given that the agent gets to the event; weights are the chance
        that it does.
    """
    advantages = np.empty(probs.shape)
    values, reach = np.empty(probs.shape[:2]), np.empty(probs.shape[:2])
    more = np.zeros(probs.shape) if extra is None else extra
    starts = game.sessions.starts
    _expect(probs, game.rewards, more, game.has_begun, starts, gamma, advantages, values, reach)
    return Credit(advantages, values, reach)


def sampled_credit(
    rewards: NDArray[np.float64],  # (agents, rows)
    played: Sequence[Played],
    values: NDArray[np.float64],  # (agents, rows)
    sessions: Sessions,
    *,
    gamma: float,
    gae_lambda: float,
) -> Credit:
    """Advantages of the actions drawn, by GAE; nothing follows the end of a session."""
    grid, is_event = lay_side_by_side(sessions)
    is_open = np.stack([one.is_open for one in played])
    is_used = is_open[:, grid] & is_event  # (agents, steps, sessions)

    def lay(rows: NDArray[np.generic]) -> NDArray[np.float32]:  # -> (steps, agents * sessions)
        laid = np.where(is_used, rows[:, grid], 0)
        return np.concatenate(list(laid), axis=1).astype(np.float32)

    def pick(laid: NDArray[np.float32]) -> NDArray[np.float64]:  # -> (agents, rows)
        rows = np.zeros(values.shape)
        for own, part in zip(rows, np.split(laid, len(played), axis=1), strict=True):
            own[grid[is_event]] = part[is_event]
        return rows * is_open

    known = lay(values)
    advantages, targets = generalised_advantages(
        lay(rewards),
        np.concatenate([known, np.zeros_like(known[:1])]),
        gamma=gamma,
        gae_lambda=gae_lambda,
        is_end=lay(np.stack([one.is_end for one in played])) > 0,
    )
    return Credit(pick(advantages), pick(targets), is_open.astype(np.float64))
