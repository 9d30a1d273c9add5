"""How long a user waits: for help, for an answer to bad input, for the first score and policy.

python benchmarks/cold_start.py start [--before FOLDER/src]
python benchmarks/cold_start.py defaults

`start`: with --before, the same commands by other sources (`git worktree add FOLDER COMMIT`) stand
beside ours, measured in turns in one run. `defaults`: `train` without options, and how many of the
120 orders its policy keeps; some minutes.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import tyro

import results
import standing_orders

EPISODES = ("evaluate", "--policy", "heuristic", "--episodes", "2", "--json")
TRAIN = ("train",)
HELP = (("--help",), ("train", "--help"), ("search", "--help-all"))
BAD_INPUT = (
    ("evaluate", "--policy", "no-such-run"),
    ("play", "--policy", "no-such-run"),
    ("train", "--order", "first"),
    ("train", "--start", "no-such-run"),
    ("train", "--resume", "--run", "no-such-run"),
    ("search", "--base-run", "no-such-run"),
    ("report", "no-such-run"),
    ("detect", "evaluate", "no-such-run"),
    ("detect", "train", "--data", "no-such-file.csv", "--label", "y"),
)


@dataclass(frozen=True)
class Task:
    """What to measure."""

    what: tyro.conf.Positional[Literal["start", "defaults"]] = "start"
    """Starting up, or training without options."""
    before: Path | None = None
    """Sources of another version, the folder that holds standing_orders."""
    tries: int = 3
    """The fastest of so many counts, except for compiling."""
    compiling: bool = True
    """Also the first score, with nothing compiled yet: a minute."""
    episodes: int | None = None
    """Of training, for a quick look at `defaults`; its own number if left out."""
    results: Path = results.FOLDER
    """Where the table goes."""


@dataclass(frozen=True)
class Spent:
    """What a command took, in seconds."""

    wall: float
    cpu: float  # of one core: what it takes at least, however busy the machine is

    def least(self, other: "Spent | None") -> "Spent":
        """The smaller figures of two tries."""
        if other is None:
            return self
        return Spent(min(self.wall, other.wall), min(self.cpu, other.cpu))


def spend(words: tuple[str, ...], sources: Path, folder: str) -> Spent:
    """Run one command with its own cache folder; of training, to the first line."""
    environment = os.environ | {"STANDING_ORDERS_CACHE_DIR": folder, "PYTHONPATH": str(sources)}
    command = [sys.executable, "-m", "standing_orders", *words]
    began, used = time.perf_counter(), _cpu_of_children()
    with (
        tempfile.TemporaryDirectory() as place,
        subprocess.Popen(
            command, env=environment, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as process,
    ):
        assert process.stdout is not None
        if words == TRAIN:
            process.stdout.readline()
            process.kill()
        else:
            process.stdout.read()
        process.wait()
        return Spent(time.perf_counter() - began, _cpu_of_children() - used)


@cache
def _help(sources: Path) -> str:
    command = [sys.executable, "-m", "standing_orders", "--help"]
    return subprocess.check_output(
        command, env=os.environ | {"PYTHONPATH": str(sources)}, text=True
    )


def has_command(word: str, sources: Path) -> bool:
    """Whether a version has a command, so that its answer is one."""
    return word.startswith("-") or word in _help(sources)


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure_start(task: Task) -> None:
    """How long commands take before anything happens."""
    ours = Path(standing_orders.__file__).parents[1]
    source = f"python benchmarks/cold_start.py start; fastest of {task.tries}, one core"
    source += "; before: --before FOLDER/src" if task.before else ""
    with (
        tempfile.TemporaryDirectory() as first,
        tempfile.TemporaryDirectory() as second,
        results.table("start.csv", source=source, folder=task.results) as add,
    ):
        places = [(task.before.absolute() if task.before else None, first), (ours, second)]

        def row(name: str, words: tuple[str, ...], tries: int = task.tries) -> None:
            best: list[Spent | None] = [None, None]
            for _ in range(tries):
                for which, (sources, folder) in enumerate(places):
                    if sources is not None and has_command(words[0], sources):
                        best[which] = spend(words, sources, folder).least(best[which])
            before, now = best
            assert now is not None
            add(
                command=name, before="" if before is None else f"{before.wall:.2f}",
                before_cpu="" if before is None else f"{before.cpu:.2f}",
                now=f"{now.wall:.2f}", now_cpu=f"{now.cpu:.2f}",
            )  # fmt: skip

        for words in (*HELP, *BAD_INPUT):
            row(f"`{' '.join(words)}`", words)
        row("`train`, to its first line", TRAIN)
        if task.compiling:
            row("the first score, nothing compiled", EPISODES, 1)
            row("the same from the cache", EPISODES)


def measure_defaults(task: Task) -> None:
    """What comes of `train` without options, by the commands of the quick start."""
    source = (
        "python benchmarks/cold_start.py defaults; `train`, then `evaluate --red b_line --order "
        "all`: n = 200 episodes an order, one training seed"
    )
    command = [sys.executable, "-m", "standing_orders"]
    with (
        tempfile.TemporaryDirectory() as place,
        results.table("defaults.csv", source=source, folder=task.results) as add,
    ):
        few = [] if task.episodes is None else ["--episodes", str(task.episodes)]
        began, used = time.perf_counter(), _cpu_of_children()
        subprocess.run([*command, "train", "--run", "any", *few], cwd=place, check=True)
        spent = Spent(time.perf_counter() - began, _cpu_of_children() - used)
        words = ("evaluate", "--policy", "any", "--red", "b_line", "--order", "all", "--json")
        card = json.loads(subprocess.check_output([*command, *words], cwd=place))
        found = card["obedience"]["b_line"]["summary"]
        add(
            orders=found["orders"], passed=found["passed"], contested=f"{found['contested']:.4f}",
            mean_return=f"{found['mean_return']:.1f}", minutes=f"{spent.wall / 60:.1f}",
            cpu_minutes=f"{spent.cpu / 60:.1f}",
        )  # fmt: skip


def main(task: Task) -> None:
    """Measure, print and write."""
    {"start": measure_start, "defaults": measure_defaults}[task.what](task)


if __name__ == "__main__":
    results.launch(main, Task, __doc__)
