"""Distinct rows: nothing merged that differs, and the same loss and gradient as on all rows."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from standing_orders.config import PpoConfig
from standing_orders.learn.distinct import find_distinct
from standing_orders.learn.inputs import InputLayout
from standing_orders.learn.networks import ActorCritic
from standing_orders.learn.rollout import Rollout
from standing_orders.learn.update import LossTerms, Rows, build_rows, total_loss

TYPE_OF_HOST = [0, 1, 1, 1, 3, 3, 3, 2, 4, 4, 4, 4, 4]
ORDER = (4, 3, 1, 2, 0)
FIXES = [*range(15, 28), *range(132, 145)]


def fake_rollout(seed: int, *, steps: int = 20, num_envs: int = 30, pool: int = 4) -> Rollout:
    """Rows drawn from a small pool, so that most occur many times."""
    rng = np.random.default_rng(seed)
    inputs = rng.integers(0, 2, (pool, 77)).astype(np.int8)
    masks = np.array([0, 1 << 9, 1 << 1, 1 << 9 | 1 << 1 | 1 << 2, 1 << 10 | 1 << 4])
    held = masks[rng.integers(0, len(masks), (steps, num_envs))]
    types = [[{TYPE_OF_HOST[h] for h in range(13) if m >> h & 1} for m in row] for row in held]
    top = [[next((t for t in ORDER if t in one), -1) for one in row] for row in types]
    return Rollout(
        inputs=inputs[rng.integers(0, pool, (steps + 1, num_envs))],
        actions=rng.choice([0, 16, 24, 24, 133, 141], (steps, num_envs)),
        rewards=rng.normal(size=(steps, num_envs)),
        verdicts=np.zeros((steps, num_envs), np.int8),
        top=np.array(top, dtype=np.int8),
        num_held=np.array([[len(one) for one in row] for row in types], dtype=np.int8),
        held_hosts=held.astype(np.int16),
        tallies=np.zeros((num_envs, 9), np.int64),
    )


def make_network(seed: int) -> ActorCritic:
    net = ActorCritic(InputLayout(), hidden=(12,), activation="tanh", seed=seed)
    with torch.no_grad():  # far from uniform
        net.actor[-1].weight.mul_(100)
    return net


def in_double(rows: Rows) -> Rows:
    def widen(value: Any) -> Any:
        is_real = isinstance(value, torch.Tensor) and value.is_floating_point()
        return value.double() if is_real else value

    return Rows(**{name: widen(value) for name, value in vars(rows).items()})


def plain_loss(
    net: ActorCritic, rollout: Rollout, old: torch.Tensor, advantages: Any, targets: Any
) -> torch.Tensor:
    """The loss of PPO and of every further term, row by row over all rows, in double."""
    inputs = torch.from_numpy(rollout.inputs[:-1].reshape(-1, 77)).double()
    actions = torch.from_numpy(rollout.actions.ravel())
    log_all = torch.log_softmax(net.actor(inputs), dim=1)
    log_probs = log_all[torch.arange(len(actions)), actions]
    ratio = torch.exp(log_probs - old)
    surrogate = torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
    value = 0.5 * ((net.critic(inputs).squeeze(1) - targets) ** 2).mean()
    entropy = -(log_all.exp() * log_all).sum(dim=1).mean()
    hinges = []
    top = rollout.top.ravel()
    for i in range(len(actions)):
        probs = log_all[i].exp()
        bad = [a for a in FIXES if top[i] >= 0 and TYPE_OF_HOST[(a - 15) % 13] != top[i]]
        mass = probs[bad].sum()
        hinges.append((mass - 0.05).clamp(min=0))
    return -surrogate.mean() + 0.5 * value - 0.01 * entropy + 0.7 * torch.stack(hinges).mean()


def plain_advantages(net: ActorCritic, rollout: Rollout) -> tuple[torch.Tensor, torch.Tensor]:
    with torch.no_grad():
        values = net.critic(torch.from_numpy(rollout.inputs).double()).squeeze(-1).numpy()
    rewards = rollout.rewards * 0.1
    advantages = np.zeros_like(rewards)
    running = np.zeros(rewards.shape[1])
    for t in reversed(range(len(rewards))):
        running = rewards[t] + 0.99 * values[t + 1] - values[t] + 0.99 * 0.95 * running
        advantages[t] = running
    targets = advantages + values[:-1]
    scaled = (advantages - advantages.mean()) / advantages.std()
    return torch.from_numpy(scaled.ravel()), torch.from_numpy(targets.ravel())


@pytest.mark.parametrize("seed", range(3))
def test_loss_and_gradient_on_distinct_rows_are_those_on_all_rows(seed: int) -> None:
    rollout = fake_rollout(seed)
    net = make_network(seed)
    config = PpoConfig(entropy=0.01)
    rows = in_double(build_rows(net, rollout, np.zeros_like(rollout.rewards), config))
    assert len(rows.actions) < rollout.actions.size / 3
    net.double()
    advantages, targets = plain_advantages(net, rollout)
    with torch.no_grad():
        inputs = torch.from_numpy(rollout.inputs[:-1].reshape(-1, 77)).double()
        log_all = torch.log_softmax(net.actor(inputs), dim=1)
        old = log_all.gather(1, torch.from_numpy(rollout.actions.ravel())[:, None]).squeeze(1)
        generator = torch.Generator().manual_seed(seed)
        for parameter in net.parameters():  # ratios on both sides of the clip range
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.add_(0.1 * noise)
    loss, figures = total_loss(net, rows, config, LossTerms(1e-3, 1, config.entropy, 0.7))
    found = torch.autograd.grad(loss, list(net.parameters()))
    assert 0.1 < figures["clipfrac"] < 0.9
    wanted_loss = plain_loss(net, rollout, old, advantages, targets)
    wanted = torch.autograd.grad(wanted_loss, list(net.parameters()))
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)
    spread = 0.25 * sum(
        float(((targets - mean) ** 2)[chosen].sum()) for mean, chosen in _groups(rollout, targets)
    )
    difference = float((wanted_loss - loss).detach())
    assert difference == pytest.approx(spread / len(targets), abs=1e-5)


def _groups(rollout: Rollout, targets: torch.Tensor) -> list[tuple[float, list[int]]]:
    """Mean target and members of each set of equal rows, found by comparing bytes."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    flat = rollout.inputs[:-1].reshape(-1, 77)
    for i, row in enumerate(flat):
        key = (row.tobytes(), int(rollout.actions.ravel()[i]), int(rollout.top.ravel()[i]))
        groups.setdefault(key, []).append(i)
    return [(float(targets[chosen].mean()), chosen) for chosen in groups.values()]


def test_the_distinct_rows_are_exactly_the_different_ones() -> None:
    rng = np.random.default_rng(1)
    inputs = rng.integers(0, 2, (50, 77)).astype(np.int8)[rng.integers(0, 50, 3000)]
    extra = rng.integers(0, 3, 3000)
    found = find_distinct(inputs, extra)
    keys = [(row.tobytes(), int(e)) for row, e in zip(inputs, extra, strict=True)]
    assert len(found.first) == len(set(keys))
    assert found.weight.sum() == 3000
    for i, key in enumerate(keys):
        assert keys[found.first[found.inverse[i]]] == key
    counted = [keys.count(keys[first]) for first in found.first]
    assert found.weight.tolist() == counted


def test_the_total_over_equal_rows_is_their_sum() -> None:
    inputs = np.array([[0], [1], [0], [0]], dtype=np.int8)
    found = find_distinct(inputs, np.zeros(4, dtype=np.int64))
    sums = found.total(np.array([1.0, 10.0, 2.0, 4.0]))
    assert sums[found.inverse].tolist() == [7.0, 10.0, 7.0, 7.0]


def test_rows_that_differ_in_one_input_are_not_merged() -> None:
    row = np.random.default_rng(2).integers(0, 2, 122).astype(np.int8)
    rows = np.vstack([row] * 123)
    for j in range(122):
        rows[j, j] ^= 1
    assert len(find_distinct(rows, np.zeros(123, dtype=np.int64)).first) == 123


def test_rows_that_differ_in_a_count_are_not_merged() -> None:
    rows = np.zeros((101, 40), dtype=np.int8)
    rows[:, -1] = np.arange(101)
    assert len(find_distinct(rows, np.zeros(101, dtype=np.int64)).first) == 101


def test_rows_that_differ_in_action_or_packed_state_are_not_merged() -> None:
    rows = np.zeros((30, 77), dtype=np.int8)
    assert len(find_distinct(rows, np.int64(1) << np.arange(30)).first) == 30


@pytest.mark.parametrize(
    ("name", "num_rows"),
    [("actions", 2), ("top", 2), ("inputs", 2), ("num_held", 1), ("held_hosts", 1), (None, 1)],
)
def test_only_rows_equal_in_inputs_action_and_top_type_share_a_row(
    name: str | None, num_rows: int
) -> None:
    """Two steps, alike but for one thing; what the loss does not ask for parts nothing."""
    values: dict[str, Any] = {
        "inputs": np.zeros((3, 1, 77), dtype=np.int8),
        "actions": np.array([[16], [16]]),
        "top": np.array([[4], [4]], dtype=np.int8),
        "num_held": np.array([[1], [1]], dtype=np.int8),
        "held_hosts": np.array([[1 << 9], [1 << 9]], dtype=np.int16),
    }
    change = {"inputs": 1, "actions": 17, "top": -1, "num_held": 2, "held_hosts": 1 << 12 | 1 << 9}
    if name is not None:
        values[name][1, 0] = change[name]
    rollout = Rollout(
        rewards=np.array([[1.0], [-1.0]]),
        verdicts=np.zeros((2, 1), np.int8),
        tallies=np.zeros((1, 9), np.int64),
        **values,
    )
    rows = build_rows(make_network(0), rollout, np.zeros((2, 1)), PpoConfig())
    assert len(rows.actions) == num_rows
    assert math.isclose(float(rows.weights.sum()), 2)
