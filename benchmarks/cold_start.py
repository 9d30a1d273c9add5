"""How long a user waits: help, an answer to bad input, a compile, a start from the cache.

Run: python benchmarks/cold_start.py [--before FOLDER/src]

With --before, the same commands by other sources (`git worktree add FOLDER COMMIT`) stand beside
ours, measured in turns in one run.
"""

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import standing_orders
from results import launch
from standing_orders.tables import Column, Table

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
COLUMNS = (
    Column("standing-orders", is_text=True),
    Column("before, s", ".2f"),
    Column("now, s", ".2f"),
)


@dataclass(frozen=True)
class Task:
    """What to measure."""

    before: Path | None = None
    """Sources of another version, the folder that holds standing_orders."""
    tries: int = 3
    """The fastest of so many counts, except for compiling."""
    compiling: bool = True
    """Also the first score, with nothing compiled yet: a minute."""


def seconds(words: tuple[str, ...], sources: Path, cache: str) -> float:
    """Wall time of one command with its own cache folder; of training, to the first line."""
    environment = os.environ | {"STANDING_ORDERS_CACHE_DIR": cache, "PYTHONPATH": str(sources)}
    began = time.perf_counter()
    command = [sys.executable, "-m", "standing_orders", *words]
    if words != TRAIN:
        subprocess.run(command, env=environment, check=False, capture_output=True, cwd=cache)
        return time.perf_counter() - began
    with (
        tempfile.TemporaryDirectory() as place,
        subprocess.Popen(
            command, env=environment, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as process,
    ):
        assert process.stdout is not None
        process.stdout.readline()
        took = time.perf_counter() - began
        process.kill()
    return took


def main(task: Task) -> None:
    """Measure and print."""
    ours = Path(standing_orders.__file__).parents[1]
    rows = []
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        places = [(task.before.absolute() if task.before else None, first), (ours, second)]

        def measure(words: tuple[str, ...], tries: int) -> list[float | None]:
            best: list[float | None] = [None, None]
            for _ in range(tries):
                for which, (sources, cache) in enumerate(places):
                    if sources is not None:
                        took = seconds(words, sources, cache)
                        best[which] = min(took, best[which] or took)
            return best

        for words in (*HELP, *BAD_INPUT):
            rows.append((" ".join(words), *measure(words, task.tries)))
        rows.append(("train: first sign of life", *measure(TRAIN, task.tries)))
        if task.compiling:
            rows.append(("first score, nothing compiled", *measure(EPISODES, 1)))
            rows.append(("the same from the cache", *measure(EPISODES, task.tries)))
    print(Table("wall time, fastest", COLUMNS, tuple(rows)))


if __name__ == "__main__":
    launch(main, Task, __doc__)
