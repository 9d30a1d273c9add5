"""From the team's score to the probability of a threat: a monotone line through a few points."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from standing_orders.errors import CheckpointError


@dataclass(frozen=True)
class Calibration:
    """P(threat) by score, linear between points and level beyond them.

    Isotonic regression is such a line by nature; a logistic curve (Platt) is one by enough points.

    Args:
        scores: of the points, growing.
        probabilities: at them, 0 to 1, never falling.

    Raises:
        CheckpointError: the points are no such line.

    Example:
        >>> Calibration((0.2, 0.8), (0.1, 0.5)).of(np.array([0.0, 0.5, 1.0])).tolist()
        [0.1, 0.3, 0.5]
    """

    scores: tuple[float, ...] = (0.0, 1.0)
    probabilities: tuple[float, ...] = (0.0, 1.0)

    def __post_init__(self) -> None:
        xs, ys = self.scores, self.probabilities
        if not (
            len(xs) == len(ys) > 0
            and all(map(math.isfinite, (*xs, *ys)))
            and all(a < b for a, b in pairwise(xs))
            and all(a <= b for a, b in pairwise(ys))
            and 0 <= ys[0] <= ys[-1] <= 1
        ):
            raise CheckpointError(
                "calibration: scores must grow and probabilities rise from 0 to 1, as many of each"
            )

    def of(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:  # both (num_events,)
        """Probability of a threat by score."""
        return np.interp(scores, self.scores, self.probabilities)

    def to_json(self) -> dict[str, list[float]]:
        """Plain data for a checkpoint."""
        return {"scores": list(self.scores), "probabilities": list(self.probabilities)}

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Read what `to_json` gave.

        Raises:
            CheckpointError: it is something else.
        """
        try:
            return cls(_floats(data["scores"]), _floats(data["probabilities"]))
        except (KeyError, TypeError, ValueError) as err:
            raise CheckpointError(f"calibration: {data!r:.80}: must be two lists") from err


def fit_calibration(
    scores: NDArray[np.float64],  # (num_events,)
    is_threat: NDArray[np.bool_],  # (num_events,)
) -> Calibration:
    """Isotonic regression, on events that the score was not learned from."""
    from sklearn.isotonic import IsotonicRegression  # type: ignore[import-untyped]  # noqa: PLC0415

    model = IsotonicRegression(y_min=0.0, y_max=1.0).fit(scores, is_threat)
    return Calibration(_floats(model.X_thresholds_), _floats(model.y_thresholds_))


def _floats(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
