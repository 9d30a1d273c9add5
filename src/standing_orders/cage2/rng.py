"""One counter-based random stream per environment: Philox 4x32-10 (Salmon et al., SC 2011).

A block of four 32-bit words is a pure function of (seed, episode, turn, stream), so an environment
draws the same words whatever its place in a batch, the batch size, the thread or the process.
"""

import numpy as np

from standing_orders.compiled import jit

RED_STREAM = 0
BLUE_STREAM = 1

_MULTIPLIER_0 = np.uint64(0xD2511F53)
_MULTIPLIER_1 = np.uint64(0xCD9E8D57)
_WEYL_0 = np.uint64(0x9E3779B9)
_WEYL_1 = np.uint64(0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_ROUNDS = 10


@jit
def philox(c0: int, c1: int, c2: int, c3: int, seed: int) -> tuple[int, int, int, int]:
    """Four words in [0, 2**32) from a 128-bit counter and a 64-bit key."""
    x0, x1, x2, x3 = np.uint64(c0), np.uint64(c1), np.uint64(c2), np.uint64(c3)
    k0 = np.uint64(seed) & _LOW
    k1 = np.uint64(seed) >> _HALF
    for _ in range(_ROUNDS):
        p0 = _MULTIPLIER_0 * x0
        p1 = _MULTIPLIER_1 * x2
        x0, x1, x2, x3 = (
            (p1 >> _HALF) ^ x1 ^ k0,
            p1 & _LOW,
            (p0 >> _HALF) ^ x3 ^ k1,
            p0 & _LOW,
        )
        k0 = (k0 + _WEYL_0) & _LOW
        k1 = (k1 + _WEYL_1) & _LOW
    # Signed again: Numba turns a mix of signed and unsigned integers into floats.
    return np.int64(x0), np.int64(x1), np.int64(x2), np.int64(x3)  # type: ignore[return-value]


@jit
def below(word: int, n: int) -> int:
    """Map a 32-bit word to 0..n-1, uniform up to n / 2**32."""
    return (word * n) >> 32
