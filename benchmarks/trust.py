"""What the seals of a run folder cost: the same work in a folder with and without them, in turn.

python benchmarks/trust.py            # on the disk that the temporary folder is on
python benchmarks/trust.py --quick
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from results import FOLDER, table
from standing_orders.runs.checkpoint import load_latest
from standing_orders.runs.folder import RunFolder
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


def append(folder: RunFolder, times: int) -> None:
    """Append records, each on the disk before the next."""
    with folder.journal() as journal:
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
    """Microseconds."""
    began = time.perf_counter()
    work()
    return 1e6 * (time.perf_counter() - began)


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few times only; nothing is kept")
    quick = parser.parse_args().quick
    rounds, records = (5, 20) if quick else (20, 50)
    tensors = {f"w{number}": np.zeros((200, 200), np.float32) for number in range(6)}
    source = f"python benchmarks/trust.py; medians of {rounds} rounds, {records} records each"
    with (
        tempfile.TemporaryDirectory() as place,
        table("trust.csv", source=source, folder=None if quick else FOLDER) as add,
    ):
        pair = [
            make(Path(place) / name, is_sealed=name == "sealed") for name in ("plain", "sealed")
        ]
        work: dict[str, Callable[[RunFolder], Any]] = {
            "append a record": lambda folder: append(folder, records),
            "open": lambda folder: RunFolder.open(folder.path, kind="train"),
            "resume": reopen,
        }
        for name, do in work.items():
            if name == "resume":
                for folder in pair:
                    with folder.journal() as journal:
                        save_state(folder, journal, 1, tensors, {})
            times: list[list[float]] = [[], []]
            for _ in range(rounds):  # in turn, so that a busy machine slows both alike
                for side, folder in zip(times, pair, strict=True):
                    side.append(timed(lambda folder=folder, do=do: do(folder)))  # type: ignore[misc]
            each = records if name.startswith("append") else 1
            plain, sealed = (statistics.median(side) / each for side in times)
            add(work=name, without_us=f"{plain:.0f}", sealed_us=f"{sealed:.0f}",
                ratio=f"{sealed / plain:.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
