"""Advantages and value targets of complete rollouts."""

import numpy as np
from numpy.typing import NDArray

from standing_orders.compiled import jit


@jit
def _gae(
    rewards: NDArray[np.float32],
    values: NDArray[np.float32],
    goes_on: NDArray[np.float32],
    gamma: float,
    gae_lambda: float,
    advantages: NDArray[np.float32],
) -> None:
    num_steps, num_envs = rewards.shape
    for i in range(num_envs):
        advantage = 0.0
        for t in range(num_steps - 1, -1, -1):
            discount = gamma * goes_on[t, i]
            error = rewards[t, i] + discount * values[t + 1, i] - values[t, i]
            advantage = error + discount * gae_lambda * advantage
            advantages[t, i] = advantage


def generalised_advantages(
    rewards: NDArray[np.float32],  # (steps, num_envs)
    values: NDArray[np.float32],  # (steps + 1, num_envs)
    *,
    gamma: float,
    gae_lambda: float,
    is_end: NDArray[np.bool_] | None = None,  # (steps, num_envs)
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:  # each (steps, num_envs)
    """Advantages by GAE (Schulman et al. 2016, eq. 16), and value targets = advantage + value.

    Nothing follows a step with `is_end`. Without it episodes end by truncation at the last step,
    so that its value to come, `values[-1]`, counts.

    Example:
        >>> ones = np.ones((2, 1), np.float32)
        >>> values = np.array([[0.0], [0.0], [4.0]], np.float32)
        >>> generalised_advantages(ones, values, gamma=0.5, gae_lambda=1.0)[0].ravel().tolist()
        [2.5, 3.0]
    """
    advantages = np.empty_like(rewards)
    goes_on = np.ones_like(rewards) if is_end is None else (~is_end).astype(np.float32)
    _gae(rewards, values, goes_on, gamma, gae_lambda, advantages)
    return advantages, advantages + values[:-1]


def monte_carlo_advantages(
    rewards: NDArray[np.float32],  # (steps, num_envs)
    values: NDArray[np.float32],  # (steps + 1, num_envs)
    *,
    gamma: float,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:  # each (steps, num_envs)
    """Discounted returns up to the end of the episode, without a value beyond it, less values.

    This treats the horizon as the end of the game, as the published baseline does.
    """
    nothing = np.zeros_like(values)
    returns, _ = generalised_advantages(rewards, nothing, gamma=gamma, gae_lambda=1.0)
    return returns - values[:-1], returns
