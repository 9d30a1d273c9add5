"""Worker processes under supervision: a lost one is named, replaced, and given up after a while."""

import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from time import monotonic
from typing import Any

from standing_orders.collect.worker import FAILED, READY, serve
from standing_orders.errors import StandingOrdersError, WorkerError

Build = Callable[[], Any]
Report = Callable[[str], None]
MAX_RESTARTS = 3  # of one worker without a finished episode
START_SECONDS = 600.0  # importing and building, with many workers on few cores
_END_SECONDS = 2.0
_LOOK_SECONDS = 1.0  # between looks at who is late


@dataclass
class _Member:
    """One worker process."""

    process: BaseProcess
    connection: Connection
    is_ready: bool = False
    late_at: float = field(default=0.0)


@dataclass(frozen=True)
class Event:
    """What was heard from a worker."""

    index: int
    value: Any = None  # what its call returned
    is_new: bool = False  # it was lost; a new one is in its place and has been told nothing


class Crew:
    """Worker processes, each with a pipe of its own.

    Args:
        builds: what each of them serves; see `worker.serve`.
        timeout: seconds without an answer after which a worker counts as hung.
        report: told of every worker that is lost.
        preload: module that all workers need; it is imported once.
    """

    def __init__(
        self,
        builds: Sequence[Build],
        *,
        timeout: float,
        report: Report,
        preload: str,
    ) -> None:
        self._builds = list(builds)
        self._timeout = timeout
        self._report = report
        # Forked from a server that has done nothing but import: they start in milliseconds and
        # share its memory, and none of them inherits a pipe of another.
        self._context = get_context("forkserver")
        self._context.set_forkserver_preload([serve.__module__, preload])
        self._restarts = [0] * len(self._builds)
        self._waiting: dict[int, tuple[str, tuple[Any, ...]]] = {}  # calls not sent yet
        self._members = [self._start(i) for i in range(len(self._builds))]

    def __len__(self) -> int:
        return len(self._builds)

    def call(self, index: int, method: str, *arguments: Any) -> None:
        """Ask a worker for something; `hear` gives its answer."""
        member = self._members[index]
        if not member.is_ready:
            self._waiting[index] = (method, arguments)
            return
        member.late_at = monotonic() + self._timeout
        with suppress(OSError):  # its end is noticed where answers are heard
            member.connection.send((method, arguments))

    def hear(self, indices: Iterable[int]) -> list[Event]:
        """Wait for at least one of some workers that were asked.

        Raises:
            StandingOrdersError: what a worker refused with.
            WorkerError: a worker failed, or was lost too often.
        """
        indices = list(indices)
        while True:
            events = [event for event in map(self._look, self._heard(indices)) if event]
            events += [self._replace(i, "gave no answer in time") for i in self._late(indices)]
            if events:
                return events

    def finished(self, index: int) -> None:
        """Note that a worker finished an episode."""
        self._restarts[index] = 0

    def close(self) -> None:
        """End all workers; whoever does not follow is killed."""
        for member in self._members:
            member.connection.close()
        deadline = monotonic() + _END_SECONDS
        for member in self._members:
            member.process.join(max(0.0, deadline - monotonic()))
            if member.process.is_alive():
                member.process.kill()
                member.process.join()
            member.process.close()
        self._members = []

    def _start(self, index: int) -> _Member:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(
            target=serve, args=(theirs, self._builds[index]), daemon=True, name=f"worker {index}"
        )
        with _without_main():
            process.start()
        theirs.close()
        return _Member(process, ours, late_at=monotonic() + START_SECONDS)

    def _heard(self, indices: list[int]) -> list[int]:
        """Who has sent something or has ended."""
        sources: dict[Any, int] = {}
        for i in indices:
            sources[self._members[i].connection] = i
            sources[self._members[i].process.sentinel] = i
        return sorted({sources[source] for source in wait(list(sources), _LOOK_SECONDS)})

    def _late(self, indices: list[int]) -> list[int]:
        now = monotonic()
        return [i for i in indices if self._members[i].late_at < now]

    def _look(self, index: int) -> Event | None:
        member = self._members[index]
        outcome, value = None, None
        with suppress(EOFError, OSError):
            if member.connection.poll():
                outcome, value = member.connection.recv()
        if outcome is None:
            member.process.join(_END_SECONDS)
            return self._replace(index, _describe_end(member.process.exitcode))
        if isinstance(value, StandingOrdersError):
            raise value
        if outcome == FAILED:
            raise WorkerError(f"worker {index} failed:\n{value}")
        if outcome == READY:
            member.is_ready = True
            member.late_at = float("inf")
            if index in self._waiting:
                method, arguments = self._waiting.pop(index)
                self.call(index, method, *arguments)
            return None
        member.late_at = float("inf")
        return Event(index, value)

    def _replace(self, index: int, reason: str) -> Event:
        member = self._members[index]
        pid = member.process.pid
        self._restarts[index] += 1
        if member.process.is_alive():
            member.process.kill()
            member.process.join()
        member.connection.close()
        member.process.close()
        if self._restarts[index] > MAX_RESTARTS:
            self._members = [m for i, m in enumerate(self._members) if i != index]
            raise WorkerError(
                f"worker {index} (process {pid}) {reason}: lost {self._restarts[index]} times "
                "without a finished episode; go on with --resume"
            )
        self._report(f"worker {index} (process {pid}) {reason}; another one takes its place")
        self._waiting.pop(index, None)
        self._members[index] = self._start(index)
        return Event(index, is_new=True)


def _describe_end(exit_code: int | None) -> str:
    if exit_code is None:
        return "closed its pipe"
    if exit_code >= 0:
        return f"ended with exit code {exit_code}"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = "unknown"
    return f"was ended by signal {-exit_code} ({name})"


@contextmanager
def _without_main() -> Iterator[None]:
    """Keep workers from running the program's main module again: they need nothing of it."""
    main = sys.modules["__main__"]
    kept = {name: main.__dict__.pop(name) for name in ("__file__",) if name in main.__dict__}
    spec, main.__spec__ = main.__spec__, None
    try:
        yield
    finally:
        main.__spec__ = spec
        main.__dict__.update(kept)
