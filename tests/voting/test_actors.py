"""Agents as Ray actors: real processes, killed and lying ones among them."""

import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from standing_orders.errors import ConfigError, VotingError, WorkerError
from standing_orders.voting import LIARS, Patience
from standing_orders.voting.actors import RayVote
from standing_orders.voting.agent import Trial
from tests.voting.test_agent import draw_votes, outcome

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own
# Long beside what a busy machine takes, short beside what a person waits.
PATIENCE = Patience(collect=3.0, view=6.0)


class Clerk:
    """Votes what it is told to, and remembers how much it has seen."""

    def __init__(self) -> None:
        self.num_seen = 0

    def vote(self, inputs: NDArray[np.int8]) -> tuple[NDArray[np.int8], Any]:
        if len(inputs) == 0:
            raise ConfigError("nothing to vote on")
        self.num_seen += len(inputs)
        return inputs, (os.getpid(), self.num_seen)

    def seen(self, more: int) -> int:
        return self.num_seen + more


def open_vote(cluster: Any, told: list[str], **options: Any) -> RayVote:
    voters = [Clerk() for _ in range(4)]
    return RayVote(
        cluster, voters, 1, num_choices=4, patience=PATIENCE, report=told.append, **options
    )


def columns(votes: NDArray[np.int8]) -> Iterator[list[NDArray[np.int8]]]:
    """What each agent is told of each batch: its own column."""
    return ([one[:, agent].copy() for agent in range(4)] for one in votes)


def test_processes_agree_on_every_ballot_and_outlive_one_that_is_killed(cluster: Any) -> None:
    told: list[str] = []
    votes = draw_votes(12)
    with open_vote(cluster, told) as vote:
        found = list(vote.decide(columns(votes)))
        assert np.array_equal([one.ballots for one in found], votes)  # as the plain vote has them
        assert told == []
        processes = [remark[0] for remark in found[-1].remarks]
        assert len(set(processes) - {os.getpid()}) == 4
        assert [one.remarks[1][1] for one in found] == list(range(30, 361, 30))  # in order
        os.kill(processes[2], signal.SIGKILL)
        after = list(vote.decide(columns(votes)))
        left = votes.copy()
        left[:, :, 2] = -1
        assert np.array_equal([one.ballots for one in after], left)
        assert told == ["agent 2 is suspect: its process ended"]
        assert after[-1].remarks[2] is None
        assert vote.ask("seen", [(1,)] * 4) == [721, 721, None, 721]
        os.kill(processes[0], signal.SIGKILL)
        with pytest.raises(WorkerError, match="2 of 4 agents are lost, 1 may be"):
            list(vote.decide(columns(votes)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", LIARS)
def test_a_lying_process_changes_no_verdict_of_honest_ones_and_is_named(
    cluster: Any, kind: str
) -> None:
    told: list[str] = []
    votes, honest = draw_votes(10, size=60), [0, 2, 3]
    # Other letters are late and mixed up as well.
    trials = {agent: Trial(delay=0.02) for agent in honest} | {1: Trial(liar=kind, seed=1)}
    with open_vote(cluster, told, trials=trials) as vote:
        found = [one.ballots for one in vote.decide(columns(votes[:8]))]
        if kind == "replay":
            time.sleep(PATIENCE.view)  # what it heard comes again later
        found += [one.ballots for one in vote.decide(columns(votes[8:]))]
    for ballots, cast in zip(found, votes, strict=True):
        own = cast[:, honest]
        assert ((ballots[:, honest] == own) | (ballots[:, honest] == -1)).all()
        unanimous = (own == own[:, :1]).all(axis=1)
        assert np.array_equal(outcome(ballots)[unanimous], own[unanimous, 0])
    assert {line.split(":")[0] for line in told} == {"agent 1 is suspect"}


@pytest.mark.slow
def test_delay_and_disorder_change_nothing(cluster: Any) -> None:
    told: list[str] = []
    votes = draw_votes(12)
    trials = {agent: Trial(delay=0.1, seed=agent) for agent in range(4)}
    with open_vote(cluster, told, trials=trials) as vote:
        found = [one.ballots for one in vote.decide(columns(votes))]
    assert np.array_equal(found, votes)
    assert told == []


@pytest.mark.slow
def test_what_an_agent_refuses_is_passed_on_as_it_is(cluster: Any) -> None:
    empty = np.zeros((1, 0, 4), dtype=np.int8)
    with (
        open_vote(cluster, []) as vote,
        pytest.raises(ConfigError, match="nothing to vote on"),
    ):
        list(vote.decide(columns(empty)))


def test_too_few_agents_are_refused_before_any_is_started() -> None:
    with pytest.raises(VotingError, match="n >= 3f"):
        RayVote(None, [Clerk()] * 3, 1, num_choices=4, report=print)
