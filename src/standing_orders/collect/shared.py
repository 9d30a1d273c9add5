"""The arrays of a batch in memory that processes share."""

from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.scenario import OBSERVATION_SIZE

_ALIGNMENT = 64  # bytes; no two arrays share a cache line


class SharedBatch:
    """Actions in, observations, rewards and held hosts out.

    Args:
        num_envs: environments of the batch.
        num_workers: processes that play it.
        name: of memory that another process made; new memory if left out.
    """

    def __init__(self, num_envs: int, num_workers: int, *, name: str | None = None) -> None:
        shapes: dict[str, tuple[tuple[int, ...], Any]] = {
            "actions": ((num_envs,), np.int64),
            "observations": ((num_envs, OBSERVATION_SIZE), np.int8),
            "rewards": ((num_envs,), np.int32),  # tenths of a point
            "held": ((num_envs,), np.int16),  # mask of hosts that red holds
            "seconds": ((num_workers,), np.float64),  # that each worker took for the last step
        }
        sizes = [int(np.prod(shape)) * np.dtype(kind).itemsize for shape, kind in shapes.values()]
        offsets = np.cumsum([0] + [-(-size // _ALIGNMENT) * _ALIGNMENT for size in sizes])
        self._is_owner = name is None
        self._memory = SharedMemory(name=name, create=self._is_owner, size=int(offsets[-1]))
        arrays = {
            label: np.ndarray(shape, kind, self._memory.buf, int(offset))
            for (label, (shape, kind)), offset in zip(shapes.items(), offsets, strict=False)
        }
        self.actions: NDArray[np.int64] = arrays["actions"]
        self.observations: NDArray[np.int8] = arrays["observations"]
        self.rewards: NDArray[np.int32] = arrays["rewards"]
        self.held: NDArray[np.int16] = arrays["held"]
        self.seconds: NDArray[np.float64] = arrays["seconds"]

    @property
    def name(self) -> str:
        """What another process finds the memory by."""
        return self._memory.name

    def close(self) -> None:
        """Let go of the memory; the owner frees it."""
        del self.actions, self.observations, self.rewards, self.held, self.seconds
        self._memory.close()
        if self._is_owner:
            self._memory.unlink()
