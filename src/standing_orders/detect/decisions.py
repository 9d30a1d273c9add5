"""From the agents' probabilities to ballots, and from ballots to what the team does."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.actions import ALLOW, BLOCK, NUM_ACTIONS
from standing_orders.detect.config import TeamConfig
from standing_orders.detect.data.events import Task
from standing_orders.detect.learn.game import Game, play
from standing_orders.detect.rules import RuleBook, Shield, Streams
from standing_orders.voting import decide


@dataclass(frozen=True, eq=False)
class Decisions:
    """What a team does about events."""

    actions: NDArray[np.int64]  # (rows,)
    has_quorum: NDArray[np.bool_]  # (rows,): True where nobody votes

    @property
    def num_fallbacks(self) -> int:
        """Events without a quorum."""
        return int((~self.has_quorum).sum())


def cast_votes(
    probs: NDArray[np.float64],
) -> NDArray[np.int8]:  # (agents, rows, 4) -> (rows, agents)
    """Each agent's likeliest action."""
    return probs.argmax(axis=-1).T.astype(np.int8)


def suspicion_of(probs: NDArray[np.float64]) -> NDArray[np.float64]:  # (agents, rows, 4) -> (rows,)
    """The team's score: the chance of any action but allow, mean over the agents."""
    return np.clip(1 - probs[:, :, ALLOW].mean(axis=0), 0.0, 1.0)


def decide_all(
    votes: NDArray[np.int8],  # (rows, agents)
    probs: NDArray[np.float64],  # (agents, rows, NUM_ACTIONS)
    config: TeamConfig,
) -> Decisions:
    """The team's decisions.

    Args:
        votes: as the counter gets them.
        probs: what `average` goes by; liars do not change it.
        config: how the team decides.
    """
    if config.vote == "quorum":
        outcome = decide(votes, config.faults, num_choices=NUM_ACTIONS, ties=config.ties)
        return Decisions(outcome.choices.astype(np.int64), outcome.has_quorum)
    actions = probs.mean(axis=0).argmax(axis=-1).astype(np.int64)
    return Decisions(actions, np.ones(len(actions), dtype=np.bool_))


def as_streams(
    game: Game,
    task: Task,
    actions: NDArray[np.int64],  # (rows, num_streams)
    suspicion: NDArray[np.float64] | None = None,  # (rows, num_streams)
) -> Streams:
    """Decisions as rules see them: one stream of events for each decider.

    A stream of records is one long session; events after the end of a session did not happen.
    """
    shape = actions.shape
    threat = np.broadcast_to(game.is_threat[:, None], shape)
    if task == "records":
        return Streams(actions, threat, suspicion=suspicion)
    is_open = np.stack([play(game, column).is_open for column in actions.T], axis=1)
    is_last = np.zeros(shape, dtype=np.bool_)
    is_last[game.starts[1:] - 1] = True
    return Streams(actions, threat, is_valid=is_open, is_last=is_last, suspicion=suspicion)


def apply_shield(
    book: RuleBook,
    proposed: NDArray[np.int64],  # (rows,), or (rows, num_deciders)
    suspicion: NDArray[np.float64],  # (rows,)
    starts: NDArray[np.int64],  # (num_sessions + 1,)
    task: Task,
) -> tuple[NDArray[np.int64], dict[str, Any] | None]:
    """Replace decisions that would break a shield's rule, one event after the other.

    Many deciders side by side take little longer than one.

    Returns:
        The decisions, and what the shield did; None if no rule is one. Events after the end of a
        session are left out.
    """
    if not book.rules_of("shield"):
        return proposed, None
    actions = proposed.reshape(len(proposed), -1).copy()
    every = np.ones(actions.shape[1], dtype=np.bool_)
    shield = Shield(book, num_streams=len(every))
    for first, end in itertools.pairwise(starts):
        is_open = every
        for index in range(first, end):
            doubt = suspicion[index] * every
            taken = shield.apply(actions[index], suspicion=doubt, is_valid=is_open).actions
            actions[index] = taken
            is_open = is_open & (taken < BLOCK)
            if task == "sessions" and not is_open.any():  # every session has ended
                break
        if task == "sessions":
            shield.end(is_last=every)
    return actions.reshape(proposed.shape), shield.to_json()
