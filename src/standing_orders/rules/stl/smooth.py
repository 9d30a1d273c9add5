"""Smooth robustness: differentiable everywhere, and exact in the limit of temperature 0.

Max becomes T log sum exp(x / T), min its mirror image; all else is as in `semantics`. The smooth
max of n values is above the max by at most T log n, the smooth min below by as much; neither
makes errors of its arguments larger, so errors add up along the deepest path of the formula.
"""

import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from standing_orders.errors import ConfigError
from standing_orders.rules.stl import syntax
from standing_orders.rules.stl.inputs import common_shape, used_signals
from standing_orders.rules.stl.reach import as_formula
from standing_orders.rules.stl.semantics import Algebra, Atom, evaluate, margin, window_width
from standing_orders.rules.stl.syntax import Formula


def smooth_robustness(
    formula: Formula | str,
    signals: Mapping[str, Tensor],  # each (..., num_steps)
    *,
    temperature: float,
) -> Tensor:  # (..., num_steps)
    """Differentiable stand-in for `robustness`.

    Its distance from the exact value is at most `smoothing_error`. Where the exact value is
    infinite (an empty window) so is this one, and its gradient is 0.

    Args:
        formula: a formula or its text.
        signals: floating-point tensors by name; leading axes broadcast, the last one is time.
        temperature: in the units of the signals, above 0; lower is closer and less smooth.

    Raises:
        ConfigError: a signal is missing or of the wrong shape, a comparison is not finite, or the
            temperature is not above 0.

    Example:
        >>> x = torch.tensor([1.0, 5.0, 2.0, 0.0], requires_grad=True)
        >>> rho = smooth_robustness("eventually[0,1] x > 2", {"x": x}, temperature=0.1)
        >>> rho.tolist()[:2]
        [3.0, 3.0]
        >>> rho[2].backward()
        >>> x.grad.tolist()[:2]
        [0.0, 0.0]
    """
    formula = as_formula(formula)
    _check_temperature(temperature)
    used = used_signals(formula, signals)
    tensors = {name: signals[name] for name in used}
    for name, tensor in tensors.items():
        if not tensor.is_floating_point():
            raise ConfigError(f"signal `{name}`: {tensor.dtype}: must be floating point")
    shape = common_shape({name: tuple(tensor.shape) for name, tensor in tensors.items()})
    result = evaluate(formula, SmoothAlgebra(tensors, shape[-1], temperature))
    return result.expand(shape)


def smoothing_error(
    formula: Formula | str, num_steps: int, *, temperature: float
) -> tuple[float, float]:
    """How far below and above the exact robustness the smooth one can be.

    Args:
        formula: a formula or its text.
        num_steps: length of the trace, at least 1.
        temperature: that of `smooth_robustness`.

    Returns:
        (below, above): exact - below <= smooth <= exact + above, up to rounding.

    Example:
        >>> below, above = smoothing_error("always[0,9] x > 0", 100, temperature=0.5)
        >>> below == 0.5 * math.log(10), above
        (True, 0.0)
    """
    _check_temperature(temperature)
    below, above = _nats(as_formula(formula), num_steps)
    return temperature * below, temperature * above


def _check_temperature(temperature: float) -> None:
    if not (math.isfinite(temperature) and temperature > 0):
        raise ConfigError(f"temperature = {temperature}: must be finite and greater than 0")


class SmoothAlgebra(Algebra[Tensor]):
    """Margins as tensors, time last; max and min are smooth."""

    def __init__(self, signals: Mapping[str, Tensor], num_steps: int, temperature: float) -> None:
        self._signals = signals
        self._temperature = temperature
        self._like = next(iter(signals.values()))
        self.num_steps = num_steps

    def atom(self, formula: Atom) -> Tensor:
        """Margin of an atom at every step."""
        try:
            value = margin(formula, self._signals)
        except ZeroDivisionError as err:
            raise ConfigError(f"`{formula}`: {err}") from err
        value = value if isinstance(value, Tensor) else self._like.new_tensor(value)
        if not isinstance(formula, syntax.Truth) and not torch.isfinite(value).all():
            raise ConfigError(f"`{formula}`: must be finite at every step")
        return value.expand(np.broadcast_shapes(value.shape, self._like.shape[-1:]))

    def negate(self, values: Tensor) -> Tensor:
        """Not."""
        return -values

    def larger(self, first: Tensor, second: Tensor) -> Tensor:
        """Or."""
        # inf - inf would be NaN, also in the gradient of a branch that is not taken.
        is_finite = torch.isfinite(first) & torch.isfinite(second)
        gap = torch.where(is_finite, first - second, 0.0).abs()
        excess = self._temperature * torch.log1p(torch.exp(-gap / self._temperature))
        return torch.maximum(first, second) + torch.where(is_finite, excess, 0.0)

    def smaller(self, first: Tensor, second: Tensor) -> Tensor:
        """And."""
        return -self.larger(-first, -second)

    def delay(self, values: Tensor, steps: int, fill: float) -> Tensor:
        """What held some steps ago; `fill` before the beginning."""
        steps = min(steps, self.num_steps)
        if steps == 0:
            return values
        begin = values.new_full((*values.shape[:-1], steps), fill)
        return torch.cat((begin, values[..., : self.num_steps - steps]), dim=-1)

    def reverse(self, values: Tensor) -> Tensor:
        """Time backwards."""
        return values.flip(-1)


def _nats(formula: Formula, num_steps: int) -> tuple[float, float]:
    """Largest error below and above, in units of the temperature."""
    match formula:
        case syntax.Not(operand):
            below, above = _nats(operand, num_steps)
            return above, below
        case syntax.And(parts) | syntax.Or(parts):
            below, above = _worst(*(_nats(part, num_steps) for part in parts))
            return _plus(below, above, math.log(len(parts)), isinstance(formula, syntax.Or))
        case syntax.Implies(left, right):
            low, high = _nats(left, num_steps)
            below, above = _worst((high, low), _nats(right, num_steps))
            return below, above + math.log(2)
        case syntax.Iff(left, right):
            low, high = _worst(_nats(left, num_steps), _nats(right, num_steps))
            return max(low, high) + math.log(2), max(low, high) + math.log(2)
        case syntax.Windowed(operand):
            below, above = _nats(operand, num_steps)
            width = max(1, window_width(formula, num_steps))
            is_max = isinstance(formula, syntax.Once | syntax.Eventually)
            return _plus(below, above, math.log(width), is_max)
        case syntax.Paired(left, right):
            below, above = _worst(_nats(left, num_steps), _nats(right, num_steps))
            deepest = _depth(max(1, window_width(formula, num_steps))) * math.log(2)
            held = math.log(max(1, min(formula.lower, num_steps)))
            last = math.log(2) if formula.lower else 0.0
            return below + max(deepest, held) + last, above + deepest
    return 0.0, 0.0


def _worst(*errors: tuple[float, float]) -> tuple[float, float]:
    return max(below for below, _ in errors), max(above for _, above in errors)


def _plus(below: float, above: float, extra: float, is_max: bool) -> tuple[float, float]:
    return (below, above + extra) if is_max else (below + extra, above)


def _depth(width: int) -> int:
    """Combinations on top of each other in the aggregate over a window (see `semantics`)."""
    deepest = -1
    for power in range(width.bit_length()):
        if width >> power & 1:
            deepest = power if deepest < 0 else 1 + max(power, deepest)
    return deepest
