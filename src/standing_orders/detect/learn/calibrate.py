"""From scores of the validation part to the probability of a threat."""

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression  # type: ignore[import-untyped]

from standing_orders.detect.calibration import Calibration
from standing_orders.detect.metrics import Figures

NUM_BINS = 10  # of the calibration error


def fit_calibration(
    scores: NDArray[np.float64],  # (num_events,)
    is_threat: NDArray[np.bool_],  # (num_events,)
) -> Calibration:
    """Isotonic regression of the truth on the score: the best line that never falls.

    For events that the team has not learned from. Without both classes scores stay as they are.

    Example:
        >>> found = fit_calibration(np.array([0.1, 0.2, 0.8, 0.9]), np.array([False, True] * 2))
        >>> found.of(np.array([0.1, 0.5, 0.9])).tolist()
        [0.0, 0.5, 1.0]
    """
    if is_threat.all() or not is_threat.any():
        return Calibration()
    line = IsotonicRegression(y_min=0.0, y_max=1.0).fit(scores, is_threat.astype(np.float64))
    return Calibration(tuple(line.X_thresholds_.tolist()), tuple(line.y_thresholds_.tolist()))


def calibration_figures(
    probability: NDArray[np.float64],  # (num_events,)
    is_threat: NDArray[np.bool_],  # (num_events,)
) -> Figures:
    """Brier score, and the mean distance of probabilities from what happens, in equal bins."""
    order = np.argsort(probability, kind="stable")
    bins = [part for part in np.array_split(order, NUM_BINS) if len(part)]
    gaps = [abs(probability[part].mean() - is_threat[part].mean()) * len(part) for part in bins]
    return {
        "brier": float(np.mean((probability - is_threat) ** 2)),
        "calibration_error": float(sum(gaps) / max(len(probability), 1)),
    }
