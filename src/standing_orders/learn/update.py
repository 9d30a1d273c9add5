"""One PPO update: a rollout and its alignment bonus in, a better network out."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from standing_orders.collect.plan import Trials
from standing_orders.config import PpoConfig
from standing_orders.learn import ppo
from standing_orders.learn.advantages import generalised_advantages, monte_carlo_advantages
from standing_orders.learn.distinct import find_distinct
from standing_orders.learn.networks import ActorCritic
from standing_orders.learn.order_losses import compliance_loss, mask_violations
from standing_orders.learn.ppo import entropy, explained_variance, surrogate_loss, value_loss
from standing_orders.learn.rollout import Rollout

_IMITATED = 1.0  # advantage of an action that is to be imitated, in standard deviations
_RARE = 1e-3  # probability of an action that is hardly ever chosen


@dataclass(frozen=True)
class Rows:
    """Distinct rows with everything the loss needs; see `distinct`."""

    inputs: Tensor  # (rows, size), prepared
    actions: Tensor  # (rows,)
    old_log_probs: Tensor  # (rows,)
    advantages_up: Tensor  # (rows,): sum of the positive advantages of the equal rows
    advantages_down: Tensor  # (rows,): sum of the negative ones
    targets: Tensor  # (rows,): mean value target
    weights: Tensor  # (rows,): number of equal rows
    top_type: Tensor  # (rows,): highest-ranked held type in the true state, -1 none
    explained_variance: float | None = None  # by the critic, of all original rows

    def take(self, items: Tensor) -> "Rows":  # (n,)
        """Some of the rows."""
        cut: dict[str, Any] = {
            name: value[items] for name, value in vars(self).items() if isinstance(value, Tensor)
        }
        return replace(self, **cut)


@dataclass(frozen=True, kw_only=True)
class UpdateStats(ppo.UpdateStats):
    """What an update did, with the further terms of the loss."""

    num_rows: int  # distinct rows
    compliance_loss: float


@dataclass(frozen=True)
class LossTerms:
    """Coefficients that schedules may change from update to update."""

    learning_rate: float
    epochs: int
    entropy: float  # coefficient of the bonus
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
    num_given: int = 0,
    trials: Trials | None = None,
) -> Rows:
    """Distinct rows of a rollout with everything the loss needs.

    The actions of the first `num_given` steps were not the network's choice but are to become it:
    they count as better than the others, whatever came of them. Of the trials, those that are rare
    by now can become likelier but no rarer: they come back however rare the policy makes them, and
    would drive its logits apart without end.
    """
    steps, num_envs, size = rollout.inputs[:-1].shape
    flat = rollout.inputs[:-1].reshape(steps * num_envs, size)
    actions = rollout.actions.ravel()
    top = rollout.top.ravel().astype(np.int64)
    distinct = find_distinct(flat, actions | (top + 1) << 8)
    values = _values(network, rollout.inputs)
    advantages, targets = _advantages(values, rollout, bonus, config)
    advantages[: num_given * num_envs] = _IMITATED
    inputs = network.prepare(flat[distinct.first])
    chosen = torch.from_numpy(actions[distinct.first])
    top_type = torch.from_numpy(top[distinct.first])
    with torch.no_grad():
        log_probs = _log_probs(network, inputs, top_type, mask_factor)
    old_log_probs = log_probs.gather(1, chosen[:, None]).squeeze(1)
    if trials is not None:
        tried = trials.steps * num_envs + np.arange(num_envs)
        is_rare = old_log_probs.numpy()[distinct.inverse[tried]] < math.log(_RARE)
        advantages[tried[is_rare]] = np.maximum(advantages[tried[is_rare]], 0)
    return Rows(
        inputs=inputs,
        actions=chosen,
        old_log_probs=old_log_probs,
        advantages_up=_tensor(distinct.total(np.maximum(advantages, 0))),
        advantages_down=_tensor(distinct.total(np.minimum(advantages, 0))),
        targets=_tensor(distinct.total(targets) / distinct.weight),
        weights=_tensor(distinct.weight),
        top_type=top_type,
        explained_variance=explained_variance(values[:-1].ravel(), targets),
    )


def _advantages(
    values: NDArray[np.float32],  # (steps + 1, num_envs)
    rollout: Rollout,
    bonus: NDArray[np.float64],
    config: PpoConfig,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:  # each (steps * num_envs,)
    """Normalised advantages and value targets of every original row."""
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
    found = ppo.fit(
        network,
        optimiser,
        lambda items: total_loss(network, rows.take(items), config, terms),
        num_items=len(rows.actions),
        epochs=terms.epochs,
        minibatches=config.minibatches,
        max_gradient=config.max_gradient,
        max_kl=config.max_kl,
        seed=seed,
    )
    return UpdateStats(
        num_rows=len(rows.actions),
        num_epochs=found.num_epochs,
        explained_variance=rows.explained_variance,
        **found.means,
    )


def total_loss(
    network: ActorCritic, part: Rows, config: PpoConfig, terms: LossTerms
) -> tuple[Tensor, ppo.Figures]:
    """The loss of one minibatch, and its parts by name."""
    log_probs_all = _log_probs(network, part.inputs, part.top_type, terms.mask_factor)
    log_probs = log_probs_all.gather(1, part.actions[:, None]).squeeze(1)
    policy = surrogate_loss(
        log_probs, part.old_log_probs, part.advantages_up, part.advantages_down, part.weights,
        clip=config.clip,
    )  # fmt: skip
    value = value_loss(network.value(part.inputs), part.targets, part.weights)
    spread = entropy(log_probs_all, part.weights)
    loss = policy + config.value * value - terms.entropy * spread
    compliance = torch.zeros(())
    if terms.compliance:
        compliance = compliance_loss(
            log_probs_all, part.top_type, part.weights, target=terms.compliance_target
        )
        loss = loss + terms.compliance * compliance
    moved = ppo.divergence(
        log_probs - part.old_log_probs, part.weights / part.weights.sum(), clip=config.clip
    )
    figures = {
        "policy_loss": policy, "value_loss": value, "entropy": spread,
        "compliance_loss": compliance,
    }  # fmt: skip
    return loss, figures | moved
