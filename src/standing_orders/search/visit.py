"""One visit of an order: train to the gate or the limit, then measure on fresh episodes.

A visit is plain data in and plain data out, so that it can run in this process or on another
machine, with the same result.
"""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from standing_orders.config import TrainConfig
from standing_orders.evaluate.measure import Measured, fresh_seeds
from standing_orders.learn.build import measure_network
from standing_orders.learn.ppo import use_one_thread
from standing_orders.learn.snapshot import Arrays
from standing_orders.learn.trainer import Trainer
from standing_orders.runs.loop import run_updates

OnUpdate = Callable[[Trainer, dict[str, Any]], None]


@dataclass(frozen=True)
class VisitTask:
    """Everything that a visit depends on."""

    config: dict[str, Any]  # of the order's training run, as plain data
    arrays: Arrays  # weights and optimiser to begin with
    progress: dict[str, Any]  # counters to begin with
    updates_before: int  # of the policy when the visit began: more of them, and it was interrupted
    limit: int  # of the counters: where training ends; see `Trainer.go_on`
    evaluation_episodes: int
    evaluation_seed: int


@dataclass(frozen=True)
class VisitResult:
    """What came of it."""

    arrays: Arrays
    progress: dict[str, Any]
    records: list[dict[str, Any]]  # of the updates
    measured: Measured | None  # None if there were no episodes to measure with


def ignore(_: Trainer, __: dict[str, Any]) -> None:
    """Keep nothing while a visit runs."""


def play_visit(task: VisitTask, on_update: OnUpdate = ignore) -> VisitResult:
    """Train and measure.

    Raises:
        NumericsError: a number is not finite.
    """
    use_one_thread()
    config = TrainConfig(**task.config)
    trainer = Trainer(config)
    trainer.restore(task.arrays, task.progress)
    if trainer.updates == task.updates_before:
        trainer.go_on(task.limit)
    records: list[dict[str, Any]] = []

    def keep(record: dict[str, Any]) -> None:
        records.append(record)
        on_update(trainer, record)

    measured = None
    with closing(trainer):
        run_updates(trainer, keep)
        if task.evaluation_episodes:
            seeds = fresh_seeds(task.evaluation_seed, task.evaluation_episodes)
            measured = measure_network(trainer.network, config, seeds, trainer.collector)
    return VisitResult(trainer.to_arrays(), trainer.to_json(), records, measured)
