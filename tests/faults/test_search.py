"""A search survives being killed, on one machine and on a cluster, and ends in the same bits."""

import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from standing_orders.config import SearchConfig
from standing_orders.learn.run import load_network
from standing_orders.learn.snapshot import network_arrays
from standing_orders.search.engines import open_engine
from standing_orders.search.run import resume_search, search
from tests.faults.processes import exit_code, fork, may_fork

CONFIG = SearchConfig(
    budget=800, order_episodes=90, update_episodes=20, evaluation_episodes=20, final_episodes=40,
    parallel=2, red="meander", seed=4, base={"episodes": 60},
    gate={"episodes": 20, "min_judged": 2, "min_contested": 1, "threshold": 0.2},
    stop_at_gate=True, prior_episodes=2, stop_chance=0.0,
    ppo={"hidden": (8,), "epochs": 2},
    alignment={"violation_cost": 5.0},
)  # fmt: skip
FILES = ("journal.jsonl", "gp_sampling_log.csv", "leaderboard.csv", "training_log.csv")


def quiet(_: str) -> None:
    """Tell nobody."""


def content(path: Path) -> dict[str, bytes]:
    return {name: (path / name).read_bytes() for name in FILES}


def weights(path: Path) -> dict[str, bytes]:
    """Final weights of every policy."""
    return {
        f"{run.name}/{name}": array.tobytes()
        for run in sorted((path / "policies").iterdir())
        for name, array in network_arrays(load_network(run)[0]).items()
    }


def journal(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (path / "journal.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, brief_prior: None) -> Path:
    """The search that nothing happened to."""
    path = tmp_path_factory.mktemp("whole") / "run"
    search(CONFIG, path, report=quiet)
    return path


def run_child(path: Path, last: int) -> int:
    """Search or resume in a child that kills itself at that update, counted in the child."""
    seen = []

    def watch(_: object, record: dict[str, Any] | None) -> None:
        if record is not None:
            seen.append(record)
            if len(seen) == last:
                os.kill(os.getpid(), signal.SIGKILL)

    def work() -> None:
        if (path / "run.json").exists():
            resume_search(path, watch=watch, report=quiet)
        else:
            search(CONFIG, path, watch=watch, report=quiet)

    return exit_code(fork(work))


@may_fork
def test_a_killed_search_ends_in_the_same_bits(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    for last in (2, 3, 5):
        assert run_child(path, last) == -signal.SIGKILL
    assert run_child(path, 0) == 0
    assert content(path) == content(whole)
    assert weights(path) == weights(whole)


def test_the_budget_is_used_exactly_and_shown_apart(whole: Path) -> None:
    records = journal(whole)
    sums: dict[str, int] = {}
    for record in records:
        for name, count in record.get("episodes", {}).items():
            sums[name] = sums.get(name, 0) + count
    assert sum(sums.values()) == CONFIG.budget
    assert sums["base"] == CONFIG.base.episodes
    assert set(sums) == {"base", "prior", "training", "gate", "evaluation", "final"}
    for record in records:
        if record["event"] == "result":
            played = record["episodes"]["training"] + record["episodes"]["gate"]
            assert played <= CONFIG.order_episodes


def test_an_evaluation_is_not_the_batch_that_crossed_the_line(whole: Path) -> None:
    results = [record for record in journal(whole) if record["event"] == "result"]
    passed = [record for record in results if record["stopped"] == "gate passed"]
    assert passed
    for record in passed:
        run = whole / "policies" / record["policy"] / "journal.jsonl"
        last = [json.loads(line) for line in run.read_text().splitlines()][-1]
        assert last["gate"]["passed"]
        assert last["gate"]["return"] != record["reward"]


def lose_a_busy_machine(cluster: Any, nodes: list[Any]) -> None:
    """Kill one of two machines once each has a visit to run."""
    import ray

    deadline = time.monotonic() + 120
    while ray.available_resources().get("CPU", 0) > 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    cluster.remove_node(nodes.pop(), allow_graceful=False)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_a_machine_lost_in_mid_search_loses_no_order_and_counts_none_twice(
    whole: Path, tmp_path: Path, two_nodes: Any
) -> None:
    cluster, nodes = two_nodes
    path = tmp_path / "run"
    with open_engine("ray", cluster.address, 2) as engine:
        killer = threading.Thread(target=lose_a_busy_machine, args=(cluster, nodes))
        killer.start()
        search(CONFIG, path, engine=engine, report=quiet)
        killer.join()
    assert len(nodes) == 1
    assert content(path) == content(whole)
    assert weights(path) == weights(whole)
    iterations = [one["iteration"] for one in journal(path) if one["event"] == "result"]
    assert iterations == list(range(1, len(iterations) + 1))
