"""Where a stream goes on after it was stopped or killed: offset, memory and size of the output.

A snapshot is a checkpoint like those of training: it appears whole or not at all, and is checked.
What was written to the output after the last one is written again; by the offset it is told apart.
"""

import hashlib
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.service.judge import Judge
from standing_orders.errors import CheckpointError, DataError
from standing_orders.runs.checkpoint import load_latest, save_checkpoint

COMMIT_EVERY = 1.0  # seconds between snapshots, at least
_MAX_SHARE = 0.1  # of the time that snapshots may take


class StreamState:
    """Snapshots of a stream in a folder of their own."""

    def __init__(self, folder: Path, judge: Judge) -> None:
        self._folder, self._team = folder, _digest(judge)
        self._index = 0
        self._next = time.monotonic() + COMMIT_EVERY

    def load(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]] | None:
        """The newest snapshot that is in order; None without any.

        Raises:
            DataError: it is of another team.
            CheckpointError: all of them are damaged.
        """
        checkpoint, messages = load_latest(self._folder)
        if checkpoint is None:
            if messages:
                raise CheckpointError("; ".join(messages))
            return None
        if checkpoint.data["team"] != self._team:
            raise DataError(
                f"{self._folder}: is of another team than this one: take another --state, or "
                "remove it"
            )
        self._index = checkpoint.index + 1
        return checkpoint.tensors, checkpoint.data["stream"]

    def is_due(self) -> bool:
        """Whether it is time for the next snapshot."""
        return time.monotonic() >= self._next

    def save(self, arrays: dict[str, NDArray[Any]], data: dict[str, Any]) -> None:
        """Keep a snapshot; the output must be on the disk already."""
        began = time.monotonic()
        plain = {name: np.ascontiguousarray(value) for name, value in arrays.items()}
        save_checkpoint(
            self._folder, self._index, plain, {"team": self._team, "stream": data}, keep=2
        )
        self._index += 1
        now = time.monotonic()
        self._next = now + max(COMMIT_EVERY, (now - began) / _MAX_SHARE)


def _digest(judge: Judge) -> str:
    """SHA-256 of all weights."""
    digest = hashlib.sha256()
    for name, tensor in judge.team.network.state_dict().items():
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(tensor.numpy()).tobytes())
    return digest.hexdigest()
