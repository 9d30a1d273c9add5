"""What `standing-orders compare` says, as tables.

python benchmarks/compare.py baselines    # all baselines, standard game and late game
python benchmarks/compare.py published    # claimed beside measured; a quarter of an hour
python benchmarks/compare.py search       # ways to search, on the restore oracle's values

Comparisons are run folders: what is stopped goes on. Stopped with Ctrl-C, `published` writes what
it has.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

import results
from standing_orders.compare.aggregate import Estimate
from standing_orders.compare.config import CompareConfig
from standing_orders.compare.published import (
    Setting,
    claimed_beside_measured,
    grid,
    outcomes,
    published,
)
from standing_orders.compare.run import compare
from standing_orders.compare.summary import FIGURES, summarise
from standing_orders.compare.trials import compare_strategies
from standing_orders.config import SimConfig

LATE = 20  # steps of head start


@dataclass(frozen=True)
class Task:
    """What to measure, with how much."""

    what: tyro.conf.Positional[Literal["baselines", "published", "search"]]
    folder: Path = Path("runs/benchmark")
    seeds: int = 3  # runs of each contestant; searches of each strategy: ten times that
    episodes: int = 500  # that measure a run
    train_episodes: int = 10_000  # baselines: of each learner and run
    published_episodes: int = 4_000  # of an order and a setting with a claim: the largest claim
    parts: tuple[Literal["claims", "others"], ...] = ("claims", "others")  # published: which
    other_orders: int = 2  # that settings without a claim are trained for
    other_episodes: int = 2_000  # of each of them
    quick: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False  # shows that it runs; no result
    results: Path = results.FOLDER  # where the result goes

    def table(self, name: str, note: str) -> AbstractContextManager[Callable[..., None]]:
        """The table of a measurement, with what it rests on."""
        budget = f" --seeds {self.seeds} --train-episodes {self.train_episodes}"
        source = f"python benchmarks/compare.py {self.what}{budget * (self.what == 'baselines')}; "
        folder = None if self.quick else self.results
        return results.table(f"{name}.csv", source=source + note, folder=folder)

    def config(self, **values: Any) -> CompareConfig:
        """A comparison with this task's numbers."""
        numbers: dict[str, Any] = {
            "seeds": self.seeds, "episodes": self.episodes, "train_episodes": self.train_episodes,
        }  # fmt: skip
        if self.quick:
            numbers = {"seeds": 1, "episodes": 5, "train_episodes": 5, "orders": ("balanced",)}
        return CompareConfig(**(numbers | values))


def cells(name: str, one: Estimate | None, digits: int) -> dict[str, str]:
    """A figure and its interval."""
    if one is None:
        return {name: "", f"{name}_95": ""}
    has_interval = one.low is not None and one.high is not None
    interval = f"{one.low:.{digits}f} to {one.high:.{digits}f}" if has_interval else ""
    return {name: f"{one.value:.{digits}f}", f"{name}_95": interval}


def run_baselines(task: Task) -> None:
    """Every baseline in the standard game and where blue comes late."""
    note = (
        f"n = {task.episodes} fresh episodes in each of {task.seeds} runs against each red agent; "
        f"learners: {task.train_episodes} episodes a run"
    )
    with task.table("compare-baselines", note) as add:
        for game, head_start in (("standard", 0), ("late", LATE)):
            config = task.config(contestants=("baselines",), head_start=head_start)
            records = compare(config, task.folder / f"baselines-{game}", report=print)
            found = summarise(records)
            for row in found.rows:
                figures = {
                    name: "" if row.figures[name] is None else f"{row.figures[name]:.3f}"
                    for name in FIGURES
                }
                add(
                    game=game, defender=row.name,
                    **{red: f"{one.value:.1f}" for red, one in row.returns.items()},
                    **cells("iqm", row.iqm, 3), **cells("better", row.improvement, 2), **figures,
                    training_episodes=row.training_episodes, seconds=f"{row.seconds:.0f}",
                )  # fmt: skip
            for name, why in found.failed.items():
                print(f"{name} failed: {why}")


def run_published(task: Task) -> None:
    """The settings with a claim, and ours, for the six canonical orders; the others for fewer."""
    many = task.config(train_episodes=20 if task.quick else task.published_episodes)
    few = task.config(
        train_episodes=20 if task.quick else task.other_episodes,
        orders=many.orders[: task.other_orders],
    )
    *settings, ours = grid()
    parts: dict[str, tuple[CompareConfig, list[Setting]]] = {
        "claims": (many, [*(one for one in settings if one.is_claimed), ours]),
        "others": (few, [one for one in settings if not one.is_claimed]),
    }
    try:
        for name in task.parts:
            config, some = parts[name]
            published(config, task.folder / f"published-{name}", settings=some, report=print)
    except KeyboardInterrupt:
        print("stopped: the table shows what is finished, and the same command goes on")
    records = [record for name in parts for record in outcomes(task.folder / f"published-{name}")]
    note = (
        f"against B_line, one seed an order, n = orders as shown; {many.train_episodes} episodes "
        f"at most for settings with a claim and ours, {few.train_episodes} for the others"
    )
    with task.table("compare-published", note) as add:
        for row in claimed_beside_measured(records):
            shown = {name.replace(" ", "_").replace("_%", ""): value for name, value in row.items()}
            add(**{name: _short(value) for name, value in shown.items()})


def _short(value: object) -> object:
    return "" if value is None else f"{value:.2f}" if isinstance(value, float) else value


def run_search(task: Task) -> None:
    """Named regret of each way to search, where orders matter."""
    games = {
        "b_line, head_start 20": SimConfig(head_start=LATE),
        "meander, head_start 30, red_tempo 2": SimConfig(red="meander", head_start=30, red_tempo=2),
    }
    num_seeds = 2 if task.quick else 10 * task.seeds
    note = f"n = {num_seeds} searches, an evaluation is the mean of 200 of 2000 episodes"
    with task.table("compare-search", note) as add:
        for game, config in games.items():
            rows = compare_strategies(
                config, num_seeds=num_seeds, num_episodes=200 if task.quick else 2_000, seed=0,
                report=print,
            )  # fmt: skip
            for row in rows:
                shown = {name.replace(" ", "_"): _short(value) for name, value in row.items()}
                add(game=game, **shown)


COMMANDS: dict[str, Callable[[Task], None]] = {
    "baselines": run_baselines,
    "published": run_published,
    "search": run_search,
}


def main(task: Annotated[Task, tyro.conf.arg(name="")]) -> None:
    """Measure and print tables."""
    COMMANDS[task.what](task)


if __name__ == "__main__":
    results.launch(main, Task, __doc__)
