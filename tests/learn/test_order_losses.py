"""What an order adds to the loss, against numbers computed by hand."""

import numpy as np
import pytest
import torch
from torch import Tensor

from standing_orders.learn.order_losses import (
    compliance_loss,
    mask_violations,
    violation_mass,
)

ENTERPRISE, USER = 1, 4
TYPE_OF_HOST = [0, 1, 1, 1, 3, 3, 3, 2, 4, 4, 4, 4, 4]
REMOVE_ENTERPRISE0, RESTORE_ENTERPRISE0, REMOVE_USER1, RESTORE_USER1 = 16, 133, 24, 141
ANALYSE_USER1 = 11


def log_probs_of(probs: dict[int, float]) -> Tensor:  # (1, 145)
    """The given probabilities; what is left goes evenly to Sleep and Monitor."""
    row = torch.full((1, 145), 1e-30, dtype=torch.float64)
    rest = 1 - sum(probs.values())
    row[0, 0] = row[0, 1] = rest / 2
    for action, prob in probs.items():
        row[0, action] = prob
    return row.log()


def tensor(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


# ---------------------------------------------------------------------------------- soft mask
@pytest.mark.parametrize("top", [-1, 0, 1, 2, 3, 4])
def test_the_mask_multiplies_the_odds_of_violations_by_the_factor(top: int) -> None:
    logits = torch.from_numpy(np.random.default_rng(top + 1).normal(size=(1, 145))).float()
    before = torch.softmax(logits, dim=1)[0]
    after = torch.softmax(mask_violations(logits, torch.tensor([top]), 0.1), dim=1)[0]
    odds = (after / after[0]) / (before / before[0])
    for action in range(145):
        is_fix = 15 <= action <= 27 or action >= 132
        is_violation = is_fix and top >= 0 and TYPE_OF_HOST[(action - 15) % 13] != top
        assert float(odds[action]) == pytest.approx(0.1 if is_violation else 1.0, rel=1e-4)


def test_the_mask_takes_the_small_integers_of_a_rollout() -> None:
    logits = torch.zeros((2, 145))
    wide = mask_violations(logits, torch.tensor([4, -1]), 0.1)
    narrow = mask_violations(logits, torch.tensor([4, -1], dtype=torch.int8), 0.1)
    assert torch.equal(wide, narrow)
    assert not wide[1].any()


# --------------------------------------------------------------------- violation mass and hinge
PROBS = {REMOVE_ENTERPRISE0: 0.05, RESTORE_ENTERPRISE0: 0.15, RESTORE_USER1: 0.2,
         ANALYSE_USER1: 0.3}  # fmt: skip


@pytest.mark.parametrize(("top", "mass"), [(USER, 0.2), (ENTERPRISE, 0.2), (0, 0.4), (-1, 0.0)])
def test_the_violation_mass_is_the_probability_of_a_violating_fix(top: int, mass: float) -> None:
    found = violation_mass(log_probs_of(PROBS), torch.tensor([top]))
    assert float(found) == pytest.approx(mass)


def test_the_compliance_loss_is_what_the_violation_mass_exceeds_005_by() -> None:
    log_probs = torch.cat([log_probs_of(PROBS), log_probs_of(PROBS), log_probs_of({16: 0.03})])
    top = torch.tensor([USER, -1, USER])
    loss = compliance_loss(log_probs, top, tensor(2.0, 1.0, 1.0), target=0.95)
    assert float(loss) == pytest.approx(2 * (0.2 - 0.05) / 4)


@pytest.mark.parametrize(("mass", "hinge"), [(0.01, 0.0), (0.0499, 0.0), (0.06, 0.01)])
def test_the_hinge_is_zero_below_005(mass: float, hinge: float) -> None:
    log_probs = log_probs_of({RESTORE_ENTERPRISE0: mass})
    loss = compliance_loss(log_probs, torch.tensor([USER]), tensor(1.0), target=0.95)
    assert float(loss) == pytest.approx(hinge)


def test_the_compliance_loss_really_has_a_gradient() -> None:
    logits = log_probs_of(PROBS).requires_grad_()
    loss = compliance_loss(
        torch.log_softmax(logits, dim=1), torch.tensor([USER]), tensor(1.0), target=0.95
    )
    loss.backward()
    assert logits.grad is not None
    # d mass / d logit = p (1 - mass) of a violation, -p mass of anything else.
    assert float(logits.grad[0, RESTORE_ENTERPRISE0]) == pytest.approx(0.15 * 0.8)
    assert float(logits.grad[0, RESTORE_USER1]) == pytest.approx(-0.2 * 0.2)
