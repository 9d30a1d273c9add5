"""Networks and optimisers as arrays, and warm starts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from standing_orders.config import PpoConfig
from standing_orders.errors import CheckpointError
from standing_orders.learn.inputs import InputLayout
from standing_orders.learn.snapshot import (
    network_arrays,
    optimiser_arrays,
    restore_network,
    restore_optimiser,
    warm_start,
)
from standing_orders.learn.update import LossTerms, build_rows, update

Make = Callable[..., Any]
LAYOUTS: list[dict[str, Any]] = [
    {},
    {"has_belief": True},
    {"has_memory": True},
    {"has_belief": True, "has_memory": True, "has_clock": True},
    {"has_belief": True, "has_memory": True, "certainty": 0.95},
]


def adam(net: Any) -> torch.optim.Optimizer:
    return torch.optim.Adam(net.parameters(), eps=1e-5)


def test_a_network_survives_being_stored(network: Make) -> None:
    first, second = network(1), network(2)
    restore_network(second, network_arrays(first))
    for a, b in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(a, b)


def test_stored_arrays_do_not_change_with_the_network(network: Make) -> None:
    net = network()
    arrays = network_arrays(net)
    before = {name: value.copy() for name, value in arrays.items()}
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(1.0)
    assert all(np.array_equal(arrays[name], before[name]) for name in arrays)


def test_a_restored_optimiser_makes_the_next_update_bit_for_bit(
    network: Make, rollout: Make
) -> None:
    net = network()
    played = rollout(net)
    rows = build_rows(net, played, np.zeros_like(played.rewards), PpoConfig())
    optimiser = adam(net)
    terms = LossTerms(1e-3, 2, PpoConfig().entropy, 0.0)
    update(net, optimiser, rows, PpoConfig(), terms, seed=0)
    arrays = network_arrays(net) | optimiser_arrays(optimiser)
    other = network(9)
    restored = adam(other)
    restore_network(other, arrays)
    restore_optimiser(restored, arrays)
    fresh = network(9)
    restore_network(fresh, arrays)
    for one, its in ((net, optimiser), (other, restored), (fresh, adam(fresh))):
        update(one, its, rows, PpoConfig(), terms, seed=1)
    for a, b in zip(net.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)
    assert not torch.equal(net.actor[0].weight, fresh.actor[0].weight)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_warm_start_without_order_inputs_acts_exactly_alike_on_all_orders(
    network: Make, rollout: Make, layout: dict[str, Any]
) -> None:
    old, new = network(1, has_order=False), network(2, **layout)
    warm_start(new, network_arrays(old), InputLayout(has_order=False))
    observations = rollout(old, num_envs=2).inputs[:100, 0]
    rng = np.random.default_rng(0)
    for _ in range(20):
        extra = rng.integers(0, 5, (100, new.layout.size - 52))
        inputs = np.hstack([observations, extra]).astype(np.int8)
        if new.layout.certainty is not None:  # alike where every fix is lawful
            inputs[:, new.layout.blocks["lawful"]] = 1
        with torch.no_grad():
            ours, theirs = new.prepare(inputs), old.prepare(observations)
            torch.testing.assert_close(new.logits(ours), old.logits(theirs), rtol=0, atol=1e-6)
            torch.testing.assert_close(new.value(ours), old.value(theirs), rtol=0, atol=1e-6)


def test_a_warm_start_plays_the_same_episodes_whatever_it_is_told(
    network: Make, rollout: Make
) -> None:
    old, new = network(1, has_order=False), network(2)
    warm_start(new, network_arrays(old), InputLayout(has_order=False))
    wanted = rollout(old, order=0)
    for order in (0, 59, 119):
        assert np.array_equal(rollout(new, order=order).actions, wanted.actions)


def test_a_warm_start_puts_each_kind_of_input_where_it_belongs(network: Make) -> None:
    old = network(1, has_memory=True)
    new = network(2, has_memory=True, certainty=0.95)
    warm_start(new, network_arrays(old), InputLayout(has_memory=True))
    theirs, ours = old.actor[0].weight, new.actor[0].weight
    assert torch.equal(ours[:, :77], theirs[:, :77])
    assert not ours[:, 77:82].any()
    assert torch.equal(ours[:, 82:], theirs[:, 77:])


def test_a_warm_start_from_the_same_layout_takes_all_weights(network: Make) -> None:
    old, new = network(1), network(2)
    warm_start(new, network_arrays(old), InputLayout())
    for a, b in zip(old.parameters(), new.parameters(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("lacking", ["order", "memory", "belief", "lawful", "clock"])
def test_a_warm_start_from_inputs_that_are_lacking_is_refused_by_name(
    network: Make, lacking: str
) -> None:
    layout: dict[str, Any] = {"has_order": False}
    layout |= {"certainty": 0.95} if lacking == "lawful" else {f"has_{lacking}": True}
    old, new = network(1, **layout), network(2, has_order=False)
    with pytest.raises(CheckpointError, match=lacking):
        warm_start(new, network_arrays(old), InputLayout(**layout))


@pytest.mark.parametrize("hidden", [(8,), (16, 16), (16, 4)])
def test_a_warm_start_from_other_hidden_layers_is_refused(
    network: Make, hidden: tuple[int, ...]
) -> None:
    old, new = network(1, hidden=hidden), network(2)
    with pytest.raises(CheckpointError):
        warm_start(new, network_arrays(old), InputLayout())


def test_weights_of_another_layout_do_not_fit(network: Make) -> None:
    with pytest.raises(CheckpointError, match="fit"):
        restore_network(network(), network_arrays(network(has_order=False)))


def test_missing_weights_are_refused(network: Make) -> None:
    arrays = network_arrays(network())
    del arrays["network.critic.0.bias"]
    with pytest.raises(CheckpointError, match=r"critic\.0\.bias"):
        restore_network(network(), arrays)


def test_a_warm_start_from_foreign_arrays_is_refused(network: Make) -> None:
    with pytest.raises(CheckpointError):
        warm_start(network(), {"weights": np.zeros(3)}, InputLayout())


def test_a_warm_start_whose_weights_are_not_of_the_layout_given_is_refused(network: Make) -> None:
    arrays = network_arrays(network(has_order=False))
    with pytest.raises(CheckpointError):
        warm_start(network(), arrays, InputLayout())
