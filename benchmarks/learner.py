"""Every figure of the README about learning. Runs go to --folder and are resumed or re-used.

python benchmarks/learner.py unconstrained
python benchmarks/learner.py any-order
python benchmarks/learner.py one-order
python benchmarks/learner.py published
python benchmarks/learner.py leaderboard
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tyro

from standing_orders.api.settings import preset
from standing_orders.config import GameConfig, RedAgent, SimConfig, TrainConfig
from standing_orders.evaluate.card import evaluate
from standing_orders.evaluate.obedience import measure_obedience, summarise
from standing_orders.learn.policy import LearnedDefender
from standing_orders.learn.run import load_network, resume, train
from standing_orders.rules.orders import NAMED_ORDERS, NUM_ORDERS
from standing_orders.runs.folder import RunFolder

EVALUATION_SEED = 1_000_003  # of no training run


@dataclass(frozen=True)
class Task:
    """What to measure, and where the runs are."""

    what: tyro.conf.Positional[
        Literal["unconstrained", "any-order", "one-order", "published", "leaderboard"]
    ]
    folder: Path = Path("runs/benchmark")
    reds: tuple[Literal["b_line", "meander"], ...] = ("b_line", "meander")
    seeds: tuple[int, ...] = (0, 1, 2)
    quick: bool = False  # a handful of episodes: shows that it runs, and nothing else

    @property
    def orders(self) -> list[int]:
        """The orders to measure."""
        return list(range(2 if self.quick else NUM_ORDERS))

    def preset(self, name: str, **changes: Any) -> TrainConfig:
        """A preset with some values changed."""
        if self.quick:
            changes |= {"episodes": 20, "update_episodes": 20}
        config: TrainConfig = preset(name, **changes)
        return config

    def count(self, num_episodes: int) -> int:
        """Episodes of a measurement."""
        return 2 if self.quick else num_episodes


def finished_run(path: Path, config: TrainConfig, start: Path | None = None) -> Path:
    """Train unless that was done before."""
    if (path / "run.json").exists():
        resume(path)
    else:
        train(config, path, start=start)
    return path


def row(*cells: object) -> None:
    """One line of a Markdown table."""
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def header(*cells: str) -> None:
    """The first two lines of a Markdown table."""
    row(*cells)
    row(*("---" for _ in cells))


def unconstrained(task: Task) -> None:
    """Return of 100 steps without an order, 2,000 fresh episodes each."""
    header("red", "seed", "greedy", "sampled")
    for red in task.reds:
        for seed in task.seeds:
            config = task.preset("unconstrained", red=red, seed=seed)
            run = finished_run(task.folder / f"none-{red}-{seed}", config)
            network, _ = load_network(run)
            cells = []
            for is_greedy in (True, False):
                policy = LearnedDefender(network, name=run.name, is_greedy=is_greedy)
                card = evaluate(
                    policy,
                    GameConfig(),
                    reds=(red,),
                    num_episodes=task.count(2_000),
                    seed=EVALUATION_SEED,
                )
                score = card.score(red, 100)
                cells.append(f"{score.mean:.2f} ± {score.std_error:.2f}")
            row(red, seed, *cells)


def leaderboard(task: Task) -> None:
    """One network against all red agents on the leaderboard's rules: the total score card."""
    header("seed", "red", "30", "50", "100", "all")
    for seed in task.seeds:
        config = task.preset("leaderboard", seed=seed)
        network, _ = load_network(finished_run(task.folder / f"leaderboard-{seed}", config))
        for is_greedy in (True, False):
            name = "greedy" if is_greedy else "sampled"
            policy = LearnedDefender(network, name=name, is_greedy=is_greedy)
            card = evaluate(
                policy, GameConfig(rules="leaderboard-2022"), reds=("b_line", "meander", "sleep"),
                num_episodes=task.count(1_000), seed=EVALUATION_SEED,
            )  # fmt: skip
            for red in ("b_line", "meander", "sleep", "total"):
                scores = [card.score(red, horizon) for horizon in (30, 50, 100, None)]
                cells = (f"{score.mean:.2f} ± {score.std_error:.2f}" for score in scores)
                row(f"{seed} ({name})", red, *cells)


_SUMMARY = ("passed", "strict", "contested", "mean_return", "worst_return", "swap_gap")


def any_order_run(task: Task, red: RedAgent, seed: int) -> Path:
    """The policy that follows whichever order it is told."""
    return finished_run(task.folder / f"any-{red}-{seed}", task.preset("fast", red=red, seed=seed))


def any_order(task: Task) -> None:
    """One policy for all orders: 200 fresh episodes for each of the 120, actions drawn."""
    header("red", "seed", "episodes", *_SUMMARY)
    for red in task.reds:
        for seed in task.seeds:
            network, config = load_network(any_order_run(task, red, seed))
            measured = measure_obedience(
                LearnedDefender(network, name="any"), SimConfig(red=red), task.orders,
                num_episodes=task.count(200), seed=EVALUATION_SEED,
            )  # fmt: skip
            figures = summarise(measured)
            row(red, seed, config.episodes, *(f"{figures[name]:.4g}" for name in _SUMMARY))


def one_order(task: Task) -> None:
    """All 120 orders from one warm start, each until the gate or 3,000 further episodes."""
    header("red", "warm start", "median further episodes", "most", *_SUMMARY)
    for red in task.reds:
        base = any_order_run(task, red, 0)
        further, measured = [], []
        for order in task.orders:
            config = task.preset("fast-order", red=red, order=str(order), seed=order)
            run = finished_run(task.folder / f"order-{red}-{order:03d}", config, base)
            network, _ = load_network(run)
            further.append(int(last_record(run)["total_episodes"]))
            measured += measure_obedience(
                LearnedDefender(network, name=run.name), SimConfig(red=red), [order],
                num_episodes=task.count(200), seed=EVALUATION_SEED,
            )  # fmt: skip
        warm = RunFolder.open(base, kind="train").config["episodes"]
        figures = summarise(measured)
        cells = (f"{figures[name]:.4g}" for name in _SUMMARY)
        row(red, f"{warm} episodes", f"{np.median(further):.0f}", max(further), *cells)


def last_record(run: Path) -> dict[str, Any]:
    """What a run said at its end."""
    return RunFolder.open(run, kind="train").journal().read()[-1]


def published(task: Task) -> None:
    """The published baseline and all its proposals from scratch, beside ours, 3,000 episodes."""
    header("preset", "order", "ended by", "strict", "contested", "response", "return", "fired")
    for name in ("published", "published-all", "fast"):
        for order in list(NAMED_ORDERS)[: len(task.orders)]:
            config = task.preset(name, order=order, episodes=3_000)
            run = finished_run(task.folder / f"{name}-{order}", config)
            network, config = load_network(run)
            (one,) = measure_obedience(
                LearnedDefender(network, name=name), SimConfig(red="b_line"), [_index(run)],
                num_episodes=task.count(200), seed=EVALUATION_SEED,
            )  # fmt: skip
            found = one.measured
            figures = (found.strict.value, found.contested.value, found.kept.response_rate)
            row(
                name, one.order, last_record(run)["stopped"],
                *("-" if value is None else f"{value:.3f}" for value in figures),
                f"{found.mean_return:.1f} ± {found.std_error:.1f}", _fired(run),
            )  # fmt: skip


def _index(run: Path) -> int:
    return int(last_record(run)["order_id"])


def _fired(run: Path) -> str:
    """From which update on each schedule changed anything."""
    records = RunFolder.open(run, kind="train").journal().read()
    first = records[0]["settings"]
    changes = []
    for name in ("num_episodes", "weight", "learning_rate", "epochs", "mask_factor"):
        updates = [r["update"] for r in records if r["settings"][name] != first[name]]
        if updates:
            changes.append(f"{name} from update {updates[0]}")
    return ", ".join(changes) or "nothing"


COMMANDS: dict[str, Callable[[Task], None]] = {
    "unconstrained": unconstrained,
    "any-order": any_order,
    "one-order": one_order,
    "published": published,
    "leaderboard": leaderboard,
}


def main(task: Annotated[Task, tyro.conf.arg(name="")]) -> None:
    """Measure and print a table."""
    COMMANDS[task.what](task)


if __name__ == "__main__":
    main(tyro.cli(Task, description=__doc__))
