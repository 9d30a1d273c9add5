"""Workers are killed, stopped or broken, or their parent is: nothing is lost or left over."""

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from standing_orders.collect.choose import open_collector
from standing_orders.collect.crew import MAX_RESTARTS
from standing_orders.collect.games import GameSpec
from standing_orders.collect.local import BatchCollector
from standing_orders.collect.plan import Plan, deal_reds, make_plan
from standing_orders.config import CollectConfig, GameConfig, TrainConfig
from standing_orders.errors import WorkerError
from standing_orders.learn.trainer import Trainer
from tests.collect.conftest import make_actor

PARALLEL = ["lockstep", "episodes"]
SPEC = GameSpec(GameConfig(), "mixed")


def make(count: int) -> Plan:
    orders = np.arange(count) % 120
    return make_plan(orders, reds=deal_reds("mixed", count), steps=SPEC.horizon, seed=2)


def workers() -> list[int]:
    return [child.pid for child in multiprocessing.active_children() if child.pid]


@contextmanager
def sending(kind: signal.Signals, every: float, seed: int = 0) -> Iterator[None]:
    """While it is open, workers get a signal at random."""
    is_over = threading.Event()
    generator = random.Random(seed)

    def send() -> None:
        while not is_over.wait(every):
            if alive := workers():
                with suppress(ProcessLookupError):  # it has ended since
                    os.kill(generator.choice(alive), kind)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


@pytest.mark.parametrize("name", PARALLEL)
def test_a_killed_worker_is_named_and_replaced_and_nothing_differs(name: Any) -> None:
    told: list[str] = []
    config = CollectConfig(collect=name, workers=2)
    actor = make_actor()
    wanted = BatchCollector(SPEC).play(actor, make(40))
    with open_collector(SPEC, config, report=told.append) as collector:
        collector.play(actor, make(40))
        victims = workers()  # all: on a quick machine one worker plays everything
        for victim in victims:
            os.kill(victim, signal.SIGKILL)
        began = time.monotonic()
        found = collector.play(actor, make(40))
        assert time.monotonic() - began < 5 + 10  # noticed within 5 s; the rest is playing
    assert np.array_equal(found.inputs, wanted.inputs)
    assert np.array_equal(found.tallies, wanted.tallies)
    ends = {f"(process {victim}) was ended by signal 9 (SIGKILL)" for victim in victims}
    assert all(any(text in one for text in ends) for one in told)
    assert len(told) == len(set(told))
    assert (len(told) == 2) if name == "lockstep" else (len(told) in (1, 2))
    assert workers() == []


@pytest.mark.parametrize("name", PARALLEL)
def test_a_hung_worker_is_replaced_after_the_timeout(name: Any) -> None:
    told: list[str] = []
    config = CollectConfig(collect=name, workers=2, worker_timeout=1.0)
    actor = make_actor()
    wanted = BatchCollector(SPEC).play(actor, make(8))
    with open_collector(SPEC, config, report=told.append) as collector:
        collector.play(actor, make(8))
        stopped = workers()
        for worker in stopped:
            os.kill(worker, signal.SIGSTOP)
        found = collector.play(actor, make(8))
    assert np.array_equal(found.actions, wanted.actions)
    assert (len(told) == 2) if name == "lockstep" else (len(told) in (1, 2))
    assert all("gave no answer in time" in one for one in told)
    assert workers() == []


@pytest.mark.parametrize("name", PARALLEL)
def test_after_three_restarts_without_an_episode_the_run_stops(name: Any) -> None:
    told: list[str] = []
    config = CollectConfig(collect=name, workers=1)
    with (
        open_collector(SPEC, config, report=told.append) as collector,
        sending(signal.SIGKILL, every=0.02),
        pytest.raises(WorkerError, match=r"SIGKILL.*lost 4 times.*--resume"),
    ):
        for _ in range(100):  # a worker may be quicker than the first signals
            collector.play(make_actor(), make(400))
    assert len(told) >= MAX_RESTARTS
    assert workers() == []


def test_what_breaks_in_a_worker_is_told_and_ends_the_run() -> None:
    broken = GameSpec(GameConfig(), "b_line", horizon=10)  # the plan is longer than the game
    config = CollectConfig(collect="episodes", workers=2)
    with (
        open_collector(broken, config, report=pytest.fail) as collector,
        pytest.raises(Exception, match="has played all 10 steps"),
    ):
        collector.play(make_actor(), make(4))
    assert workers() == []


@pytest.mark.slow
@pytest.mark.parametrize("name", PARALLEL)
def test_training_through_killings_ends_in_the_same_weights(name: Any) -> None:
    """A hundred workers are killed while one run trains, at random moments of its updates."""
    killed: set[int] = set()
    generator = random.Random(5)

    def kill(name: str) -> None:
        for child in multiprocessing.active_children():
            if child.name == name and child.pid:
                with suppress(ProcessLookupError):
                    os.kill(child.pid, signal.SIGKILL)
                    killed.add(child.pid)

    def disturb() -> None:
        """Each worker once in an update: more than three times without an episode ends a run."""
        for i in range(8):
            timer = threading.Timer(generator.uniform(0, 1), kill, [f"worker {i}"])
            timer.daemon = True
            timer.start()

    num_updates = 0
    disturbed = Trainer(killing_config(name), report=lambda _: None)
    with closing(disturbed):
        while len(killed) < 100 and num_updates < 60:
            disturb()
            disturbed.step()
            num_updates += 1
    assert len(killed) >= 100
    assert workers() == []
    undisturbed = Trainer(killing_config("batch"))
    for _ in range(num_updates):
        undisturbed.step()
    wanted, found = undisturbed.to_arrays(), disturbed.to_arrays()
    assert all(np.array_equal(wanted[key], found[key]) for key in wanted)


def killing_config(name: Any) -> TrainConfig:
    options: dict[str, Any] = {"order": "any", "red": "mixed", "seed": 3, "workers": 8}
    options |= {"episodes": 100_000, "update_episodes": 200, "collect": name}
    return TrainConfig(**options, ppo={"epochs": 1})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_training_through_the_loss_of_a_machine_ends_in_the_same_weights(two_nodes: Any) -> None:
    cluster, nodes = two_nodes
    told: list[str] = []
    changes = {"workers": 2, "address": cluster.address, "update_episodes": 400}
    config = TrainConfig(**(killing_config("ray").model_dump() | changes))
    disturbed = Trainer(config, report=told.append)
    with closing(disturbed):
        disturbed.step()
        timer = threading.Timer(0.2, cluster.remove_node, [nodes.pop()], {"allow_graceful": False})
        timer.start()
        disturbed.step()
        timer.join()
        disturbed.step()
    assert any("is lost" in line for line in told)
    changes = {"collect": "batch", "address": None}
    undisturbed = Trainer(TrainConfig(**(config.model_dump() | changes)))
    for _ in range(3):
        undisturbed.step()
    wanted, found = undisturbed.to_arrays(), disturbed.to_arrays()
    assert all(np.array_equal(wanted[key], found[key]) for key in wanted)


# --------------------------------------------------------------------------- the parent is lost
def marked(mark: str) -> list[int]:
    """Processes whose environment carries the mark."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes()
        except OSError:
            continue
        if mark.encode() in environment and int(folder.name) != os.getpid():
            found.append(int(folder.name))
    return found


def shared_memory() -> set[str]:
    """Segments with a name."""
    folder = Path("/dev/shm")
    return {path.name for path in folder.glob("psm_*")} if folder.is_dir() else set()


def heed_interrupts() -> None:
    """What a shell starts in the background ignores them, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def training(run: Path, name: str, episodes: int, *more: str) -> Iterator[tuple[Any, str]]:
    """A training run of its own; whatever it leaves behind carries a mark, and ends with it."""
    mark = f"STANDING_ORDERS_MARK={run}"
    command = [sys.executable, "-m", "standing_orders", "train", "--order", "any", "--run"]
    command += [str(run), "--collect", name, "--workers", "2", "--episodes", str(episodes), *more]
    environment = os.environ | dict([mark.split("=")])
    parent = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        preexec_fn=heed_interrupts,  # noqa: PLW1509 (no threads here)
    )  # fmt: skip
    try:
        yield parent, mark
    finally:
        for pid in marked(mark):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        parent.communicate()


def wait_until(is_so: Any, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert is_so()


NEEDS_PROC = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")


@NEEDS_PROC
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("lockstep", signal.SIGKILL),
        pytest.param("episodes", signal.SIGINT, marks=pytest.mark.slow),
        pytest.param("lockstep", signal.SIGINT, marks=pytest.mark.slow),
        pytest.param("episodes", signal.SIGKILL, marks=pytest.mark.slow),
    ],
)
def test_no_process_and_no_shared_memory_outlives_the_parent(
    tmp_path: Path, name: str, kind: signal.Signals
) -> None:
    before = shared_memory()
    journal = tmp_path / "run" / "journal.jsonl"
    small = ("--update-episodes", "10", "--ppo.hidden", "8")
    with training(tmp_path / "run", name, 1_000_000, *small) as (parent, mark):
        wait_until(lambda: journal.exists() and journal.read_text(), 240)
        assert json.loads(journal.read_text().splitlines()[0])["update"] == 1
        assert len(marked(mark)) >= 3
        parent.send_signal(kind)
        parent.wait(60)
        wait_until(lambda: marked(mark) == [], 30)
        assert shared_memory() <= before


@NEEDS_PROC
@pytest.mark.slow
@pytest.mark.parametrize("name", [*PARALLEL, "ray"])
@pytest.mark.parametrize("is_good", [True, False])
def test_nothing_is_left_over_by_success_or_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, is_good: bool
) -> None:
    """An error in a worker: a red agent of the user's own that plays no lawful action."""
    before = shared_memory()
    more = ["--update-episodes", "10"]
    if not is_good:
        (tmp_path / "broken_red.py").write_text("def decide(env, memory, word): return 99, 99\n")
        more += ["--red-agent", "broken_red:decide"]
        paths = [str(tmp_path), os.environ.get("PYTHONPATH", "")]
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    with training(tmp_path / "run", name, 20, *more) as (parent, mark):
        _, said = parent.communicate(timeout=300)
        assert parent.returncode == (0 if is_good else 2), said
        assert is_good or "(99, 99) is no action" in said
        wait_until(lambda: marked(mark) == [], 30)
        assert shared_memory() <= before
