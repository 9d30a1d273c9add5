"""Kills, full disks and races: the run goes on and ends in the same bits as an undisturbed one."""

import errno
import io
import os
import random
import signal
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from standing_orders.config import BaseConfig, PpoConfig, SearchConfig, TrainConfig
from standing_orders.detect.config import DetectConfig, LearnConfig, TeamConfig
from standing_orders.errors import CheckpointError
from standing_orders.runs.folder import is_run
from tests.battery.case import digest_of
from tests.faults import toy_run
from tests.faults.test_runs import watched

NUM_STEPS = 11
PPO = PpoConfig(hidden=(8,), epochs=1, minibatches=1)
TRAIN = TrainConfig(order="any", episodes=24, update_episodes=4, checkpoint_every=2, ppo=PPO)
SEARCH = SearchConfig(
    budget=240, order_episodes=8, evaluation_episodes=4, final_episodes=4, update_episodes=4,
    base=BaseConfig(episodes=8), prior="none", spread=2, ppo=PPO,
)  # fmt: skip
DETECT = DetectConfig(
    learn=LearnConfig(iterations=4, steps=256), team=TeamConfig(hidden=(8,)), checkpoint_every=2,
)  # fmt: skip
# Made anew, with times in them, or with a commit that may change while the battery runs.
FLEETING = frozenset({"versions.json", "run.json", ".lock", "tensorboard", "report.html"})
Work = Callable[[Path], None]


def silent(*_: object) -> None:
    """Tell nobody."""


def toy(path: Path) -> None:
    """A run in miniature."""
    with redirect_stdout(io.StringIO()):
        toy_run.run(path, NUM_STEPS)


def train_work(path: Path) -> None:
    """Begin a training run, or go on with it."""
    from standing_orders.learn.run import resume, train

    if is_run(path):
        resume(path, report=silent)
    else:
        train(TRAIN, path, report=silent)


def search_work(path: Path) -> None:
    """Begin a search, or go on with it."""
    from standing_orders.search.run import resume_search, search

    if is_run(path):
        resume_search(path, report=silent)
    else:
        search(SEARCH, path, report=silent)


def detect_work(path: Path) -> None:
    """Begin to train a team, or go on with it."""
    from standing_orders.detect.learn.run import resume, train

    if is_run(path):
        resume(path, report=silent)
    else:
        train(DETECT, path, report=silent)


def result_of(path: Path) -> str:
    """All bytes of a run that must not depend on what happened to it."""
    return digest_of(path, without=FLEETING)


def prepare(work: Work) -> Callable[[Path], tuple[Work, str, int]]:
    """An undisturbed run: its bytes, and how many calls it takes."""

    def make(folder: Path) -> tuple[Work, str, int]:
        calls = []
        with watched(lambda number, *_: calls.append(number)):
            work(folder / "undisturbed")
        return work, result_of(folder / "undisturbed"), len(calls)

    return make


def kill(shared: tuple[Work, str, int], rng: random.Random, place: Path) -> str | None:
    """Die before a call that changes files or halfway through a write, once or more; then go on."""
    work, wanted, num_calls = shared
    run = place / "run"
    for _ in range(rng.choice((1, 1, 2, 3))):
        _in_child(work, run, rng.randrange(num_calls))
    work(run)
    return None if result_of(run) == wanted else "other bits than without the kill"


def _in_child(work: Work, run: Path, fatal_call: int) -> None:
    write = os.write

    def die(number: int, name: str, args: tuple[Any, ...]) -> None:
        if number == fatal_call:
            if name == "write":
                write(args[0], bytes(args[1])[: len(args[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        try:
            with watched(die):
                work(run)
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def fill_disk(shared: tuple[Work, str, int], rng: random.Random, place: Path) -> str | None:
    """Let the disk be full after some bytes; then go on with room."""
    work, wanted, _ = shared
    run, left, write = place / "run", rng.randrange(12_000), os.write

    def limited(descriptor: int, data: Any) -> int:
        nonlocal left
        if not left:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        taken = write(descriptor, data[:left])
        left -= taken
        return taken

    os.write = limited
    try:
        work(run)
    except CheckpointError as err:
        if "No space left" not in str(err):
            return f"another message: {err}"
    finally:
        os.write = write
    work(run)
    return None if result_of(run) == wanted else "other bits than with room"


def race(shared: tuple[Work, str, int], rng: random.Random, place: Path) -> str | None:
    """Two or three processes want one folder at once."""
    work, wanted, _ = shared
    children = []
    for _ in range(rng.choice((2, 3))):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                work(place / "run")
                code = 0
            except CheckpointError:
                code = 3
            finally:
                os._exit(code)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    if 0 not in codes or set(codes) - {0, 3}:
        return f"exit codes {codes}"
    work(place / "run")
    return None if result_of(place / "run") == wanted else "other bits than alone"
