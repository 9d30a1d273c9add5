"""GAE and Monte-Carlo returns against the sums they are defined by."""

import numpy as np
import pytest

from standing_orders.learn.advantages import generalised_advantages, monte_carlo_advantages


def data(steps: int = 12, num_envs: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(steps)
    rewards = rng.normal(size=(steps, num_envs)).astype(np.float32)
    return rewards, rng.normal(size=(steps + 1, num_envs)).astype(np.float32)


@pytest.mark.parametrize("gamma", [0.0, 0.9, 0.99, 1.0])
@pytest.mark.parametrize("gae_lambda", [0.0, 0.5, 0.95, 1.0])
def test_gae_is_the_discounted_sum_of_the_errors_to_come(gamma: float, gae_lambda: float) -> None:
    rewards, values = data()
    found, targets = generalised_advantages(rewards, values, gamma=gamma, gae_lambda=gae_lambda)
    r, v = rewards.astype(np.float64), values.astype(np.float64)
    for i in range(3):
        for t in range(12):
            wanted = sum(
                (gamma * gae_lambda) ** (k - t) * (r[k, i] + gamma * v[k + 1, i] - v[k, i])
                for k in range(t, 12)
            )
            assert found[t, i] == pytest.approx(wanted, abs=1e-5)
            assert targets[t, i] == pytest.approx(wanted + v[t, i], abs=1e-5)


def test_an_episode_cut_off_at_the_horizon_bootstraps_its_value() -> None:
    rewards, values = np.zeros((3, 1), np.float32), np.zeros((4, 1), np.float32)
    values[-1] = 8.0
    found, _ = generalised_advantages(rewards, values, gamma=0.5, gae_lambda=1.0)
    assert found.ravel().tolist() == [1.0, 2.0, 4.0]
    found, _ = generalised_advantages(rewards, values, gamma=0.5, gae_lambda=0.0)
    assert found.ravel().tolist() == [0.0, 0.0, 4.0]


def test_nothing_leaks_from_one_episode_to_another() -> None:
    rewards, values = data()
    alone, _ = generalised_advantages(
        rewards[:, 1:2].copy(), values[:, 1:2].copy(), gamma=0.99, gae_lambda=0.95
    )
    together, _ = generalised_advantages(rewards, values, gamma=0.99, gae_lambda=0.95)
    assert np.array_equal(alone[:, 0], together[:, 1])


@pytest.mark.parametrize("gamma", [0.0, 0.9, 1.0])
def test_monte_carlo_is_the_discounted_return_to_the_horizon_without_a_value_beyond(
    gamma: float,
) -> None:
    rewards, values = data()
    values[-1] = 1e6
    found, targets = monte_carlo_advantages(rewards, values, gamma=gamma)
    for i in range(3):
        for t in range(12):
            wanted = sum(gamma ** (k - t) * float(rewards[k, i]) for k in range(t, 12))
            assert targets[t, i] == pytest.approx(wanted, abs=1e-5)
            assert found[t, i] == pytest.approx(wanted - values[t, i], abs=1e-5)
