"""What an order adds to the loss, against numbers computed by hand."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from standing_orders.learn.order_losses import (
    compliance_loss,
    imitation_loss,
    mask_violations,
    share_loss,
    violation_mass,
)

ENTERPRISE, USER = 1, 4
TYPE_OF_HOST = [0, 1, 1, 1, 3, 3, 3, 2, 4, 4, 4, 4, 4]
REMOVE_ENTERPRISE0, RESTORE_ENTERPRISE0, REMOVE_USER1, RESTORE_USER1 = 16, 133, 24, 141
ANALYSE_USER1 = 11
ONE = torch.ones(1)


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


# -------------------------------------------------------------- violation mass, hinge and share
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


def test_the_share_loss_is_the_share_of_the_fixes_that_are_violations() -> None:
    log_probs = torch.cat([log_probs_of(PROBS), log_probs_of(PROBS)])
    loss = share_loss(log_probs, torch.tensor([USER, -1]), tensor(1.0, 3.0))
    assert float(loss) == pytest.approx((0.2 / 0.4) / 4)


def test_the_share_loss_counts_a_row_as_often_as_it_is_emphasised() -> None:
    log_probs = torch.cat([log_probs_of(PROBS), log_probs_of({RESTORE_ENTERPRISE0: 0.5})])
    top, weights = torch.tensor([USER, USER]), tensor(3.0, 1.0)
    loss = share_loss(log_probs, top, weights, tensor(1.0, 20.0))
    assert float(loss) == pytest.approx((3 * 0.5 + 20 * 1.0) / 4)


def test_the_share_loss_does_not_fall_when_all_fixes_get_less_likely_alike() -> None:
    top = torch.tensor([USER])
    often = share_loss(log_probs_of(PROBS), top, ONE)
    rarely = share_loss(log_probs_of({a: p / 1000 for a, p in PROBS.items()}), top, ONE)
    assert float(rarely) == pytest.approx(float(often), rel=1e-3)
    mass = [violation_mass(log_probs_of(p), top) for p in (PROBS, {16: 0.0002})]
    assert float(mass[1]) < float(mass[0])
    logits = log_probs_of(PROBS).requires_grad_()
    share_loss(torch.log_softmax(logits, dim=1), top, ONE.double()).backward()
    assert logits.grad is not None
    fixes = [*range(15, 28), *range(132, 145)]
    assert float(logits.grad[0, fixes].sum()) == pytest.approx(0.0, abs=1e-6)
    assert float(logits.grad[0, RESTORE_ENTERPRISE0]) > 0 > float(logits.grad[0, RESTORE_USER1])


# ---------------------------------------------------------------------------------- imitation
def held(*hosts: int) -> Tensor:  # (1, 13)
    row = torch.zeros((1, 13), dtype=torch.float64)
    row[0, list(hosts)] = 1
    return row


def test_imitation_wants_the_fixes_to_be_restores_of_held_hosts_of_the_top_type() -> None:
    probs = {RESTORE_USER1: 0.1, 142: 0.06, REMOVE_USER1: 0.2, RESTORE_ENTERPRISE0: 0.04, 143: 0.1}
    fixes = sum(probs.values())
    # User1 and User2 are held, User3 (143) is clean; Enterprise0 is held but ranked lower.
    loss = imitation_loss(log_probs_of(probs), torch.tensor([USER]), held(9, 10, 1), tensor(1.0))
    assert float(loss) == pytest.approx(-math.log(0.16 / fixes), abs=1e-6)


def test_imitation_is_the_mean_over_the_chosen_rows_only() -> None:
    probs = {RESTORE_USER1: 0.1, RESTORE_ENTERPRISE0: 0.3}
    log_probs = torch.cat([log_probs_of(probs)] * 3)
    loss = imitation_loss(
        log_probs, torch.tensor([USER, ENTERPRISE, USER]), torch.cat([held(9, 1)] * 3),
        tensor(3.0, 1.0, 0.0),
    )  # fmt: skip
    wanted = (3 * -math.log(0.25) + -math.log(0.75)) / 4
    assert float(loss) == pytest.approx(wanted, abs=1e-6)


def test_without_contested_rows_imitation_costs_nothing() -> None:
    loss = imitation_loss(log_probs_of(PROBS), torch.tensor([USER]), held(9), tensor(0.0))
    assert float(loss) == 0


def test_imitation_does_not_care_how_often_the_policy_fixes() -> None:
    top, hosts = torch.tensor([USER]), held(9, 1)
    often = imitation_loss(log_probs_of(PROBS), top, hosts, tensor(1.0))
    rarely = imitation_loss(
        log_probs_of({a: p / 1000 for a, p in PROBS.items()}), top, hosts, tensor(1.0)
    )
    assert float(rarely) == pytest.approx(float(often), abs=1e-3)
