"""What following an order adds to the loss of PPO: pure functions of tensors."""

import math

import torch
from torch import Tensor

from standing_orders.learn.networks import FIX_TYPES, FIXES


def _is_violation(top_type: Tensor) -> Tensor:  # (rows,) -> (rows, 26)
    """Which of the fixes would be violations."""
    return (FIX_TYPES != top_type[:, None]) & (top_type >= 0)[:, None]


def mask_violations(logits: Tensor, top_type: Tensor, factor: float) -> Tensor:
    """Make violations `factor` times as likely as the network would, before normalisation."""
    lowered = torch.zeros_like(logits)
    lowered[:, FIXES] = _is_violation(top_type) * math.log(factor)
    return logits + lowered


def _fix_probs(log_probs_all: Tensor) -> Tensor:  # (rows, 145) -> (rows, 26)
    return log_probs_all[:, FIXES].exp()


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
