"""One turn: blue, red, what blue sees, reward."""

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.actions import NUM_ACTIONS, SLEEP
from standing_orders.cage2.blue import act_blue
from standing_orders.cage2.observe import clear_events, observe, update_belief
from standing_orders.cage2.opponents import choose, commit, decide
from standing_orders.cage2.red import act_red, draw
from standing_orders.cage2.reward import reward_tenths
from standing_orders.cage2.rng import RED_STREAM, philox
from standing_orders.cage2.state import Environment, begin_episode
from standing_orders.compiled import jit


@jit
def play_red(env: Environment, rules: int) -> None:
    """Let red decide, draw and act once."""
    words = philox(env.turn, env.episode, RED_STREAM, 0, env.seed)
    kind, targets = decide(env)
    target = choose(targets, words[0])
    commit(env, kind, target)
    exploit, detected, session = draw(env, kind, target, words)
    act_red(env, rules, kind, target, exploit, detected, session)


@jit
def play_step(env: Environment, action: int, rules: int, red_tempo: int) -> None:
    """Play one step of one environment."""
    clear_events(env)
    act_blue(env, action, rules)
    for _ in range(red_tempo):
        play_red(env, rules)
    update_belief(env)
    env.step += 1


@jit
def step_all(
    states: NDArray[np.void],  # (num_envs,)
    chosen: NDArray[np.bool_],  # (num_envs,)
    actions: NDArray[np.int64],  # (num_envs,)
    rules: int,
    red_tempo: int,
    style: int,
    observations: NDArray[np.uint32],  # (num_envs, 13)
    rewards: NDArray[np.int32],  # (num_envs,), tenths
) -> None:
    """Play one step of the chosen environments."""
    for i in range(len(states)):
        if chosen[i]:
            env = states[i]
            play_step(env, actions[i], rules, red_tempo)
            rewards[i] = reward_tenths(env)
            observe(env, style, observations[i])


@jit
def reset_all(
    states: NDArray[np.void],  # (num_envs,)
    chosen: NDArray[np.bool_],  # (num_envs,)
    rules: int,
    red_tempo: int,
    head_start: int,
    style: int,
    observations: NDArray[np.uint32],  # (num_envs, 13)
) -> None:
    """Begin the episode of the chosen environments; during the head start blue sleeps."""
    for i in range(len(states)):
        if chosen[i]:
            env = states[i]
            begin_episode(env)
            for _ in range(head_start):
                play_step(env, SLEEP, rules, red_tempo)
            env.step = 0
            observe(env, style, observations[i])


@jit
def first_bad_action(actions: NDArray[np.int64]) -> int:  # (num_envs,)
    """Index of the first action out of range, -1 if there is none."""
    for i in range(len(actions)):
        if actions[i] < 0 or actions[i] >= NUM_ACTIONS:
            return i
    return -1


@jit
def first_finished(
    states: NDArray[np.void],  # (num_envs,)
    chosen: NDArray[np.bool_],  # (num_envs,)
    horizon: int,
) -> int:
    """Index of the first chosen environment whose episode is over, -1 if there is none."""
    for i in range(len(states)):
        if chosen[i] and states[i].step >= horizon:
            return i
    return -1
