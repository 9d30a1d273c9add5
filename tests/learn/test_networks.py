"""Actor and critic: shapes, scaling, seeds."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from standing_orders.cage2.actions import REMOVE, describe, encode
from standing_orders.cage2.defenders import useful_actions
from standing_orders.cage2.scenario import HOSTS
from standing_orders.learn.inputs import InputLayout
from standing_orders.learn.networks import FIXES, ActorCritic


def test_the_default_actor_is_77_64_64_145_and_the_critic_is_separate() -> None:
    network = ActorCritic(InputLayout(), hidden=(64, 64), activation="tanh", seed=0)
    shapes = [tuple(layer.weight.shape) for layer in network.actor if isinstance(layer, nn.Linear)]
    assert shapes == [(64, 77), (64, 64), (145, 64)]
    shapes = [tuple(layer.weight.shape) for layer in network.critic if isinstance(layer, nn.Linear)]
    assert shapes == [(64, 77), (64, 64), (1, 64)]
    shared = {id(p) for p in network.actor.parameters()} & {
        id(p) for p in network.critic.parameters()
    }
    assert not shared


@pytest.mark.parametrize(("activation", "function"), [("tanh", np.tanh), ("relu", None)])
def test_logits_and_value_are_those_of_a_plain_perceptron(
    activation: str, function: object
) -> None:
    layout = InputLayout(has_memory=True, has_clock=True)
    network = ActorCritic(layout, hidden=(6, 5), activation=activation, seed=2)
    inputs = np.random.default_rng(0).integers(0, 5, (4, layout.size)).astype(np.int8)
    prepared = network.prepare(inputs)
    np.testing.assert_allclose(prepared.numpy(), inputs * layout.scale, rtol=1e-6)
    for net, found in ((network.actor, network.logits), (network.critic, network.value)):
        x = inputs * layout.scale.astype(np.float64)
        linear = [layer for layer in net if isinstance(layer, nn.Linear)]
        for i, layer in enumerate(linear):
            x = x @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()
            if i < 2:
                x = np.tanh(x) if function else np.maximum(x, 0)
        np.testing.assert_allclose(
            found(prepared).detach().numpy(), x.squeeze(-1) if x.shape[1] == 1 else x, atol=1e-5
        )


def test_an_untrained_policy_is_nearly_uniform() -> None:
    network = ActorCritic(InputLayout(), hidden=(64, 64), activation="tanh", seed=1)
    probs = torch.softmax(network.logits(network.prepare(np.ones((1, 77), np.int8))), dim=1)
    assert float(probs.detach().max()) < 1.2 / 145


def test_the_seed_alone_decides_the_weights() -> None:
    def weights(seed: int) -> list[np.ndarray]:
        network = ActorCritic(InputLayout(), hidden=(8,), activation="tanh", seed=seed)
        return [p.detach().numpy() for p in network.parameters()]

    torch.manual_seed(1)
    first = weights(5)
    torch.manual_seed(2)
    assert all(np.array_equal(a, b) for a, b in zip(first, weights(5), strict=True))
    assert not np.array_equal(first[0], weights(6)[0])


# ---------------------------------------------------------------------------------- lawful
TYPE_OF_HOST = [0, 1, 1, 1, 3, 3, 3, 2, 4, 4, 4, 4, 4]


@pytest.mark.parametrize("types", range(32))
def test_fixes_of_types_that_are_not_lawful_have_no_probability(types: int) -> None:
    network = ActorCritic(InputLayout(certainty=0.95), hidden=(8,), activation="tanh", seed=types)
    inputs = np.random.default_rng(types).integers(0, 2, (1, 82)).astype(np.int8)
    inputs[0, 77:] = [types >> unit_type & 1 for unit_type in range(5)]
    with torch.no_grad():
        prepared = network.prepare(inputs)
        plain, masked = network.actor(prepared), network.logits(prepared)
    assert torch.isfinite(torch.log_softmax(masked, dim=1)).all()
    after = torch.softmax(masked, dim=1)[0]
    for action in range(145):
        is_fix = 15 <= action <= 27 or action >= 132
        is_lawful = not is_fix or types >> TYPE_OF_HOST[(action - 15) % 13] & 1
        assert (float(after[action]) > 0) == bool(is_lawful)
        if is_lawful:
            assert masked[0, action] == plain[0, action]


# ------------------------------------------------------------------------------- useful actions
def test_only_useful_actions_have_probability() -> None:
    network = ActorCritic(InputLayout(is_useful=True), hidden=(8,), activation="tanh", seed=0)
    inputs = np.random.default_rng(0).integers(0, 2, (3, 77)).astype(np.int8)
    probs = torch.softmax(network.logits(network.prepare(inputs)), dim=1).detach().numpy()
    wanted = sorted({*useful_actions(), *FIXES.tolist()})  # fixes of every host: 71 in all
    assert len(wanted) == 71
    assert all(np.flatnonzero(row).tolist() == wanted for row in probs)


# --------------------------------------------------------------------------------- host weights
HOSTED = InputLayout(
    has_order=False, has_belief=True, has_full_belief=True, has_memory=True, has_host_weights=True
)


def test_host_weights_without_a_lean_change_nothing_before_they_are_learned() -> None:
    inputs = np.random.default_rng(0).integers(0, 2, (3, HOSTED.size)).astype(np.int8)
    logits = []
    for layout in (HOSTED, replace(HOSTED, has_host_weights=False)):
        network = ActorCritic(layout, hidden=(8,), activation="tanh", seed=0)
        logits.append(network.logits(network.prepare(inputs)))
    assert torch.equal(*logits)


def test_an_untrained_defender_leans_the_same_way_at_every_host() -> None:
    network = ActorCritic(HOSTED, hidden=(8,), activation="tanh", seed=0, lean=5.0)
    inputs = np.zeros((3, HOSTED.size), dtype=np.int8)
    inputs[1:, HOSTED.blocks["belief"]] = 8
    inputs[2, HOSTED.blocks["privileged"]] = 8
    with torch.no_grad():
        clean, user, privileged = network.logits(network.prepare(inputs)).round().tolist()
    removes = [5.0 if "Remove" in describe(action) else 0.0 for action in range(145)]
    restores = [5.0 if "Restore" in describe(action) else 0.0 for action in range(145)]
    assert (clean, user, privileged) == ([0.0] * 145, removes, restores)


@pytest.mark.parametrize("host", range(13))
@pytest.mark.parametrize("block", ["observation", "belief", "privileged", "memory"])
def test_what_is_known_of_a_host_speaks_for_the_actions_there_alone(block: str, host: int) -> None:
    network = ActorCritic(HOSTED, hidden=(8,), activation="tanh", seed=0)
    inputs = np.zeros((2, HOSTED.size), dtype=np.int8)
    part = inputs[1, HOSTED.blocks[block]]
    known = part.reshape(13, -1) if block == "observation" else part.reshape(-1, 13).T
    known[host] = 1
    with torch.no_grad():
        prepared = network.prepare(inputs)
        before = network.logits(prepared)
        network.actor.host_weights[REMOVE - 2] = 1.0
        moved = network.logits(prepared) - before
    assert not moved[0].any()
    assert torch.nonzero(moved[1])[:, 0].tolist() == [encode("Remove", HOSTS[host])]
