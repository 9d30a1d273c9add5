"""The networks: views kept apart, memory handled alike wherever it is asked."""

import numpy as np
import pytest
import torch

from standing_orders.detect.config import TeamConfig
from standing_orders.detect.data.events import Sessions
from standing_orders.detect.network import TeamNetwork, lay_side_by_side
from standing_orders.detect.rules import RuleBook, default_rules

VIEWS = (np.array([0, 1]), np.array([2, 3, 4]))


def network_of(views: tuple[np.ndarray, ...] = VIEWS, **team: object) -> TeamNetwork:
    config = TeamConfig(agents=len(views), hidden=(8, 8), trees=0, **team)
    return TeamNetwork(views, 5, config, rules=RuleBook(default_rules()).rules, seed=1)


def batch(rows: int = 7) -> tuple[torch.Tensor, Sessions]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(rows, 5, generator=generator), Sessions(np.array([0, 3, 4, rows]))


@pytest.mark.parametrize("kind", ["mlp", "lstm"])
def test_shapes(kind: str) -> None:
    features, sessions = batch()
    network = network_of(network=kind)
    log_probs, hidden = network.act(features, sessions)
    assert log_probs.shape == (2, 7, 4)
    assert torch.allclose(log_probs.exp().sum(-1), torch.ones(2, 7))
    assert network.value(features, sessions).shape == (2, 7)
    assert hidden.shape == (2, 7, 8)


@pytest.mark.parametrize("kind", ["mlp", "lstm"])
@pytest.mark.parametrize("critic", ["own", "shared"])
def test_an_agent_sees_its_own_view_only_and_a_shared_critic_everything(
    kind: str, critic: str
) -> None:
    features, sessions = batch()
    network = network_of(network=kind, critic=critic)
    changed = features.clone()
    changed[:, 2:] += 1.0  # the view of agent 1
    before, after = network.act(features, sessions)[0], network.act(changed, sessions)[0]
    assert torch.equal(before[0], after[0])
    assert not torch.equal(before[1], after[1])
    same = torch.equal(network.value(features, sessions)[0], network.value(changed, sessions)[0])
    assert same == (critic == "own")


def test_memory_begins_anew_with_each_session_and_is_causal() -> None:
    features, sessions = batch()
    network = network_of(network="lstm")
    whole = network.act(features, sessions)[0]
    alone = network.act(features[4:], Sessions.of_lengths([3]))[0]
    assert torch.allclose(whole[:, 4:], alone, atol=1e-6)
    prefix = network.act(features[:2], Sessions.of_lengths([2]))[0]
    assert torch.allclose(whole[:, :2], prefix, atol=1e-6)
    later = features.clone()
    later[2] += 5.0
    assert torch.equal(network.act(later, sessions)[0][:, :2], whole[:, :2])
    earlier = features.clone()
    earlier[0] += 5.0
    assert not torch.equal(network.act(earlier, sessions)[0][:, 2], whole[:, 2])


def test_an_initial_bias_to_allow_makes_an_untrained_agent_wait() -> None:
    features, sessions = batch()
    probs = network_of(initial_allow_bias=3.0).act(features, sessions)[0].exp()
    assert (probs[:, :, 0] > 0.8).all()


def test_the_same_seed_gives_the_same_team() -> None:
    one, two = network_of(network="lstm"), network_of(network="lstm")
    for (name, first), second in zip(one.named_parameters(), two.parameters(), strict=True):
        assert torch.equal(first, second), name


def test_sessions_lie_side_by_side() -> None:
    grid, is_event = lay_side_by_side(Sessions.of_lengths([1, 3]))
    assert grid[is_event].tolist() == [0, 1, 2, 3]
    assert is_event.sum() == 4
