"""Look-ahead for a policy's first steps: decoys that playing on from there shows to be better.

Every episode begins in the same state as far as blue can know, so the first steps are planned once
for all episodes, and cost nothing while playing.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.actions import FIRST_DECOY, KIND_OF_ACTION, LAST_DECOY, describe
from standing_orders.cage2.defenders import useful_actions
from standing_orders.cage2.reward import TENTHS_PER_POINT
from standing_orders.config import GameConfig, RedAgent, SimConfig
from standing_orders.evaluate.card import HORIZONS, play_returns
from standing_orders.learn.policy import LearnedDefender
from standing_orders.seeding import child_seed
from standing_orders.stats import standard_error

# Decoys that are left, and the episodes against each red agent that choose the next ones.
_ROUNDS = ((6, 100), (1, 400))
_CHECK_EPISODES = 1_000
_CLEAR = 3.0  # standard errors by which a decoy must be better, in episodes that did not choose it


def _decoys() -> list[int]:
    return [a for a in useful_actions() if FIRST_DECOY <= KIND_OF_ACTION[a] <= LAST_DECOY]


def _play(
    policy: LearnedDefender, game: GameConfig, reds: Sequence[RedAgent], count: int, seed: int
) -> NDArray[np.float64]:  # (reds, count)
    """Returns of the same episodes for every policy."""
    configs = [SimConfig(**game.model_dump(), red=red, horizon=max(HORIZONS)) for red in reds]
    returns = [
        play_returns(policy, config, horizons=HORIZONS[-1:], num_episodes=count, seed=seed)[:, 0]
        for config in configs
    ]
    return np.stack(returns) / TENTHS_PER_POINT


def _is_better(gains: NDArray[np.float64]) -> bool:  # (reds, episodes)
    """Whether gains are clear against all red agents together, and no clear loss against one."""
    errors = np.array([standard_error(gain) for gain in gains], dtype=np.float64)
    means = gains.mean(axis=1)
    is_harmless = bool((means >= -_CLEAR * errors).all())
    return is_harmless and means.sum() > _CLEAR * np.sqrt((errors**2).sum())


def plan_opening(
    policy: LearnedDefender,
    game: GameConfig,
    *,
    reds: Sequence[RedAgent],
    num_steps: int,
    seed: int,
    report: Callable[[str], None] = lambda _: None,
) -> LearnedDefender:
    """The same policy, which places decoys first as long as that is clearly better.

    Step by step, every decoy is played, then the policy itself, against the same attacks; the best
    one is kept if it is better by three standard errors in further episodes as well.

    Args:
        policy: a trained one.
        game: the rules.
        reds: red agents that may attack; their mean returns count alike.
        num_steps: steps that are planned at most.
        seed: of the episodes, which are others than those of a score with this seed.
        report: told of each step.
    """
    name = policy.name
    attacking = [red for red in reds if red != "sleep"]  # nothing can be lost to that one
    for step in range(num_steps if attacking else 0):
        report(f"step {step + 1}: playing {len(_decoys())} decoys ahead")
        rivals = [policy.opening_with((*policy.opening, action)) for action in _decoys()]
        for left, count in _ROUNDS:
            root = child_seed(seed, "opening", step, count)
            means = [_play(rival, game, attacking, count, root).mean() for rival in rivals]
            rivals = [rivals[i] for i in np.argsort(means, kind="stable")[::-1][:left]]
        check = child_seed(seed, "opening", step, "check")
        gains = _play(rivals[0], game, attacking, _CHECK_EPISODES, check)
        gains -= _play(policy, game, attacking, _CHECK_EPISODES, check)
        is_better, best = _is_better(gains), describe(rivals[0].opening[-1])
        fate = "kept" if is_better else "not clearly better, left out"
        report(f"step {step + 1}: {best} gains {gains.mean():.2f} points: {fate}")
        if not is_better:
            break
        policy = rivals[0]
        policy.name = f"{name}, opening {' + '.join(describe(a) for a in policy.opening)}"
    return policy
