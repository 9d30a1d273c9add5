"""A run in miniature, begun or resumed: python toy_run.py <folder> <steps>."""

import sys
from pathlib import Path

import numpy as np

from standing_orders.errors import StandingOrdersError
from standing_orders.runs.checkpoint import load_latest, prune_checkpoints, save_checkpoint
from standing_orders.runs.folder import RunFolder
from standing_orders.runs.sinks import CsvSink

STEPS_PER_CHECKPOINT = 3
KEEP = 2
COLUMNS = {"Step": "step", "Mean": "weights.mean"}
STATE = np.dtype([("seed", "u8"), ("mask", "i2", (3,))])


def run(path: Path, num_steps: int) -> None:
    """Walk at random; everything that is written depends on what was restored."""
    if (path / "run.json").exists():
        folder = RunFolder.open(path, kind="toy")
    else:
        folder = RunFolder.create(path, {"seed": 5}, "toy")
    with folder.lock(), folder.journal() as journal:
        rng = np.random.default_rng(folder.config["seed"])
        weights, states = np.zeros(20), np.zeros(2, STATE)
        step = num_records = 0
        checkpoint, messages = load_latest(folder.path)
        assert not messages, messages
        if checkpoint is not None:
            weights, states = checkpoint.tensors["weights"], checkpoint.structured("states", STATE)
            rng.bit_generator.state = checkpoint.data["rng"]
            step, num_records = checkpoint.index, checkpoint.data["num_records"]
        prune_checkpoints(folder.path, step, keep=KEEP)
        journal.truncate_after(num_records)
        print("ready", flush=True)
        with CsvSink.rebuild(folder.resolve("metrics.csv"), COLUMNS, journal.read()) as table:
            while step < num_steps:
                step += 1
                weights += rng.normal(size=20)
                states["mask"][step % 2] += rng.integers(0, 3, 3, dtype=np.int16)
                record = {"step": step, "weights": {"mean": float(weights.mean())}}
                journal.append(record)
                table.append(record)
                if step % STEPS_PER_CHECKPOINT == 0:
                    data = {"rng": rng.bit_generator.state, "num_records": journal.head[0]}
                    tensors = {"weights": weights, "states": states}
                    save_checkpoint(folder.path, step, tensors, data, keep=KEEP)


if __name__ == "__main__":
    try:
        run(Path(sys.argv[1]), int(sys.argv[2]))
    except StandingOrdersError as err:
        sys.exit(f"{type(err).__name__}: {err}")
