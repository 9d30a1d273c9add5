"""Figures about collecting episodes, as CSV files in benchmarks/results. Run alone on the machine.

python benchmarks/collect.py speed --cyborg-path CHECKOUT
python benchmarks/collect.py learn --cyborg-path CHECKOUT
python benchmarks/collect.py transfer --cyborg-path CHECKOUT --policy RUN
"""

import csv
import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import tyro

from standing_orders.config import CollectConfig, GameConfig, SimulatorConfig, TrainConfig
from standing_orders.evaluate.bench_collect import WORKERS, games, measure_cells
from standing_orders.evaluate.both import EquivalenceTask, compare_simulators
from standing_orders.evaluate.claims import judge_claims
from standing_orders.learn.ppo import use_one_thread
from standing_orders.learn.trainer import Trainer

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Task:
    """What to measure."""

    what: tyro.conf.Positional[Literal["speed", "learn", "transfer"]]
    cyborg_path: str | None = None  # a checkout of CAGE Challenge 2
    workers: tuple[int, ...] = WORKERS
    seconds: float = 10.0  # speed: for each cell
    limit: float = 300.0  # speed: for each cell
    episodes: int = 400  # learn: of each run
    seeds: tuple[int, ...] = (0, 1, 2)  # learn
    policy: str = "heuristic"  # transfer

    @property
    def cyborg(self) -> SimulatorConfig:
        """The user's CybORG."""
        return SimulatorConfig(sim="cyborg", cyborg_path=self.cyborg_path)


def write(name: str, rows: Sequence[dict[str, Any]]) -> None:
    """One CSV file."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"collect_{name}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    print(path)


def speed(task: Task) -> None:
    """Episodes a second of every collector, and the claims."""
    simulator = SimulatorConfig(cyborg_path=task.cyborg_path)
    cells = []
    for spec in games(simulator):
        for cell in measure_cells(
            spec, workers=task.workers, seconds=task.seconds, limit=task.limit
        ):
            print(cell)
            cells.append(cell)
    write("speed", [cell.to_json() for cell in cells])
    write("claims", [claim.to_json() for claim in judge_claims(cells, os.cpu_count() or 1)])


def learn(task: Task) -> None:
    """The same training in both simulators: return of the last quarter of the updates."""
    rows = []
    for sim, collect in (("own", "batch"), ("cyborg", "episodes")):
        for seed in task.seeds:
            config = TrainConfig(
                order="none", episodes=task.episodes, update_episodes=20, seed=seed, sim=sim,
                cyborg_path=task.cyborg_path, collect=collect, workers=os.cpu_count() or 1,
            )  # fmt: skip
            with closing(Trainer(config)) as trainer:
                returns = []
                while not trainer.is_done:
                    returns.append(trainer.step()["reward"]["environment"])
            last = returns[-max(1, len(returns) // 4) :]
            row = {"sim": sim, "seed": seed, "episodes": task.episodes}
            rows.append(row | {"first": returns[0], "last_quarter": sum(last) / len(last)})
            print(rows[-1])
    write("learn", rows)


def transfer(task: Task) -> None:
    """One policy in both simulators."""
    collect = CollectConfig(collect="episodes", workers=os.cpu_count() or 1)
    result = compare_simulators(
        EquivalenceTask(
            task.policy, GameConfig(), task.cyborg, collect, reds=("b_line", "meander", "sleep"),
            num_episodes=task.episodes, own_episodes=10 * task.episodes, seed=1_000_003,
        ),
        advance=lambda _: None,
        report=print,
    )  # fmt: skip
    write("transfer", [cell.to_json() for cell in result.cells])


if __name__ == "__main__":
    use_one_thread()
    chosen = tyro.cli(Task)
    {"speed": speed, "learn": learn, "transfer": transfer}[chosen.what](chosen)
