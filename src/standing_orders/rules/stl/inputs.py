"""Checks of what a formula is evaluated on, shared by all evaluators."""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from standing_orders.errors import ConfigError
from standing_orders.rules.stl.reach import signals as names_of
from standing_orders.rules.stl.syntax import Formula


def used_signals(formula: Formula, given: Iterable[str]) -> list[str]:
    """Names that decide the shape of the result: those in the formula, or all if it has none.

    Raises:
        ConfigError: the formula has a name that is not given.

    Example:
        >>> from standing_orders.rules.stl.syntax import Holds
        >>> used_signals(Holds("a"), ["a", "b", "c"])
        ['a']
    """
    known, used = set(given), names_of(formula)
    for name in sorted(used - known):
        listed = ", ".join(sorted(known)) or "none"
        raise ConfigError(f"signal `{name}`: not known; known are: {listed}")
    return sorted(used or known)


def finite_array(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Values of one signal as an array.

    Raises:
        ConfigError: they are not numbers, or not finite.

    Example:
        >>> finite_array("threat", [True, False])
        array([1., 0.])
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as err:
        raise ConfigError(f"signal `{name}`: must be an array of numbers ({err})") from err
    is_finite = np.isfinite(array)
    if not is_finite.all():
        place = tuple(int(index) for index in np.argwhere(~is_finite)[0])
        raise ConfigError(f"signal `{name}`: {array[place]} at index {place}: must be finite")
    return array


def common_shape(shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Shape (..., num_steps) of the result.

    Raises:
        ConfigError: no signals, no time axis, different lengths, or axes that do not broadcast.

    Example:
        >>> common_shape({"x": (4, 1, 100), "y": (3, 100)})
        (4, 3, 100)
    """
    if not shapes:
        raise ConfigError("no signals: at least one must say how many steps there are")
    listed = ", ".join(f"{name} {shape}" for name, shape in sorted(shapes.items()))
    if not all(shapes.values()):
        raise ConfigError(f"signals must have a time axis; shapes: {listed}")
    if len({shape[-1] for shape in shapes.values()}) > 1:
        raise ConfigError(f"signals must have the same number of steps; shapes: {listed}")
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError as err:
        raise ConfigError(
            f"leading axes of the signals do not broadcast; shapes: {listed}"
        ) from err
