"""Files that are either as before or complete, whenever the process dies; no link is followed."""

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from standing_orders.errors import CheckpointError

TEMPORARY_PREFIX = ".tmp-"  # of what a killed write leaves behind
MAX_BYTES = 4 * 2**30  # a larger file of a run is none of ours
MAX_TEXT_BYTES = 2**26  # of settings and counters as text


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
    descriptor = open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        write_all(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_regular(path: Path, flags: int, *, may_be_link: bool = False) -> int:
    """Open a file and give its descriptor; neither a link, a pipe nor a device is opened.

    Args:
        path: the file.
        flags: as for `os.open`.
        may_be_link: a link to a file will do: for what a user names, never for files of a run.

    Raises:
        OSError: it cannot be opened, or is something else than a file; the reason is in words.
    """
    # Without O_NONBLOCK the opening of a pipe would wait for somebody at its other end.
    flags |= os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o644) if may_be_link else _open_inside(path, flags)
    except OSError as err:
        if err.errno == errno.ELOOP and not may_be_link:
            raise OSError(errno.ELOOP, "is a link: must be a file", str(path)) from err
        raise
    except ValueError as err:
        raise OSError(errno.EINVAL, "a name with a null byte", str(path)) from err
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "is not a regular file", str(path))
    return descriptor


def _open_inside(path: Path, flags: int) -> int:
    """Open a file by its name in its folder's own descriptor: neither of them may be a link."""
    place = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return os.open(path.name, flags | os.O_NOFOLLOW, 0o644, dir_fd=place)
    finally:
        os.close(place)


def read_regular(path: Path, *, max_bytes: int = MAX_BYTES, may_be_link: bool = False) -> bytes:
    """All of a file; of a link, a pipe, a device or one that is too large nothing is read.

    Args:
        path: the file.
        max_bytes: that it may have.
        may_be_link: see `open_regular`.

    Raises:
        OSError: it cannot be read; the reason is in words.
    """
    descriptor = open_regular(path, os.O_RDONLY, may_be_link=may_be_link)
    with os.fdopen(descriptor, "rb") as file:
        size = os.fstat(descriptor).st_size
        if size > max_bytes:
            why = f"has {size} bytes, more than the {max_bytes} that such a file may have"
            raise OSError(errno.EFBIG, why, str(path))
        return file.read(max_bytes)  # it may have grown since


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of `data`: near the end of a disk the system takes a part only."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def sync_folder(folder: Path) -> None:
    """Wait until the folder's list of names is on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
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
        places = [folder, *(path for path in folder.iterdir() if is_real_folder(path))]
        for place in places:
            for leftover in place.glob(TEMPORARY_PREFIX + "*"):
                if is_real_folder(leftover):
                    shutil.rmtree(leftover)
                else:
                    leftover.unlink()


def is_real_folder(path: Path) -> bool:
    """Whether it is a folder and not a link to one."""
    return path.is_dir() and not path.is_symlink()


def make_real_folder(path: Path) -> None:
    """Make a folder in a folder, unless it is there.

    Raises:
        OSError: it cannot be made, or its name stands for something else, such as a link.
    """
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise OSError(errno.ENOTDIR, "is a link or a file: must be a folder", str(path))
    if not path.is_dir():
        path.mkdir()
        sync_folder(path.parent)
