"""Commanders, measured: the worst attack that is found, orders that change, temporal rules.

python benchmarks/commanders.py falsify   the falsifier beside random attacks -> results/falsify.csv
python benchmarks/commanders.py switch    orders that change -> results/order_switch.csv
Add --policies to measure some of the policies alone; the rows of the others stay.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tyro

import results
from standing_orders.api.policies import TrainedPolicy, load_policy
from standing_orders.evaluate.falsify import Target, falsify
from standing_orders.evaluate.switching import Switched, measure_switch
from standing_orders.rules.orders import NAMED_ORDERS, Order
from standing_orders.stats import pooled_ratio, standard_error

ZOO = ("any-b_line", "any-meander", "any-b_line-late", "any-meander-late")
SEEDS = (11, 12, 13, 14, 15)  # no setting was chosen on them
ORDER = "critical_first"
STEP = 30  # of the switch


@dataclass(frozen=True)
class Task:
    """What to measure."""

    what: tyro.conf.Positional[Literal["falsify", "switch"]]
    policies: tuple[str, ...] = ZOO  # of the zoo
    budget: int = 20_000  # falsify: episodes of the search, and of random attacks
    episodes: int = 40  # switch: of each seed and pair of orders
    results: Path = results.FOLDER  # where the result goes


def policy_of(name: str, **options: Any) -> TrainedPolicy:
    """A policy of the zoo."""
    policy = load_policy(f"zoo/{name}", **options)
    assert isinstance(policy, TrainedPolicy)
    return policy


def write(name: str, rows: list[dict[str, object]], task: Task, *, source: str) -> None:
    """Write rows, between those that other policies have already."""
    path = task.results / name
    kept = results.read(name) if path.exists() and task.results == results.FOLDER else []
    found = {row["policy"]: row for row in [*kept, *rows]}
    ordered = [found[one] for one in ZOO if one in found]
    results.write(name, ordered, source=source, folder=task.results)
    for row in rows:
        print(row, flush=True)


def measure_falsifier(task: Task) -> None:
    """The worst attack that is found, by return, beside as many random ones."""
    for name in task.policies:
        began = time.perf_counter()
        policy = policy_of(name, order=ORDER, greedy=True)
        target = Target(policy, policy.home(), "return", policy.orders[0])
        found = falsify(target, budget=task.budget, seed=SEEDS[0])
        assert found.std_error is not None
        row = {
            "policy": name,
            "mean": f"{found.mean.reward:.2f}",
            "error": f"{found.std_error:.2f}",
            "random": f"{found.worst_random.reward:.1f}",
            "found": f"{found.worst.reward:.1f}",
            "seconds": f"{time.perf_counter() - began:.0f}",
        }
        write("falsify.csv", [row], task, source=f"python benchmarks/commanders.py falsify; "
              f"{task.budget} episodes each, order {ORDER}, greedy, seed {SEEDS[0]}")  # fmt: skip


def measure_switches(task: Task) -> None:
    """Every named order, told backwards from a step on."""
    orders = [Order.parse(name) for name in NAMED_ORDERS]
    for name in task.policies:
        began = time.perf_counter()
        policy = policy_of(name)
        found: list[Switched] = [
            measure_switch(
                policy, policy.home(), orders=(order.index, order.backwards().index),
                step=STEP, num_episodes=task.episodes, seed=seed,
            )
            for seed in SEEDS
            for order in orders
        ]  # fmt: skip
        write("order_switch.csv", [{"policy": name} | _switch_row(found) | {
              "seconds": f"{time.perf_counter() - began:.0f}"}], task,
              source=f"python benchmarks/commanders.py switch; {len(orders)} orders, backwards "
              f"from step {STEP} on, {task.episodes} episodes each, {len(SEEDS)} seeds"
              )  # fmt: skip


def _switch_row(found: list[Switched]) -> dict[str, object]:
    compliant = np.concatenate([one.compliant for one in found])
    judged = np.concatenate([one.judged for one in found])
    ratio = pooled_ratio(compliant, judged)
    returns = {
        name: np.concatenate([one.returns[name] for one in found]) for name in found[0].returns
    }
    throughout = (returns["first"] + returns["second"]) / 2
    cost = throughout - returns["switched"]
    return {
        "contested": f"{ratio.value or 0:.4f}",
        "low": f"{ratio.low or 0:.4f}",
        "high": f"{ratio.high or 0:.4f}",
        "fixes": int(judged.sum()),
        "switched": f"{returns['switched'].mean():.2f}",
        "throughout": f"{throughout.mean():.2f}",
        "cost": f"{cost.mean():.2f}",
        "cost_error": f"{standard_error(cost) or 0:.2f}",
    }


def main(task: Task) -> None:
    """Measure, and write the result."""
    {"falsify": measure_falsifier, "switch": measure_switches}[task.what](task)


if __name__ == "__main__":
    results.launch(main, Task, __doc__)
