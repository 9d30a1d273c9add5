"""Agents on a Ray cluster judge as the team in this process does, to the last bit."""

import os
import signal

import cloudpickle
import numpy as np
import pytest

from standing_orders.detect.config import TeamConfig
from standing_orders.detect.engine import Batch, LocalEngine, agents_of
from standing_orders.detect.network import TeamNetwork
from standing_orders.detect.remote import RayEngine, Voice, open_engine
from standing_orders.errors import ConfigError, VotingError

RNG = np.random.default_rng(0)
NUM_FEATURES = 12
VIEWS = [np.arange(agent, NUM_FEATURES, 4) for agent in range(4)]


def make_network(config: TeamConfig, scale: float = 1.0) -> TeamNetwork:
    network = TeamNetwork(VIEWS, NUM_FEATURES, config, rules=(), seed=3)
    for weight in network.policy.parameters():
        weight.data *= 30 * scale  # so that they disagree
    return network


def make_batch(num_events: int = 250, num_sessions: int = 40) -> Batch:
    features = RNG.standard_normal((num_events, NUM_FEATURES)).astype(np.float32)
    slots = RNG.integers(0, num_sessions, num_events)
    _, first = np.unique(slots, return_index=True)
    return Batch(features, slots, np.isin(np.arange(num_events), first))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_verdicts_on_a_cluster_are_those_of_this_process_to_the_last_bit() -> None:
    config = TeamConfig(network="lstm", hidden=(16, 8), agents=4, faults=1)
    network, told = make_network(config), []
    batches = [make_batch(), make_batch(1), make_batch(130)]
    local = LocalEngine(agents_of(network), config)
    expected = [local.judge(batch) for batch in batches]
    assert len(np.unique(expected[0].votes)) > 1
    engine = RayEngine(agents_of(network), config, report=told.append)
    try:
        for batch, wanted in zip(batches, expected, strict=True):
            found = engine.judge(batch)
            assert np.array_equal(found.votes, wanted.votes)
            assert np.array_equal(found.probs, wanted.probs)
            assert np.array_equal(found.outcome.actions, wanted.outcome.actions)
            assert np.array_equal(found.outcome.has_quorum, wanted.outcome.has_quorum)
        memory, kept = engine.memory(), local.memory()
        assert memory.keys() == kept.keys()
        assert all(np.array_equal(memory[name], kept[name]) for name in kept)
        more = make_batch()
        wanted = local.judge(more)
        engine.judge(make_batch())
        engine.recall(memory)
        assert np.array_equal(engine.judge(more).probs, wanted.probs)
        victim = engine.vote.ask("process", [()] * 4)[1]
        os.kill(victim, signal.SIGKILL)
        found = engine.judge(more)
        assert (found.votes[:, 1] == -1).all()
        assert np.isfinite(found.probs).all()
        assert "agent 1 is suspect: its process ended" in told  # untrained ones are at odds too
    finally:
        engine.close()


def test_a_voice_holds_its_own_weights_and_is_told_its_own_columns() -> None:
    config = TeamConfig(hidden=(16, 8), agents=4, faults=1)
    network = make_network(config)
    agents = agents_of(network)
    for index, agent in enumerate(agents):
        voice = Voice(agent)
        carried = cloudpickle.dumps(voice)
        for other, one in enumerate(agents):
            weights = one.actor.policy[1].numpy().tobytes()
            assert (weights in carried) == (other == index)
        batch = make_batch(40)
        own = Batch(batch.features[:, agent.eyes.view], batch.slots, batch.is_first)
        votes, said = voice.vote(own)
        wanted = LocalEngine(agents, config).judge(batch)
        assert np.array_equal(votes, wanted.votes[:, index])
        assert np.array_equal(said[:, :-1], wanted.probs[index])
        assert np.array_equal(said[:, -1], wanted.doubts[index])


def test_a_team_that_cannot_agree_is_refused_before_anything_is_started() -> None:
    few = TeamConfig(agents=3, faults=1)
    with pytest.raises(VotingError, match="n >= 3f"):
        RayEngine([None] * 3, few, report=print)  # type: ignore[list-item]
    average = TeamConfig(agents=4, faults=1, vote="average")
    with pytest.raises(ConfigError, match="only a quorum vote"):
        RayEngine([None] * 4, average, report=print)  # type: ignore[list-item]
    with pytest.raises(ConfigError, match="only engine = 'ray' has one"):
        open_engine("local", [], few, address="127.0.0.1:1", report=print)


def test_the_local_engine_is_opened_by_name() -> None:
    config = TeamConfig(hidden=(16, 8), agents=4, faults=1)
    agents = agents_of(make_network(config))
    engine = open_engine("local", agents, config, report=print)
    assert engine.judge(make_batch(3)).votes.shape == (3, 4)
