"""One visit of an order: train to the gate or the limit, then measure on fresh episodes.

A visit is plain data in and plain data out, so that it can run in this process or on another
machine, with the same result.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.scenario import RED_AGENTS
from standing_orders.config import TrainConfig
from standing_orders.evaluate.obedience import pooled_ratio
from standing_orders.learn.networks import ActorCritic
from standing_orders.learn.ppo import use_one_thread
from standing_orders.learn.rollout import collect
from standing_orders.learn.snapshot import Arrays
from standing_orders.learn.trainer import Trainer, make_batch, passes_gate
from standing_orders.rules.compliance import count_episodes, ratio_of_tallies
from standing_orders.rules.orders import parse_order
from standing_orders.seeding import child_seed

_BATCH = 1_000  # episodes measured at a time

Measured = dict[str, Any]
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
    records = []
    while not trainer.is_done:
        records.append(trainer.step())
        on_update(trainer, records[-1])
    measured = None
    if task.evaluation_episodes:
        measured = measure(
            trainer.network, config, num_episodes=task.evaluation_episodes,
            seed=task.evaluation_seed,
        )  # fmt: skip
    return VisitResult(trainer.to_arrays(), trainer.to_json(), records, measured)


def measure(network: ActorCritic, config: TrainConfig, *, num_episodes: int, seed: int) -> Measured:
    """Return and compliance of a policy that is told the order of its config.

    Args:
        network: sees observations and the order only; actions are drawn.
        config: the game and the gate.
        num_episodes: fresh episodes, at least 1.
        seed: root seed of attacks and actions.
    """
    order = parse_order(config.order)
    num_reds = len(RED_AGENTS) if config.red == "mixed" else 1  # as `make_batch` deals them out
    returns, tallies, reds = [], [], []
    for start in range(0, num_episodes, _BATCH):
        count = min(_BATCH, num_episodes - start)
        rollout = collect(
            make_batch(config, count), network, np.full(count, order),
            seed=child_seed(seed, "measure", start), count_foothold=config.alignment.count_foothold,
        )  # fmt: skip
        returns.append(rollout.rewards.sum(axis=0))
        tallies.append(rollout.tallies)
        reds.append(np.arange(count) % num_reds)
    all_returns, all_tallies = np.concatenate(returns), np.concatenate(tallies)
    counts = count_episodes(all_tallies)
    strict = pooled_ratio(*ratio_of_tallies(all_tallies, is_contested=False))
    return {
        "return": float(all_returns.mean()),
        "std_error": _std_error(all_returns, np.concatenate(reds)),
        "passed": passes_gate(counts, config),
        "strict_interval95": [strict.low, strict.high],
        **counts.to_json(),
    }


def _std_error(
    returns: NDArray[np.float64],  # (num_episodes,)
    reds: NDArray[np.int64],  # (num_episodes,)
) -> float | None:
    """Standard error of the mean; red agents take fixed shares, so only what varies within counts.

    None if it cannot be known.
    """
    parts = [returns[reds == red] for red in np.unique(reds)]
    if min(len(part) for part in parts) < 2:
        return None
    variance = sum(len(part) * float(part.var(ddof=1)) for part in parts)
    return math.sqrt(variance) / len(returns)
