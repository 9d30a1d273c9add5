"""What a formula looks at: which signals, how far ahead and how far back."""

from collections.abc import Iterator

from standing_orders.rules.stl import syntax
from standing_orders.rules.stl.parser import parse
from standing_orders.rules.stl.syntax import Formula, Term

_INFINITY = float("inf")


def parts(node: Formula | Term) -> tuple[Formula | Term, ...]:
    """The nodes directly below a node.

    Example:
        >>> [str(part) for part in parts(parse("a until (b and c)"))]
        ['a', 'b and c']
    """
    match node:
        case syntax.And(several) | syntax.Or(several):
            return several
        case (
            syntax.Implies(left, right) | syntax.Iff(left, right) | syntax.Paired(left, right)
            | syntax.Comparison(_, left, right) | syntax.Arithmetic(_, left, right)
        ):  # fmt: skip
            return left, right
        case (
            syntax.Not(operand) | syntax.Windowed(operand)
            | syntax.Negative(operand) | syntax.Absolute(operand)
        ):  # fmt: skip
            return (operand,)
    return ()


def _nodes(node: Formula | Term) -> Iterator[Formula | Term]:
    waiting = [node]
    while waiting:
        yield (last := waiting.pop())
        waiting.extend(parts(last))


def signals(formula: Formula | str) -> frozenset[str]:
    """Names of the signals in a formula.

    Example:
        >>> sorted(signals("always (threat -> x + 2*y > 1)"))
        ['threat', 'x', 'y']
    """
    nodes = _nodes(as_formula(formula))
    return frozenset(node.name for node in nodes if isinstance(node, syntax.Holds | syntax.Signal))


def horizon(formula: Formula | str) -> float:
    """How many steps ahead of a step its value can depend on; inf if without bound.

    Example:
        >>> horizon("always[0,100] (threat -> eventually[0,5] safe)")
        105
        >>> horizon("always safe")
        inf
    """
    return _reach(as_formula(formula), (syntax.Always, syntax.Eventually, syntax.Until))


def history(formula: Formula | str) -> float:
    """How many steps behind a step its value can depend on; inf if without bound.

    Example:
        >>> history("once[2,9] threat and historically[0,3] safe")
        9
    """
    return _reach(as_formula(formula), (syntax.Historically, syntax.Once, syntax.Since))


def _reach(node: Formula | Term, directions: tuple[type[Formula], ...]) -> float:
    below = max((_reach(part, directions) for part in parts(node)), default=0)
    if isinstance(node, syntax.Windowed | syntax.Paired) and isinstance(node, directions):
        return below + (_INFINITY if node.upper is None else node.upper)
    return below


def as_formula(formula: Formula | str) -> Formula:
    """A formula, read if it is text.

    Example:
        >>> as_formula("not (a and b)") == as_formula(as_formula("!(a & b)"))
        True
    """
    return parse(formula) if isinstance(formula, str) else formula
