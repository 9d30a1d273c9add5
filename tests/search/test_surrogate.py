"""The surrogate against direct linear algebra, and data that break naive ones."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import cho_factor, cho_solve
from sklearn.gaussian_process.kernels import RBF

from standing_orders.errors import ConfigError
from standing_orders.rules.orders import KENDALL_DISTANCES, NUM_ORDERS, RANKS
from standing_orders.search import surrogate as module
from standing_orders.search.surrogate import (
    AMPLITUDE_BOUNDS,
    FEATURES,
    LENGTH_BOUNDS,
    NUGGET,
    OWN_BOUNDS,
    Belief,
    Hyperparameters,
    Observation,
    Outcome,
    Surrogate,
    fit_surrogate,
    make_kernel,
    pass_chance,
)
from tests.effort import effort

KENDALL = np.array([[KENDALL_DISTANCES[a, b] for b in range(120)] for a in range(120)])
FOOTRULE = np.abs(RANKS[:, None] - RANKS[None]).sum(axis=2)
DISTANCE = {"mallows": KENDALL, "footrule": FOOTRULE}


def random_observations(rng: np.random.Generator) -> list[Observation]:
    """1 to 60 evaluations, some of the same order, of any size and place."""
    num, size, place = int(rng.integers(1, 61)), 10 ** rng.uniform(-2, 3), rng.normal() * 100
    return [
        Observation(
            int(order), float(place + size * rng.normal()), float(size * rng.uniform(0.02, 1))
        )
        for order in rng.integers(0, 120, size=num)
    ]


def direct_posterior(
    observations: list[Observation], surrogate: Surrogate
) -> tuple[np.ndarray, np.ndarray]:
    """Textbook formulas in the units of the values, with nothing standardised but the prior."""
    fitted, scale = surrogate.hyperparameters, surrogate.scale
    distance = DISTANCE[surrogate.kernel]
    prior = fitted.amplitude * np.exp(-distance / (2 * fitted.length**2))
    prior = scale**2 * (prior + fitted.own * np.eye(120))
    orders = [one.order for one in observations]
    noise = [one.std_error**2 + NUGGET * scale**2 for one in observations]
    factor = cho_factor(prior[np.ix_(orders, orders)] + np.diag(noise), lower=True)
    values = np.array([one.value for one in observations])
    mean = surrogate.centre + prior[:, orders] @ cho_solve(factor, values - surrogate.centre)
    return mean, prior - prior[:, orders] @ cho_solve(factor, prior[orders])


@pytest.mark.parametrize("kernel", ["mallows", "footrule"])
def test_the_posterior_is_that_of_a_direct_cholesky_computation(kernel: module.KernelName) -> None:
    for seed in range(effort(100, 20)):
        rng = np.random.default_rng(seed)
        observations = random_observations(rng)
        surrogate = fit_surrogate(observations, kernel=kernel, seed=seed)
        mean, covariance = direct_posterior(observations, surrogate)
        belief, scale = surrogate.belief, surrogate.scale
        np.testing.assert_allclose(belief.mean / scale, mean / scale, rtol=0, atol=1e-8)
        np.testing.assert_allclose(
            belief.covariance / scale**2,
            covariance / scale**2,
            rtol=0,
            atol=1e-8,
            err_msg=f"{seed}",
        )
        np.testing.assert_allclose(belief.std**2, np.diag(covariance), atol=1e-8 * scale**2)


def test_rbf_on_precedence_bits_is_the_mallows_kernel() -> None:
    for length in (*LENGTH_BOUNDS, 1.0, 2.5):
        gram = RBF(length)(FEATURES["mallows"])
        np.testing.assert_allclose(gram, np.exp(-KENDALL / (2 * length**2)), rtol=1e-14)


def test_rbf_on_place_bits_is_the_exponential_of_the_footrule() -> None:
    for length in (*LENGTH_BOUNDS, 1.0, 2.5):
        gram = RBF(length)(FEATURES["footrule"])
        np.testing.assert_allclose(gram, np.exp(-FOOTRULE / (2 * length**2)), rtol=1e-14)


@pytest.mark.parametrize("kernel", ["mallows", "footrule"])
def test_the_kernel_of_all_orders_is_positive_definite_within_the_bounds(kernel: str) -> None:
    for length in np.geomspace(*LENGTH_BOUNDS, 15):
        gram = RBF(length)(FEATURES[kernel])
        # The smallest eigenvalues of the smoothest kernels lie below the rounding of the largest.
        assert np.linalg.eigvalsh(gram)[0] > -1e-13 * NUM_ORDERS
        whole = make_kernel(Hyperparameters(AMPLITUDE_BOUNDS[0], length, OWN_BOUNDS[0]))
        assert np.linalg.eigvalsh(whole(FEATURES[kernel]))[0] > 0.99 * OWN_BOUNDS[0]
    assert np.linalg.eigvalsh(RBF(2.0)(FEATURES[kernel]))[0] > 1e-9


def test_without_observations_the_belief_is_the_prior() -> None:
    belief = fit_surrogate([]).belief
    start = Hyperparameters()
    assert not belief.mean.any()
    np.testing.assert_allclose(belief.std, math.sqrt(start.amplitude + start.own))


def test_one_observation_is_believed_and_spreads_to_its_neighbours() -> None:
    belief = fit_surrogate([Observation(7, -50.0, 2.0)]).belief
    np.testing.assert_allclose(belief.mean, -50.0)
    by_distance = [belief.std[KENDALL[7] == d].mean() for d in range(11)]
    assert by_distance == sorted(by_distance)
    assert by_distance[0] < 2.0 < by_distance[10]


@pytest.mark.parametrize("std_error", [0.0, 1e-9, 3.0])
def test_constant_values_are_believed_everywhere(std_error: float) -> None:
    belief = fit_surrogate([Observation(o, -52.2, std_error) for o in range(0, 120, 7)]).belief
    np.testing.assert_allclose(belief.mean, -52.2)
    assert np.isfinite(belief.std).all()
    assert (belief.std > 0).all()


def test_exact_repeated_observations_do_not_break_it() -> None:
    twice = [Observation(o, float(-o), 0.0) for o in (3, 3, 50, 50, 90, 90, 117, 117)]
    belief = fit_surrogate(twice).belief
    np.testing.assert_allclose(belief.mean[[3, 50, 90, 117]], [-3, -50, -90, -117], rtol=1e-3)


def test_repeated_observations_of_an_order_all_count() -> None:
    others = [Observation(o, float(o), 5.0) for o in (10, 40, 80, 110)]
    known = Hyperparameters()
    stds = [
        fit_surrogate([*others, *[Observation(60, 60.0, 5.0)] * n], hyperparameters=known)
        for n in (1, 2, 8)
    ]
    relative = [s.belief.std[60] / s.scale for s in stds]
    assert relative == sorted(relative, reverse=True)
    # The mean of n equal-error observations with error s has error s / sqrt(n).
    pooled = fit_surrogate([Observation(60, 60.0, 5.0 / math.sqrt(8))], hyperparameters=known)
    eight = fit_surrogate([Observation(60, 60.0, 5.0)] * 8, hyperparameters=known)
    rescaled = Belief(eight.belief.mean, eight.belief.covariance / eight.scale**2)
    assert eight.belief.mean[60] == pytest.approx(pooled.belief.mean[60])
    assert rescaled.std[60] < 0.4


def test_values_may_be_shifted_and_scaled() -> None:
    rng = np.random.default_rng(5)
    observations = random_observations(rng)
    known = Hyperparameters(amplitude=2.0, length=3.0, own=0.1)
    moved = [Observation(o.order, 1000 - 7 * o.value, 7 * o.std_error) for o in observations]
    belief = fit_surrogate(observations, hyperparameters=known).belief
    other = fit_surrogate(moved, hyperparameters=known).belief
    np.testing.assert_allclose(other.mean, 1000 - 7 * belief.mean, rtol=1e-9)
    np.testing.assert_allclose(other.std, 7 * belief.std, rtol=1e-7)


def test_the_same_seed_gives_the_same_bits_and_no_warning_leaks() -> None:
    observations = random_observations(np.random.default_rng(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, second = (fit_surrogate(observations, seed=3) for _ in range(2))
    assert first.hyperparameters == second.hyperparameters
    assert np.array_equal(first.belief.covariance, second.belief.covariance)


def test_fitting_does_not_lower_the_likelihood() -> None:
    """The fitted landscape predicts held-out orders of an additive truth better than chance."""
    rng = np.random.default_rng(0)
    truth = FEATURES["mallows"] @ rng.normal(size=10)
    orders = rng.permutation(120)[:40]
    belief = fit_surrogate([Observation(int(o), truth[o], 0.1) for o in orders]).belief
    hidden = np.setdiff1d(np.arange(120), orders)
    assert np.corrcoef(belief.mean[hidden], truth[hidden])[0, 1] > 0.97
    miss = np.abs(belief.mean - truth)[hidden] / belief.std[hidden]
    assert 0.85 < (miss < 2).mean()


def test_draws_have_the_mean_and_covariance_of_the_belief() -> None:
    surrogate = fit_surrogate(random_observations(np.random.default_rng(2)))
    draws = surrogate.belief.sample(np.random.default_rng(0), 20_000)
    belief = surrogate.belief
    assert draws.shape == (20_000, 120)
    assert (np.abs(draws.mean(axis=0) - belief.mean) < 5 * belief.std / math.sqrt(20_000)).all()
    np.testing.assert_allclose(
        np.cov(draws.T), belief.covariance, atol=0.06 * belief.covariance.max()
    )


def test_pending_orders_keep_the_mean_and_lose_uncertainty_as_if_observed() -> None:
    observations = [Observation(o, float(v), 0.5) for o, v in ((0, 1), (50, 3), (90, 0), (119, 2))]
    surrogate = fit_surrogate(observations, hyperparameters=Hyperparameters())
    before, after = surrogate.belief, surrogate.belief.condition_on([20, 70])
    assert np.array_equal(before.mean, after.mean)
    assert (after.std <= before.std + 1e-12).all()
    fantasies = [Observation(o, before.mean[o], 0.5) for o in (20, 70)]
    _, covariance = direct_posterior([*observations, *fantasies], surrogate)
    np.testing.assert_allclose(after.covariance, covariance, atol=1e-5)


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        (Observation(5, math.nan, 1.0), "value nan of order 5"),
        (Observation(5, 0.0, -1.0), "std_error -1.0 of order 5"),
        (Observation(5, 0.0, math.inf), "std_error inf of order 5"),
    ],
)
def test_a_bad_observation_is_named(bad: Observation, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        fit_surrogate([Observation(0, 0.0, 1.0), bad])


outcomes = st.lists(st.builds(Outcome, st.integers(0, 119), st.booleans()), max_size=40)


@given(outcomes)
@settings(max_examples=effort(60, 25), deadline=None)
def test_the_chance_to_pass_is_never_zero_or_one(past: list[Outcome]) -> None:
    chance = pass_chance(past)
    assert chance.shape == (120,)
    assert ((chance > 0) & (chance < 1)).all()


def test_without_attempts_every_order_has_the_prior_chance() -> None:
    assert (pass_chance([]) == 0.8).all()


@pytest.mark.parametrize("kernel", ["mallows", "footrule"])
def test_a_failure_lowers_all_chances_near_ones_most_and_a_pass_raises_them(
    kernel: module.KernelName,
) -> None:
    failed = pass_chance([Outcome(30, has_passed=False)], kernel)
    passed = pass_chance([Outcome(30, has_passed=True)], kernel)
    nearest_first = np.argsort(DISTANCE[kernel][30], kind="stable")
    assert (np.diff(failed[nearest_first]) >= -1e-12).all()
    assert (np.diff(passed[nearest_first]) <= 1e-12).all()
    assert failed.max() < 0.8 < passed.min()
    assert failed[30] < 0.2


def test_repeated_failures_and_a_success_are_all_remembered() -> None:
    fail, success = Outcome(30, has_passed=False), Outcome(30, has_passed=True)
    chances = [pass_chance([fail] * n)[30] for n in range(4)]
    assert chances == sorted(chances, reverse=True)
    assert chances[2] < pass_chance([fail, fail, success])[30] < 0.8


# ------------------------------------------------------------------------------------ prior mean
PRIOR = -30.0 - 2.0 * KENDALL[17]


def test_without_observations_the_mean_is_the_prior() -> None:
    belief = fit_surrogate([], prior=PRIOR).belief
    np.testing.assert_allclose(belief.mean, PRIOR)
    assert (belief.std > 0).all()
    assert belief.std.max() < PRIOR.std()  # what a visit may add is less than what is known
    flat = fit_surrogate([], prior=np.full(120, -30.0)).belief
    np.testing.assert_allclose(flat.mean, -30.0)
    assert (flat.std > 0).all()


def test_observations_as_the_prior_says_change_nothing() -> None:
    seen = [Observation(order, float(PRIOR[order]), 0.5) for order in range(0, 120, 20)]
    np.testing.assert_allclose(fit_surrogate(seen, prior=PRIOR).belief.mean, PRIOR, atol=1e-9)


def test_observations_shift_the_prior_and_most_where_they_are() -> None:
    """Visits gain 5 everywhere, but 15 at order 0 and near it."""
    gain = 5.0 + 10.0 * (KENDALL[0] <= 2)
    seen = [
        Observation(order, float(PRIOR[order] + gain[order]), 0.1) for order in range(0, 120, 7)
    ]
    shift = fit_surrogate(seen, prior=PRIOR).belief.mean - PRIOR
    np.testing.assert_allclose(shift[::7], gain[::7], atol=0.5)
    assert shift[1] > shift[118] > 0


def test_a_prior_is_a_mean_that_is_taken_off_and_put_back() -> None:
    rng = np.random.default_rng(3)
    seen = random_observations(rng)
    less = [Observation(one.order, one.value - PRIOR[one.order], one.std_error) for one in seen]
    found, wanted = fit_surrogate(seen, prior=PRIOR, seed=1), fit_surrogate(less, seed=1)
    np.testing.assert_allclose(found.belief.mean, wanted.belief.mean + PRIOR)
    np.testing.assert_allclose(found.belief.covariance, wanted.belief.covariance)
