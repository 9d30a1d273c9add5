"""The one decorator that compiles: no GIL, cached in the user's own cache folder.

Numba's own cache notices a change of the file a function stands in, but not of the files of the
functions it calls. The folder is therefore named after the contents of all kernels.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

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
    return Path(root) / f"kernels-{digest.hexdigest()[:16]}"


_FOLDER = str(cache_folder())


def jit(function: Function) -> Function:
    """Compile a function on its first call, or load it from the cache folder."""
    # Numba reads the setting when a function is decorated; other users of Numba keep theirs.
    settings: Any = numba.config
    before = settings.CACHE_DIR
    settings.CACHE_DIR = _FOLDER
    try:
        return cast(Function, numba.njit(cache=True, nogil=True, boundscheck=False)(function))
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
