"""What a search says at its end, where nothing matters and where one precedence does.

python benchmarks/answer.py    # how often it says so, and how often it names that one first

An evaluation has a standard error of 1; a seed fixes noise and choices, and which precedence it is.
"""

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

import results
from standing_orders.cage2.scenario import UNIT_TYPES
from standing_orders.compare.trials import Landscape, run_trial
from standing_orders.config import Strategy
from standing_orders.rules.orders import PAIRS, PRECEDENCE_BITS
from standing_orders.search.answer import answer
from standing_orders.search.surrogate import Observation


@dataclass(frozen=True)
class Task:
    """How often to search, and for what."""

    num_seeds: int = 100
    first_seed: int = 0
    visits: int = 30  # evaluations of a search
    worths: tuple[float, ...] = (0.0, 2.0, 5.0)  # of the precedence, in standard errors
    strategies: tuple[Strategy, ...] = ("ucb", "random")
    results: Path = results.FOLDER  # where the result goes


def one_precedence(pair: int, worth: float) -> Landscape:
    """One precedence is worth something, in standard errors of an evaluation; nothing else is."""
    truth = worth * PRECEDENCE_BITS[:, pair].astype(np.float64)

    def evaluate(order: int, rng: np.random.Generator) -> Observation:
        return Observation(order, float(truth[order] + rng.standard_normal()), 1.0)

    return Landscape(truth, evaluate)


def measure(task: Task, worth: float, strategy: Strategy) -> dict[str, object]:
    """What the searches of all seeds say."""
    said, named, best, lost = 0, 0, 0, []
    for seed in range(task.first_seed, task.first_seed + task.num_seeds):
        pair = seed % len(PAIRS)
        land = one_precedence(pair, worth)
        found = answer(run_trial(land, strategy, budget=task.visits, seed=seed).belief)
        top = found.precedences[0]
        said += not found.matters
        named += found.matters and (top.first, top.second) == tuple(
            UNIT_TYPES[unit_type] for unit_type in PAIRS[pair]
        )
        best += bool(land.regret[found.best] <= 0)
        equal = set(np.flatnonzero(land.regret <= 0).tolist())
        lost.append(len(equal - {found.best, *found.ties}) / len(equal))
    return {
        "says_nothing_matters": said,
        "names_it_first": named if worth else "",
        "best_is_best": best,
        "equal_called_worse": f"{100 * np.mean(lost):.1f}",
    }


def main(task: Task) -> None:
    """Measure, print and write."""
    source = (
        f"python benchmarks/answer.py; n = {task.num_seeds} seeds (from {task.first_seed}), counts "
        f"are seeds; {task.visits} evaluations a search; seed s: precedence s modulo {len(PAIRS)}"
    )
    with results.table("search-answer.csv", source=source, folder=task.results) as add:
        for worth, strategy in product(task.worths, task.strategies):
            add(worth=f"{worth:g}", strategy=strategy, **measure(task, worth, strategy))


if __name__ == "__main__":
    results.launch(main, Task, __doc__)
