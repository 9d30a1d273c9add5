"""Equal rows of a rollout, found once and weighted: the exact loss at a fraction of the work.

Only a few per cent of the rows of a batch differ. All rows with the same inputs, action and true
state share every network output, so their terms of the loss add up: the clipped surrogate needs
the sum of their positive and of their negative advantages, the value loss their mean target.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from standing_orders.compiled import jit


@jit
def _hash_rows(rows: NDArray[np.int8], extra: NDArray[np.int64]) -> NDArray[np.uint64]:
    """64-bit FNV-1a of each row of inputs and one more number, then a finaliser."""
    hashes = np.empty(len(rows), dtype=np.uint64)
    prime = np.uint64(0x100000001B3)
    for i in range(len(rows)):
        value = np.uint64(0xCBF29CE484222325) ^ np.uint64(extra[i])
        value *= prime
        for j in range(rows.shape[1]):
            value = (value ^ np.uint64(rows[i, j])) * prime
        value = (value ^ (value >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
        hashes[i] = value ^ (value >> np.uint64(33))
    return hashes


@dataclass(frozen=True)
class DistinctRows:
    """The different rows of a rollout."""

    first: NDArray[np.int64]  # (rows,): index of one original row
    inverse: NDArray[np.int64]  # (all,): which of them an original row is
    weight: NDArray[np.float32]  # (rows,): how many original rows

    def total(self, values: NDArray[np.float64]) -> NDArray[np.float64]:  # (all,) -> (rows,)
        """Sum of a quantity over the equal rows."""
        sums = np.bincount(self.inverse, weights=values, minlength=len(self.first))
        return sums.astype(np.float64)


def find_distinct(
    inputs: NDArray[np.int8],  # (all, size)
    extra: NDArray[np.int64],  # (all,): action and true state, packed
) -> DistinctRows:
    """Find rows that are equal in inputs and in `extra`."""
    hashes = _hash_rows(inputs, extra)
    _, first, inverse, counts = np.unique(
        hashes, return_index=True, return_inverse=True, return_counts=True
    )
    return DistinctRows(first, inverse.ravel(), counts.astype(np.float32))
