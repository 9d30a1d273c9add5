"""Ways to search, tried on landscapes of which the truth is known.

*Found* regret is that of the best order visited so far, *named* regret that of the order the search
would name: by a surrogate the visited one with the highest posterior mean, by random choice or a
sweep the one with the highest observed value. Both are measured on the true values.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.reward import TENTHS_PER_POINT
from standing_orders.compare.aggregate import estimate, mean
from standing_orders.config import BetaSchedule, KernelName, SearchConfig, SimConfig, Strategy
from standing_orders.rules.orders import NUM_ORDERS
from standing_orders.search.acquisition import Situation, choose
from standing_orders.search.oracle import oracle_returns
from standing_orders.search.surrogate import Belief, Observation, Surrogate, fit_surrogate
from standing_orders.seeding import child_seed

EVALUATION_EPISODES = 200  # of which an evaluation is the mean
# Name -> strategy and number of random orders that it chooses among; None: all 120.
WAYS: dict[str, tuple[Strategy, int | None]] = {
    "ucb": ("ucb", None),
    "ucb, 10 candidates": ("ucb", 10),
    "ucb, 6 candidates": ("ucb", 6),
    "thompson": ("thompson", None),
    "ei": ("ei", None),
    "random": ("random", None),
    "sweep": ("sweep", None),
}
BUDGETS = (5, 10, 20)  # evaluations


@dataclass(frozen=True)
class Landscape:
    """A true value for each order, and how to get a noisy one."""

    truth: NDArray[np.float64]  # (120,)
    evaluate: Callable[[int, np.random.Generator], Observation]

    @property
    def regret(self) -> NDArray[np.float64]:  # (120,)
        """What each order lacks to the best."""
        return np.asarray(self.truth.max() - self.truth)


@dataclass(frozen=True)
class Trial:
    """One search: after each evaluation, the order visited and the order it would name."""

    visited: list[int]
    named: list[int]
    belief: Belief  # of the surrogate at the end, whoever chose

    def first_visit(self, wanted: NDArray[np.bool_]) -> float:  # (120,)
        """Number of evaluations until one of the wanted orders is visited."""
        hits = [t for t, order in enumerate(self.visited, start=1) if wanted[order]]
        return min(hits, default=np.inf)


def of_returns(returns: NDArray[np.float64]) -> Landscape:  # (120, num_episodes)
    """Truth is the mean of all episodes; an evaluation that of some, drawn afresh."""

    def evaluate(order: int, rng: np.random.Generator) -> Observation:
        drawn = rng.choice(returns[order], EVALUATION_EPISODES, replace=False)
        std_error = float(drawn.std(ddof=1)) / EVALUATION_EPISODES**0.5
        return Observation(order, float(drawn.mean()), std_error)

    return Landscape(returns.mean(axis=1), evaluate)


def is_refit_due(num_observations: int) -> bool:
    """Hyper-parameters are fitted after each of the first 20 evaluations, then every fifth."""
    return num_observations <= 20 or num_observations % 5 == 0


def run_trial(
    landscape: Landscape,
    strategy: Strategy,
    *,
    budget: int,
    seed: int,
    kernel: KernelName = "mallows",
    schedule: BetaSchedule = "log",
    candidates: int | None = None,
    prior: NDArray[np.float64] | None = None,
) -> Trial:
    """Search for `budget` evaluations; every order passes the gate.

    Args:
        landscape: what is searched.
        strategy: how the next order is chosen.
        budget: evaluations.
        seed: of noise and choices.
        kernel: of the surrogate.
        schedule: of ucb's beta.
        candidates: random orders that each choice is made among; all 120 if left out.
        prior: (120,), mean of the surrogate before any evaluation; the same for all if left out.
    """
    rng = np.random.default_rng(child_seed(seed, "search", strategy))
    observations: list[Observation] = []
    visited: list[int] = []
    named: list[int] = []
    surrogate: Surrogate = fit_surrogate([], kernel=kernel, prior=prior)
    config = SearchConfig(
        acquisition=strategy, schedule=schedule, kernel=kernel, candidates=candidates
    )
    for t in range(1, budget + 1):
        known = Situation(
            surrogate.belief, np.ones(NUM_ORDERS), visited=visited, has_prior=prior is not None
        )
        order = choose(config, known, rng).order
        observations.append(landscape.evaluate(order, rng))
        visited.append(order)
        if strategy in ("random", "sweep"):
            named.append(max(observations, key=lambda one: one.value).order)
            continue
        kept = None if is_refit_due(t) else surrogate.hyperparameters
        surrogate = fit_surrogate(
            observations, kernel=kernel, seed=child_seed(seed, "fit", t), hyperparameters=kept,
            prior=prior,
        )  # fmt: skip
        named.append(max(visited, key=lambda order: surrogate.belief.mean[order]))
    if strategy in ("random", "sweep"):
        surrogate = fit_surrogate(observations, kernel=kernel, seed=child_seed(seed, "fit", budget))
    return Trial(visited, named, surrogate.belief)


def mean_regrets(
    landscapes: Sequence[Landscape], trials: Sequence[Trial], budget: int
) -> tuple[float, float]:
    """Found and named regret after `budget` evaluations, averaged over the trials."""
    pairs = list(zip(landscapes, trials, strict=True))
    found = [land.regret[trial.visited[:budget]].min() for land, trial in pairs]
    named = [land.regret[trial.named[budget - 1]] for land, trial in pairs]
    return float(np.mean(found)), float(np.mean(named))


def tied_with_best(returns: NDArray[np.float64]) -> NDArray[np.bool_]:  # (120, n) -> (120,)
    """Orders whose true mean is within 2 standard errors (of the best's mean) of the best."""
    means = returns.mean(axis=1)
    best = int(means.argmax())
    std_error = returns[best].std(ddof=1) / returns.shape[1] ** 0.5
    return np.asarray(means >= means[best] - 2 * std_error)


def compare_strategies(
    config: SimConfig,
    *,
    num_seeds: int,
    num_episodes: int,
    seed: int,
    ways: Sequence[str] = tuple(WAYS),
    budgets: Sequence[int] | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """Search the restore oracle's values of all orders in one game, in each way.

    Args:
        config: the game.
        num_seeds: searches of each way.
        num_episodes: of which an order's true value is the mean, at least 200.
        seed: root seed.
        ways: how the next order is chosen, names of `WAYS`.
        budgets: numbers of evaluations after which to look; `BUDGETS` if left out.
        report: told what is going on.

    Returns:
        A row for each way and budget, with 95 % bootstrap intervals over the searches.
    """
    budgets = budgets or BUDGETS
    returns = oracle_returns(config, max(num_episodes, EVALUATION_EPISODES), seed)
    land = of_returns(returns / TENTHS_PER_POINT)
    best = tied_with_best(returns / TENTHS_PER_POINT)
    rows = []
    for way in ways:
        report(f"{way}: {num_seeds} searches of {max(budgets)} evaluations")
        strategy, candidates = WAYS[way]
        trials = [
            run_trial(
                land, strategy, budget=max(budgets), seed=child_seed(seed, "trial", one),
                candidates=candidates,
            )
            for one in range(num_seeds)
        ]  # fmt: skip
        for budget in budgets:
            regrets = np.array([[land.regret[trial.named[budget - 1]]] for trial in trials])
            named = estimate(mean, regrets, seed=seed)
            rows.append(
                {
                    "strategy": way,
                    "evaluations": budget,
                    "named regret": named.value,
                    "low": named.low,
                    "high": named.high,
                    "found regret": mean_regrets([land] * num_seeds, trials, budget)[0],
                    "best class visited": float(
                        np.mean([trial.first_visit(best) <= budget for trial in trials])
                    ),
                }
            )
    return rows
