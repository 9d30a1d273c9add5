"""Searches that need no training: visits whose outcome is made up from their task."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from standing_orders.config import SearchConfig
from standing_orders.rules.orders import parse_order
from standing_orders.search.engines import Job, OnUpdate
from standing_orders.search.store import PolicyStore
from standing_orders.search.visit import VisitResult, VisitTask


class CrashError(Exception):
    """The process is gone."""


class MadeUpEngine:
    """Visits that end somewhere before their limit; orders of `failing` never pass.

    Args:
        failing: orders that fail the gate.
        crash_at: raise when this visit (counted from 1 over the engine's life) should run.
    """

    def __init__(self, failing: frozenset[int] = frozenset(), crash_at: int | None = None) -> None:
        self.failing = failing
        self.crash_at = crash_at
        self.tasks: list[VisitTask] = []

    def run(
        self, jobs: Sequence[Job], store: PolicyStore, on_update: OnUpdate
    ) -> Iterator[VisitResult]:
        for name, task in jobs:
            self.tasks.append(task)
            if len(self.tasks) == self.crash_at:
                raise CrashError
            result = self.visit(task)
            store.keep_result(name, result)
            for record in result.records:
                on_update(record)
            yield result

    def visit(self, task: VisitTask) -> VisitResult:
        order = parse_order(task.config["order"])
        rng = np.random.default_rng([order, task.limit])
        passed = order not in self.failing
        done = task.progress["episodes"] + task.progress["gate_episodes"]
        played = int(rng.integers(1, task.limit - done + 1)) if passed else task.limit - done
        gate = int(rng.integers(0, played))
        progress = task.progress | {
            "updates": task.progress["updates"] + 1,
            "episodes": task.progress["episodes"] + played - gate,
            "gate_episodes": task.progress["gate_episodes"] + gate,
            "stopped": "gate passed" if passed else "budget used",
            "limit": task.limit,
        }
        measured = None
        if task.evaluation_episodes:
            measured = self.measure(order, passed, task)
        records = [made_up_update(task, progress, played - gate)]
        return VisitResult(task.arrays, progress, records, measured)

    def measure(self, order: int, passed: bool, task: VisitTask) -> dict[str, Any]:
        noise = np.random.default_rng(task.evaluation_seed).standard_normal()
        return {
            "return": -50.0 - order / 10 + noise, "std_error": 1.0, "passed": passed,
            "strict_interval95": [0.9, 1.0], "strict": 0.97 if passed else 0.5, "contested": 0.9,
            "episodes": task.evaluation_episodes,
        }  # fmt: skip


def made_up_update(task: VisitTask, progress: dict[str, Any], episodes: int) -> dict[str, Any]:
    return {
        "update": progress["updates"], "order_id": parse_order(task.config["order"]),
        "order": task.config["order"], "episodes": episodes, "total_episodes": progress["episodes"],
        "gate_episodes": progress["gate_episodes"],
        "reward": {"environment": -50.0, "alignment": 0.0, "total": -50.0},
        "compliance": {"compliance": 0.9, "strict": 0.9}, "stopped": progress["stopped"],
    }  # fmt: skip


@pytest.fixture
def quick() -> SearchConfig:
    """A search of which every part is small, and that trains no base policy."""
    return SearchConfig(
        budget=400, order_episodes=40, update_episodes=5, evaluation_episodes=10,
        final_episodes=20, start="own", ppo={"hidden": (2,)},
    )  # fmt: skip
