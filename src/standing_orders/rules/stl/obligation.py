"""A formula as something that is asked at every step of a trace, and what comes of it."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from standing_orders.rules.stl import syntax
from standing_orders.rules.stl.syntax import Formula


def at_every_step(formula: Formula) -> Formula:
    """A simpler formula that holds at every step of a trace if and only if this one does.

    Example:
        >>> from standing_orders.rules.stl.parser import parse
        >>> str(at_every_step(parse("always (a -> b)")))
        'a -> b'
    """
    match formula:
        case syntax.Always(operand, 0, _) | syntax.Historically(operand, 0, _):
            return at_every_step(operand)
        case syntax.And(parts):
            return syntax.And(tuple(at_every_step(part) for part in parts))
    return formula


def trigger_of(body: Formula) -> Formula | None:
    """Where a formula asks anything: of `a -> b` only where a holds; None: everywhere."""
    return body.left if isinstance(body, syntax.Implies) else None


def judge(
    body: Formula,
    is_decided: NDArray[np.bool_],  # (...)
    margins_of: Callable[[Formula], NDArray[np.float64]],  # each (...)
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:  # each (...)
    """Margins of a formula, where it asks anything, and where what it asks is broken.

    Args:
        body: asked at every step.
        is_decided: where the trace goes on for long enough.
        margins_of: the margin of a formula at every step.
    """
    margins = margins_of(body)
    trigger = trigger_of(body)
    is_obliged = is_decided.copy() if trigger is None else is_decided & (margins_of(trigger) > 0)
    return margins, is_obliged, is_decided & (margins < 0)
