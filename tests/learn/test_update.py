"""One PPO update: what is stored, what is recomputed, and what the figures say."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from standing_orders.cage2.actions import HOST_OF_ACTION
from standing_orders.cage2.scenario import UNIT_TYPE_OF_HOST
from standing_orders.collect.plan import Trials
from standing_orders.config import PpoConfig
from standing_orders.errors import NumericsError
from standing_orders.learn import update as update_module
from standing_orders.learn.networks import ActorCritic
from standing_orders.learn.rollout import Rollout
from standing_orders.learn.update import LossTerms, Rows, build_rows, total_loss, update
from standing_orders.rules.compliance import VIOLATION

Make = Callable[..., Any]
CONFIG = PpoConfig()
ENTROPY = CONFIG.entropy
TERMS = LossTerms(1e-3, 2, ENTROPY, 0.0)


def flat_weights(net: ActorCritic) -> np.ndarray:
    return np.concatenate([p.detach().numpy().ravel() for p in net.parameters()])


def adam(net: ActorCritic) -> torch.optim.Optimizer:
    return torch.optim.Adam(net.parameters())


def rows_of(net: ActorCritic, played: Rollout, config: PpoConfig = CONFIG, **options: Any) -> Rows:
    return build_rows(net, played, np.zeros_like(played.rewards), config, **options)


def part_of(rows: Rows, count: int) -> Rows:
    return rows.take(torch.arange(count))


def parts_of(*arguments: Any) -> dict[str, float]:
    """The figures of a loss as plain numbers."""
    return {name: float(figure.detach()) for name, figure in total_loss(*arguments)[1].items()}


# ----------------------------------------------------------------------------------- the rows
@pytest.mark.parametrize("factor", [None, 0.1])
def test_the_first_loss_has_ratio_one_with_and_without_a_mask(
    network: Make, rollout: Make, factor: float | None
) -> None:
    net = network()
    rows = rows_of(net, rollout(net, mask_factor=factor), mask_factor=factor)
    figures = parts_of(net, rows, CONFIG, replace(TERMS, mask_factor=factor))
    assert figures["approx_kl"] == pytest.approx(0.0, abs=1e-7)
    assert figures["clipfrac"] == 0.0
    assert figures["policy_loss"] == pytest.approx(0.0, abs=1e-5)  # normalised advantages


def test_a_mask_enters_the_stored_log_probabilities(network: Make, rollout: Make) -> None:
    net = network()
    played = rollout(net, mask_factor=0.1)
    plain, masked = (rows_of(net, played, mask_factor=factor) for factor in (None, 0.1))
    logits = net.logits(masked.inputs).detach().double().numpy()
    types = np.array([0, 1, 1, 1, 3, 3, 3, 2, 4, 4, 4, 4, 4])
    for i, top in enumerate(masked.top_type.tolist()):
        odds = np.exp(logits[i])
        for first in (15, 132):
            odds[first : first + 13] *= np.where((types != top) & (top >= 0), 0.1, 1.0)
        wanted = np.log(odds[masked.actions[i]] / odds.sum())
        assert float(masked.old_log_probs[i]) == pytest.approx(wanted, abs=1e-5)
    assert not torch.allclose(plain.old_log_probs, masked.old_log_probs)


def test_a_mask_that_only_one_side_applies_shows_as_divergence(
    network: Make, rollout: Make
) -> None:
    net = network()
    rows = rows_of(net, rollout(net, mask_factor=0.1), mask_factor=0.1)
    figures = parts_of(net, rows, CONFIG, TERMS)
    assert figures["approx_kl"] > 1e-3


def test_advantages_are_normalised_over_all_rows(network: Make, rollout: Make) -> None:
    net = network()
    rows = rows_of(net, rollout(net))
    total = rows.advantages_up.double().sum() + rows.advantages_down.double().sum()
    assert float(total) == pytest.approx(0.0, abs=1e-2)
    assert float(rows.weights.sum()) == 1600
    assert (rows.advantages_up >= 0).all()
    assert (rows.advantages_down <= 0).all()


def test_what_is_given_counts_as_better_whatever_came_of_it(network: Make, rollout: Make) -> None:
    net = network()
    played = rollout(net)
    plain, given = rows_of(net, played), rows_of(net, played, num_given=2)
    first = 2 * played.actions.shape[1]
    assert float(given.advantages_up.sum()) > first
    change = (given.advantages_up + given.advantages_down).sum() - (
        plain.advantages_up + plain.advantages_down
    ).sum()
    assert float(change) == pytest.approx(first - _sum_of_first(net, played, first), abs=1e-2)


def _sum_of_first(net: ActorCritic, played: Rollout, count: int) -> float:
    bonus = np.zeros_like(played.rewards)
    values = update_module._values(net, played.inputs)
    return float(update_module._advantages(values, played, bonus, CONFIG)[0][:count].sum())


def test_a_rare_trial_becomes_no_rarer(network: Make, rollout: Make) -> None:
    net = network()
    with torch.no_grad():
        net.actor[-1].bias[::2] -= 20.0  # every other action is rare
    played = rollout(net)
    trials = Trials(
        np.arange(played.actions.shape[1]), np.array([2, 3, *[4] * 62])[: len(played.actions[0])]
    )
    episodes = np.arange(len(trials.steps))
    played.actions[trials.steps, episodes] = trials.actions
    plain, tried = rows_of(net, played), rows_of(net, played, trials=trials)
    is_rare = np.isin(plain.actions, [2, 4])
    assert (plain.advantages_down.numpy()[is_rare] < 0).any()
    assert (tried.advantages_down.numpy()[is_rare] == 0).all()
    assert torch.equal(tried.advantages_down[~is_rare], plain.advantages_down[~is_rare])
    assert torch.equal(tried.advantages_up, plain.advantages_up)


def test_targets_are_scaled_returns_of_reward_and_bonus(network: Make, rollout: Make) -> None:
    net = network()
    played = rollout(net, num_envs=3)
    bonus = np.random.default_rng(0).normal(size=played.rewards.shape) * 5
    config = PpoConfig(advantages="monte-carlo", gamma=0.9, reward_scale=0.1)
    rows = build_rows(net, played, bonus, config)
    returns = np.zeros((101, 3))
    for t in reversed(range(100)):
        returns[t] = 0.1 * (played.rewards[t] + bonus[t]) + 0.9 * returns[t + 1]
    found = float((rows.targets.double() * rows.weights).sum())
    assert found == pytest.approx(returns[:-1].sum(), rel=1e-4)


def test_gae_targets_use_the_value_beyond_the_horizon(network: Make, rollout: Make) -> None:
    net = network()
    played = rollout(net, num_envs=1, horizon=3)
    config = PpoConfig(gamma=0.9, gae_lambda=1.0)
    with torch.no_grad():
        net.critic[-1].bias.fill_(50.0)  # far from any reward
        last = float(net.value(net.prepare(played.inputs[-1])))
    rows = rows_of(net, played, config)
    returns, wanted = last, []
    for reward in played.rewards[::-1, 0]:
        returns = 0.1 * reward + 0.9 * returns
        wanted.append(returns)
    found = float((rows.targets.double() * rows.weights).sum())
    assert found == pytest.approx(sum(wanted), rel=1e-4)


# ----------------------------------------------------------------------------------- the loss
def test_kl_and_clip_fraction_are_weighted_over_all_rows(network: Make, rollout: Make) -> None:
    net = network()
    rows = part_of(rows_of(net, rollout(net)), 4)
    shift = torch.tensor([0.0, 0.1, 0.3, -0.5])  # log of new over old probability
    weights = torch.tensor([1.0, 2.0, 3.0, 4.0])
    rows = replace(rows, old_log_probs=rows.old_log_probs - shift, weights=weights)
    figures = parts_of(net, rows, CONFIG, TERMS)
    terms = [float(w) * (np.exp(d) - 1 - d) for w, d in zip(weights, shift.tolist(), strict=True)]
    assert figures["approx_kl"] == pytest.approx(sum(terms) / 10, rel=1e-4)
    assert figures["clipfrac"] == pytest.approx(7 / 10)  # e**0.3 - 1 and 1 - e**-0.5 exceed 0.2


def test_the_loss_is_the_sum_of_its_parts_with_their_coefficients(
    network: Make, rollout: Make
) -> None:
    net = network()
    rows = rows_of(net, rollout(net))
    config = PpoConfig(value=0.7)
    arguments = (net, rows, config, LossTerms(1e-3, 1, 0.02, 0.9))
    loss, parts = total_loss(*arguments)[0], parts_of(*arguments)
    wanted = parts["policy_loss"] + 0.7 * parts["value_loss"] - 0.02 * parts["entropy"]
    wanted += 0.9 * parts["compliance_loss"]
    assert float(loss.detach()) == pytest.approx(wanted, rel=1e-5)
    assert parts["compliance_loss"] > 0


def test_the_compliance_loss_is_off_by_default(network: Make, rollout: Make) -> None:
    net = network()
    parts = parts_of(net, rows_of(net, rollout(net)), CONFIG, TERMS)
    assert parts["compliance_loss"] == 0


def test_the_compliance_loss_alone_makes_violations_less_likely(
    network: Make, rollout: Make
) -> None:
    net = network()
    rows = rows_of(net, rollout(net))
    nothing = torch.zeros_like(rows.advantages_up)
    rows = replace(rows, advantages_up=nothing, advantages_down=nothing)
    config = PpoConfig(value=0.0)
    terms = LossTerms(3e-3, 20, 0.0, 1.0)
    before = parts_of(net, rows, config, terms)["compliance_loss"]
    update(net, adam(net), rows, config, terms, seed=0)
    assert parts_of(net, rows, config, terms)["compliance_loss"] < 0.8 * before


def test_unlawful_fixes_stay_without_probability_whatever_is_learned(
    network: Make, rollout: Make
) -> None:
    net = network(has_belief=True, certainty=0.95)
    played = rollout(net, num_envs=40)
    rows = rows_of(net, played)
    place = net.layout.blocks["lawful"]
    assert 0 < float(rows.inputs[:, place].mean()) < 1
    assert (played.verdicts[1:] != VIOLATION).mean() > 0.99
    figures = parts_of(net, rows, CONFIG, TERMS)
    assert figures["approx_kl"] == pytest.approx(0.0, abs=1e-7)
    update(net, adam(net), rows, CONFIG, LossTerms(1e-2, 5, ENTROPY, 0.0), seed=0)
    again = rollout(net, num_envs=40, seed=9)
    is_fix = np.isin(again.actions, [*range(15, 28), *range(132, 145)])
    kinds = UNIT_TYPE_OF_HOST[HOST_OF_ACTION[again.actions[is_fix]]]
    assert is_fix.any()
    lawful = again.inputs[:-1, :, place][is_fix]
    assert (lawful[np.arange(len(kinds)), kinds] == 1).all()


# --------------------------------------------------------------------------------- the update
def test_the_same_seed_gives_the_same_bits_and_another_does_not(
    network: Make, rollout: Make
) -> None:
    def weights(seed: int) -> np.ndarray:
        net = network()
        update(net, adam(net), rows_of(net, rollout(net)), CONFIG, TERMS, seed=seed)
        return flat_weights(net)

    assert np.array_equal(weights(1), weights(1))
    assert not np.array_equal(weights(1), weights(2))


def test_every_epoch_goes_through_all_rows_once_in_another_order(
    network: Make, rollout: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network()
    rows = rows_of(net, rollout(net, num_envs=3))
    marked = replace(rows, targets=torch.arange(len(rows.actions)).float())
    seen: list[np.ndarray] = []

    def spy(net: ActorCritic, part: Rows, *rest: Any) -> Any:
        seen.append(part.targets.numpy())
        return total_loss(net, part, *rest)

    monkeypatch.setattr(update_module, "total_loss", spy)
    config = PpoConfig(minibatches=5)
    stats = update(net, adam(net), marked, config, LossTerms(1e-3, 3, ENTROPY, 0.0), seed=0)
    assert (stats.num_epochs, stats.num_rows) == (3, len(rows.actions))
    assert len(seen) == 15
    epochs = [np.concatenate(seen[i : i + 5]) for i in (0, 5, 10)]
    for epoch in epochs:
        assert np.array_equal(np.sort(epoch), np.arange(len(rows.actions)))
    assert not np.array_equal(epochs[0], epochs[1])


def test_the_learning_rate_is_the_one_given(network: Make, rollout: Make) -> None:
    net = network()
    optimiser = adam(net)
    update(
        net, optimiser, rows_of(net, rollout(net)), CONFIG, LossTerms(7e-4, 1, ENTROPY, 0.0), seed=0
    )
    assert [group["lr"] for group in optimiser.param_groups] == [7e-4]


def test_gradients_are_clipped_to_the_norm_given(network: Make, rollout: Make) -> None:
    net = network()
    rows = rows_of(net, rollout(net))
    before = flat_weights(net)
    config = PpoConfig(max_gradient=0.01, minibatches=1)
    optimiser = torch.optim.SGD(net.parameters())
    stats = update(net, optimiser, rows, config, LossTerms(1.0, 1, ENTROPY, 0.0), seed=0)
    assert stats.gradient_norm > 0.01
    assert np.linalg.norm(flat_weights(net) - before) == pytest.approx(0.01, rel=1e-3)


def test_the_passes_stop_at_the_kl_given(network: Make, rollout: Make) -> None:
    net = network()
    rows = rows_of(net, rollout(net))
    terms = LossTerms(1e-2, 6, ENTROPY, 0.0)
    stats = update(net, adam(net), rows, PpoConfig(max_kl=1e-6), terms, seed=0)
    assert stats.num_epochs == 1
    stats = update(network(), adam(net), rows, PpoConfig(max_kl=1e3), terms, seed=0)
    assert stats.num_epochs == 6


@pytest.mark.parametrize("num_rows", [1, 5])
def test_the_kl_stop_holds_when_there_are_fewer_rows_than_minibatches_want(
    network: Make, rollout: Make, num_rows: int
) -> None:
    """Against Sleep a converged batch has a handful of distinct rows."""
    net = network()
    rows = part_of(rows_of(net, rollout(net)), num_rows)
    rows = replace(rows, old_log_probs=rows.old_log_probs - 1.0)
    divergence = float(np.exp(1.0)) - 2
    config = PpoConfig(max_kl=0.9 * divergence, minibatches=4)
    stats = update(net, adam(net), rows, config, LossTerms(1e-9, 5, ENTROPY, 0.0), seed=0)
    assert stats.approx_kl == pytest.approx(divergence, rel=1e-3)
    assert stats.num_epochs == 1


def test_an_update_makes_good_actions_likelier(network: Make, rollout: Make) -> None:
    net = network()
    rows = rows_of(net, rollout(net))
    update(net, adam(net), rows, CONFIG, LossTerms(3e-3, 6, 0.0, 0.0), seed=0)
    assert parts_of(net, rows, CONFIG, TERMS)["policy_loss"] < -1e-3


# ----------------------------------------------------------------------------------- numerics
@pytest.mark.parametrize("name", ["targets", "old_log_probs", "advantages_up"])
def test_a_number_that_is_not_finite_stops_the_update_by_name(
    network: Make, rollout: Make, name: str
) -> None:
    net = network()
    rows = rows_of(net, rollout(net))
    bad = getattr(rows, name).clone()
    bad[0] = float("nan")
    with pytest.raises(NumericsError, match=r"(value|policy).* is nan"):
        update(net, adam(net), replace(rows, **{name: bad}), CONFIG, TERMS, seed=0)


def test_weights_that_the_last_gradient_step_makes_nan_are_noticed(
    network: Make, rollout: Make
) -> None:
    net = network()
    optimiser = adam(net)
    rows = rows_of(net, rollout(net))
    config, terms = PpoConfig(minibatches=1), LossTerms(1e-3, 1, ENTROPY, 0.0)
    update(net, optimiser, rows, config, terms, seed=0)
    moments = optimiser.state_dict()["state"][0]["exp_avg"]
    moments.fill_(float("nan"))
    with pytest.raises(NumericsError):
        update(net, optimiser, rows, config, terms, seed=0)
