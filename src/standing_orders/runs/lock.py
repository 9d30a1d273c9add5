"""One process at a time in a run folder."""

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from standing_orders.errors import CheckpointError
from standing_orders.runs.files import open_regular, remove_leftovers, write_all, writing

LOCK_NAME = ".lock"
_NUM_TRIES, _PAUSE_SECONDS = 10, 0.05


class RunLock:
    """The right to write into a run folder, for the length of a `with` block.

    The kernel holds the lock and frees it when the process dies, however it dies, so it is never
    stale. The file `.lock` stays; the number in it only serves the message to others. Whoever gets
    the lock first clears away what a killed owner left half written.

    Args:
        folder: an existing folder.

    Raises:
        CheckpointError: on entering, if another process, or another `RunLock` of this one, has it.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, RunLock(Path(folder)) as lock:
        ...     lock.is_held
        True
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._descriptor: int | None = None

    @property
    def is_held(self) -> bool:
        """Whether this object has the lock."""
        return self._descriptor is not None

    def __enter__(self) -> Self:
        if self.is_held:
            raise CheckpointError(f"{self.folder}: is locked by this very object already")
        with writing(self.folder / LOCK_NAME):
            descriptor = open_regular(self.folder / LOCK_NAME, os.O_RDWR | os.O_CREAT)
        try:
            with writing(self.folder / LOCK_NAME):
                self._take(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        _held.add(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._descriptor is not None:
            with suppress(OSError):
                os.ftruncate(self._descriptor, 0)
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            self._forget()

    def _take(self, descriptor: int) -> None:
        if not _patiently_locked(descriptor):
            # Empty for an instant after the owner got the lock.
            holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip() or "unknown"
            raise CheckpointError(
                f"{self.folder}: in use by process {holder}: wait for it to end, or choose "
                "another folder"
            )
        os.ftruncate(descriptor, 0)
        write_all(descriptor, f"{os.getpid()}\n".encode())
        remove_leftovers(self.folder)

    def _forget(self) -> None:
        """Close the file; a lock of which no copy of the descriptor is left is free."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        _held.discard(self)


def _patiently_locked(descriptor: int) -> bool:
    """Get the lock, or see it in use for a while.

    Who only finds that there is a run already has the lock for an instant; without patience two
    that begin a run at once could both be refused.
    """
    for _ in range(_NUM_TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE_SECONDS)
        else:
            return True
    return False


_held: set[RunLock] = set()


def _forget_in_child() -> None:
    for lock in list(_held):
        lock._forget()


# A forked worker has a copy of the descriptor and would keep the lock after its parent is killed.
os.register_at_fork(after_in_child=_forget_in_child)
