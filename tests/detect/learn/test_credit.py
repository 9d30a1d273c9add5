"""Worth of actions: against hand-computed numbers, brute force, and a gradient."""

import itertools

import numpy as np
import pytest
import torch

from standing_orders.detect.actions import ALERT, ALLOW, BLOCK
from standing_orders.detect.costs import (
    CostConfig,
    Game,
    SessionCosts,
    play,
    record_game,
    session_game,
)
from standing_orders.detect.data.events import Sessions
from standing_orders.detect.learn.credit import expected_credit, sampled_credit

COSTS = SessionCosts(alert=0.5, delay=1.0, false_block=4.0, miss=8.0, alert_relief=0.5)


def game_of(is_threat: list[bool], lengths: list[int]) -> Game:
    return session_game(np.array(is_threat), Sessions.of_lengths(lengths), COSTS)


def random_probs(agents: int, rows: int, seed: int) -> np.ndarray:
    probs = np.random.default_rng(seed).random((agents, rows, 4)) + 0.1
    return probs / probs.sum(axis=-1, keepdims=True)


def expected_return(probs: np.ndarray, game: Game) -> float:
    """Sum over all joint actions of one session: chance times return."""
    total = 0.0
    for actions in itertools.product(range(4), repeat=game.sessions.num_events):
        chance = np.prod([probs[t, a] for t, a in enumerate(actions)])
        total += chance * play(game, np.array(actions)).rewards.sum()
    return float(total)


@pytest.mark.parametrize("threat", [[False, True, True], [False, False], [True], [True, True]])
def test_expected_values_equal_the_sum_over_all_courses(threat: list[bool]) -> None:
    game = game_of(threat, [len(threat)])
    probs = random_probs(1, len(threat), 3)
    credit = expected_credit(probs, game, gamma=1.0)
    assert credit.targets[0, 0] == pytest.approx(expected_return(probs[0], game), abs=1e-12)
    assert np.allclose((probs * credit.advantages).sum(axis=-1), 0.0, atol=1e-12)


def test_weights_are_the_chance_to_get_there() -> None:
    game = game_of([False, True, True], [3])
    probs = random_probs(1, 3, 4)
    credit = expected_credit(probs, game, gamma=1.0)
    stay = probs[0, :, ALLOW] + probs[0, :, ALERT]
    assert credit.weights[0].tolist() == pytest.approx([1.0, stay[0], stay[0] * stay[1]])


def test_the_gradient_is_that_of_the_expected_return() -> None:
    game = game_of([False, True, True], [3])
    logits = torch.tensor(np.random.default_rng(5).normal(size=(3, 4)), requires_grad=True)

    def return_of(values: np.ndarray) -> float:
        probs = np.exp(values) / np.exp(values).sum(axis=-1, keepdims=True)
        return expected_return(probs, game)

    probs = torch.softmax(logits, dim=-1).detach().numpy()
    credit = expected_credit(probs[None], game, gamma=1.0)
    gains = torch.from_numpy(credit.weights[0][:, None] * probs * credit.advantages[0])
    (gains * torch.log_softmax(logits, dim=-1)).sum().backward()
    assert logits.grad is not None
    for place in itertools.product(range(3), range(4)):
        step = np.zeros((3, 4))
        step[place] = 1e-5
        base = logits.detach().numpy()
        slope = (return_of(base + step) - return_of(base - step)) / 2e-5
        assert float(logits.grad[place]) == pytest.approx(slope, abs=1e-6)


def test_records_are_a_bandit_whose_rewards_are_known() -> None:
    rewards = CostConfig().rewards()
    game = record_game(np.array([True, False]), rewards)
    probs = np.full((1, 2, 4), 0.25)
    credit = expected_credit(probs, game, gamma=0.0)
    mean = rewards.mean(axis=0)
    assert credit.advantages[0, 0].tolist() == pytest.approx(list(rewards[:, 1] - mean[1]))
    assert credit.advantages[0, 1].tolist() == pytest.approx(list(rewards[:, 0] - mean[0]))
    assert (credit.weights == 1).all()


def test_sampled_advantages_by_hand() -> None:
    # Two sessions of two events; the second one is blocked at once.
    game = game_of([True, True, False, False], [2, 2])
    actions = np.array([ALLOW, ALLOW, BLOCK, ALLOW])
    played = play(game, actions)
    assert played.rewards.tolist() == [-1.0, -9.0, -4.0, 0.0]
    values = np.array([[-2.0, -3.0, -1.0, 7.0]])
    credit = sampled_credit(
        played.rewards[None], [played], values, game.sessions, gamma=0.5, gae_lambda=0.5
    )
    last = -9.0 + 3.0
    first = -1.0 + 0.5 * -3.0 + 2.0 + 0.25 * last
    assert credit.advantages[0].tolist() == pytest.approx([first, last, -3.0, 0.0])
    assert credit.targets[0].tolist() == pytest.approx([first - 2.0, -9.0, -4.0, 0.0])
    assert credit.weights[0].tolist() == [1.0, 1.0, 1.0, 0.0]


def test_sampled_advantages_agree_with_the_expected_ones_on_average() -> None:
    game = game_of([False, True, True], [3])
    probs = random_probs(1, 3, 6)
    exact = expected_credit(probs, game, gamma=1.0)
    wanted = exact.weights[0][:, None] * probs[0] * exact.advantages[0]
    found = np.zeros((3, 4))
    for actions in itertools.product(range(4), repeat=3):
        chance = np.prod([probs[0, t, a] for t, a in enumerate(actions)])
        played = play(game, np.array(actions))
        credit = sampled_credit(
            played.rewards[None], [played], exact.targets, game.sessions, gamma=1.0, gae_lambda=1.0
        )
        for t, a in enumerate(actions):
            found[t, a] += chance * credit.advantages[0, t] * credit.weights[0, t]
    assert np.allclose(found, wanted, atol=1e-5)
