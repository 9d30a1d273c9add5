"""The search against the truth, beside random choice: every figure that is claimed of it.

python benchmarks/search.py synthetic   # landscapes with a known best order
python benchmarks/search.py oracle      # the restore oracle, which sees the true state
python benchmarks/search.py learned     # learned policies, as benchmarks/sweeps.py found them
python benchmarks/search.py candidates  # all 120 orders at each choice, or a few random ones
python benchmarks/search.py starts      # a policy for each order, or one that is handed on

An evaluation is noisy; a seed fixes landscape, noise and choices. *Found* regret is that of the
best order visited so far, *named* regret that of the order the search would name: by ucb the
visited one with the highest posterior mean, by random choice the one with the highest observed
value. Both are measured on the true values.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal, get_args

import numpy as np
import tyro
from numpy.typing import NDArray

import results
from standing_orders.cage2.reward import TENTHS_PER_POINT
from standing_orders.compare.trials import (
    EVALUATION_EPISODES,
    Landscape,
    Trial,
    mean_regrets,
    of_returns,
    run_trial,
    tied_with_best,
)
from standing_orders.config import BetaSchedule, KernelName, SearchConfig, SimConfig, Strategy
from standing_orders.rules.orders import NUM_ORDERS, PRECEDENCE_BITS, Order
from standing_orders.search.oracle import oracle_returns
from standing_orders.search.run import search
from standing_orders.search.state import SearchState
from standing_orders.search.surrogate import Observation
from standing_orders.seeding import child_seed
from sweeps import read_sweeps

NOISE = 0.1  # standard error of an evaluation of a synthetic landscape, whose range is 1
RUGGEDNESS = 0.2  # standard deviation of an order's own part, before the range is made 1
ORACLE_EPISODES = 2_000
LEARNED_SEEDS = 20
LEARNED_BUDGETS = (5, 10, 20)
LEARNED_WAYS: dict[str, Strategy] = {
    "ucb, prior": "ucb", "ucb": "ucb", "random": "random", "sweep": "sweep",
}  # fmt: skip
CANDIDATE_SEEDS = 12  # a search chooses 40 times, each time with a fitted model
START_SEEDS = 2  # these are trained
CANDIDATES = (6, 10, 30, None)  # None: all 120
Start = Literal["scratch", "nearest", "previous", "base"]
SETTINGS = {
    "b_line, head_start 20": SimConfig(red="b_line", head_start=20),
    "meander, head_start 30, red_tempo 2": SimConfig(red="meander", head_start=30, red_tempo=2),
    "b_line, standard": SimConfig(red="b_line"),
    "meander, standard": SimConfig(red="meander"),
}


def synthetic(seed: int, *, is_rugged: bool) -> Landscape:
    """Additive in the precedence bits, each bit's weight normal; rugged: an own part besides."""
    rng = np.random.default_rng(child_seed(seed, "landscape"))
    truth = _to_unit_range(PRECEDENCE_BITS @ rng.standard_normal(PRECEDENCE_BITS.shape[1]))
    if is_rugged:
        truth = _to_unit_range(truth + RUGGEDNESS * rng.standard_normal(NUM_ORDERS))

    def evaluate(order: int, rng: np.random.Generator) -> Observation:
        return Observation(order, float(truth[order] + NOISE * rng.standard_normal()), NOISE)

    return Landscape(truth, evaluate)


def _to_unit_range(values: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.asarray((values - values.min()) / np.ptp(values))


@dataclass(frozen=True)
class Task:
    """What to measure."""

    what: tyro.conf.Positional[Literal["synthetic", "oracle", "learned", "candidates", "starts"]]
    num_seeds: int = 100
    first_seed: int = 0
    schedule: BetaSchedule = "log"
    strategies: tuple[Strategy, ...] = ("ucb", "random")
    kernel: KernelName = "mallows"
    oracle_seed: int = 0
    orders: int = 5  # starts: visits of a search
    order_episodes: int = 800  # starts: training of a visit
    base_episodes: int = 2_000  # starts: training of the base policy
    results: Path = results.FOLDER  # where the result goes

    @property
    def seeds(self) -> range:
        """One search of each strategy for each."""
        return range(self.first_seed, self.first_seed + self.num_seeds)

    @property
    def note(self) -> str:
        """What the tables are made of."""
        return (
            f"n = {self.num_seeds} seeds ({self.seeds[0]} to {self.seeds[-1]}); counts are seeds; "
            f"kernel {self.kernel}, beta schedule {self.schedule}"
        )

    def table(self, name: str, note: str) -> AbstractContextManager[Callable[..., None]]:
        """A table of a measurement, with what it rests on."""
        source = f"python benchmarks/search.py {self.what}; {note}"
        return results.table(f"{name}.csv", source=source, folder=self.results)

    def search(
        self,
        landscape: Landscape,
        strategy: Strategy,
        budget: int,
        seed: int,
        candidates: int | None = None,
        prior: NDArray[np.float64] | None = None,
    ) -> Trial:
        """One search as asked for."""
        return run_trial(
            landscape, strategy, budget=budget, seed=seed, kernel=self.kernel,
            schedule=self.schedule, candidates=candidates, prior=prior,
        )  # fmt: skip


def run_synthetic(task: Task) -> None:
    """Best order within 40, one of the top three within 60, regret at every budget."""
    budgets = (5, 10, 20, 40, 60)
    note = f"{task.note}; range of each landscape 1, noise {NOISE}"
    with task.table("search-synthetic", note) as add:
        for name, strategy in product(("additive", "rugged"), task.strategies):
            lands = [synthetic(s, is_rugged=name == "rugged") for s in task.seeds]
            trials = [
                task.search(land, strategy, 60, seed)
                for seed, land in zip(task.seeds, lands, strict=True)
            ]
            pairs = list(zip(lands, trials, strict=True))
            best = np.array([t.first_visit(land.regret <= 0) for land, t in pairs])
            top = np.array(
                [t.first_visit(land.regret <= np.sort(land.regret)[2]) for land, t in pairs]
            )
            add(
                landscape=name, strategy=strategy,
                **{f"best_{budget}": (best <= budget).sum() for budget in (20, 40, 60)},
                **{f"top3_{budget}": (top <= budget).sum() for budget in (40, 60)},
                **regret_cells(lands, trials, budgets, digits=4),
            )  # fmt: skip


def regret_cells(
    landscapes: list[Landscape], trials: list[Trial], budgets: tuple[int, ...], *, digits: int
) -> dict[str, str]:
    """Found and named regret after each budget."""
    cells: dict[str, str] = {}
    for budget in budgets:
        found, named = mean_regrets(landscapes, trials, budget)
        cells[f"found_{budget}"] = f"{found:.{digits}f}"
        cells[f"named_{budget}"] = f"{named:.{digits}f}"
    return cells


def run_oracle(task: Task) -> None:
    """Spread of the truth; regret and the best class, in contested games."""
    budgets = (10, 20, 40)
    truths = {
        name: oracle_returns(config, ORACLE_EPISODES, task.oracle_seed) / TENTHS_PER_POINT
        for name, config in SETTINGS.items()
    }
    with task.table(
        "search-oracle-truth", f"n = {ORACLE_EPISODES} episodes an order, seed {task.oracle_seed}"
    ) as add:
        for name, returns in truths.items():
            means = returns.mean(axis=1)
            best = int(means.argmax())
            std_error = returns[best].std(ddof=1) / ORACLE_EPISODES**0.5
            add(
                game=name, best=f"{means.max():.2f}", worst=f"{means.min():.2f}",
                std_error=f"{std_error:.2f}", distinct_means=len(np.unique(means)),
                tied_for_best=tied_with_best(returns).sum(), best_order=str(Order(best)),
            )  # fmt: skip
    note = (
        f"{task.note}; an evaluation is the mean of {EVALUATION_EPISODES} of the "
        f"{ORACLE_EPISODES} episodes; best class: true mean within 2 standard errors of the best"
    )
    with task.table("search-oracle", note) as add:
        for name, returns in truths.items():
            land, tied = of_returns(returns), tied_with_best(returns)
            if tied.all():
                equal = {f"class_{budget}": task.num_seeds for budget in budgets}
                zero = {f"{kind}_{budget}": 0 for budget in budgets for kind in ("found", "named")}
                add(game=name, strategy="any", **equal, **zero)
                continue
            for strategy in task.strategies:
                trials = [task.search(land, strategy, max(budgets), seed) for seed in task.seeds]
                add(
                    game=name, strategy=strategy, **class_cells(trials, tied, budgets),
                    **regret_cells([land] * task.num_seeds, trials, budgets, digits=2),
                )  # fmt: skip


def class_cells(
    trials: list[Trial], tied: NDArray[np.bool_], budgets: tuple[int, ...]
) -> dict[str, int]:
    """How many searches have visited one of the best orders after each budget."""
    first = np.array([trial.first_visit(tied) for trial in trials])
    return {f"class_{budget}": int((first <= budget).sum()) for budget in budgets}


def run_learned(task: Task) -> None:
    """Spread of what learned policies reach; regret of a search over them."""
    sweeps = read_sweeps()
    with task.table("search-learned-truth", "n and bases: benchmarks/truth") as add:
        for sweep in sweeps:
            best = int(sweep.mean.argmax())
            add(
                sweep=sweep.name, episodes=f"{sweep.num_episodes.min():.0f}",
                passed=f"{sweep.has_passed.sum()} of {NUM_ORDERS}",
                best=f"{sweep.mean.max():.2f}", worst=f"{sweep.mean.min():.2f}",
                std_error=f"{sweep.std_error[best]:.2f}", tied_for_best=sweep.tied.sum(),
                lowest_strict=f"{sweep.strict.min():.3f}",
                lowest_contested=f"{np.nanmin(sweep.contested):.3f}",
                gained=f"{(sweep.mean - sweep.base).mean():.2f}", best_order=str(Order(best)),
            )  # fmt: skip
    seeds = task.seeds[:LEARNED_SEEDS]
    note = (
        f"n = {len(seeds)} seeds ({seeds[0]} to {seeds[-1]}), counts are seeds; an evaluation has "
        f"the error of {EVALUATION_EPISODES} episodes"
    )
    with task.table("search-learned", note) as add:
        for sweep, (name, strategy) in product(sweeps, LEARNED_WAYS.items()):
            has_prior = name == "ucb, prior"
            priors = [sweep.prior(seed) for seed in seeds]
            land = sweep.landscape()
            trials = [
                task.search(
                    land, strategy, max(LEARNED_BUDGETS), seed, prior=prior if has_prior else None
                )
                for seed, prior in zip(seeds, priors, strict=True)
            ]
            by_base_alone = sum(bool(sweep.tied[prior.argmax()]) for prior in priors)
            add(
                sweep=sweep.name, strategy=name, class_0=by_base_alone if has_prior else "",
                **class_cells(trials, sweep.tied, LEARNED_BUDGETS),
                **regret_cells([land] * len(seeds), trials, LEARNED_BUDGETS, digits=2),
            )  # fmt: skip


def run_candidates(task: Task) -> None:
    """Regret of ucb that chooses among all orders or among a few random ones."""
    task = replace(task, num_seeds=min(task.num_seeds, CANDIDATE_SEEDS))
    budgets = (10, 20, 40)
    places: dict[str, list[Landscape]] = {
        "synthetic, rugged": [synthetic(seed, is_rugged=True) for seed in task.seeds]
    }
    for sweep in read_sweeps():
        places[sweep.name] = [sweep.landscape()] * task.num_seeds
    with task.table("search-candidates", f"{task.note}; strategy ucb") as add:
        for (name, lands), count in product(places.items(), CANDIDATES):
            trials = [
                task.search(land, "ucb", max(budgets), seed, count)
                for seed, land in zip(task.seeds, lands, strict=True)
            ]
            first = [t.first_visit(la.regret <= 0) for la, t in zip(lands, trials, strict=True)]
            add(
                landscape=name, candidates=count or NUM_ORDERS,
                best_in_40=int((np.array(first) <= max(budgets)).sum()),
                **regret_cells(lands, trials, budgets, digits=3),
            )  # fmt: skip


def run_starts(task: Task) -> None:
    """What the same orders reach, each trained as long, by where their policies begin."""
    task = replace(task, num_seeds=min(task.num_seeds, START_SEEDS))
    note = (
        f"n = {task.num_seeds} searches ({task.seeds[0]} to {task.seeds[-1]}) of {task.orders} "
        f"orders, the same for all starts, {task.order_episodes} episodes each, b_line, head_start "
        f"20; base: {task.base_episodes} episodes besides"
    )
    with task.table("search-starts", note) as add:
        for start in get_args(Start):
            states = [_small_search(task, start, seed) for seed in task.seeds]
            done = [one.measured for state in states for one in state.results]
            kept = [one for one in done if one is not None]
            means = np.array([one.mean_return for one in kept])
            strict = [one.strict.value for one in kept if one.strict.value is not None]
            contested = [one.contested.value for one in kept if one.contested.value is not None]
            best = [max(o.measured.mean_return for o in s.results if o.measured) for s in states]
            add(
                start=start, passed=f"{sum(one.gate.has_passed for one in kept)} of {len(kept)}",
                mean_return=f"{means.mean():.1f}",
                std_error=f"{means.std(ddof=1) / len(means) ** 0.5:.1f}",
                best_return=f"{np.mean(best):.1f}", strict=f"{np.mean(strict):.3f}",
                contested=f"{np.mean(contested):.3f}",
                episodes=int(np.mean([state.used for state in states])),
            )  # fmt: skip


def _small_search(task: Task, start: Start, seed: int) -> SearchState:
    config = SearchConfig(
        head_start=20, start=start, acquisition="random", max_orders=task.orders, prior="none",
        order_episodes=task.order_episodes, seed=seed, base={"episodes": task.base_episodes},
        budget=task.base_episodes + (task.orders + 1) * (task.order_episodes + EVALUATION_EPISODES),
        evaluation_episodes=EVALUATION_EPISODES, final_episodes=2,
    )  # fmt: skip
    with TemporaryDirectory() as folder:
        return search(config, Path(folder) / "run", report=lambda _: None)


COMMANDS: dict[str, Callable[[Task], None]] = {
    "synthetic": run_synthetic,
    "oracle": run_oracle,
    "learned": run_learned,
    "candidates": run_candidates,
    "starts": run_starts,
}


def main(task: Annotated[Task, tyro.conf.arg(name="")]) -> None:
    """Measure and print tables."""
    COMMANDS[task.what](task)


if __name__ == "__main__":
    results.launch(main, Task, __doc__)
