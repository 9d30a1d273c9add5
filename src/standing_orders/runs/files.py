"""Files that are either as before or complete, whenever the process dies."""

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from standing_orders.errors import CheckpointError

TEMPORARY_PREFIX = ".tmp-"  # of what a killed write leaves behind


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn whatever the system refuses inside the block into one error that names `path`.

    Raises:
        CheckpointError: a file could not be written, such as on a full disk.
    """
    try:
        yield
    except OSError as err:
        reason = err.strerror or err
        raise CheckpointError(
            f"{path}: cannot be written: {reason}; what was written before is intact"
        ) from err


def write_atomically(path: Path, data: bytes) -> None:
    """Put `data` into `path`: after a crash the file is the old one or the new one, whole.

    Args:
        path: the file; its folder must exist and be used by one process only.
        data: all of the content.

    Raises:
        CheckpointError: it cannot be written; the old file is untouched.
    """
    temporary = path.with_name(TEMPORARY_PREFIX + path.name)
    with writing(path):
        try:
            write_synced(temporary, data)
            temporary.replace(path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)


def write_synced(path: Path, data: bytes) -> None:
    """Write a file and wait until it is on the disk; a crash may leave a part of it."""
    with path.open("wb", buffering=0) as file:
        write_all(file.fileno(), data)
        os.fsync(file.fileno())


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of `data`: near the end of a disk the system takes a part only."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def sync_folder(folder: Path) -> None:
    """Wait until the folder's list of names is on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_leftovers(folder: Path) -> None:
    """Delete what killed writes left in a run folder; only the owner of its lock may.

    Raises:
        CheckpointError: something cannot be deleted.
    """
    with writing(folder):
        places = [folder, *(path for path in folder.iterdir() if _is_real_folder(path))]
        for place in places:
            for leftover in place.glob(TEMPORARY_PREFIX + "*"):
                if _is_real_folder(leftover):
                    shutil.rmtree(leftover)
                else:
                    leftover.unlink()


def sha256_of(path: Path) -> str:
    """Give the SHA-256 sum of a file in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_real_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
