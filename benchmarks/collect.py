"""Figures about collecting episodes, as CSV files in benchmarks/results. Run alone on the machine.

python benchmarks/collect.py speed --cyborg-path CHECKOUT
python benchmarks/collect.py learn --cyborg-path CHECKOUT
python benchmarks/collect.py transfer --cyborg-path CHECKOUT --policy RUN
"""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Literal

import numpy as np
import tyro

import results
from standing_orders.config import CollectConfig, GameConfig, SimulatorConfig, TrainConfig
from standing_orders.evaluate.bench_collect import WORKERS, games, measure_cells, pipe_seconds
from standing_orders.evaluate.both import EquivalenceTask, compare_simulators
from standing_orders.evaluate.claims import judge_claims
from standing_orders.learn.ppo import use_one_thread
from standing_orders.learn.run import load_network
from standing_orders.learn.trainer import Trainer

REDS: tuple[Literal["b_line", "meander", "sleep"], ...] = ("b_line", "meander", "sleep")


@dataclass(frozen=True)
class Task:
    """What to measure."""

    what: tyro.conf.Positional[Literal["speed", "learn", "transfer"]]
    cyborg_path: str | None = None  # a checkout of CAGE Challenge 2
    workers: tuple[int, ...] = WORKERS
    seconds: float = 10.0  # speed: for each cell
    limit: float = 300.0  # speed: for each cell
    episodes: int = 400  # learn: of each run; transfer: in CybORG, for each red agent
    update_episodes: int = 20  # learn
    seeds: tuple[int, ...] = (0, 1, 2)  # learn
    policy: str = "heuristic"  # transfer
    results: Path = results.FOLDER  # where the result goes

    def table(self, name: str, note: str) -> AbstractContextManager[Callable[..., None]]:
        """A table of a measurement, with what it rests on."""
        source = f"python benchmarks/collect.py {self.what} --cyborg-path CHECKOUT; {note}"
        return results.table(f"collect-{name}.csv", source=source, folder=self.results)


def speed(task: Task) -> None:
    """Episodes a second of every collector, and the claims."""
    cells = []
    cores = os.cpu_count() or 1
    note = f"{cores} cores; {task.seconds:g} s a cell; shares of the time of all that play"
    with task.table("speed", note) as add:
        for spec in games(SimulatorConfig(cyborg_path=task.cyborg_path)):
            for cell in measure_cells(
                spec, workers=task.workers, seconds=task.seconds, limit=task.limit
            ):
                cells.append(cell)
                add(
                    simulator=cell.simulator, collector=cell.collector, workers=cell.workers,
                    rate="" if cell.rate is None else f"{cell.rate:.{0 if cell.rate > 50 else 2}f}",
                    environment=f"{cell.environment:.0%}", inference=f"{cell.inference:.0%}",
                    waiting=f"{cell.waiting:.0%}", transport=f"{cell.transport:.0%}",
                    memory_mb="" if cell.memory_mb is None else f"{cell.memory_mb:.0f}",
                    note=cell.note,
                )  # fmt: skip
    with task.table("claims", f"{cores} cores") as add:
        for claim in judge_claims(cells, cores, pipe_seconds()):
            add(**claim.to_json())


def learn(task: Task) -> None:
    """The same training in both simulators: mean return of the last quarter of the updates."""
    workers = os.cpu_count() or 1
    ends: dict[str, list[float]] = {}
    note = (
        f"{task.episodes} episodes, {task.update_episodes} an update, order any, b_line; first: "
        "the first update, last: the last quarter of the updates"
    )
    with task.table("learn", note) as add:
        for sim, collect in (("own", "batch"), ("cyborg", "episodes")):
            for seed in task.seeds:
                config = TrainConfig(
                    episodes=task.episodes, update_episodes=task.update_episodes, seed=seed,
                    sim=sim, cyborg_path=task.cyborg_path if sim == "cyborg" else None,
                    collect=collect, workers=workers,
                )  # fmt: skip
                with closing(Trainer(config)) as trainer:
                    returns = []
                    while not trainer.is_done:
                        returns.append(trainer.step()["reward"]["environment"])
                last = float(np.mean(returns[-max(1, len(returns) // 4) :]))
                ends.setdefault(sim, []).append(last)
                add(simulator=sim, seed=seed, first=f"{returns[0]:.1f}", last=f"{last:.1f}")
            mean, error = _mean(ends[sim])
            add(simulator=sim, seed="mean", first="", last=f"{mean:.1f} ± {error:.1f}")


def _mean(values: list[float]) -> tuple[float, float]:
    """Mean and its standard error."""
    error = np.std(values, ddof=1) / sqrt(len(values)) if len(values) > 1 else float("nan")
    return float(np.mean(values)), float(error)


def transfer(task: Task) -> None:
    """One policy in both simulators."""
    result = compare_simulators(
        EquivalenceTask(
            task.policy, GameConfig(),
            SimulatorConfig(sim="cyborg", cyborg_path=task.cyborg_path),
            CollectConfig(collect="episodes", workers=os.cpu_count() or 1),
            reds=REDS, num_episodes=task.episodes, own_episodes=10 * task.episodes, seed=1_000_003,
        ),
        advance=lambda _: None,
        report=print,
    )  # fmt: skip
    note = (
        f"{_how_trained(task.policy)}, n = {task.episodes} episodes in CybORG and "
        f"{10 * task.episodes} here for each red"
    )
    with task.table("transfer", f"{note}; difference with its 90 % interval") as add:
        for cell in result.cells:
            add(
                red=cell.red, steps=cell.horizon, own=f"{cell.own_mean:.2f}",
                cyborg=f"{cell.other_mean:.2f}", difference=f"{cell.difference:+.2f}",
                low=f"{cell.low:+.2f}", high=f"{cell.high:+.2f}",
                z="" if cell.z is None else f"{cell.z:+.1f}",
                margin=f"{cell.margin:.2f}", verdict=cell.verdict, ks=f"{cell.ks_distance:.3f}",
            )  # fmt: skip
    with task.table("transfer-compliance", note) as add:
        for one in result.obeying:
            add(
                red=one.red, figure=one.figure, own=_share(one.own.value),
                cyborg=_share(one.other.value), difference=_share(one.difference),
            )  # fmt: skip


def _how_trained(policy: str) -> str:
    """What a policy is, without where it is."""
    if not Path(policy).is_dir():
        return policy
    config = load_network(Path(policy))[1]
    return (
        f"a policy of `train --order {config.order} --red {config.red} --episodes "
        f"{config.episodes} --seed {config.seed}`"
    )


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


if __name__ == "__main__":
    use_one_thread()
    chosen = tyro.cli(Task)
    {"speed": speed, "learn": learn, "transfer": transfer}[chosen.what](chosen)
