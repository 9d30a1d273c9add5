"""Look-ahead for a finished policy: an opening that is played before it, as it stands."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.actions import describe
from standing_orders.cage2.reward import TENTHS_PER_POINT
from standing_orders.config import GameConfig, RedAgent, SimConfig
from standing_orders.evaluate.card import HORIZONS, play_returns
from standing_orders.learn.opening import find_opening
from standing_orders.learn.policy import LearnedDefender


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

    Planned once for all episodes, it costs nothing while playing; see `find_opening`.

    Args:
        policy: a trained one.
        game: the rules.
        reds: red agents that may attack; their mean returns count alike.
        num_steps: steps that are planned at most.
        seed: of the episodes, which are others than those of a score with this seed.
        report: told of each step.
    """
    attacking = [red for red in reds if red != "sleep"]  # nothing can be lost to that one
    configs = [SimConfig(**game.model_dump(), red=red, horizon=max(HORIZONS)) for red in attacking]

    def play(opening: tuple[int, ...], count: int, root: int) -> NDArray[np.float64]:
        rival = policy.opening_with(opening)
        returns = [
            play_returns(rival, config, horizons=HORIZONS[-1:], num_episodes=count, seed=root)[:, 0]
            for config in configs
        ]
        return np.stack(returns) / TENTHS_PER_POINT

    if not attacking:
        return policy
    found = find_opening(play, first=policy.opening, num_steps=num_steps, seed=seed, report=report)
    if found == policy.opening:
        return policy
    planned = policy.opening_with(found)
    planned.name = f"{policy.name}, opening {' + '.join(map(describe, found))}"
    return planned
