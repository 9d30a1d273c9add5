"""Drawing actions: inverse CDF, one uniform number for each environment."""

import numpy as np
from numpy.typing import NDArray

from standing_orders.compiled import jit

_VANISHED = -800.0  # the exponential of less is 0


@jit
def sample_actions(
    logits: NDArray[np.float32],  # (num_envs, 145)
    uniforms: NDArray[np.float64],  # (num_envs,) in [0, 1)
    actions: NDArray[np.int64],  # (num_envs,), written
) -> None:
    """Draw each row's action with probability softmax(logits)."""
    last = logits.shape[1] - 1
    sums = np.empty(last + 1)
    for i in range(len(logits)):
        row = logits[i]
        top = row.max()
        total = 0.0
        for j in range(last + 1):
            gap = np.float64(row[j] - top)
            if gap > _VANISHED:
                total += np.exp(gap)
            sums[j] = total
        goal, chosen = uniforms[i] * total, 0
        while chosen < last and sums[chosen] <= goal:
            chosen += 1
        actions[i] = chosen
