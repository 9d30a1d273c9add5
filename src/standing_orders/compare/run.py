"""A comparison in its folder: every run of every contestant is measured, recorded, resumed."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.defenders import ScriptedDefender
from standing_orders.cage2.policy import Policy
from standing_orders.compare.config import CompareConfig
from standing_orders.compare.contestants import Contestant, Task, find_contestants
from standing_orders.compare.greedy import OracleDefender
from standing_orders.config import RedAgent, SimConfig
from standing_orders.errors import StandingOrdersError
from standing_orders.evaluate.measure import MakeBatch, play
from standing_orders.rules.compliance import count_episodes
from standing_orders.rules.orders import Order
from standing_orders.runs.folder import RunFolder, is_run
from standing_orders.seeding import child_seed, environment_seeds

KIND = "compare"
REFERENCE = "sleep"  # whose return is the zero of normalised scores
Record = dict[str, Any]
Report = Callable[[str], None]


def compare(config: CompareConfig, path: Path, *, report: Report = lambda _: None) -> list[Record]:
    """Measure every contestant in a new folder, or go on with the comparison that is there.

    A contestant that cannot be made or played is recorded as failed, and the others go on; called
    again, the comparison tries it again.

    Args:
        config: who, and how; of a comparison that is there already, its own config holds.
        path: the run folder.
        report: told what is going on.

    Returns:
        The records of all runs.

    Raises:
        ConfigError: there is no such contestant.
        CheckpointError: the folder cannot be used.
    """
    if is_run(path):
        folder = RunFolder.open(path, kind=KIND)
        config = CompareConfig(**folder.config)
    contestants = find_contestants(config)
    if not is_run(path):
        folder = RunFolder.create(path, config.model_dump(mode="json"), KIND)
    with folder.lock(), folder.journal(report) as journal:
        records = journal.read()
        known = {_key(record) for record in records if record["event"] != "failed"}
        for record in _missing(config, contestants, folder.path, known, report):
            journal.append(record)
            records.append(record)
    return [record for record in records if record["event"] != "final"]


def _key(record: Record) -> tuple[Any, ...]:
    return tuple(record.get(name) for name in ("event", "contestant", "red", "run"))


def _missing(
    config: CompareConfig,
    contestants: list[Contestant],
    path: Path,
    known: set[tuple[Any, ...]],
    report: Report,
) -> Any:
    """The records that are not there yet, one after the other."""
    for red in config.reds:
        if ("reference", REFERENCE, red, None) not in known:
            returns = _play(ScriptedDefender(REFERENCE), config, red, 0, Order(0))["return"]
            yield {"event": "reference", "contestant": REFERENCE, "red": red, "return": returns}
    for run in range(config.seeds):  # a comparison that is cut short has some runs of everybody
        for contestant in contestants:
            for red in config.reds:
                if ("result", contestant.name, red, run) not in known:
                    report(f"{contestant.name} against {red}, run {run + 1} of {config.seeds}")
                    yield _measure(contestant, Task(config, red, run, path / "trained"))
    if ("final", None, None, None) not in known:
        yield {"event": "final"}


def _measure(contestant: Contestant, task: Task) -> Record:
    place = {"contestant": contestant.name, "red": task.red, "run": task.run}
    order = contestant.order or Order.parse(task.config.judged_by)
    began = time.perf_counter()
    try:
        ready = contestant.prepare(task)
        figures = _play(ready.policy, task.config, task.red, task.run, order)
    except StandingOrdersError as err:
        return {"event": "failed", **place, "error": str(err)}
    return {
        "event": "result",
        **place,
        "judged_by": str(order),
        **figures,
        "training_episodes": ready.episodes,
        "seconds": round(time.perf_counter() - began, 3),
    }


def _play(
    policy: Policy, config: CompareConfig, red: RedAgent, run: int, order: Order
) -> dict[str, Any]:
    """Return and compliance on fresh episodes; the same attacks for every contestant."""
    make_batch: MakeBatch = partial(_make_batch, Task(config, red, run, Path()).game)
    if isinstance(policy, OracleDefender):
        make_batch = policy.watching(make_batch)
    seeds, policy_seeds = (
        environment_seeds(child_seed(config.seed, "compare", red, run, *names), config.episodes)
        for names in ((), ("policy",))
    )
    played = play(policy, make_batch, seeds, policy_seeds=policy_seeds, judged_by=[order.index])
    returns = played.returns[:, -1] / 10.0
    return {
        "return": float(returns.mean()),
        "std_error": float(returns.std(ddof=1) / np.sqrt(len(returns))),
        "compliance": count_episodes(played.tallies[0]).to_json(),
    }


def _make_batch(config: SimConfig, num_envs: int) -> Cage2Batch:
    return Cage2Batch(num_envs, config)
