"""Robustness of many traces of different lengths at once, without padding.

As `rules.stl.robustness` and `smooth_robustness` of each trace by itself: windows are cut at its
own two ends.
"""

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from standing_orders.detect.rules.streams import Traces
from standing_orders.rules.stl.robustness import ExactAlgebra, checked_margin
from standing_orders.rules.stl.semantics import Atom, evaluate
from standing_orders.rules.stl.smooth import SmoothAlgebra
from standing_orders.rules.stl.syntax import Formula

Floats = NDArray[np.float64]


def trace_robustness(
    formula: Formula,
    signals: Mapping[str, Floats],  # each (num_events,)
    traces: Traces,
) -> Floats:  # (num_events,)
    """Margin by which a formula holds at every event of every trace.

    Raises:
        ConfigError: an arithmetic expression overflows or divides by zero.
    """
    if not traces.num_events:
        return np.zeros(0)
    return evaluate(formula, _EndToEnd(signals, traces))


class _EndToEnd(ExactAlgebra):
    """Traces laid end to end; no value crosses from one into another."""

    def __init__(self, signals: Mapping[str, Floats], traces: Traces) -> None:
        super().__init__(signals, int(traces.place.max()) + 1)
        self._place = traces.place
        self._mirror = traces.first + traces.last - np.arange(traces.num_events)

    def atom(self, formula: Atom) -> Floats:
        return np.broadcast_to(checked_margin(formula, self._signals), self._place.shape)

    def delay(self, values: Floats, steps: int, fill: float) -> Floats:
        if steps == 0:
            return values
        late = np.full(values.shape, fill)
        late[steps:] = values[:-steps]
        return np.where(self._place < steps, fill, late)

    def reverse(self, values: Floats) -> Floats:
        mirrored: Floats = values[self._mirror]
        return mirrored


def smooth_trace_robustness(
    formula: Formula,
    signals: Mapping[str, Tensor],  # each (num_events,)
    traces: Traces,
    *,
    temperature: float,
) -> Tensor:  # (num_events,)
    """Differentiable stand-in for `trace_robustness`, of at least one event.

    Raises:
        ConfigError: an arithmetic expression overflows or divides by zero.
    """
    return evaluate(formula, _SmoothEndToEnd(signals, traces, temperature))


class _SmoothEndToEnd(SmoothAlgebra):
    """Traces laid end to end; no value crosses from one into another."""

    def __init__(self, signals: Mapping[str, Tensor], traces: Traces, temperature: float) -> None:
        super().__init__(signals, int(traces.place.max()) + 1, temperature)
        index = np.arange(traces.num_events)
        self._index, self._place = torch.from_numpy(index), torch.from_numpy(traces.place)
        self._mirror = torch.from_numpy(traces.first + traces.last - index)

    def delay(self, values: Tensor, steps: int, fill: float) -> Tensor:
        late = values[(self._index - steps).clamp(min=0)]
        return torch.where(self._place < steps, fill, late)

    def reverse(self, values: Tensor) -> Tensor:
        return values[self._mirror]
