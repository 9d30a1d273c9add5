"""What following an order adds to the loss of PPO: pure functions of tensors."""

import math

import torch
from torch import Tensor

from standing_orders.cage2.actions import HOST_OF_ACTION, KIND_OF_ACTION, REMOVE, RESTORE
from standing_orders.cage2.scenario import NUM_UNIT_TYPES, UNIT_TYPE_OF_HOST

_IS_FIX = torch.tensor((KIND_OF_ACTION == REMOVE) | (KIND_OF_ACTION == RESTORE))
_FIXES = torch.nonzero(_IS_FIX).squeeze(1)  # the 26 actions that repair
_FIX_HOST = torch.tensor(HOST_OF_ACTION)[_FIXES]
_FIX_TYPE = torch.tensor(UNIT_TYPE_OF_HOST)[_FIX_HOST]


def _is_violation(top_type: Tensor) -> Tensor:  # (rows,) -> (rows, 26)
    """Which of the fixes would be violations."""
    return (_FIX_TYPE != top_type[:, None]) & (top_type >= 0)[:, None]


def mask_violations(logits: Tensor, top_type: Tensor, factor: float) -> Tensor:
    """Make violations `factor` times as likely as the network would, before normalisation."""
    lowered = torch.zeros_like(logits)
    lowered[:, _FIXES] = _is_violation(top_type) * math.log(factor)
    return logits + lowered


def _fix_probs(log_probs_all: Tensor) -> Tensor:  # (rows, 145) -> (rows, 26)
    return log_probs_all[:, _FIXES].exp()


def violation_mass(log_probs_all: Tensor, top_type: Tensor) -> Tensor:  # -> (rows,)
    """Probability of a fix that would be a violation in the recorded true state."""
    return (_fix_probs(log_probs_all) * _is_violation(top_type)).sum(dim=1)


def compliance_loss(
    log_probs_all: Tensor, top_type: Tensor, weights: Tensor, *, target: float
) -> Tensor:
    """Hinge on the violation mass: only what exceeds 1 - target costs, where a type is held."""
    is_held = (top_type >= 0) * weights
    excess = torch.clamp(violation_mass(log_probs_all, top_type) - (1 - target), min=0)
    return (is_held * excess).sum() / weights.sum()


def share_loss(
    log_probs_all: Tensor, top_type: Tensor, weights: Tensor, emphasis: Tensor | float = 1.0
) -> Tensor:
    """Share of the probability of any fix that goes to violations, mean over original rows.

    Unlike the violation mass it does not fall when the policy stops fixing altogether. `emphasis`
    (rows,) makes a row count so many times in the sum; what it is divided by stays.
    """
    total = _fix_probs(log_probs_all).sum(dim=1)
    share = violation_mass(log_probs_all, top_type) / (total + 1e-8)
    return (weights * emphasis * share).sum() / weights.sum()


def imitation_loss(
    log_probs_all: Tensor, top_type: Tensor, held_hosts: Tensor, chosen: Tensor
) -> Tensor:
    """-log of the share of the fixes that goes to Restore of a held host of the top type.

    Args:
        log_probs_all: (rows, 145).
        top_type: (rows,).
        held_hosts: (rows, 13).
        chosen: (rows,): weight of each row; zero where nothing is to be imitated.
    """
    num_hosts = held_hosts.shape[1]
    wanted = held_hosts * (_HOST_TYPE == top_type[:, None])
    chosen = chosen * (wanted.sum(dim=1) > 0)  # where only the foothold counts, nothing is left
    restore = log_probs_all[:, -num_hosts:]
    fixes = torch.logsumexp(log_probs_all[:, _FIXES], dim=1)
    aimed = torch.logsumexp(restore.masked_fill(wanted == 0, -30.0), dim=1)
    return (chosen * (fixes - aimed)).sum() / torch.clamp(chosen.sum(), min=1.0)


_HOST_TYPE = torch.tensor(UNIT_TYPE_OF_HOST)
assert int(_FIX_TYPE.max()) == NUM_UNIT_TYPES - 1
