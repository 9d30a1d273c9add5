"""The truth that a search is checked against: every order trained and measured, for two bases.

python benchmarks/sweeps.py

All 120 orders start from the any-order policy of `learner.py any-order` with a base's seed, train a
little and are measured: a table in benchmarks/truth for each game and base. Runs go to --folder and
are resumed or re-used.
"""

from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

import learner
import results
from standing_orders.compare.trials import EVALUATION_EPISODES, Landscape
from standing_orders.config import SearchConfig
from standing_orders.rules.orders import NUM_ORDERS, Order
from standing_orders.search.run import resume_search, search
from standing_orders.search.state import SearchState
from standing_orders.search.surrogate import Observation
from standing_orders.seeding import child_seed

FOLDER = Path(__file__).parent / "truth"
BASE_EPISODES = 100  # an order, that say what the base earns


@dataclass(frozen=True)
class Task:
    """What to sweep."""

    games: tuple[Literal["b_line", "b_line-late", "meander-late"], ...] = (
        "b_line", "b_line-late", "meander-late",
    )  # fmt: skip
    bases: tuple[int, ...] = (11, 12)  # seeds of the policies that all orders start from
    training_episodes: int = 200  # an order
    episodes: int = 600  # an order, that score its policy
    folder: Path = Path("runs/benchmark")
    quick: bool = False  # two orders and a handful of episodes: shows that it runs, writes nothing
    results: Path = FOLDER  # where the tables go


@dataclass(frozen=True)
class Sweep:
    """What learned policies reach, sorted by order."""

    name: str
    mean: NDArray[np.float64]  # (120,)
    std_error: NDArray[np.float64]  # (120,)
    num_episodes: NDArray[np.float64]  # (120,): that the mean is of
    has_passed: NDArray[np.bool_]  # (120,)
    strict: NDArray[np.float64]  # (120,)
    contested: NDArray[np.float64]  # (120,)
    base: NDArray[np.float64]  # (120,): what the policy that all began with earns
    base_error: NDArray[np.float64]  # (120,)

    @property
    def tied(self) -> NDArray[np.bool_]:  # (120,)
        """Orders within 2 standard errors of the best."""
        best = int(self.mean.argmax())
        return np.asarray(self.mean >= self.mean[best] - 2 * self.std_error[best])

    def landscape(self) -> Landscape:
        """Truth is the sweep's mean; an evaluation has the error of fewer episodes."""
        errors = self.std_error * (self.num_episodes / EVALUATION_EPISODES) ** 0.5

        def evaluate(order: int, rng: np.random.Generator) -> Observation:
            value = self.mean[order] + errors[order] * rng.standard_normal()
            return Observation(order, float(value), float(errors[order]))

        return Landscape(self.mean, evaluate)

    def prior(self, seed: int) -> NDArray[np.float64]:  # (120,)
        """What the base policy earns in as many other episodes."""
        rng = np.random.default_rng(child_seed(seed, "prior"))
        return np.asarray(self.base + self.base_error * rng.standard_normal(NUM_ORDERS))


def read_sweep(path: Path) -> Sweep:
    """Read one of the tables."""
    rows = results.read(path.name, path.parent)
    if [row["order"] for row in rows] != [str(Order(index)) for index in range(NUM_ORDERS)]:
        raise ValueError(f"{path}: must have all {NUM_ORDERS} orders, sorted by number")
    mean, error, counts, strict, contested, base, base_error = (
        np.array([float(row[name]) for row in rows])
        for name in (
            "mean_return", "std_error", "episodes", "strict", "contested", "base_return",
            "base_error",
        )
    )  # fmt: skip
    passed = np.array([row["passed"] == "True" for row in rows])
    return Sweep(path.stem, mean, error, counts, passed, strict, contested, base, base_error)


def read_sweeps() -> list[Sweep]:
    """All of the tables."""
    return [read_sweep(path) for path in sorted(FOLDER.glob("*.csv"))]


def sweep(task: Task, game: str, base_seed: int) -> SearchState:
    """Train and measure all orders of a game once, or go on with that."""
    path = task.folder / f"sweep-{game}-{base_seed}"
    if path.exists():
        return resume_search(path)
    training = learner.Task("any-order", task.folder, quick=task.quick)
    base = learner.fast_run(training, game, base_seed)
    each = BASE_EPISODES + task.training_episodes + task.episodes
    config = SearchConfig(
        **learner.GAMES[game], acquisition="sweep", order_episodes=task.training_episodes,
        evaluation_episodes=task.episodes, prior_episodes=BASE_EPISODES, final_episodes=2,
        stop_chance=0.0, max_orders=2 if task.quick else NUM_ORDERS, budget=NUM_ORDERS * each + 2,
    )  # fmt: skip
    return search(config, path, base=base)


def main(task: Task) -> None:
    """Write the table of each game and base."""
    for game, base_seed in product(task.games, task.bases):
        state = sweep(task, game, base_seed)
        source = (
            f"python benchmarks/sweeps.py; {task.training_episodes} training episodes and "
            f"{task.episodes} fresh ones an order, from the policy of seed {base_seed}; base: what "
            f"that policy earns, n = {BASE_EPISODES} an order"
        )
        folder = None if task.quick else task.results
        with results.table(f"{game}-{base_seed}.csv", source=source, folder=folder) as add:
            for one in sorted(state.results, key=lambda one: one.order.index):
                assert one.measured is not None
                assert state.prior is not None
                contested = one.measured.contested.value
                add(
                    order=one.order, passed=one.measured.gate.has_passed,
                    mean_return=f"{one.measured.mean_return:.3f}",
                    std_error=f"{one.measured.std_error:.3f}", episodes=one.episodes["evaluation"],
                    strict=f"{one.measured.strict.value:.4f}",
                    contested="nan" if contested is None else f"{contested:.4f}",
                    base_return=f"{state.prior.returns[one.order.index]:.3f}",
                    base_error=f"{state.prior.std_errors[one.order.index]:.3f}",
                )  # fmt: skip


if __name__ == "__main__":
    results.launch(main, Task, __doc__)
