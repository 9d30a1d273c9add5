"""One batch: what the team does about some sessions, what it earns and what the rules say."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from standing_orders.detect.actions import NUM_ACTIONS
from standing_orders.detect.config import DetectConfig
from standing_orders.detect.costs import CostTable, team_rewards
from standing_orders.detect.data.events import Task
from standing_orders.detect.decisions import as_streams, cast_votes, decide_all, suspicion_of
from standing_orders.detect.learn.credit import (
    Credit,
    expected_credit,
    sampled_credit,
)
from standing_orders.detect.learn.game import Game, play
from standing_orders.detect.learn.team import TeamNetwork
from standing_orders.detect.rules import Judgement, RuleBook
from standing_orders.errors import NumericsError
from standing_orders.learn.sampling import sample_actions


@dataclass(frozen=True, eq=False)
class Rollout:
    """A batch with all that an update needs."""

    features: Tensor  # (rows, num_features)
    game: Game
    old_log_probs: Tensor  # (agents, rows, NUM_ACTIONS)
    actions: NDArray[np.int64]  # (agents, rows): drawn
    credit: Credit
    rule_advantages: NDArray[np.float64]  # (agents, rows, NUM_ACTIONS): in reward
    decisions: NDArray[np.int64]  # (rows,): what the team does with its likeliest votes
    has_quorum: NDArray[np.bool_]  # (rows,)
    judgement: Judgement  # of these decisions


def collect(
    network: TeamNetwork,
    features: Tensor,  # (rows, num_features)
    game: Game,
    *,
    task: Task,
    config: DetectConfig,
    table: CostTable,
    book: RuleBook,
    value_scale: tuple[float, float],
    seed: int,
) -> Rollout:
    """Let the team judge a batch.

    Args:
        network: the team.
        features: of the events of the game.
        game: the sessions.
        task: records or sessions.
        config: of the run.
        table: what records earn, for the team term.
        book: the rules, at their present prices.
        value_scale: mean and spread that the critics' values are normalised by.
        seed: of the actions drawn.

    Raises:
        NumericsError: a probability is not finite.
    """
    with torch.inference_mode():
        log_probs = network.judge(features, game.starts).log_probs
    if not torch.isfinite(log_probs).all():
        agent = int((~torch.isfinite(log_probs)).nonzero()[0, 0])
        raise NumericsError(f"log-probabilities of agent {agent} are not finite")
    probs = np.exp(log_probs.numpy().astype(np.float64))
    actions = draw(log_probs.numpy(), seed)
    credit = _credit(network, features, game, probs, actions, task, config, table, value_scale)
    votes = cast_votes(probs)
    outcome = decide_all(votes, probs, config.team)
    streams = as_streams(game, task, outcome.actions[:, None], suspicion_of(probs)[:, None])
    return Rollout(
        features=features,
        game=game,
        old_log_probs=log_probs.clone(),  # out of inference mode
        actions=actions,
        credit=credit,
        rule_advantages=_rule_advantages(book, game, task, probs),
        decisions=outcome.actions,
        has_quorum=outcome.has_quorum,
        judgement=book.judge(streams),
    )


def draw(log_probs: NDArray[np.float32], seed: int) -> NDArray[np.int64]:  # (agents, rows)
    """Draw each agent's action about each event."""
    flat = np.ascontiguousarray(log_probs.reshape(-1, NUM_ACTIONS))
    uniforms = np.random.Generator(np.random.Philox(seed)).random(len(flat))
    actions = np.empty(len(flat), dtype=np.int64)
    sample_actions(flat, uniforms, actions)
    return actions.reshape(log_probs.shape[:2])


def _credit(
    network: TeamNetwork,
    features: Tensor,
    game: Game,
    probs: NDArray[np.float64],
    actions: NDArray[np.int64],
    task: Task,
    config: DetectConfig,
    table: CostTable,
    value_scale: tuple[float, float],
) -> Credit:
    learn = config.learn
    assert learn.gamma is not None  # settled
    gamma = learn.gamma
    extra = team_terms(table, actions, game.is_threat) if task == "records" else None
    if learn.gradient == "expected":
        scaled = replace(game, rewards=game.rewards * learn.reward_scale)
        more = None if extra is None else extra * learn.reward_scale
        credit = expected_credit(probs, scaled, gamma=gamma, extra=more)
        if learn.visits == "all":
            credit = replace(credit, weights=np.ones_like(credit.weights))
        return credit
    if learn.credit == "vote":
        decided = decide_all(actions.T.astype(np.int8), probs, config.team).actions
        played = [play(game, decided)] * len(actions)
    else:
        played = [play(game, own) for own in actions]
    rewards = np.stack([one.rewards for one in played])
    if extra is not None:
        rewards += np.take_along_axis(extra, actions[:, :, None], axis=2)[:, :, 0]
    rewards *= learn.reward_scale
    played = [replace(one, rewards=row) for one, row in zip(played, rewards, strict=True)]
    with torch.inference_mode():
        values = network.value(features, game.starts).numpy().astype(np.float64)
    mean, spread = value_scale
    return sampled_credit(
        played, values * spread + mean, game.starts, gamma=gamma, gae_lambda=learn.gae_lambda
    )


def team_terms(
    table: CostTable,
    actions: NDArray[np.int64],  # (agents, rows)
    is_threat: NDArray[np.bool_],  # (rows,)
) -> NDArray[np.float64] | None:  # (agents, rows, NUM_ACTIONS)
    """The team term that each action of an agent would give, the others acting as they did."""
    if not table.team:
        return None
    terms = np.empty((*actions.shape, NUM_ACTIONS))
    for agent in range(len(actions)):
        votes = actions.T.copy()
        for action in range(NUM_ACTIONS):
            votes[:, agent] = action
            terms[agent, :, action] = team_rewards(table, votes, is_threat)
    return terms


def _rule_advantages(
    book: RuleBook, game: Game, task: Task, probs: NDArray[np.float64]
) -> NDArray[np.float64]:  # (agents, rows, NUM_ACTIONS)
    """Each agent answers for the rules as if it alone decided, by its likeliest actions."""
    if not book.rules_of("fine", "lagrange"):
        return np.zeros(probs.shape)
    votes = cast_votes(probs)  # (rows, agents)
    doubt = np.broadcast_to(suspicion_of(probs)[:, None], votes.shape)
    streams = as_streams(game, task, votes.astype(np.int64), doubt)
    worths = book.action_worths(streams, probs.transpose(1, 0, 2)).transpose(1, 0, 2)
    advantages: NDArray[np.float64] = worths - (probs * worths).sum(axis=-1, keepdims=True)
    return advantages
