"""A formula as something that is asked at every step of a trace."""

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
