"""Processes that can be killed: forked from one that has imported and compiled everything."""

import itertools
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

# What changes files or waits for the disk; a kill between two of these is like one before the next.
CALLS = ("write", "fsync", "replace", "rename", "mkdir", "unlink", "rmdir", "ftruncate")
UNFORESEEN = 99  # exit code of a child that raised something

may_fork = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")


def fork(work: Callable[[], int | None]) -> int:
    """Begin some work in a child, and give its number."""
    child = os.fork()
    if child:
        return child
    code = UNFORESEEN
    try:
        code = work() or 0
    finally:
        os._exit(code)


def exit_code(child: int) -> int:
    """Wait for a child; minus the number of the signal that killed it, if one did."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def train_in_child(runs: Any, config: Any, path: Path, last: int) -> int:
    """Train or resume in a child that kills itself after a certain update.

    Args:
        runs: module with `train` and `resume`.
        config: of the run.
        path: its folder.
        last: the update.
    """

    def on_update(record: dict[str, Any]) -> None:
        if record["update"] == last:
            os.kill(os.getpid(), signal.SIGKILL)

    def work() -> None:
        if path.exists():
            runs.resume(path, on_update=on_update, report=lambda _: None)
        else:
            runs.train(config, path, on_update=on_update, report=lambda _: None)

    return exit_code(fork(work))


@contextmanager
def watched(before: Callable[[int, str, tuple[Any, ...]], None]) -> Iterator[None]:
    """Call `before` with the number, name and arguments of each of the system calls."""
    counter = itertools.count()

    def wrap(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            before(next(counter), name, args)
            return original(*args, **options)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, wrap(name, getattr(os, name)))
        yield
