"""What follows from decisions: the core that the environment and the trainer share.

A game is a table: what each action earns at each event, and which actions end a session. Records
are sessions of one event. What an action earns depends on the past in one way only, whether an
alert has been raised since the attack began, so the table has one more axis for that.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from standing_orders.detect.actions import ALERT, BLOCK, NUM_ACTIONS
from standing_orders.detect.costs import CostTable
from standing_orders.detect.data.events import Events, Task
from standing_orders.detect.session_costs import (
    SessionCosts,
    running_count,
    session_context,
    step_rewards,
)


@dataclass(frozen=True, eq=False)
class Game:
    """Sessions, and what every action earns at every event of them."""

    rewards: NDArray[np.float64]  # (num_events, NUM_ACTIONS, 2): no alert since the onset, or one
    has_begun: NDArray[np.bool_]  # (num_events,): the attack of its session
    is_threat: NDArray[np.bool_]  # (num_events,)
    starts: NDArray[np.int64]  # (num_sessions + 1,)

    @property
    def num_events(self) -> int:
        """Number of events."""
        return len(self.is_threat)

    @property
    def num_sessions(self) -> int:
        """Number of sessions."""
        return len(self.starts) - 1

    def rows_of(self, sessions: NDArray[np.int64]) -> NDArray[np.int64]:  # (n,)
        """Events of some sessions, in the order given."""
        lengths = np.diff(self.starts)[sessions]
        ends = np.cumsum(lengths)
        return np.arange(lengths.sum()) + np.repeat(self.starts[sessions] - ends + lengths, lengths)

    def take(self, sessions: NDArray[np.int64]) -> "Game":
        """The game of some of the sessions."""
        rows = self.rows_of(sessions)
        lengths = np.diff(self.starts)[sessions]
        return Game(
            rewards=self.rewards[rows],
            has_begun=self.has_begun[rows],
            is_threat=self.is_threat[rows],
            starts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        )


def make_game(events: Events, task: Task, table: CostTable, costs: SessionCosts) -> Game:
    """The table of all events.

    Args:
        events: with their truth.
        task: records are judged by `table`, sessions by `costs`.
        table: what a decision about a record earns.
        costs: what decisions about a session cost.
    """
    rewards = np.empty((events.num_events, NUM_ACTIONS, 2))
    if task == "records":
        rewards[:] = table.rewards().T[events.is_threat.astype(np.int64)][:, :, None]
        return Game(rewards, events.is_threat, events.is_threat, events.starts)
    context = session_context(events.is_threat, events.starts)
    every = np.arange(events.num_events)
    for action in range(NUM_ACTIONS):
        for has_alerted in (0, 1):
            rewards[:, action, has_alerted] = step_rewards(
                costs,
                np.full(events.num_events, action),
                context,
                events=every,
                has_alerted=np.full(events.num_events, bool(has_alerted)),
            )
    return Game(rewards, context.has_begun, events.is_threat, events.starts)


@dataclass(frozen=True)
class Played:
    """What came of decisions about whole sessions."""

    rewards: NDArray[np.float64]  # (num_events,): 0 after the end
    is_open: NDArray[np.bool_]  # (num_events,): the session had not been ended before
    is_end: NDArray[np.bool_]  # (num_events,): nothing of the session follows


def play(game: Game, actions: ArrayLike) -> Played:
    """Play whole sessions at once; decisions after the end of a session do not count.

    Args:
        game: the sessions.
        actions: (num_events,), the decision about each event if it is reached.
    """
    actions, starts = np.asarray(actions), game.starts
    is_stop = (actions >= BLOCK).astype(np.int64)
    is_open = running_count(is_stop, starts) - is_stop == 0
    alerts = ((actions == ALERT) & game.has_begun).astype(np.int64)
    has_alerted = (running_count(alerts, starts) - alerts > 0).astype(np.int64)
    rewards = game.rewards[np.arange(len(actions)), actions, has_alerted]
    is_end = actions >= BLOCK
    is_end[starts[1:] - 1] = True
    return Played(np.where(is_open, rewards, 0.0), is_open, is_end)


class OpenSessions:
    """Many sessions at once, one event at a time; those that have ended are masked.

    Args:
        game: the sessions to choose from.
        sessions: which one each environment plays, (num_envs,).
    """

    def __init__(self, game: Game, sessions: ArrayLike) -> None:
        self._game = game
        self._chosen = np.asarray(sessions, dtype=np.int64)
        self.events = game.starts[self._chosen].copy()  # (num_envs,): the present event of each
        self.is_open = np.ones(len(self._chosen), dtype=np.bool_)  # (num_envs,)
        self._has_alerted = np.zeros(len(self._chosen), dtype=np.int64)

    def step(self, actions: ArrayLike) -> NDArray[np.float64]:  # (num_envs,)
        """Decide about the present event of each open session.

        Args:
            actions: (num_envs,); those of sessions that have ended do not count.

        Returns:
            Rewards, 0 for sessions that had ended. `events` and `is_open` move on; the event of a
            session that ends stays its last one.
        """
        actions = np.asarray(actions)
        game, events = self._game, self.events
        rewards = np.where(self.is_open, game.rewards[events, actions, self._has_alerted], 0.0)
        is_alert = (actions == ALERT) & game.has_begun[events] & self.is_open
        self._has_alerted |= is_alert.astype(np.int64)
        is_last = events == game.starts[self._chosen + 1] - 1
        self.is_open = self.is_open & (actions < BLOCK) & ~is_last
        self.events = events + self.is_open
        return rewards
