"""What a session has shown so far, as plain features for a classifier without memory."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.data.events import Events

Float = TypeVar("Float", np.float32, np.float64)


def accumulate(
    ufunc: np.ufunc,  # np.add, np.maximum, np.minimum, ...
    values: NDArray[Float],  # (num_events, ...)
    starts: NDArray[np.int64],  # (num_sessions + 1,)
) -> NDArray[Float]:  # (num_events, ...)
    """Fold the values of each session from its start to each event, itself included.

    Example:
        >>> accumulate(np.maximum, np.array([3.0, 1.0, 2.0, 5.0]), np.array([0, 2, 4]))
        array([3., 3., 2., 5.])
    """
    folded = values.copy()
    lengths = np.diff(starts)
    longest_first = np.argsort(-lengths, kind="stable")
    firsts, lengths = starts[:-1][longest_first], lengths[longest_first]
    for place in range(1, int(lengths.max(initial=0))):
        num_open = int(np.searchsorted(-lengths, -place, side="left"))
        rows = firsts[:num_open] + place
        folded[rows] = ufunc(folded[rows - 1], folded[rows])
    return folded


def event_counts(starts: NDArray[np.int64]) -> NDArray[np.int64]:  # (num_events,)
    """Number of events of its session up to each event, itself included."""
    return np.arange(starts[-1]) - np.repeat(starts[:-1], np.diff(starts)) + 1


def with_history(events: Events) -> NDArray[np.float32]:  # (num_events, 3 * num_features + 1)
    """Features of each event beside their mean and maximum over its session so far.

    The last column is the number of events so far. Nothing of a later event is used.

    Args:
        events: sessions, or records, for which it says the same thing three times.
    """
    counts = event_counts(events.starts)[:, None]
    totals = accumulate(np.add, events.features.astype(np.float64), events.starts)
    maxima = accumulate(np.maximum, events.features, events.starts)
    parts = (events.features, totals / counts, maxima, counts)
    return np.concatenate([part.astype(np.float32) for part in parts], axis=1)
