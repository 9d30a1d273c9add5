"""The networks: views kept apart, memory handled alike wherever it is asked."""

import numpy as np
import pytest
import torch

from standing_orders.detect.config import DetectConfig, TeamConfig
from standing_orders.detect.data.synthetic import make_sessions
from standing_orders.detect.learn.team import TeamNetwork, lay_side_by_side
from standing_orders.detect.learn.trainer import prepare
from standing_orders.detect.learn.views import EVERYBODY, remember, split_views
from standing_orders.detect.rules import RuleBook, default_rules

VIEWS = (np.array([0, 1]), np.array([2, 3, 4]))


def network_of(views: tuple[np.ndarray, ...] = VIEWS, **team: object) -> TeamNetwork:
    config = TeamConfig(agents=len(views), hidden=(8, 8), **team)
    return TeamNetwork(views, 5, config, rules=RuleBook(default_rules()).rules, seed=1)


def batch(rows: int = 7) -> tuple[torch.Tensor, np.ndarray]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(rows, 5, generator=generator), np.array([0, 3, 4, rows])


@pytest.mark.parametrize("kind", ["mlp", "lstm"])
def test_shapes(kind: str) -> None:
    features, starts = batch()
    network = network_of(network=kind)
    judged = network.judge(features, starts)
    assert judged.log_probs.shape == (2, 7, 4)
    assert torch.allclose(judged.log_probs.exp().sum(-1), torch.ones(2, 7))
    assert network.value(features, starts).shape == (2, 7)
    assert judged.hidden.shape == (2, 7, 8)


@pytest.mark.parametrize("kind", ["mlp", "lstm"])
@pytest.mark.parametrize("critic", ["own", "shared"])
def test_an_agent_sees_its_own_view_only_and_a_shared_critic_everything(
    kind: str, critic: str
) -> None:
    features, starts = batch()
    network = network_of(network=kind, critic=critic)
    changed = features.clone()
    changed[:, 2:] += 1.0  # the view of agent 1
    before, after = network.judge(features, starts), network.judge(changed, starts)
    assert torch.equal(before.log_probs[0], after.log_probs[0])
    assert not torch.equal(before.log_probs[1], after.log_probs[1])
    same = torch.equal(network.value(features, starts)[0], network.value(changed, starts)[0])
    assert same == (critic == "own")


def test_memory_begins_anew_with_each_session_and_is_causal() -> None:
    features, starts = batch()
    network = network_of(network="lstm")
    whole = network.judge(features, starts).log_probs
    alone = network.judge(features[4:], np.array([0, 3])).log_probs
    assert torch.allclose(whole[:, 4:], alone, atol=1e-6)
    prefix = network.judge(features[:2], np.array([0, 2])).log_probs
    assert torch.allclose(whole[:, :2], prefix, atol=1e-6)
    later = features.clone()
    later[2] += 5.0
    assert torch.equal(network.judge(later, starts).log_probs[:, :2], whole[:, :2])
    earlier = features.clone()
    earlier[0] += 5.0
    assert not torch.equal(network.judge(earlier, starts).log_probs[:, 2], whole[:, 2])


def test_patience_makes_an_untrained_agent_wait() -> None:
    features, starts = batch()
    probs = network_of(patience=3.0).judge(features, starts).log_probs.exp()
    assert (probs[:, :, 0] > 0.8).all()


def test_the_same_seed_gives_the_same_team() -> None:
    one, two = network_of(network="lstm"), network_of(network="lstm")
    for (name, first), second in zip(one.named_parameters(), two.parameters(), strict=True):
        assert torch.equal(first, second), name


def test_sessions_lie_side_by_side() -> None:
    grid, is_event = lay_side_by_side(np.array([0, 1, 4]))
    assert grid[is_event].tolist() == [0, 1, 2, 3]
    assert is_event.sum() == 4


def test_split_views_keep_one_hot_groups_together_and_cover_everything() -> None:
    events = remember(make_sessions(0, num_sessions=60).train)
    views = split_views(events, 4, "split")
    shared = {i for i, source in enumerate(events.sources) if source == EVERYBODY}
    sources = [{events.sources[i] for i in view if i not in shared} for view in views]
    assert set().union(*sources) == set(events.sources) - {EVERYBODY}
    assert sum(map(len, sources)) == len(set().union(*sources))
    assert all(shared <= set(view.tolist()) for view in views)
    assert set(np.concatenate(views).tolist()) == set(range(events.num_features))


def test_history_is_for_networks_without_memory() -> None:
    events = make_sessions(0, num_sessions=60).train
    told = prepare(events, DetectConfig())
    assert told.num_features == 3 * events.num_features + 1
    assert prepare(events, DetectConfig(team=TeamConfig(network="lstm"))) is events
    first = events.starts[:-1]
    mean = told.features[:, events.num_features : 2 * events.num_features]
    assert np.allclose(mean[first], events.features[first])
    assert np.allclose(mean[first[0] + 1], events.features[first[0] : first[0] + 2].mean(axis=0))
