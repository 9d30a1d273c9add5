"""The arrays of a batch in memory that processes share."""

import mmap
import os
import tempfile
from dataclasses import dataclass
from multiprocessing.reduction import DupFd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.scenario import OBSERVATION_SIZE

_ALIGNMENT = 64  # bytes; no two arrays share a cache line


@dataclass(frozen=True)
class SharedHandle:
    """Memory without a name: it cannot be left behind, however its processes end."""

    descriptor: int

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (DupFd(self.descriptor),)


def _reopen(descriptor: Any) -> SharedHandle:
    return SharedHandle(descriptor.detach())


def _nameless_file(size: int) -> int:
    """Descriptor of a file in memory, where the system has such files; else of a deleted one."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("standing-orders")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, size)
    return descriptor


class SharedBatch:
    """Actions in, observations, rewards and held hosts out.

    Args:
        num_envs: environments of the batch.
        num_workers: processes that play it.
        handle: of memory that another process made; new memory if left out.
    """

    def __init__(
        self, num_envs: int, num_workers: int, *, handle: "SharedHandle | None" = None
    ) -> None:
        shapes: dict[str, tuple[tuple[int, ...], Any]] = {
            "actions": ((num_envs,), np.int64),
            "observations": ((num_envs, OBSERVATION_SIZE), np.int8),
            "rewards": ((num_envs,), np.int32),  # tenths of a point
            "held": ((num_envs,), np.int16),  # mask of hosts that red holds
            "seconds": ((num_workers,), np.float64),  # that each worker took for the last step
        }
        sizes = [int(np.prod(shape)) * np.dtype(kind).itemsize for shape, kind in shapes.values()]
        offsets = np.cumsum([0] + [-(-size // _ALIGNMENT) * _ALIGNMENT for size in sizes])
        size = int(offsets[-1])
        self.handle = handle or SharedHandle(_nameless_file(size))
        self._memory = mmap.mmap(self.handle.descriptor, size)
        arrays = {
            label: np.ndarray(shape, kind, self._memory, int(offset))
            for (label, (shape, kind)), offset in zip(shapes.items(), offsets, strict=False)
        }
        self.actions: NDArray[np.int64] = arrays["actions"]
        self.observations: NDArray[np.int8] = arrays["observations"]
        self.rewards: NDArray[np.int32] = arrays["rewards"]
        self.held: NDArray[np.int16] = arrays["held"]
        self.seconds: NDArray[np.float64] = arrays["seconds"]

    def close(self) -> None:
        """Let go of the memory; it is freed when nobody holds it any more."""
        del self.actions, self.observations, self.rewards, self.held, self.seconds
        self._memory.close()
        os.close(self.handle.descriptor)
