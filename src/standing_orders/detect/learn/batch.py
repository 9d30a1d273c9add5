"""One batch: what the team does about some sessions, what each action was worth, and the loss."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from standing_orders.detect.actions import NUM_ACTIONS
from standing_orders.detect.config import LearnConfig
from standing_orders.detect.costs import Game, play, team_rewards
from standing_orders.detect.data.events import Sessions
from standing_orders.detect.engine import count_votes
from standing_orders.detect.learn.credit import Credit, expected_credit, sampled_credit
from standing_orders.detect.network import TeamNetwork
from standing_orders.detect.rules import RuleBook
from standing_orders.detect.team import Judged, Team, as_streams
from standing_orders.learn import ppo
from standing_orders.learn.sampling import sample_actions


@dataclass(frozen=True, eq=False)
class Rollout:
    """Sessions that the team has judged, with all that an update needs."""

    features: Tensor  # (rows, num_features)
    game: Game
    judged: Judged  # without a shield
    actions: NDArray[np.int64]  # (agents, rows): drawn
    credit: Credit
    rule_advantages: NDArray[np.float64]  # (agents, rows, NUM_ACTIONS): in reward
    rules: Mapping[str, dict[str, float | None]]  # what each rule says about the decisions

    @property
    def explained_variance(self) -> float | None:
        """Share of the returns' variance that the critics knew; None without critics."""
        if self.credit.is_expected:
            return None
        used = self.credit.weights > 0
        targets = self.credit.targets[used]
        return ppo.explained_variance(targets - self.credit.advantages[used], targets)

    @property
    def value_range(self) -> dict[str, float] | None:
        """Lowest and highest value that the critics gave; None without critics."""
        if self.credit.is_expected:
            return None
        values = self.credit.targets - self.credit.advantages
        return {"low": float(values.min()), "high": float(values.max())}


def collect(
    team: Team,
    features: Tensor,  # (rows, num_features)
    game: Game,
    book: RuleBook,
    *,
    seed: int,
) -> Rollout:
    """Let the team, without a shield, judge a batch."""
    judged = team.judge_rows(features, game.sessions)
    actions = draw(judged.log_probs.numpy(), seed)
    streams = as_streams(game, team.task, judged.actions, judged.scores)
    return Rollout(
        features=features,
        game=game,
        judged=judged,
        actions=actions,
        credit=_credit(team, features, game, judged, actions),
        rule_advantages=_rule_advantages(team, book, game, judged),
        rules=book.judge(streams).metrics,
    )


def draw(log_probs: NDArray[np.float32], seed: int) -> NDArray[np.int64]:  # (agents, rows)
    """Draw each agent's action about each event."""
    flat = np.ascontiguousarray(log_probs.reshape(-1, NUM_ACTIONS))
    uniforms = np.random.Generator(np.random.Philox(seed)).random(len(flat))
    actions = np.empty(len(flat), dtype=np.int64)
    sample_actions(flat, uniforms, actions)
    return actions.reshape(log_probs.shape[:2])


def _credit(
    team: Team,
    features: Tensor,
    game: Game,
    judged: Judged,
    actions: NDArray[np.int64],
) -> Credit:
    learn, weight = team.config.learn, team.config.costs.team
    assert learn.gamma is not None  # settled
    extra = np.zeros(judged.probs.shape)
    if team.task == "records" and weight:
        extra = team_terms(weight, actions, game.is_threat)
    if learn.gradient == "expected":
        scaled = replace(game, rewards=game.rewards * learn.reward_scale)
        credit = expected_credit(
            judged.probs, scaled, gamma=learn.gamma, extra=extra * learn.reward_scale
        )
        # All events alike, however seldom an agent gets there: what it may need to know one day.
        return replace(credit, weights=np.ones_like(credit.weights))
    if learn.credit == "vote":
        decided = count_votes(actions.T.astype(np.int8), judged.probs, team.config.team).actions
        played = [play(game, decided)] * len(actions)
    else:
        played = [play(game, own) for own in actions]
    rewards = np.stack([one.rewards for one in played])
    rewards += np.take_along_axis(extra, actions[:, :, None], axis=2)[:, :, 0]
    with torch.no_grad():
        values = team.network.value(features, game.sessions).numpy().astype(np.float64)
    return sampled_credit(
        rewards * learn.reward_scale,
        played,
        values,
        game.sessions,
        gamma=learn.gamma,
        gae_lambda=learn.gae_lambda,
    )


def team_terms(
    weight: float,
    actions: NDArray[np.int64],  # (agents, rows)
    is_threat: NDArray[np.bool_],  # (rows,)
) -> NDArray[np.float64]:  # (agents, rows, NUM_ACTIONS)
    """The team term that each action of an agent would give, the others acting as they did."""
    terms = np.empty((*actions.shape, NUM_ACTIONS))
    for agent in range(len(actions)):
        votes = actions.T.copy()
        for action in range(NUM_ACTIONS):
            votes[:, agent] = action
            terms[agent, :, action] = team_rewards(weight, votes, is_threat)
    return terms


def _rule_advantages(
    team: Team, book: RuleBook, game: Game, judged: Judged
) -> NDArray[np.float64]:  # (agents, rows, NUM_ACTIONS)
    """Each agent answers for the rules as if it alone decided, by its likeliest actions."""
    probs = judged.probs
    if not book.rules_of("fine", "lagrange"):
        return np.zeros(probs.shape)
    doubt = np.broadcast_to(judged.scores[:, None], judged.votes.shape)
    streams = as_streams(game, team.task, judged.votes.astype(np.int64), doubt)
    worths = book.action_worths(streams, probs.transpose(1, 0, 2)).transpose(1, 0, 2)
    advantages: NDArray[np.float64] = worths - (probs * worths).sum(axis=-1, keepdims=True)
    return advantages


@dataclass(frozen=True, eq=False)
class Batch:
    """Whole sessions with everything the loss needs."""

    features: Tensor  # (rows, num_features)
    sessions: Sessions
    old_log_probs: Tensor  # (agents, rows, NUM_ACTIONS)
    gains: Tensor  # (agents, rows, NUM_ACTIONS): positive parts of weight * advantage
    losses: Tensor  # (agents, rows, NUM_ACTIONS): negative parts
    targets: Tensor  # (agents, rows): of the critics
    weights: Tensor  # (agents, rows)

    def take(self, items: Tensor) -> "Batch":  # (n,)
        """Some of the sessions."""
        chosen = items.numpy()
        rows = torch.from_numpy(self.sessions.rows(chosen))
        by_agent = ("old_log_probs", "gains", "losses", "targets", "weights")
        cut: dict[str, Any] = {name: getattr(self, name)[:, rows] for name in by_agent}
        return Batch(features=self.features[rows], sessions=self.sessions.take(chosen), **cut)

    def to(self, device: torch.device) -> "Batch":
        """The same on a device."""
        tensors = {name: one.to(device) for name, one in vars(self).items() if name != "sessions"}
        return Batch(sessions=self.sessions, **tensors)


def build_batch(rollout: Rollout, config: LearnConfig) -> Batch:
    """Everything the loss needs.

    An action's advantage counts with the probability that it was chosen with: pi(a) for all
    actions, or 1 for the one that was drawn. So plain PPO and the all-actions gradient are one
    loss over (agents, rows, actions).
    """
    credit, chosen, advantages = rollout.credit, rollout.judged.probs, rollout.credit.advantages
    if not credit.is_expected:
        chosen = (rollout.actions[:, :, None] == np.arange(NUM_ACTIONS)).astype(np.float64)
        advantages = advantages[:, :, None] * chosen
    shares = chosen * credit.weights[:, :, None]
    mean, spread = _moments(advantages, shares, config.advantages)
    if not credit.is_expected:  # those of all actions have mean 0 already
        advantages = (credit.advantages[:, :, None] - mean) * chosen
    worth, rules = advantages / spread, rollout.rule_advantages * config.reward_scale / spread
    return Batch(
        features=rollout.features,
        sessions=rollout.game.sessions,
        old_log_probs=rollout.judged.log_probs,
        gains=_tensor(np.maximum(worth, 0.0) * shares + np.maximum(rules, 0.0) * chosen),
        losses=_tensor(np.minimum(worth, 0.0) * shares + np.minimum(rules, 0.0) * chosen),
        targets=_tensor(credit.targets),
        weights=_tensor(credit.weights),
    )


def _moments(
    advantages: NDArray[np.float64],  # (agents, rows, NUM_ACTIONS)
    weights: NDArray[np.float64],  # the same shape
    how: str,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:  # each (agents, 1, 1) or (1, 1, 1)
    """Mean and spread of the advantages over all agents, or for each agent; or 0 and 1."""
    if how == "none":
        return np.zeros((1, 1, 1)), np.ones((1, 1, 1))
    axes = (1, 2) if how == "agent" else None
    total = weights.sum(axis=axes, keepdims=True)
    mean = (weights * advantages).sum(axis=axes, keepdims=True) / total
    variance = (weights * (advantages - mean) ** 2).sum(axis=axes, keepdims=True) / total
    return mean, np.asarray(np.sqrt(variance) + 1e-8)


def _tensor(values: NDArray[np.float64]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))


def total_loss(
    network: TeamNetwork, part: Batch, config: LearnConfig
) -> tuple[Tensor, ppo.Figures]:
    """The loss of one minibatch, and its parts by name."""
    (log_probs, _), old = network.act(part.features, part.sessions), part.old_log_probs
    weights = part.weights.flatten()
    policy = ppo.surrogate_loss(log_probs, old, part.gains, part.losses, weights, clip=config.clip)
    spread = ppo.entropy(log_probs.flatten(0, 1), weights)
    assert config.entropy is not None  # settled
    loss = policy - config.entropy * spread
    value = torch.zeros(())
    if config.value and config.gradient == "sampled":
        found = network.value(part.features, part.sessions)
        value = ppo.value_loss(found.flatten(), part.targets.flatten(), weights)
        loss = loss + config.value * value
    shares = (part.weights / part.weights.sum())[:, :, None] * old.exp()
    figures = {"policy_loss": policy, "value_loss": value, "entropy": spread}
    return loss, figures | ppo.divergence(log_probs - old, shares, clip=config.clip)
