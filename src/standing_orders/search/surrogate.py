"""What a search believes: a Gaussian process over the 120 orders, and the chance to pass the gate.

| symbol | meaning |
|---|---|
| x | features of an order: its ten precedence bits (`mallows`) or its place bits (`footrule`) |
| d | squared distance of features = Kendall or footrule distance of the orders |
| k | amplitude * exp(-c d) + own * [same order], with c = 1 / (2 length^2) |
| y | observed values, standardised: (value - mean) / scale |
| alpha | noise variance of each y: (std_error / scale)^2 + NUGGET |

An RBF kernel on precedence bits is the Mallows kernel exp(-c * Kendall distance), because bits
that differ differ by one. Places written as unary bits (is the type at place 1 or later, at place
2 or later, ...) do the same for Spearman's footrule, the sum of |difference of places|. Both are
RBF kernels of distinct points, hence positive definite for every length.
"""

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky  # type: ignore[import-untyped]
from scipy.optimize import minimize  # type: ignore[import-untyped]
from scipy.spatial.distance import pdist, squareform  # type: ignore[import-untyped]
from scipy.special import ndtr, ndtri  # type: ignore[import-untyped]
from sklearn.exceptions import ConvergenceWarning  # type: ignore[import-untyped]
from sklearn.gaussian_process import (  # type: ignore[import-untyped]
    GaussianProcessRegressor,
)
from sklearn.gaussian_process.kernels import (  # type: ignore[import-untyped]
    RBF,
    ConstantKernel,
)
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from standing_orders.cage2.scenario import NUM_UNIT_TYPES
from standing_orders.config import KernelName
from standing_orders.errors import ConfigError
from standing_orders.rules.orders import NUM_ORDERS, PRECEDENCE_BITS, RANKS

# (120, 20): bit type * 4 + p - 1 is 1 if the type stands at place p or later.
PLACE_BITS = (RANKS[:, :, None] >= np.arange(1, NUM_UNIT_TYPES)).reshape(NUM_ORDERS, -1)
FEATURES: dict[str, NDArray[np.float64]] = {
    "mallows": PRECEDENCE_BITS.astype(np.float64),
    "footrule": PLACE_BITS.astype(np.float64),
}

# In standardised units. A long length with a large amplitude is an additive landscape; rough ones
# are left to `own`, for shorter lengths would let a few points fit anything.
AMPLITUDE_BOUNDS = (1e-2, 1e3)
LENGTH_BOUNDS = (2.0, 12.0)
OWN_BOUNDS = (1e-4, 1.0)
NUGGET = 1e-6
MIN_ORDERS_TO_FIT = 4  # fewer distinct orders say nothing about the kernel
_NUM_RESTARTS = 1
_UNKNOWN_SHARE = 0.1  # of the spread of a prior: how far a first visit may be from it
# Of the chance to pass.
PASS_PRIOR = 0.8
PASS_LENGTH = 1.5  # correlation 0.80 at distance 1, 0.11 at distance 10
PASS_NOISE = 0.25
PASS_LABEL = 2.0  # beyond the optimism: a pass is better news than none
_OWN_LENGTH = 0.05  # exp(-1 / (2 * 0.05^2)) = 1e-87: no two orders are alike


@dataclass(frozen=True)
class Observation:
    """One evaluation of one order; an order may be observed any number of times."""

    order: int  # 0 to 119
    value: float  # mean return
    std_error: float  # of that mean; 0 if it is exact


@dataclass(frozen=True)
class Outcome:
    """One attempt of one order at the compliance gate."""

    order: int  # 0 to 119
    has_passed: bool


@dataclass(frozen=True)
class Hyperparameters:
    """What is fitted, in units of the standardised values; see the table of this module."""

    amplitude: float = 5.0
    length: float = 3.0
    own: float = 0.05  # variance of what an order shares with no other


@dataclass(frozen=True)
class Belief:
    """Joint normal distribution of the true values of all orders, in units of the values."""

    mean: NDArray[np.float64]  # (120,)
    covariance: NDArray[np.float64]  # (120, 120)
    noise: float = 0.0  # variance that one further evaluation is expected to have

    @cached_property
    def std(self) -> NDArray[np.float64]:  # (120,)
        """Standard deviation of each order's true value."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    def sample(self, rng: np.random.Generator, n: int = 1) -> NDArray[np.float64]:  # (n, 120)
        """Draw whole landscapes."""
        with _one_thread():
            return rng.multivariate_normal(
                self.mean, self.covariance, size=n, method="eigh", check_valid="ignore"
            )

    def condition_on(self, pending: Iterable[int]) -> "Belief":
        """Belief if each pending evaluation came out exactly as expected (kriging believer).

        The mean stays as it is; pending orders and those like them become more certain.
        """
        orders = sorted(set(pending))
        if not orders:
            return self
        across = self.covariance[:, orders]
        inner = across[orders] + self.noise * np.eye(len(orders))
        covariance = self.covariance - across @ np.linalg.pinv(inner, hermitian=True) @ across.T
        return Belief(self.mean, covariance, self.noise)


@dataclass(frozen=True)
class Surrogate:
    """A fitted Gaussian process; see `fit_surrogate`."""

    kernel: KernelName
    hyperparameters: Hyperparameters
    centre: float  # value = centre + scale * standardised value
    scale: float
    belief: Belief


def make_kernel(parameters: Hyperparameters | None = None) -> Any:
    """scikit-learn kernel on `FEATURES`, with bounds to be fitted within."""
    start = parameters or Hyperparameters()
    shared = ConstantKernel(start.amplitude, AMPLITUDE_BOUNDS) * RBF(start.length, LENGTH_BOUNDS)
    return shared + ConstantKernel(start.own, OWN_BOUNDS) * RBF(_OWN_LENGTH, "fixed")


def fit_surrogate(
    observations: Sequence[Observation],
    *,
    kernel: KernelName = "mallows",
    seed: int = 0,
    hyperparameters: Hyperparameters | None = None,
    prior: NDArray[np.float64] | None = None,  # (120,)
) -> Surrogate:
    """Fit a Gaussian process to all observations, repeated ones included.

    The hyper-parameters maximise the marginal likelihood within their bounds, from a fixed start
    and a seeded one. With fewer than `MIN_ORDERS_TO_FIT` distinct orders they keep their defaults.

    Args:
        observations: any number, zero included: then the belief is the prior, the same for every
            order, which says only that orders are alike if they are near.
        kernel: what near means, `mallows` (Kendall) or `footrule`.
        seed: of the restart.
        hyperparameters: take these instead of fitting; a search need not refit at every step.
        prior: mean of the process before any observation; the same for every order if left out.
            The process then describes what visits add to it.

    Raises:
        ConfigError: an observation is not acceptable.

    Example:
        >>> surrogate = fit_surrogate([Observation(0, -50.0, 1.0), Observation(119, -80.0, 1.0)])
        >>> mean = surrogate.belief.mean
        >>> bool(mean[0] > mean[60] > mean[119])
        True
    """
    features = FEATURES[kernel]
    for one in observations:
        _check_observation(one)
    orders = [one.order for one in observations]
    prior = np.zeros(NUM_ORDERS) if prior is None else prior
    values = np.array([one.value - prior[one.order] for one in observations])
    errors = np.array([one.std_error for one in observations])
    centre, scale = _standardisation(values, errors)
    if not orders and prior.any():
        scale = _UNKNOWN_SHARE * float(prior.std()) or 1.0
    is_fitted = hyperparameters is None and len(set(orders)) >= MIN_ORDERS_TO_FIT
    x, y, alpha = features[orders], (values - centre) / scale, (errors / scale) ** 2 + NUGGET
    process = GaussianProcessRegressor(
        make_kernel(hyperparameters),
        alpha=alpha if orders else NUGGET,
        optimizer=partial(_maximise, x, y, alpha) if is_fitted else None,
        n_restarts_optimizer=_NUM_RESTARTS if is_fitted else 0,
        random_state=seed % 2**32,
    )
    with _one_thread():
        if orders:
            _fit_quietly(process, x, y)
        mean, covariance = process.predict(features, return_cov=True)
    belief = Belief(
        mean=prior + centre + scale * mean,
        covariance=scale**2 * covariance,
        noise=float(np.mean(errors**2)) if orders else 0.0,
    )
    fitted = _hyperparameters(process.kernel_ if orders else process.kernel)
    return Surrogate(kernel, fitted, centre, scale, belief)


def _maximise(
    x: NDArray[np.float64],  # (n, num_features)
    y: NDArray[np.float64],  # (n,)
    alpha: NDArray[np.float64],  # (n,)
    _: Callable[..., Any],  # scikit-learn's own loss: the same, in three times the time
    start: NDArray[np.float64],  # (3,): logarithms of the hyper-parameters
    bounds: NDArray[np.float64],  # (3, 2)
) -> tuple[NDArray[np.float64], float]:
    """Optimiser, once the data are given in the form that scikit-learn asks for."""
    options = {"maxiter": 50, "ftol": 1e-6, "gtol": 1e-3}  # more digits would be noise
    found = minimize(
        partial(_loss, x, y[:, None], alpha), start,
        method="L-BFGS-B", jac=True, bounds=bounds, options=options,
    )  # fmt: skip
    return found.x, float(found.fun)


def _loss(
    x: NDArray[np.float64],  # (n, num_features)
    y: NDArray[np.float64],  # (n, 1)
    alpha: NDArray[np.float64],  # (n,)
    theta: NDArray[np.float64],  # (3,): logarithms of amplitude, length and own
) -> tuple[float, NDArray[np.float64]]:
    """-log p(y) = (y' K^-1 y + log |K| + n log 2 pi) / 2, and its gradient by theta."""
    amplitude, length, own = np.exp(theta)
    distances = squareform(pdist(x / length, metric="sqeuclidean"))
    near, same = np.exp(-0.5 * distances), (distances == 0).astype(np.float64)
    gram = amplitude * near + own * same
    slopes = np.dstack((amplitude * near, near * distances * amplitude, own * same))
    gram[np.diag_indices_from(gram)] += alpha
    try:
        factor = (cholesky(gram, lower=True, check_finite=False), True)
    except np.linalg.LinAlgError:
        return np.inf, np.zeros(3)
    weights = cho_solve(factor, y, check_finite=False)  # K^-1 y
    fit = -0.5 * np.einsum("ik,ik->k", y, weights) - np.log(np.diag(factor[0])).sum()
    inverse = cho_solve(factor, np.eye(len(y)), check_finite=False)
    inner = np.einsum("ik,jk->ijk", weights, weights) - inverse[..., None]
    slope = 0.5 * np.einsum("ijl,jik->kl", inner, slopes).sum(axis=-1)
    return -float(fit[0] - len(y) / 2 * math.log(2 * math.pi)), -slope


def _fit_quietly(process: Any, x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    with warnings.catch_warnings():
        # A hyper-parameter at its bound is an answer here, not a failure.
        warnings.simplefilter("ignore", ConvergenceWarning)
        process.fit(x, y)


@cache
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


def _one_thread() -> AbstractContextManager[object]:
    """One BLAS thread: with several, matrices this small take ten times as long."""
    limit: AbstractContextManager[object] = _thread_pools().limit(limits=1, user_api="blas")
    return limit


def _check_observation(one: Observation) -> None:
    if not math.isfinite(one.value):
        raise ConfigError(f"value {one.value} of order {one.order}: must be finite")
    if not (math.isfinite(one.std_error) and one.std_error >= 0):
        raise ConfigError(
            f"std_error {one.std_error} of order {one.order}: must be finite and at least 0"
        )


def _standardisation(
    values: NDArray[np.float64], errors: NDArray[np.float64]
) -> tuple[float, float]:
    """Centre and scale of the values; equal values are scaled by their error, exact ones by 1."""
    if not len(values):
        return 0.0, 1.0
    centre, spread = float(values.mean()), float(values.std())
    if spread > 1e-12 * max(1.0, abs(centre)):
        return centre, spread
    return centre, float(errors.max()) or 1.0


def _hyperparameters(kernel: Any) -> Hyperparameters:
    shared, own = kernel.k1, kernel.k2
    return Hyperparameters(
        amplitude=float(shared.k1.constant_value),
        length=float(shared.k2.length_scale),
        own=float(own.k1.constant_value),
    )


def pass_chance(
    outcomes: Sequence[Outcome], kernel: KernelName = "mallows"
) -> NDArray[np.float64]:  # (120,)
    """Chance of each order to pass the compliance gate, from all attempts so far.

    A latent ease g ~ GP(optimism, exp(-c d)) is regressed on attempts (+PASS_LABEL passed,
    -PASS_LABEL failed, noise variance PASS_NOISE); the chance is Phi(mean / sqrt(1 + variance)).
    Without data it is PASS_PRIOR for every order; an order that fails makes its neighbours less
    likely to pass, one that passes more likely. It is never 0 or 1, so no order is given up for
    ever. Nothing is fitted: a search sees few failures, and often none.

    Example:
        >>> chance = pass_chance([Outcome(0, has_passed=False)])
        >>> bool(0 < chance[0] < chance[1] < chance[119] < PASS_PRIOR)
        True
    """
    if not outcomes:
        return np.full(NUM_ORDERS, PASS_PRIOR)
    features = FEATURES[kernel]
    optimism = float(ndtri(PASS_PRIOR)) * math.sqrt(2.0)  # the prior variance is 1
    labels = np.array([PASS_LABEL if one.has_passed else -PASS_LABEL for one in outcomes])
    process = GaussianProcessRegressor(RBF(PASS_LENGTH), alpha=PASS_NOISE, optimizer=None)
    with _one_thread():
        process.fit(features[[one.order for one in outcomes]], labels - optimism)
        mean, covariance = process.predict(features, return_cov=True)
    variance = np.maximum(np.diag(covariance), 0.0)
    return np.asarray(ndtr((optimism + mean) / np.sqrt(1.0 + variance)))
