"""The one decorator that compiles: no GIL, cached in the user's own cache folder.

Numba's own cache notices a change of the file a function stands in, but not of the files of the
functions it calls. The folder is therefore named after the contents of all kernels. Its files are
machine code in pickles, which nothing checks before it runs: so a digest stands beside each of
them, a file that does not fit its digest is compiled anew, and a folder that others may write into
is refused, for who can write there runs code here.
"""

import grp
import hashlib
import os
import pwd
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

from standing_orders.errors import ConfigError

Function = TypeVar("Function", bound=Callable[..., Any])


def cache_folder() -> Path:
    """Folder that holds the compiled kernels of exactly this source."""
    digest = hashlib.sha256()
    package = Path(__file__).parent
    for folder in ("belief", "cage2", "detect", "detect/rules", "learn", "rules", "search"):
        for source in sorted((package / folder).glob("*.py")):
            digest.update(source.name.encode() + b"\0" + source.read_bytes())
    root = os.environ.get("STANDING_ORDERS_CACHE_DIR")
    if root is None:
        root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        root = str(Path(root) / "standing-orders")
    return Path(root) / f"sealed-kernels-{digest.hexdigest()[:16]}"


@cache
def check_private(folder: Path) -> None:
    """Refuse a folder, or one above it, that somebody else could put compiled code into.

    Raises:
        ConfigError: it belongs to another user than this one or root, or others may write.
    """
    for place in (folder, *folder.parents):
        try:
            found = place.stat()
        except FileNotFoundError:
            continue
        except OSError as err:
            raise ConfigError(f"{place}: cannot be looked at: {err.strerror}") from err
        # In a folder with the sticky bit, such as /tmp, nobody can replace what is another's.
        is_sticky = place != folder and bool(found.st_mode & stat.S_ISVTX)
        is_open = bool(found.st_mode & stat.S_IWOTH) or (
            bool(found.st_mode & stat.S_IWGRP) and not _is_own_group(found.st_gid)
        )
        if (is_open and not is_sticky) or found.st_uid not in (os.getuid(), 0):
            raise ConfigError(
                f"{place}: others may write there, and compiled code that is kept in "
                f"{folder} would be run: set STANDING_ORDERS_CACHE_DIR to a folder of your own "
                "(chmod go-w)"
            )


def _is_own_group(number: int) -> bool:
    """Whether nobody but this user is in a group, as in the groups that many systems give users."""
    try:
        me, group = pwd.getpwuid(os.getuid()), grp.getgrgid(number)
    except KeyError:
        return False
    return me.pw_gid == number and set(group.gr_mem) <= {me.pw_name}


class _SealedFiles(IndexDataCacheFile):
    """Numba's cache files of one function, each with its digest beside it."""

    def _load_index(self) -> Any:
        if not self._is_intact(self._index_path):
            return {}
        try:
            return super()._load_index()  # type: ignore[no-untyped-call]
        except (ImportError, AttributeError):  # of a red agent of somebody's own that is not here
            return {}

    def _load_data(self, name: str) -> Any:
        if not self._is_intact(self._data_path(name)):  # type: ignore[no-untyped-call]
            raise OSError(f"{name}: damaged")  # Numba then compiles
        return super()._load_data(name)  # type: ignore[no-untyped-call]

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[Any]:
        with super()._open_for_write(filepath) as file:
            yield file
        with super()._open_for_write(_seal_path(filepath)) as seal:
            seal.write(_digest_of(filepath))

    @staticmethod
    def _is_intact(filepath: str) -> bool:
        try:
            return Path(_seal_path(filepath)).read_bytes() == _digest_of(filepath)
        except OSError:
            return False


def _seal_path(filepath: str) -> str:
    return f"{filepath}.sha256"


def _digest_of(filepath: str) -> bytes:
    return hashlib.sha256(Path(filepath).read_bytes()).hexdigest().encode()


class _SealedCache(FunctionCache):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        check_private(Path(self._cache_path))  # another one where ours cannot be written
        files = self._cache_file
        self._cache_file = _SealedFiles(  # type: ignore[no-untyped-call]
            files._cache_path, self._impl.filename_base, files._source_stamp
        )


_FOLDER = cache_folder()
check_private(_FOLDER)


def jit(function: Function) -> Function:
    """Compile a function on its first call, or load it from the cache folder."""
    # Numba reads the setting when a function is decorated; other users of Numba keep theirs.
    settings: Any = numba.config
    before = settings.CACHE_DIR
    settings.CACHE_DIR = str(_FOLDER)
    try:
        compiled: Any = numba.njit(cache=True, nogil=True, boundscheck=False)(function)
        compiled._cache = _SealedCache(function)
        return cast(Function, compiled)
    finally:
        settings.CACHE_DIR = before


@jit
def count_bits(mask: int) -> int:
    """Number of set bits of a mask of at most 32 bits."""
    mask = mask - ((mask >> 1) & 0x55555555)
    mask = (mask & 0x33333333) + ((mask >> 2) & 0x33333333)
    mask = (mask + (mask >> 4)) & 0x0F0F0F0F
    return ((mask * 0x01010101) >> 24) & 0x3F


@jit
def nth_bit(mask: int, n: int) -> int:
    """Position of the n-th set bit (from 0, lowest first); -1 if there are not so many."""
    position = 0
    while mask:
        if mask & 1:
            if n == 0:
                return position
            n -= 1
        mask >>= 1
        position += 1
    return -1
