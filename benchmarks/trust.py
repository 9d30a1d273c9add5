"""What the seals of a run folder cost: the same work in a folder with and without them, in turn.

python benchmarks/trust.py            # on the disk that the temporary folder is on
python benchmarks/trust.py --quick
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from results import FOLDER, table
from standing_orders.runs.checkpoint import load_latest
from standing_orders.runs.folder import RunFolder
from standing_orders.runs.journal import Journal
from standing_orders.runs.loop import belongs_to, save_state

RECORD = {
    "update": 1, "episodes": 100, "reward": {"environment": -17.25, "alignment": 0.0},
    "loss": {f"term_{number}": number / 7 for number in range(12)},
    "compliance": {f"count_{number}": number for number in range(20)},
}  # fmt: skip
CONFIG = {"seed": 1, **{f"setting_{number}": number / 3 for number in range(60)}}


def make(path: Path, *, is_sealed: bool) -> RunFolder:
    """A run with or without seals: what format 1 had."""
    if is_sealed:
        return RunFolder.create(path, CONFIG, "train")
    path.mkdir()
    mark = {"format": 1, "kind": "train"}
    for name, value in {"run": mark, "config": CONFIG, "versions": {}}.items():
        (path / f"{name}.json").write_text(json.dumps(value))
    return RunFolder.open(path)


def append(journal: Journal, times: int) -> None:
    """Append records, each on the disk before the next."""
    for _ in range(times):
        journal.append(RECORD)


def reopen(folder: RunFolder) -> None:
    """All that a resume looks at before the first update."""
    again = RunFolder.open(folder.path, kind="train")
    lines = again.journal().lines()
    checkpoint, messages = load_latest(again.path, belongs_to(again, lines))
    assert checkpoint is not None
    assert not messages


def timed(work: Callable[[], Any]) -> float:
    """Microseconds of the processor, the system's own included: a busy machine does not count."""
    began = time.process_time_ns()
    work()
    return (time.process_time_ns() - began) / 1e3


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few times only; nothing is kept")
    quick = parser.parse_args().quick
    rounds, records = (5, 20) if quick else (100, 20)
    source = (
        f"python benchmarks/trust.py; CPU time, medians of {rounds} rounds in turn; a run of "
        f"{rounds * records:,} records"
    )
    tensors = {f"w{number}": np.zeros((200, 200), np.float32) for number in range(6)}
    with (
        tempfile.TemporaryDirectory() as place,
        table("trust.csv", source=source, folder=None if quick else FOLDER) as add,
    ):
        pair = [
            make(Path(place) / name, is_sealed=name == "sealed") for name in ("plain", "sealed")
        ]

        def compare(name: str, works: Sequence[Callable[[], Any]], each: int = 1) -> None:
            for work in works:
                work()
            times: list[list[float]] = [[], []]
            for _ in range(rounds):  # in turn, so that a busy machine slows both alike
                for side, work in zip(times, works, strict=True):
                    side.append(timed(work) / each)
            plain, sealed = map(statistics.median, times)
            add(work=name, without_us=f"{plain:.1f}", sealed_us=f"{sealed:.1f}",
                ratio=f"{sealed / plain:.2f}")  # fmt: skip

        journals = [folder.journal() for folder in pair]
        compare("append a record", [partial(append, one, records) for one in journals], records)
        for folder, journal in zip(pair, journals, strict=True):
            save_state(folder, journal, 1, tensors, {})
            journal.close()
        compare("open", [partial(RunFolder.open, folder.path, kind="train") for folder in pair])
        compare("resume", [partial(reopen, folder) for folder in pair])


if __name__ == "__main__":
    main()
