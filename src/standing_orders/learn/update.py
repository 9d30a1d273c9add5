"""One PPO update: a rollout and its alignment bonus in, a better network out."""

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from standing_orders.cage2.scenario import NUM_HOSTS
from standing_orders.config import PpoConfig
from standing_orders.errors import NumericsError
from standing_orders.learn.advantages import generalised_advantages, monte_carlo_advantages
from standing_orders.learn.distinct import find_distinct
from standing_orders.learn.networks import ActorCritic
from standing_orders.learn.ppo import (
    Rows,
    compliance_loss,
    entropy,
    imitation_loss,
    mask_violations,
    share_loss,
    surrogate_loss,
    value_loss,
)
from standing_orders.learn.rollout import Rollout


@dataclass(frozen=True)
class UpdateStats:
    """What an update did, mean over its gradient steps."""

    num_rows: int  # distinct rows
    num_epochs: int
    policy_loss: float
    value_loss: float
    entropy: float
    kl: float
    clip_fraction: float
    share_loss: float
    imitation_loss: float
    compliance_loss: float
    gradient_norm: float


@dataclass(frozen=True)
class LossTerms:
    """Coefficients that schedules may change from update to update."""

    learning_rate: float
    epochs: int
    compliance: float  # coefficient of the hinge on the violation mass
    compliance_target: float = 0.95
    mask_factor: float | None = None


def build_rows(
    network: ActorCritic,
    rollout: Rollout,
    bonus: NDArray[np.float64],  # (steps, num_envs)
    config: PpoConfig,
    *,
    mask_factor: float | None = None,
) -> Rows:
    """Distinct rows of a rollout with everything the loss needs."""
    steps, num_envs, size = rollout.inputs[:-1].shape
    flat = rollout.inputs[:-1].reshape(steps * num_envs, size)
    actions = rollout.actions.ravel()
    top = rollout.top.ravel().astype(np.int64)
    is_contested = (rollout.num_held.ravel() >= 2).astype(np.int64)
    held_hosts = rollout.held_hosts.ravel().astype(np.int64)
    extra = actions | held_hosts << 8 | (top + 1) << 24 | is_contested << 28
    distinct = find_distinct(flat, extra)
    advantages, targets = _advantages(network, rollout, bonus, config)
    inputs = network.prepare(flat[distinct.first])
    chosen = torch.from_numpy(actions[distinct.first])
    top_type = torch.from_numpy(top[distinct.first])
    with torch.no_grad():
        log_probs = _log_probs(network, inputs, top_type, mask_factor)
    hosts = held_hosts[distinct.first][:, None] >> np.arange(NUM_HOSTS) & 1
    return Rows(
        inputs=inputs,
        actions=chosen,
        old_log_probs=log_probs.gather(1, chosen[:, None]).squeeze(1),
        advantages_up=_tensor(distinct.total(np.maximum(advantages, 0))),
        advantages_down=_tensor(distinct.total(np.minimum(advantages, 0))),
        targets=_tensor(distinct.total(targets) / distinct.weight),
        weights=_tensor(distinct.weight),
        top_type=top_type,
        held_hosts=_tensor(hosts),
        is_contested=_tensor(is_contested[distinct.first]),
    )


def _advantages(
    network: ActorCritic, rollout: Rollout, bonus: NDArray[np.float64], config: PpoConfig
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:  # each (steps * num_envs,)
    """Normalised advantages and value targets of every original row."""
    values = _values(network, rollout.inputs)
    rewards = ((rollout.rewards + bonus) * config.reward_scale).astype(np.float32)
    if config.advantages == "gae":
        advantages, targets = generalised_advantages(
            rewards, values, gamma=config.gamma, gae_lambda=config.gae_lambda
        )
    else:
        advantages, targets = monte_carlo_advantages(rewards, values, gamma=config.gamma)
    flat = advantages.ravel().astype(np.float64)
    normalised = (flat - flat.mean()) / (flat.std() + 1e-8)
    return normalised, targets.ravel().astype(np.float64)


def _log_probs(
    network: ActorCritic, inputs: Tensor, top_type: Tensor, mask_factor: float | None
) -> Tensor:  # (rows, 145)
    logits = network.logits(inputs)
    if mask_factor is not None:
        logits = mask_violations(logits, top_type, mask_factor)
    return torch.log_softmax(logits, dim=1)


def _tensor(values: NDArray[np.generic]) -> Tensor:
    return torch.from_numpy(np.asarray(values, dtype=np.float32))


def _values(network: ActorCritic, inputs: NDArray[np.int8]) -> NDArray[np.float32]:
    """Critic's values of all inputs, computed once for equal ones; (steps + 1, num_envs)."""
    flat = inputs.reshape(-1, inputs.shape[-1])
    distinct = find_distinct(flat, np.zeros(len(flat), dtype=np.int64))
    with torch.no_grad():
        values = network.value(network.prepare(flat[distinct.first])).numpy()
    return np.asarray(values[distinct.inverse].reshape(inputs.shape[:2]))


def _minibatches(rows: Rows, count: int, generator: torch.Generator) -> Iterator[Rows]:
    order = torch.randperm(len(rows.actions), generator=generator)
    for part in order.chunk(min(count, len(order))):
        yield Rows(*(getattr(rows, f.name)[part] for f in fields(rows)))


def update(
    network: ActorCritic,
    optimiser: torch.optim.Optimizer,
    rows: Rows,
    config: PpoConfig,
    terms: LossTerms,
    *,
    seed: int,
) -> UpdateStats:
    """Improve the network on the rows.

    Raises:
        NumericsError: a loss, a gradient or a weight is not finite; the network is of no use then.
    """
    for group in optimiser.param_groups:
        group["lr"] = terms.learning_rate
    generator = torch.Generator().manual_seed(seed)
    sums = np.zeros(9)
    count, num_epochs = 0, 0
    for _ in range(terms.epochs):
        num_epochs += 1
        kl: list[float] = []
        for part in _minibatches(rows, config.minibatches, generator):
            loss, figures = total_loss(network, part, config, terms)
            optimiser.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(network.parameters(), config.max_gradient)
            _check_finite(figures, float(norm))
            optimiser.step()
            sums += [*figures.values(), float(norm)]
            kl.append(figures["kl"])
            count += 1
        if config.max_kl is not None and sum(kl) / len(kl) > config.max_kl:
            break
    for name, weight in network.named_parameters():
        if not torch.isfinite(weight).all():
            raise NumericsError(f"weight {name} is not finite")
    means = [float(value) for value in sums / count]
    return UpdateStats(len(rows.actions), num_epochs, *means)


def total_loss(
    network: ActorCritic, part: Rows, config: PpoConfig, terms: LossTerms
) -> tuple[Tensor, dict[str, float]]:
    """The loss of one minibatch, and its parts by name."""
    log_probs_all = _log_probs(network, part.inputs, part.top_type, terms.mask_factor)
    log_probs = log_probs_all.gather(1, part.actions[:, None]).squeeze(1)
    policy = surrogate_loss(
        log_probs, part.old_log_probs, part.advantages_up, part.advantages_down, part.weights,
        clip=config.clip,
    )  # fmt: skip
    value = value_loss(network.value(part.inputs), part.targets, part.weights)
    spread = entropy(log_probs_all, part.weights)
    loss = policy + config.value * value - config.entropy * spread
    share = imitation = compliance = torch.zeros(())
    if config.share_penalty:
        emphasis = 1 + (config.contested_weight - 1) * part.is_contested
        share = share_loss(log_probs_all, part.top_type, part.weights, emphasis)
        loss = loss + config.share_penalty * share
    if config.imitation:
        chosen = part.weights * part.is_contested
        imitation = imitation_loss(log_probs_all, part.top_type, part.held_hosts, chosen)
        loss = loss + config.imitation * imitation
    if terms.compliance:
        compliance = compliance_loss(
            log_probs_all, part.top_type, part.weights, target=terms.compliance_target
        )
        loss = loss + terms.compliance * compliance
    with torch.no_grad():
        log_ratio = log_probs - part.old_log_probs
        share_of_rows = part.weights / part.weights.sum()
        kl = ((log_ratio.exp() - 1 - log_ratio) * share_of_rows).sum()
        clipped = (((log_ratio.exp() - 1).abs() > config.clip) * share_of_rows).sum()
    figures = {
        "policy": policy, "value": value, "entropy": spread, "kl": kl, "clip": clipped,
        "share": share, "imitation": imitation, "compliance": compliance,
    }  # fmt: skip
    return loss, {name: float(figure.detach()) for name, figure in figures.items()}


def _check_finite(figures: dict[str, float], norm: float) -> None:
    for name, figure in (figures | {"gradient norm": norm}).items():
        if not np.isfinite(figure):
            raise NumericsError(f"{name} is {figure}")
