"""The agents judge alike, whatever the batches: in one, one by one, or each on its own."""

import numpy as np
import pytest
import torch

from standing_orders.detect.config import TeamConfig
from standing_orders.detect.engine import Batch, LocalEngine, agents_of, ask, suspicion_of
from standing_orders.detect.network import TeamNetwork
from standing_orders.detect.views import split_views
from tests.detect.learn.test_trainer import make_records

RNG = np.random.default_rng(0)


def make_engine(network: str, views: str = "split") -> LocalEngine:
    config = TeamConfig(network=network, hidden=(16, 8), views=views, trees=0)  # type: ignore[arg-type]
    events = make_records().train
    chosen = split_views(events, config)
    net = TeamNetwork(chosen, events.num_features, config, rules=(), seed=3)
    return LocalEngine(agents_of(net), config)


def make_batch(num_events: int = 333, num_sessions: int = 40) -> Batch:
    width = make_records().train.num_features
    features = RNG.standard_normal((num_events, width)).astype(np.float32)
    slots = RNG.integers(0, num_sessions, num_events)
    _, first = np.unique(slots, return_index=True)
    return Batch(features, slots, np.isin(np.arange(num_events), first))


def part(batch: Batch, rows: slice) -> Batch:
    return Batch(batch.features[rows], batch.slots[rows], batch.is_first[rows])


@pytest.mark.parametrize("network", ["mlp", "lstm"])
@pytest.mark.parametrize("size", [1, 7, 100, 332])
def test_batches_of_any_size_give_the_same_bits(network: str, size: int) -> None:
    batch = make_batch()
    whole = make_engine(network).judge(batch)
    engine = make_engine(network)
    parts = [engine.judge(part(batch, slice(i, i + size))) for i in range(0, 333, size)]
    assert np.array_equal(whole.probs, np.concatenate([one.probs for one in parts], axis=1))
    assert np.array_equal(whole.votes, np.concatenate([one.votes for one in parts]))
    actions = np.concatenate([one.outcome.actions for one in parts])
    assert np.array_equal(whole.outcome.actions, actions)


@pytest.mark.parametrize("network", ["mlp", "lstm"])
@pytest.mark.parametrize("views", ["split", "all"])
def test_an_agent_on_its_own_says_what_it_says_in_the_team(network: str, views: str) -> None:
    config = TeamConfig(network=network, hidden=(16, 8), views=views, trees=0)  # type: ignore[arg-type]
    events = make_records().train
    chosen = split_views(events, config)
    net = TeamNetwork(chosen, events.num_features, config, rules=(), seed=3)
    told, _ = net.act(torch.from_numpy(events.features), events.sessions)
    batch = Batch(events.features, np.arange(events.num_events), events.sessions.place == 0)
    for agent, expected in zip(agents_of(net), told, strict=True):
        assert set(agent.eyes.view) <= set(range(events.num_features))
        assert np.allclose(ask([agent], batch)[0][0], expected.detach(), atol=1e-5)


def test_memory_can_be_carried_to_another_process() -> None:
    batch = make_batch()
    whole, first, second = (make_engine("lstm") for _ in range(3))
    expected = whole.judge(batch).probs[:, 200:]
    first.judge(part(batch, slice(200)))
    second.recall(first.memory())
    assert np.array_equal(second.judge(part(batch, slice(200, None))).probs, expected)


def test_agents_of_the_plain_network_have_no_memory_to_carry() -> None:
    engine = make_engine("mlp")
    engine.judge(make_batch())
    assert engine.memory() == {}


@pytest.mark.parametrize("network", ["mlp", "lstm"])
def test_no_event_is_judged_without_complaint(network: str) -> None:
    told = make_engine(network).judge(part(make_batch(), slice(0)))
    assert told.votes.shape == (0, 4)
    assert told.outcome.actions.tolist() == []


def test_events_that_the_policy_is_as_sure_about_are_ranked_by_the_trees() -> None:
    doubts = np.linspace(6, 12, 50)[None]
    noise = np.random.default_rng(0).uniform(7.0, 7.1, 50)  # log-odds of a flag
    flag = 1 / (1 + np.exp(-noise))
    probs = np.stack([1 - flag, flag, 0 * flag, 0 * flag], axis=1)[None]
    assert (np.diff(suspicion_of(probs, doubts, 0.0)) < 0).any()
    assert (np.diff(suspicion_of(probs, doubts, 2 / 3)) > 0).all()
    certain = np.array([[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]])
    assert suspicion_of(certain, np.zeros((1, 2)), 0.0) == pytest.approx([0, 1])
    sure = np.array([[-2_000.0, 2_000.0]])  # of trees: beyond what an exponential can hold
    assert suspicion_of(certain, sure, 1.0) == pytest.approx([0, 1])
