"""Searches that need no training: visits whose outcome is made up from their task."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from standing_orders.config import SearchConfig
from standing_orders.evaluate.measure import Measured
from standing_orders.rules.compliance import OrderCompliance
from standing_orders.rules.gate import GateResult
from standing_orders.rules.orders import Order
from standing_orders.search.engines import Job, OnUpdate
from standing_orders.search.store import PolicyStore
from standing_orders.search.visit import VisitResult, VisitTask
from standing_orders.stats import Ratio


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
        order = Order.parse(task.config["order"]).index
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

    def measure(self, order: int, passed: bool, task: VisitTask) -> Measured:
        noise = np.random.default_rng(task.evaluation_seed).standard_normal()
        good = 97 if passed else 50
        kept = OrderCompliance(
            episodes=task.evaluation_episodes, fixes=100, compliant=good, violations=100 - good
        )
        return Measured(
            -50.0 - order / 10 + noise, 1.0, kept, Ratio(good / 100, 0.4, 1.0),
            Ratio(None, None, None), GateResult("passed" if passed else "failed", "made up"),
        )  # fmt: skip


def made_up_update(task: VisitTask, progress: dict[str, Any], episodes: int) -> dict[str, Any]:
    return {
        "update": progress["updates"], "order_id": Order.parse(task.config["order"]).index,
        "order": task.config["order"], "episodes": episodes, "total_episodes": progress["episodes"],
        "gate_episodes": progress["gate_episodes"],
        "reward": {"environment": -50.0, "alignment": 0.0, "total": -50.0},
        "compliance": {"compliance": 0.9, "strict": 0.9}, "stopped": progress["stopped"],
    }  # fmt: skip


@pytest.fixture(scope="session")
def quick() -> SearchConfig:
    """A search of which every part is small, and that trains no base policy."""
    return SearchConfig(
        budget=400, order_episodes=40, update_episodes=5, evaluation_episodes=10,
        final_episodes=20, start="own", ppo={"hidden": (2,)},
    )  # fmt: skip
