"""How a team does with events that it does not learn from: stretches of the validation part.

They come in their own order, as events do, and tell what training on shuffled sessions cannot: how
far the rules are kept on new events, by which prices are set and constraint heads learn.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from standing_orders.detect.config import TeamConfig
from standing_orders.detect.data.events import Task
from standing_orders.detect.decisions import (
    apply_shield,
    as_streams,
    cast_votes,
    decide_all,
    suspicion_of,
)
from standing_orders.detect.learn.game import Game
from standing_orders.detect.learn.team import Judged, TeamNetwork
from standing_orders.detect.rules import RuleBook, Streams

NUM_STRETCHES = 8  # of an update; one alone would be too much of a kind


@dataclass(frozen=True, eq=False)
class Glimpse:
    """What the team thinks and does about some events."""

    game: Game
    judged: Judged
    probs: NDArray[np.float64]  # (agents, rows, NUM_ACTIONS)
    actions: NDArray[np.int64]  # (rows,): of the team, after the shield

    def streams(self, task: Task) -> Streams:
        """The decisions as rules see them."""
        return as_streams(self.game, task, self.actions[:, None], suspicion_of(self.probs)[:, None])


def stretches(num_sessions: int, count: int, update: int) -> NDArray[np.int64]:
    """Sessions of an update: as they follow each other, from several places that move on.

    Args:
        num_sessions: there are.
        count: wanted, about.
        update: number of the update.

    Example:
        >>> stretches(80, 16, update=1).tolist()[:4]
        [2, 3, 12, 13]
    """
    length = max(1, count // NUM_STRETCHES)
    begins = np.arange(NUM_STRETCHES)[:, None] * num_sessions // NUM_STRETCHES
    places = begins + update * length + np.arange(length)
    chosen: NDArray[np.int64] = (places % num_sessions).ravel()
    return chosen


def look(
    network: TeamNetwork,
    features: torch.Tensor,  # (rows, num_features)
    game: Game,
    *,
    task: Task,
    config: TeamConfig,
    book: RuleBook,
) -> Glimpse:
    """Let the team judge events, without learning from them."""
    with torch.no_grad():
        judged = network.judge(features, game.starts)
    probs = np.exp(judged.log_probs.numpy().astype(np.float64))
    actions = decide_all(cast_votes(probs), probs, config).actions
    actions, _ = apply_shield(book, actions, suspicion_of(probs), game.starts, task)
    return Glimpse(game, judged, probs, actions)
