"""Root seed -> named, independent child seeds."""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.errors import ConfigError
from standing_orders.memory import EPISODE_BYTES, require_memory

MAX_SEED = 2**63 - 1


def check_seed(seed: int | np.integer[Any]) -> int:
    """Return `seed` if it can be one.

    Raises:
        ConfigError: it is not a whole number from 0 to 2**63 - 1.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise ConfigError(f"seed = {seed!r}: must be a whole number")
    if not 0 <= seed <= MAX_SEED:
        raise ConfigError(f"seed = {seed}: must be between 0 and 2**63 - 1")
    return int(seed)


def child_seed(root: int, *names: str | int) -> int:
    """Derive the seed of one named stream.

    Streams with different names are independent; the same root and names give the same seed on
    every machine and Python version.

    Args:
        root: the seed the user gave.
        names: what the stream is for, from general to particular.

    Returns:
        A seed between 0 and 2**63 - 1.

    Example:
        >>> child_seed(0, "evaluate", "b_line") == child_seed(0, "evaluate", "meander")
        False
    """
    text = "\x1f".join([str(check_seed(root)), *(str(name) for name in names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") & MAX_SEED


def environment_seeds(
    seed: int | np.integer[Any], num_envs: int
) -> NDArray[np.uint64]:  # (num_envs,)
    """Give environment i the seed `seed + i`, the convention of Gymnasium's vector environments.

    Raises:
        ResourceError: there are more than memory could hold the results of.
    """
    require_memory(EPISODE_BYTES * float(num_envs), f"{num_envs} episodes at once")
    return np.uint64(check_seed(seed)) + np.arange(num_envs, dtype=np.uint64)
