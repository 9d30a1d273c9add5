"""Agents that judge in processes of their own and agree by signed messages, on a Ray cluster.

Every agent is a Ray actor with its own weights, and is sent its own columns and nothing else. Of a
batch, up to `EVENTS_TOGETHER` events are agreed on at once; the outcome is that of the ballots with
the signatures of a quorum, by the same count as in `engine.LocalEngine`. What an agent says of its
probabilities is its word alone: they make the score, never the verdict.
"""

import copy
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from standing_orders.collect.cluster import open_cluster
from standing_orders.detect.actions import NUM_ACTIONS
from standing_orders.detect.config import TeamConfig
from standing_orders.detect.engine import (
    Agent,
    Ballots,
    Batch,
    JudgeEngine,
    LocalEngine,
    ask,
    count_votes,
    opinion_of,
)
from standing_orders.errors import ConfigError
from standing_orders.voting import Committee
from standing_orders.voting.actors import RayVote
from standing_orders.voting.agent import Trial

EVENTS_TOGETHER = 100


class Voice:
    """One agent as a voter, told its own columns only: its ballots, and its probabilities."""

    def __init__(self, agent: Agent) -> None:
        self._agent = copy.deepcopy(agent)
        self._agent.eyes.view = np.arange(len(agent.eyes.view))

    def vote(self, batch: Batch) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        """Its likeliest action for each event; its probabilities of all, and its doubt."""
        log_probs, _, doubt = ask([self._agent], batch)[0]
        probs, votes = opinion_of(log_probs)
        return votes, np.column_stack([probs, doubt.numpy()])

    def process(self) -> int:
        """Number of the process that it runs in."""
        return os.getpid()

    def memory(self) -> NDArray[np.float32]:
        """What it remembers of open sessions."""
        return self._agent.remembered

    def recall(self, remembered: NDArray[np.float32]) -> None:
        """Go on from what `memory` gave."""
        self._agent.remembered = remembered.copy()


class RayEngine:
    """All agents on a Ray cluster; see `engine.JudgeEngine`.

    Args:
        agents: of the team; at least 3f + 1.
        config: how they vote.
        address: of an existing cluster; one on this machine is started without it.
        report: told who is suspect, and why.
        trials: faults that are played, by agent.

    Raises:
        ConfigError: Ray or `cryptography` is not installed, or the team does not vote.
        VotingError: too few agents for an agreement without trust.
        WorkerError: the cluster does not answer.
    """

    def __init__(
        self,
        agents: Sequence[Agent],
        config: TeamConfig,
        *,
        address: str | None = None,
        report: Callable[[str], None],
        trials: Mapping[int, Trial] | None = None,
    ) -> None:
        if config.vote != "quorum":
            raise ConfigError(
                f"team.vote = {config.vote!r}: only a quorum vote has an engine 'ray'"
            )
        Committee(len(agents), config.faults, NUM_ACTIONS)
        self._config = config
        self._views = [agent.eyes.view for agent in agents]
        self._has_memory = agents[0].actor.memory_size > 0
        with ExitStack() as stack:
            ray = stack.enter_context(open_cluster(address, len(agents)))
            voices = [Voice(agent) for agent in agents]
            self.vote = stack.enter_context(
                RayVote(
                    ray, voices, config.faults, num_choices=NUM_ACTIONS, report=report,
                    trials=trials,
                )
            )  # fmt: skip
            self._stack = stack.pop_all()

    def judge(self, batch: Batch) -> Ballots:
        """Judge the next events, by what the agents agree on.

        Raises:
            WorkerError: more agents are lost than may fail.
            VotingError: no agreement comes about.
        """
        agreed = list(self.vote.decide(self._parts(batch)))
        num_events = len(batch.features)
        votes = np.concatenate([np.zeros((0, len(self._views)), np.int8)]
                               + [one.ballots for one in agreed])  # fmt: skip
        said = np.full((len(self._views), num_events, NUM_ACTIONS + 1), np.nan)
        for number, one in enumerate(agreed):
            rows = slice(number * EVENTS_TOGETHER, (number + 1) * EVENTS_TOGETHER)
            for agent, told in enumerate(one.remarks):
                if told is not None:
                    said[agent, rows] = told
            # An agent that does not answer has no say in the score.
            said[:, rows] = np.where(
                np.isnan(said[:, rows]), np.nanmean(said[:, rows], axis=0), said[:, rows]
            )
        probs, doubts = said[:, :, :NUM_ACTIONS], said[:, :, NUM_ACTIONS]
        return Ballots(probs, doubts, votes, count_votes(votes, probs, self._config))

    def _parts(self, batch: Batch) -> Iterator[list[Batch]]:
        for first in range(0, len(batch.features), EVENTS_TOGETHER):
            rows = slice(first, first + EVENTS_TOGETHER)
            slots, is_first = batch.slots[rows], batch.is_first[rows]
            yield [Batch(batch.features[rows][:, view], slots, is_first) for view in self._views]

    def memory(self) -> dict[str, NDArray[np.float32]]:
        """What the agents remember; one that is lost will begin anew."""
        if not self._has_memory:
            return {}
        told = self.vote.ask("memory", [()] * len(self._views))
        blank = np.zeros_like(next(one for one in told if one is not None))
        return {f"agent.{index}": blank if one is None else one for index, one in enumerate(told)}

    def recall(self, memory: dict[str, NDArray[np.float32]]) -> None:
        """Go on from what `memory` gave."""
        if self._has_memory:
            indices = range(len(self._views))
            self.vote.ask("recall", [(memory[f"agent.{index}"],) for index in indices])

    def close(self) -> None:
        """End the agents, and the cluster if it was started."""
        self._stack.close()


def open_engine(
    name: Literal["local", "ray"],
    agents: Sequence[Agent],
    config: TeamConfig,
    *,
    address: str | None = None,
    report: Callable[[str], None],
) -> JudgeEngine:
    """Who judges, by name: `local`, or `ray` for agents that agree by signed messages.

    Raises:
        ConfigError, VotingError, WorkerError: see `RayEngine`; the local engine has no address.
    """
    if name == "local" and address is not None:
        raise ConfigError(f"address = {address!r}: only engine = 'ray' has one")
    if name == "local":
        return LocalEngine(agents, config)
    return RayEngine(agents, config, address=address, report=report)
