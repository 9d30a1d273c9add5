"""Kills, full disks, limits and races: the run goes on and ends in the bits of an undisturbed one.

A case forks from a process that has imported everything already; the child runs the real command
on real files and is killed with SIGKILL: at a call that changes files, halfway through it if it
writes, or at any moment by its parent.
"""

import csv
import errno
import os
import random
import resource
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from standing_orders.cli.app import main
from standing_orders.runs.folder import is_run
from tests.battery.case import digest_of, light, said_by
from tests.faults import toy_run
from tests.faults.processes import exit_code, fork, watched

# Made anew, with times in them, or with a commit that may change while the battery runs.
FLEETING = frozenset({"versions.json", "run.json", ".lock", "tensorboard", "report.html"})
_SMALL = ("--update-episodes", "2", "--ppo.hidden", "8", "--ppo.epochs", "1",
          "--ppo.minibatches", "1")  # fmt: skip
_NUM_STEPS = 11  # of a run in miniature
_WHOLE_SHARE = 0.02  # of the cases in which nothing is left out of a command


@dataclass(frozen=True)
class Job:
    """A command that writes into a folder RUN, and how it goes on; beside it is a table DATA."""

    begin: tuple[str, ...]
    again: tuple[str, ...]
    result: str = "."  # what of the folder must not depend on what happened
    before: str = ""  # name of a job whose folder, DATA/NAME, it reads

    def words(self, run: Path, shared: Path) -> list[str]:
        """The command line of its next process."""
        line = self.again if is_run(run) else self.begin
        return [word.replace("RUN", str(run)).replace("DATA", str(shared)) for word in line]


JOBS = {
    "toy": Job(("toy", "RUN"), ("toy", "RUN")),
    "train": Job(
        ("train", "--run", "RUN", "--order", "any", "--episodes", "8", "--checkpoint-every", "2",
         *_SMALL, "--json"),
        ("train", "--resume", "--run", "RUN", "--json"),
    ),
    "search": Job(
        ("search", "--run", "RUN", "--budget", "16", "--order-episodes", "2",
         "--evaluation-episodes", "2", "--final-episodes", "2", "--base.episodes", "2",
         "--prior", "none", "--spread", "2", "--gate.episodes", "2", *_SMALL, "--json"),
        ("search", "--resume", "--run", "RUN", "--json"),
    ),
    "detect": Job(
        ("detect", "train", "--run", "RUN", "--data", "DATA/events.csv", "--label", "y",
         "--session", "user", "--learn.iterations", "4", "--learn.steps", "64",
         "--team.hidden", "4", "--team.trees", "2", "--checkpoint-every", "2",
         "--learn.epochs", "1", "--learn.minibatches", "1", "--learn.foresight", "0",
         "--rules.no-defaults", "--json"),
        ("detect", "train", "--resume", "--run", "RUN", "--json"),
    ),
    "score": Job(
        ("detect", "score", "DATA/detect", "--data", "DATA/new.csv", "--out", "RUN/verdicts.jsonl",
         "--state", "RUN/state", "--batch", "8", "--json"), (),
        result="verdicts.jsonl", before="detect",
    ),
}  # fmt: skip


def command(words: list[str]) -> int:
    """Run a command in this process and give its exit code."""
    if words[0] == "toy":
        toy_run.run(Path(words[1]), _NUM_STEPS)
        return 0
    return main(words)


@dataclass(frozen=True)
class Undisturbed:
    """What a job comes to if nothing happens to it."""

    job: Job
    shared: Path
    result: str
    num_calls: int  # that change files
    seconds: float


def prepare(name: str) -> Callable[[Path], Undisturbed]:
    """Do the job once, counting its calls, and once for the time that it takes."""

    def make(folder: Path) -> Undisturbed:
        job = JOBS[name]
        write_tables(folder)
        if job.before:
            do(JOBS[job.before], folder / job.before, folder)
        do(job, folder / "undisturbed", folder)  # imports and compiles what is missing
        began = time.monotonic()
        calls: list[int] = []
        with watched(lambda number, *_: calls.append(number)):
            do(job, folder / "again", folder)
        seconds = time.monotonic() - began
        result = result_of(folder / "undisturbed", job)
        if result != result_of(folder / "again", job):
            raise RuntimeError(f"{name}: two undisturbed runs differ")
        return Undisturbed(job, folder, result, len(calls), seconds)

    return make


def write_tables(folder: Path) -> None:
    """A few labelled events, and some more without labels."""
    rng = random.Random(1)
    for name, num_rows in (("events.csv", 160), ("new.csv", 120)):
        with (folder / name).open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["a", "b", "c", "user", "y"])
            for number in range(num_rows):
                bad = number // 4 % 3 == 0
                word = "pq"[bad ^ (rng.random() < 0.2)]
                writer.writerow([rng.gauss(2 * bad, 1), rng.gauss(-bad, 1), word,
                                 f"u{number // 4}", int(bad)])  # fmt: skip


def do(job: Job, run: Path, shared: Path, *more: str) -> None:
    """Do a job, or the rest of it, in this process."""
    words = [*job.words(run, shared), *more]
    with light():
        said = said_by(command, words)
    if said.code:
        raise RuntimeError(f"{' '.join(words[:3])}: exit code {said.code}: {said.err[-500:]}")


def result_of(run: Path, job: Job | None = None) -> str:
    """All bytes of a run that must not depend on what happened to it."""
    return digest_of(run / (job.result if job else "."), without=FLEETING)


def kill(done: Undisturbed, rng: random.Random, place: Path) -> str | None:
    """Kill it once or more often, at least once while it works; then let it end."""
    run, is_whole = place / "run", rng.random() < _WHOLE_SHARE
    for number in range(rng.choice((1, 1, 1, 2, 3))):
        if rng.random() < 0.5 and not _is_killed_at_any_moment(done, run, rng, is_whole) and (
            number == 0
        ):  # fmt: skip
            shutil.rmtree(run)  # it had ended: once more, and surely
            _die_at_call(done, run, rng.randrange(done.num_calls), is_whole)
        elif number == 0 or rng.random() < 0.5:
            _die_at_call(done, run, rng.randrange(done.num_calls), is_whole)
    return _end(done, run)


def _end(done: Undisturbed, run: Path) -> str | None:
    """Let a job come to its end, and compare."""
    do(done.job, run, done.shared)
    same = result_of(run, done.job) == done.result
    return None if same else "other bits than undisturbed"


def _die_at_call(done: Undisturbed, run: Path, fatal_call: int, is_whole: bool) -> None:
    write = os.write

    def die(number: int, name: str, args: tuple[Any, ...]) -> None:
        if number == fatal_call:
            if name == "write":
                write(args[0], bytes(args[1])[: len(args[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)

    def work() -> int:
        with watched(die):
            return command(done.job.words(run, done.shared))

    exit_code(start(work, run.parent, is_whole=is_whole))


def _is_killed_at_any_moment(
    done: Undisturbed, run: Path, rng: random.Random, is_whole: bool
) -> bool:
    """Whether the child was still at work when its parent killed it."""
    words = done.job.words(run, done.shared)
    child = start(lambda: command(words), run.parent, is_whole=is_whole)
    time.sleep(rng.uniform(0, done.seconds))
    os.kill(child, signal.SIGKILL)
    return exit_code(child) == -signal.SIGKILL


def start(work: Callable[[], int], place: Path, *, is_whole: bool = False) -> int:
    """A child that works, says what it has to say into place/said, and exits with its code."""

    def muted() -> int:
        said = os.open(place / "said", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for stream in (1, 2):
            os.dup2(said, stream)
        with nullcontext() if is_whole else light():
            return work()

    return fork(muted)


def fill_disk(done: Undisturbed, rng: random.Random, place: Path) -> str | None:
    """Let the disk be full after some bytes; then go on with room."""
    run, left, write = place / "run", rng.randrange(rng.choice((4_000, 40_000))), os.write

    def limited(descriptor: int, data: Any) -> int:
        nonlocal left
        if descriptor <= 2:
            return write(descriptor, data)
        if not left:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        taken = write(descriptor, bytes(data)[:left])
        left -= taken
        return taken

    def work() -> int:
        os.write = limited
        return command(done.job.words(run, done.shared))

    return _weather(done, run, start(work, place), {0, 3}, "No space left")


def limit(done: Undisturbed, rng: random.Random, place: Path) -> str | None:
    """Let the system refuse large files, more open files or more memory; then go on without."""
    run = place / "run"
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    num_open = len(list(Path("/proc/self/fd").iterdir()))
    kind, most = rng.choice((
        (resource.RLIMIT_FSIZE, rng.randrange(200, 20_000)),
        (resource.RLIMIT_NOFILE, num_open + rng.randrange(5)),
        (resource.RLIMIT_AS, size + rng.randrange(2**26)),
    ))  # fmt: skip

    def work() -> int:
        resource.setrlimit(kind, (most, most))
        return command(done.job.words(run, done.shared))

    return _weather(done, run, start(work, place), {0, 3, 4}, "error: ")


def _weather(done: Undisturbed, run: Path, child: int, codes: set[int], why: str) -> str | None:
    """Wait for a child that may fail for one reason, and let the job end."""
    code = exit_code(child)
    said = (run.parent / "said").read_text(errors="replace")
    if code not in codes or "Traceback" in said or "fault of the program" in said:
        return f"exit code {code}: {said[-400:]}"
    if code and why not in said:
        return f"another message: {said[-400:]}"
    return _end(done, run)


def race(done: Undisturbed, rng: random.Random, place: Path) -> str | None:
    """Two or three processes want one folder at once."""
    run = place / "run"
    words = done.job.words(run, done.shared)
    children = [start(lambda: command(words), place) for _ in range(rng.choice((2, 3)))]
    codes = [exit_code(child) for child in children]
    if 0 not in codes or set(codes) - {0, 3}:
        return f"exit codes {codes}: {(place / 'said').read_text(errors='replace')[-400:]}"
    return _end(done, run)
