"""Drawing by inverse CDF."""

import numpy as np
import pytest
from scipy import stats

from standing_orders.learn.sampling import sample_actions

ALMOST_ONE = np.nextafter(1.0, 0.0)


def draw(logits: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    rows = np.broadcast_to(logits.astype(np.float32), (len(uniforms), logits.shape[-1])).copy()
    actions = np.full(len(uniforms), -1, dtype=np.int64)
    sample_actions(rows, uniforms.astype(np.float64), actions)
    return actions


def softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits.astype(np.float64) - logits.max())
    return weights / weights.sum()


def test_actions_are_drawn_with_the_softmax_of_the_logits() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=145).astype(np.float32)
    count = 100_000
    seen = np.bincount(draw(logits, rng.random(count)), minlength=145)
    assert stats.chisquare(seen, softmax(logits) * count).pvalue > 1e-3


def test_each_action_has_its_interval_of_the_cumulative_sum() -> None:
    logits = np.log(np.array([0.2, 0.5, 0.3]))
    uniforms = np.array([0.0, 0.1999, 0.2001, 0.6999, 0.7001, 0.9999])
    assert draw(logits, uniforms).tolist() == [0, 0, 1, 1, 2, 2]


def test_adding_a_constant_to_the_logits_changes_nothing() -> None:
    rng = np.random.default_rng(1)
    logits, uniforms = rng.integers(-8, 8, 145) / 4, rng.random(1000)
    assert np.array_equal(draw(logits, uniforms), draw(logits + 64, uniforms))


@pytest.mark.parametrize("never", [-np.inf, -1e30, -1e4])
@pytest.mark.parametrize("allowed", [[0], [144], [3, 77], [0, 1, 2]])
def test_an_action_without_probability_is_never_drawn(never: float, allowed: list[int]) -> None:
    logits = np.full(145, never)
    logits[allowed] = np.linspace(0, 1, len(allowed))
    uniforms = np.concatenate([[0.0, ALMOST_ONE], np.random.default_rng(2).random(2000)])
    actions = draw(logits, uniforms)
    assert set(actions.tolist()) == set(allowed)
    assert (actions[0], actions[1]) == (allowed[0], allowed[-1])


def test_rounding_never_leads_beyond_the_last_likely_action() -> None:
    rng = np.random.default_rng(3)
    for _ in range(300):
        logits = rng.normal(size=145) * 3
        logits[100:] = -np.inf
        assert draw(logits, np.array([ALMOST_ONE]))[0] < 100


def test_each_row_uses_its_own_logits_and_uniform() -> None:
    logits = np.full((145, 145), -50.0, dtype=np.float32)
    np.fill_diagonal(logits, 50.0)
    actions = np.zeros(145, dtype=np.int64)
    sample_actions(logits, np.linspace(0, ALMOST_ONE, 145), actions)
    assert np.array_equal(actions, np.arange(145))
