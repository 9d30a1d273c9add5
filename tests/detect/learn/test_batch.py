"""A batch: one loss for sampled and expected gradients, hand-computed, and the known defects."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from standing_orders.detect.config import DetectConfig, LearnConfig, RulesConfig, TeamConfig
from standing_orders.detect.costs import play, team_rewards
from standing_orders.detect.data.events import DataSet
from standing_orders.detect.data.synthetic import make_sessions
from standing_orders.detect.learn.batch import (
    Batch,
    Rollout,
    _moments,
    build_batch,
    draw,
    team_terms,
    total_loss,
)
from standing_orders.detect.learn.trainer import Trainer
from standing_orders.detect.team import make_book
from standing_orders.errors import NumericsError
from standing_orders.learn.ppo import surrogate_loss


@pytest.fixture(scope="module")
def data() -> DataSet:
    return make_sessions(0, num_sessions=120)


def trainer_of(data: DataSet, learn: dict[str, Any] | None = None, **team: Any) -> Trainer:
    torch.set_num_threads(1)
    learn = {"steps": 300, "iterations": 4, "minibatches": 2, "epochs": 2} | (learn or {})
    return Trainer(
        DetectConfig(
            team=TeamConfig(hidden=(8, 8), **{"trees": 0} | team), learn=LearnConfig(**learn)
        ),
        data,
    )


def thirds(batch: Batch) -> list[Batch]:
    """The batch in three parts of shuffled sessions."""
    order = torch.randperm(batch.sessions.num_sessions, generator=torch.Generator().manual_seed(0))
    return [batch.take(items) for items in order.chunk(3)]


@pytest.mark.parametrize("network", ["mlp", "lstm"])
@pytest.mark.parametrize("gradient", ["expected", "sampled"])
def test_the_ratio_before_any_gradient_step_is_one_everywhere_and_of_the_right_shape(
    data: DataSet, network: str, gradient: str
) -> None:
    # Published defects: a ratio of shape (rows, rows), and a hidden state that the update began
    # elsewhere than the collection did.
    trainer = trainer_of(data, {"gradient": gradient}, network=network)
    rollout = trainer.play()
    batch = build_batch(rollout, trainer.config.learn)
    recomputed, _ = trainer.network.act(batch.features, batch.sessions)
    ratio = torch.exp(recomputed - batch.old_log_probs)
    assert ratio.shape == batch.old_log_probs.shape == batch.gains.shape
    assert ratio.shape == (4, rollout.game.sessions.num_events, 4)
    assert torch.equal(ratio, torch.ones_like(ratio))
    for part in thirds(batch):
        again, _ = trainer.network.act(part.features, part.sessions)
        assert torch.allclose(again, part.old_log_probs, atol=1e-5)
        _, figures = total_loss(trainer.network, part, trainer.config.learn)
        assert float(figures["approx_kl"]) == pytest.approx(0.0, abs=1e-5)
        assert float(figures["clipfrac"]) == 0.0


def test_sampled_gains_are_those_of_plain_ppo(data: DataSet) -> None:
    trainer = trainer_of(data, {"gradient": "sampled"})
    rollout = trainer.play()
    batch = build_batch(rollout, trainer.config.learn)
    new = torch.log_softmax(batch.old_log_probs + 0.5 * torch.randn(batch.gains.shape), dim=-1)
    loss = surrogate_loss(
        new, batch.old_log_probs, batch.gains, batch.losses, batch.weights.flatten(), clip=0.2
    )
    chosen = torch.from_numpy(rollout.actions)[:, :, None]
    ratio = (new - batch.old_log_probs).gather(2, chosen)[:, :, 0].exp()
    worth = torch.from_numpy(rollout.credit.advantages)
    gain = torch.minimum(ratio * worth, ratio.clamp(0.8, 1.2) * worth) * batch.weights
    assert float(loss) == pytest.approx(-float(gain.sum() / batch.weights.sum()), rel=1e-5)


def test_expected_gains_weigh_all_actions_by_their_probability(data: DataSet) -> None:
    trainer = trainer_of(data)
    rollout = trainer.play()
    assert (rollout.credit.weights == 1).all()  # also where an agent hardly ever gets to
    batch = build_batch(rollout, trainer.config.learn)
    wanted = rollout.judged.log_probs.exp().double().numpy() * rollout.credit.advantages
    assert np.allclose((batch.gains + batch.losses).numpy(), wanted, atol=1e-6)
    assert (batch.gains >= 0).all()
    assert (batch.losses <= 0).all()


def test_advantages_are_normalised_over_the_team_or_for_each_agent() -> None:
    advantages = np.array([[[3.0, -3.0]], [[1.0, -1.0]]])
    weights = np.full((2, 1, 2), 0.5)
    for how, wanted in (("none", [1.0]), ("team", [5**0.5]), ("agent", [3.0, 1.0])):
        mean, spread = _moments(advantages, weights, how)
        assert not mean.any()
        assert spread.ravel().tolist() == pytest.approx(wanted)


@pytest.mark.parametrize("how", ["team", "agent"])
def test_normalised_sampled_advantages_have_mean_zero_and_spread_one(
    data: DataSet, how: str
) -> None:
    trainer = trainer_of(data, {"gradient": "sampled", "advantages": how})
    rollout = trainer.play()
    batch = build_batch(rollout, trainer.config.learn)
    found = (batch.gains + batch.losses).sum(dim=-1).double()
    used = batch.weights > 0
    for part, mask in zip(found, used, strict=True) if how == "agent" else ((found, used),):
        assert float(part[mask].mean()) == pytest.approx(0.0, abs=1e-5)
        assert float(part[mask].std(correction=0)) == pytest.approx(1.0, rel=1e-3)


def test_values_and_their_targets_are_in_scaled_rewards(data: DataSet) -> None:
    # Published defect: targets in rewards, values in normalised units.
    trainer = trainer_of(data, {"gradient": "sampled", "reward_scale": 0.5})
    rollout = trainer.play()
    batch = build_batch(rollout, trainer.config.learn)
    with torch.no_grad():
        values = trainer.network.value(batch.features, batch.sessions).numpy()
    used = rollout.credit.weights > 0
    known = rollout.credit.targets - rollout.credit.advantages
    assert np.allclose(known[used], values[used], atol=1e-5)
    assert np.allclose(batch.targets.numpy()[used], rollout.credit.targets[used], atol=1e-5)
    value_range = rollout.value_range
    assert value_range is not None
    assert value_range["low"] <= values[used].min() < values[used].max() <= value_range["high"]
    assert trainer_of(data).play().value_range is None


def test_only_a_critic_explains_variance(data: DataSet) -> None:
    assert trainer_of(data).play().explained_variance is None


def test_a_number_that_is_not_finite_is_named(data: DataSet) -> None:
    trainer = trainer_of(data)
    rollout = trainer.play()
    rollout.rule_advantages[0, 0, 0] = float("nan")
    with pytest.raises(NumericsError, match="policy_loss is nan"):
        trainer.learn(rollout)


def test_parts_of_a_batch_hold_every_session_once_and_whole(data: DataSet) -> None:
    trainer = trainer_of(data)
    batch = build_batch(trainer.play(), trainer.config.learn)
    parts = thirds(batch)
    assert sum(len(part.features) for part in parts) == len(batch.features)
    lengths = np.concatenate([part.sessions.lengths for part in parts])
    assert sorted(lengths) == sorted(batch.sessions.lengths)
    first = parts[0]
    place = int((batch.features == first.features[0]).all(dim=1).nonzero()[0])
    size = first.sessions.starts[1]
    assert torch.equal(first.gains[:, :size], batch.gains[:, place : place + size])


def test_the_team_term_of_an_action_is_that_of_the_votes_with_it() -> None:
    actions, threat = np.array([[0, 1], [2, 1], [0, 3]]), np.array([True, False])
    terms = team_terms(0.2, actions, threat)
    votes = actions.T.copy()
    votes[:, 1] = 3
    assert terms[1, :, 3] == pytest.approx(team_rewards(0.2, votes, threat))
    assert not team_terms(0.0, actions, threat).any()


def test_drawn_actions_follow_the_probabilities() -> None:
    probs = np.array([0.1, 0.2, 0.3, 0.4])
    log_probs = np.broadcast_to(np.log(probs).astype(np.float32), (2, 20_000, 4))
    actions = draw(log_probs, seed=1)
    shares = np.bincount(actions.ravel()) / actions.size
    assert np.allclose(shares, probs, atol=0.01)
    assert np.array_equal(actions, draw(log_probs, seed=1))


@pytest.mark.parametrize("gradient", ["expected", "sampled"])
def test_a_fine_makes_the_action_that_breaks_a_rule_worth_less(
    data: DataSet, gradient: str
) -> None:
    rules = RulesConfig(mode="fine", defaults=False, own=("calm: not restrictive",), price=100.0)
    trainer = trainer_of(data, {"gradient": gradient}, initial_allow_bias=3.0)
    plain = trainer.play()
    assert (plain.rule_advantages == 0).all()
    trainer.book = make_book(rules, "sessions")
    rollout: Rollout = trainer.play()
    happened = np.stack([play(rollout.game, own.argmax(axis=1)).is_open
                         for own in rollout.judged.log_probs.numpy()])  # fmt: skip
    # Nearly linear: a whole violation more or less is worth about the price.
    costs = rollout.rule_advantages[..., 0] - rollout.rule_advantages[..., 2]
    assert costs[happened] == pytest.approx(100 * 0.28, rel=0.1)  # where it is kept with ease
    assert (rollout.rule_advantages[~happened] == 0).all()
    batch = build_batch(rollout, trainer.config.learn)
    free = build_batch(
        replace(rollout, rule_advantages=plain.rule_advantages), trainer.config.learn
    )
    more = (batch.gains + batch.losses - free.gains - free.losses).double().numpy()
    chosen = np.exp(rollout.judged.log_probs.numpy().astype(float))
    if gradient == "sampled":
        chosen = (rollout.actions[..., None] == np.arange(4)).astype(float)
    wanted = chosen * rollout.rule_advantages * trainer.config.learn.reward_scale
    assert more == pytest.approx(wanted, abs=1e-5)
