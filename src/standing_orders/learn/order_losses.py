"""What following an order adds to the loss of PPO: pure functions of tensors."""

import math

import torch
from torch import Tensor

from standing_orders.cage2.actions import HOST_OF_ACTION, KIND_OF_ACTION, REMOVE, RESTORE
from standing_orders.cage2.scenario import UNIT_TYPE_OF_HOST

_FORBIDDEN = -1e9  # a logit of probability zero that is still finite
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


def mask_unlawful(logits: Tensor, lawful: Tensor) -> Tensor:  # (rows, 145), (rows,)
    """Forbid the fixes of hosts whose type is not in the mask `lawful`."""
    is_allowed = lawful[:, None] >> _FIX_TYPE & 1
    lowered = torch.zeros_like(logits)
    lowered[:, _FIXES] = _FORBIDDEN * (1 - is_allowed)
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
