"""Who judges a batch of events: each agent by its own network, then the vote.

`JudgeEngine` is the seam between those who ask (`team.Team`, `service`) and whoever answers:
`LocalEngine` here, in this process, or agents elsewhere that agree by messages. All of them hold
`Agent`s, so that all give the same ballots to the last bit, whatever the batches.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from standing_orders.detect.actions import ALERT, ALLOW, NUM_ACTIONS
from standing_orders.detect.config import TeamConfig
from standing_orders.detect.network import ROWS_TOGETHER, Actor, Eyes, Seen, TeamNetwork, eyes_of
from standing_orders.errors import NumericsError
from standing_orders.voting import decide

ROWS_AT_ONCE = 1_024
_LEAST = 1e-300  # probability that still has a logarithm
Votes = NDArray[np.int8]  # (num_events, num_agents)


@dataclass(frozen=True, eq=False)
class Batch:
    """The next events, in the order of arrival."""

    features: NDArray[np.float32]  # (num_events, num_features): as the networks take them
    slots: NDArray[np.int64]  # (num_events,): where the memory of each event's session is kept
    is_first: NDArray[np.bool_]  # (num_events,): the slot begins a new session with this event


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of a vote about each event."""

    actions: NDArray[np.int64]  # (num_events,)
    has_quorum: NDArray[np.bool_]  # (num_events,): True where nobody votes


@dataclass(frozen=True, eq=False)
class Ballots:
    """What each agent thinks of the events of a batch, and what is agreed about them."""

    probs: NDArray[np.float64]  # (num_agents, num_events, NUM_ACTIONS)
    doubts: NDArray[np.floating[Any]]  # (num_agents, num_events): see `suspicion_of`
    votes: Votes  # (num_events, num_agents): each agent's likeliest action; -1 = none came
    outcome: Outcome


class JudgeEngine(Protocol):
    """Agents and their vote, wherever they are."""

    def judge(self, batch: Batch) -> Ballots:
        """Judge the next events; what the agents remember of the sessions moves on."""

    def memory(self) -> dict[str, NDArray[np.float32]]:
        """What the agents remember, for a snapshot; empty without memory."""

    def recall(self, memory: dict[str, NDArray[np.float32]]) -> None:
        """Go on from what `memory` gave."""

    def close(self) -> None:
        """Let go of what it works with."""


class Agent:
    """One agent: its network, its view and what it remembers of open sessions."""

    def __init__(self, actor: Actor, eyes: Eyes) -> None:
        self.actor, self.eyes = actor, eyes
        self.remembered = np.zeros((2, 0, actor.memory_size), dtype=np.float32)  # by slot

    @torch.no_grad()
    def judge(self, batch: Batch, seen: Seen) -> tuple[Tensor, Tensor]:
        """Log-probabilities (num_events, NUM_ACTIONS) of the actions, and the hidden states.

        What is seen may be followed by rows that are no events.
        """
        if self.actor.memory is None:
            log_probs, hidden, _ = self._run(seen, None)
            return log_probs[: len(batch.slots)], hidden[: len(batch.slots)]
        if (more := int(batch.slots.max(initial=-1)) + 1 - self.remembered.shape[1]) > 0:
            self.remembered = np.pad(self.remembered, ((0, 0), (0, more), (0, 0)))
        told: list[tuple[Tensor, Tensor]] = []
        order: list[NDArray[np.int64]] = []
        for rows in waves(batch.slots):
            before = self.remembered[:, batch.slots[rows]]
            before[:, batch.is_first[rows]] = 0
            log_probs, hidden, after = self._run(_rows(seen, rows), torch.from_numpy(before))
            assert after is not None
            self.remembered[:, batch.slots[rows]] = after.numpy()
            told.append((log_probs, hidden))
            order.append(rows)
        back = np.argsort(np.concatenate(order))
        log_probs, hidden = (torch.cat(one)[back] for one in zip(*told, strict=True))
        return log_probs, hidden

    def _run(self, seen: Seen, memory: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        """Through the network in blocks whose sizes do not change the sums."""
        told: list[tuple[Tensor, Tensor, Tensor | None]] = []
        for at in range(0, max(len(seen[0]), 1), ROWS_AT_ONCE):
            rows = slice(at, at + ROWS_AT_ONCE)
            block = _rows(seen, rows)
            told.append(self._run_block(block, None if memory is None else memory[:, rows]))
        if len(told) == 1:
            return told[0]
        log_probs = torch.cat([one[0] for one in told])
        hidden = torch.cat([one[1] for one in told])
        states = [one[2] for one in told if one[2] is not None]
        return log_probs, hidden, torch.cat(states, dim=1) if states else None

    def _run_block(self, seen: Seen, memory: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        num_rows = len(seen[0])
        inputs, first, memory = (_fill_up(one, num_rows) for one in (*seen, memory))
        assert inputs is not None
        log_probs, hidden, after = self.actor(inputs, first, memory)
        return (
            log_probs[:num_rows], hidden[:num_rows], None if after is None else after[:, :num_rows]
        )  # fmt: skip


def _fill_up(values: Tensor | None, num_rows: int) -> Tensor | None:
    """With rows of zeros, the last axis but one, up to a multiple of `ROWS_TOGETHER`."""
    short = -num_rows % ROWS_TOGETHER
    return values if values is None or not short else pad(values, (0, 0, 0, short))


def _rows(seen: Seen, rows: slice | NDArray[np.int64]) -> Seen:
    inputs, first = seen
    return inputs[rows], None if first is None else first[rows]


def waves(slots: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Rows that hold the first event of their slot, then those with the second, and so on.

    Example:
        >>> [rows.tolist() for rows in waves(np.array([5, 3, 5, 5]))]
        [[0, 1], [2], [3]]
    """
    by_slot = np.argsort(slots, kind="stable")
    is_new = np.diff(slots[by_slot], prepend=-1) != 0
    firsts = np.flatnonzero(is_new)
    rank = np.empty(len(slots), dtype=np.int64)
    rank[by_slot] = np.arange(len(slots)) - firsts[np.cumsum(is_new) - 1]
    for wave in range(int(rank.max(initial=0)) + 1):  # one without rows if there is no event
        yield np.flatnonzero(rank == wave)


def agents_of(network: TeamNetwork) -> list[Agent]:
    """The agents of a team, each with its own weights and view and nothing else."""
    return [Agent(Actor(network, agent), eyes) for agent, eyes in enumerate(eyes_of(network))]


def ask(agents: Sequence[Agent], batch: Batch) -> list[tuple[Tensor, Tensor, Tensor]]:
    """What each agent says, see `Agent.judge`, and its trees' doubt; who see alike look once."""
    every = {agent.eyes for agent in agents}
    seen = {eyes: eyes.see(batch.features) for eyes in every}
    doubts = {eyes: eyes.doubt(one)[: len(batch.slots)] for eyes, one in seen.items()}
    return [(*agent.judge(batch, seen[agent.eyes]), doubts[agent.eyes]) for agent in agents]


class LocalEngine:
    """All agents in this process, and an honest counter."""

    def __init__(self, agents: Sequence[Agent], config: TeamConfig) -> None:
        self.agents, self.config = agents, config

    def judge(self, batch: Batch) -> Ballots:
        """Judge the next events."""
        log_probs, _, doubts = (torch.stack(o) for o in zip(*ask(self.agents, batch), strict=True))
        probs, likeliest = opinion_of(log_probs)
        outcome = count_votes(likeliest.T, probs, self.config)
        return Ballots(probs, doubts.numpy(), likeliest.T, outcome)

    def memory(self) -> dict[str, NDArray[np.float32]]:
        """What the agents remember."""
        return {
            f"agent.{index}": agent.remembered
            for index, agent in enumerate(self.agents)
            if agent.actor.memory_size
        }

    def recall(self, memory: dict[str, NDArray[np.float32]]) -> None:
        """Go on from what `memory` gave."""
        for index, agent in enumerate(self.agents):
            if agent.actor.memory_size:
                agent.remembered = memory[f"agent.{index}"].copy()

    def close(self) -> None:
        """Nothing to let go of."""


def opinion_of(log_probs: Tensor) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Probabilities of the actions, the last axis, and the likeliest of them: the ballot.

    Raises:
        NumericsError: a probability is not finite.
    """
    told = log_probs.numpy()
    if not np.isfinite(told).all():
        agent = f"agent {np.argwhere(~np.isfinite(told))[0, 0]}" if told.ndim == 3 else "an agent"
        raise NumericsError(f"log-probabilities of {agent} are not finite")
    probs = np.exp(told.astype(np.float64))
    return probs, probs.argmax(axis=-1).astype(np.int8)


def suspicion_of(
    probs: NDArray[np.float64],  # (agents, rows, NUM_ACTIONS)
    doubts: NDArray[np.floating[Any]],  # (agents, rows): log-odds of a threat by the trees
    lean: float,
) -> NDArray[np.float64]:  # (rows,)
    """The team's score: how suspicious its agents are, on average.

    That is the chance of any action but allow, but for a share of the trees in its log-odds.

    Example:
        >>> by_policy, by_trees = np.array([[[0.5, 0.3, 0.1, 0.1]]]), np.array([[np.log(9)]])
        >>> [float(suspicion_of(by_policy, by_trees, lean)[0].round(6)) for lean in (0, 0.5, 1)]
        [0.5, 0.75, 0.9]
    """
    allow, flag = probs[:, :, ALLOW], probs[:, :, ALERT:].sum(axis=-1)
    log_odds = np.log(np.maximum(flag, _LEAST)) - np.log(np.maximum(allow, _LEAST))
    mixed = (1 - lean) * log_odds + lean * doubts.astype(np.float64)
    with np.errstate(over="ignore"):  # trees may be so sure that the suspicion is exactly 0
        suspicions = 1 / (1 + np.exp(-mixed))
    return np.asarray(suspicions.mean(axis=0))


def count_votes(votes: Votes, probs: NDArray[np.float64], config: TeamConfig) -> Outcome:
    """What the team decides: by a quorum of the ballots, or by the mean of the probabilities."""
    if config.vote == "quorum":
        outcome = decide(votes, config.faults, num_choices=NUM_ACTIONS)
        return Outcome(outcome.choices.astype(np.int64), outcome.has_quorum)
    actions = probs.mean(axis=0).argmax(axis=-1).astype(np.int64)
    return Outcome(actions, np.ones(len(actions), dtype=np.bool_))
