"""Exact robustness of whole traces, many at once."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from standing_orders.errors import ConfigError
from standing_orders.rules.stl.inputs import common_shape, finite_array, used_signals
from standing_orders.rules.stl.reach import as_formula
from standing_orders.rules.stl.semantics import Algebra, Atom, evaluate, margin
from standing_orders.rules.stl.syntax import Comparison, Formula

Floats = NDArray[np.float64]


def robustness(
    formula: Formula | str,
    signals: Mapping[str, ArrayLike],  # each (..., num_steps)
) -> Floats:  # (..., num_steps)
    """Margin by which a formula holds (above 0) or fails (below 0) at every step of traces.

    0 is the border and decides nothing; `a == b` gets no further than that, so for signals of
    whole numbers `abs(a - b) < 0.5` says more.

    Windows are cut at both ends of the trace; an empty one makes `always` +inf and `eventually`
    -inf (see `semantics` for all rules). A bare name is a 0/1 signal with margin value - 0.5.

    Args:
        formula: a formula or its text.
        signals: finite values by name; leading axes broadcast, the last one is time.

    Raises:
        ConfigError: a signal is missing, not finite or of the wrong shape, or an arithmetic
            expression overflows or divides by zero.

    Example:
        >>> robustness("eventually[0,1] x > 2", {"x": [1, 5, 2, 0]}).tolist()
        [3.0, 3.0, 0.0, -2.0]
        >>> robustness("x > 2", {"y": [1, 5]})
        Traceback (most recent call last):
        standing_orders.errors.ConfigError: signal `x`: not known; known are: y
    """
    formula = as_formula(formula)
    used = used_signals(formula, signals)
    arrays = {name: finite_array(name, signals[name]) for name in used}
    shape = common_shape({name: values.shape for name, values in arrays.items()})
    result = evaluate(formula, ExactAlgebra(arrays, shape[-1]))
    return np.array(np.broadcast_to(result, shape))


class ExactAlgebra(Algebra[Floats]):
    """Margins as arrays, time last."""

    def __init__(self, signals: Mapping[str, Floats], num_steps: int) -> None:
        self._signals = signals
        self.num_steps = num_steps

    def atom(self, formula: Atom) -> Floats:
        """Margin of an atom at every step."""
        value = checked_margin(formula, self._signals)
        return np.broadcast_to(value, np.broadcast_shapes(value.shape, (self.num_steps,)))

    def negate(self, values: Floats) -> Floats:
        """Not."""
        return -values

    def larger(self, first: Floats, second: Floats) -> Floats:
        """Or."""
        return np.maximum(first, second)

    def smaller(self, first: Floats, second: Floats) -> Floats:
        """And."""
        return np.minimum(first, second)

    def delay(self, values: Floats, steps: int, fill: float) -> Floats:
        """What held some steps ago; `fill` before the beginning."""
        if steps == 0:
            return values
        late = np.full(values.shape, fill)
        if steps < self.num_steps:
            late[..., steps:] = values[..., : self.num_steps - steps]
        return late

    def reverse(self, values: Floats) -> Floats:
        """Time backwards."""
        return values[..., ::-1]


def checked_margin(formula: Atom, signals: Mapping[str, Floats]) -> Floats:
    """Robustness of an atom, from finite arrays by name.

    Raises:
        ConfigError: the arithmetic overflows or divides by zero.

    Example:
        >>> checked_margin(as_formula("threat"), {"threat": np.array([0.0, 1.0])}).tolist()
        [-0.5, 0.5]
    """
    try:
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            value = np.asarray(margin(formula, signals), dtype=np.float64)
    except (FloatingPointError, ZeroDivisionError) as err:
        raise ConfigError(f"`{formula}`: {err}; its terms must be finite at every step") from err
    # A product of two constants overflows without a word.
    if isinstance(formula, Comparison) and not np.isfinite(value).all():
        raise ConfigError(f"`{formula}`: overflow; its terms must be finite at every step")
    return value
