"""Drawing actions: inverse CDF, one uniform number for each environment."""

import numpy as np
from numpy.typing import NDArray

from standing_orders.compiled import jit


@jit
def sample_actions(
    logits: NDArray[np.float32],  # (num_envs, 145)
    uniforms: NDArray[np.float64],  # (num_envs,) in [0, 1)
    actions: NDArray[np.int64],  # (num_envs,), written
) -> None:
    """Draw each row's action with probability softmax(logits)."""
    for i in range(len(logits)):
        row = logits[i]
        top = row.max()
        total = 0.0
        for j in range(len(row)):
            total += np.exp(np.float64(row[j] - top))
        goal, reached, chosen = uniforms[i] * total, 0.0, len(row) - 1
        for j in range(len(row)):
            reached += np.exp(np.float64(row[j] - top))
            if reached > goal:
                chosen = j
                break
        actions[i] = chosen
