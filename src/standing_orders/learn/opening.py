"""Look-ahead for the first steps: decoys that playing on from there shows to be better.

Every episode begins in the same state as far as blue can know, so the first steps are planned once
for all episodes. What a decoy is worth then shows only many steps later, and in few episodes: too
little for a policy gradient, but not for episodes that meet the same attacks.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.actions import FIRST_DECOY, KIND_OF_ACTION, LAST_DECOY, describe
from standing_orders.cage2.defenders import useful_actions
from standing_orders.config import TrainConfig
from standing_orders.rules.temporal import read_rules
from standing_orders.seeding import child_seed
from standing_orders.stats import standard_error

# Plays an opening, then the policy itself, for so many episodes against each red agent; the same
# seed gives the same attacks. Returns, (red agents, episodes).
Play = Callable[[tuple[int, ...], int, int], NDArray[np.float64]]

PLANNED_AT = (0.4, 0.7)  # of training: a policy then defends, and can still learn to go on
_MIN_EPISODES = 5_000  # of training: in a shorter one it does not defend by then
# Decoys that are left, and the episodes against each red agent that choose the next ones.
_ROUNDS = ((8, 100), (3, 400), (1, 1_500))
_CHECK_EPISODES = 3_000
_CLEAR = 2.0  # standard errors by which a decoy must be better, in episodes that did not choose it


def useful_decoys() -> list[int]:
    """Decoys that can stand where they are placed."""
    return [a for a in useful_actions() if FIRST_DECOY <= KIND_OF_ACTION[a] <= LAST_DECOY]


def _is_better(gains: NDArray[np.float64]) -> bool:  # (reds, episodes)
    """Whether gains are clear against all red agents together, and no clear loss against one."""
    errors = np.array([standard_error(gain) for gain in gains], dtype=np.float64)
    means = gains.mean(axis=1)
    is_harmless = bool((means >= -_CLEAR * errors).all())
    return is_harmless and means.sum() > _CLEAR * np.sqrt((errors**2).sum())


def is_plannable(config: TrainConfig) -> bool:
    """Whether training plans an opening.

    Not after a head start, where episodes begin in many states; not where a planned action could
    break a rule about blue's own actions; and not in a simulator that would take hours for it.
    """
    return (
        config.opening > 0
        and config.kept_episodes >= _MIN_EPISODES
        and config.head_start == 0
        and config.sim == "own"
        and config.red_agent is None
        and not any(rule.is_own for rule in read_rules(config.rule))
    )


def find_opening(
    play: Play,
    *,
    first: tuple[int, ...] = (),
    num_steps: int,
    seed: int,
    report: Callable[[str], None] = lambda _: None,
) -> tuple[int, ...]:
    """Decoys for the first steps, as long as they are clearly better than what is played so far.

    Step by step, every decoy is played, then the policy itself, against the same attacks; the best
    one is kept if it is better by two standard errors in further episodes as well.

    Args:
        play: plays episodes with an opening.
        first: what is planned already.
        num_steps: steps that are planned at most, beyond these.
        seed: of the episodes.
        report: told of each step.
    """
    opening = first
    for step in range(len(first), len(first) + num_steps):
        report(f"step {step + 1}: playing {len(useful_decoys())} decoys ahead")
        rivals = [(*opening, action) for action in useful_decoys()]
        for left, count in _ROUNDS:
            root = child_seed(seed, "opening", step, count)
            means = [play(rival, count, root).mean() for rival in rivals]
            rivals = [rivals[i] for i in np.argsort(means, kind="stable")[::-1][:left]]
        check = child_seed(seed, "opening", step, "check")
        best = rivals[0]
        gains = play(best, _CHECK_EPISODES, check) - play(opening, _CHECK_EPISODES, check)
        is_better = _is_better(gains)
        fate = "kept" if is_better else "not clearly better, left out"
        report(f"step {step + 1}: {describe(best[-1])} gains {gains.mean():.2f} points: {fate}")
        if not is_better:
            break
        opening = best
    return opening
