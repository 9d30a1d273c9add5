"""Ray actors play the same episodes, also when some of them are lost."""

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from standing_orders.collect.choose import open_collector
from standing_orders.collect.local import BatchCollector
from standing_orders.collect.plan import Plan
from standing_orders.config import CollectConfig
from standing_orders.errors import ConfigError, WorkerError
from standing_orders.learn.actor import NetworkActor
from tests.collect.conftest import SPEC

MakePlan = Callable[..., Plan]
ON_RAY = CollectConfig(collect="ray", workers=2)


def actor_processes() -> list[int]:
    """Processes of the cluster that play; Ray names them after the class."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if b"ray::EpisodeWorker" in name:
            found.append(int(folder.name))
    return found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_ray_actors_play_the_episodes_of_the_batch_also_when_killed(
    actor: NetworkActor, plan: MakePlan
) -> None:
    told: list[str] = []
    wanted = BatchCollector(SPEC).play(actor, plan(60))
    with open_collector(SPEC, ON_RAY, report=told.append) as collector:
        found = collector.play(actor, plan(60))
        assert np.array_equal(found.inputs, wanted.inputs)
        assert np.array_equal(found.tallies, wanted.tallies)
        assert told == []
        for delay in (0.0, 0.05):
            victim = actor_processes()[0]
            timer = threading.Timer(delay, os.kill, [victim, signal.SIGKILL])
            timer.start()
            found = collector.play(actor, plan(60))
            timer.join()
            assert np.array_equal(found.actions, wanted.actions)
        collector.play(actor, plan(60))
    assert any("is lost" in line for line in told)
    assert actor_processes() == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_an_actor_may_take_longer_to_start_than_to_answer(
    actor: NetworkActor, plan: MakePlan
) -> None:
    """It imports and loads kernels for seconds, on a busy machine for minutes."""
    config = CollectConfig(collect="ray", workers=1, worker_timeout=1.0)
    told: list[str] = []
    with open_collector(SPEC, config, report=told.append) as collector:
        found = collector.play(actor, plan(1))
    assert told == []  # nobody was taken for hung
    assert np.array_equal(found.actions, BatchCollector(SPEC).play(actor, plan(1)).actions)


@pytest.mark.parametrize(
    ("address", "error", "message"),
    [("nowhere", ConfigError, "HOST:PORT"), ("127.0.0.1:1", WorkerError, "nobody answers")],
)
def test_a_cluster_that_is_not_there_is_named(
    actor: NetworkActor, plan: MakePlan, address: str, error: type[Exception], message: str
) -> None:
    config = CollectConfig(collect="ray", address=address)
    with open_collector(SPEC, config) as collector, pytest.raises(error, match=message):
        collector.play(actor, plan(2))
