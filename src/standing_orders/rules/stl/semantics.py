"""What a formula means: one evaluator over whole traces, for exact and for smooth robustness.

At step t of a trace with steps 0 to T - 1, with `x`, `y` the robustness of the parts:

    always[a,b] x        min of x over t+a..t+b          historically[a,b] x  min over t-b..t-a
    eventually[a,b] x    max of x over t+a..t+b          once[a,b] x          max over t-b..t-a
    x until[a,b] y       max over s in t+a..t+b of min(y(s), min of x over t..s-1)
    x since[a,b] y       max over s in t-b..t-a of min(y(s), min of x over s+1..t)

Windows are cut at both ends of the trace: a step outside does not count. The min over no steps is
+inf, the max over no steps is -inf. This is also what rtamt computes for discrete time, except for
`<->`, which it takes as -|x - y|: negative even where both sides hold. Here it is two implications.

Every one of these is the aggregate over a sliding window of something that can be combined:
min, max, or functions z -> max(y, min(x, z)), of which since and until are chains.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, Generic, TypeVar

from standing_orders.rules.stl import syntax
from standing_orders.rules.stl.syntax import Formula, Term

INFINITY = float("inf")
_ANY = syntax.Truth(True)  # stands for an operand that is evaluated already
HALF = 0.5  # a bare name is a 0/1 signal: it holds above a half
Atom = syntax.Truth | syntax.Holds | syntax.Comparison

Values = TypeVar("Values")  # (..., num_steps)
Element = tuple[Values, ...]
Combine = Callable[[Element[Values], Element[Values]], Element[Values]]  # (older, newer)


class Algebra(ABC, Generic[Values]):
    """The operations that robustness is made of, over one kind of array."""

    num_steps: int

    @abstractmethod
    def atom(self, formula: Atom) -> Values:
        """Robustness of a comparison, a bare name or a constant."""

    @abstractmethod
    def negate(self, values: Values) -> Values:
        """Robustness of a negation."""

    @abstractmethod
    def larger(self, first: Values, second: Values) -> Values:
        """Elementwise maximum."""

    @abstractmethod
    def smaller(self, first: Values, second: Values) -> Values:
        """Elementwise minimum."""

    @abstractmethod
    def delay(self, values: Values, steps: int, fill: float) -> Values:
        """Value some steps before; `fill` where that is before the trace."""

    @abstractmethod
    def reverse(self, values: Values) -> Values:
        """Last step first."""


def chain(
    larger: Callable[[Values, Values], Values], smaller: Callable[[Values, Values], Values]
) -> Combine[Values]:
    """How to combine the functions z -> max(y, min(x, z)) of two steps, as pairs (y, x).

    newer(older(z)) = max(y2, min(x2, max(y1, min(x1, z)))), and min distributes over max.

    Example:
        >>> chain(max, min)((3.0, 9.0), (1.0, 2.0))  # y = 3 held by x = 2 since the step before
        (2.0, 2.0)
    """

    def combine(older: Element[Values], newer: Element[Values]) -> Element[Values]:
        (y1, x1), (y2, x2) = older, newer
        return larger(y2, smaller(x2, y1)), smaller(x1, x2)

    return combine


def evaluate(formula: Formula, algebra: Algebra[Values]) -> Values:
    """Robustness of a formula at every step."""
    match formula:
        case syntax.Truth() | syntax.Holds() | syntax.Comparison():
            return algebra.atom(formula)
        case syntax.Not(operand):
            return algebra.negate(evaluate(operand, algebra))
        case syntax.And(parts):
            return reduce(algebra.smaller, [evaluate(part, algebra) for part in parts])
        case syntax.Or(parts):
            return reduce(algebra.larger, [evaluate(part, algebra) for part in parts])
        case syntax.Implies(left, right):
            return algebra.larger(algebra.negate(evaluate(left, algebra)), evaluate(right, algebra))
        case syntax.Iff(left, right):
            x, y = evaluate(left, algebra), evaluate(right, algebra)
            return algebra.smaller(
                algebra.larger(algebra.negate(x), y), algebra.larger(algebra.negate(y), x)
            )
        case syntax.Once() | syntax.Historically():
            return _over_window(formula, evaluate(formula.operand, algebra), algebra)
        case syntax.Eventually() | syntax.Always():
            values = algebra.reverse(evaluate(formula.operand, algebra))
            return algebra.reverse(_over_window(formula, values, algebra))
        case syntax.Since(left, right):
            x, y = evaluate(left, algebra), evaluate(right, algebra)
            return _since(formula, x, y, algebra)
        case syntax.Until(left, right):
            x = algebra.reverse(evaluate(left, algebra))
            y = algebra.reverse(evaluate(right, algebra))
            return algebra.reverse(_since(formula, x, y, algebra))
    raise TypeError(f"{type(formula).__name__} is not a formula")


def window_width(formula: syntax.Windowed | syntax.Paired, num_steps: int) -> int:
    """Steps of a trace that a window can hold at most; 0 if it is always outside."""
    last = num_steps - 1 if formula.upper is None else min(formula.upper, num_steps - 1)
    return max(0, last - formula.lower + 1)


def _over_window(formula: syntax.Windowed, values: Values, algebra: Algebra[Values]) -> Values:
    """Min or max over t-b..t-a; a window ahead is one behind in the reversed trace."""
    is_max = isinstance(formula, syntax.Once | syntax.Eventually)
    extreme, fill = (algebra.larger, -INFINITY) if is_max else (algebra.smaller, INFINITY)
    width = window_width(formula, algebra.num_steps)
    late = algebra.delay(values, formula.lower, fill)
    (result,) = _aggregate(
        (late,), width, (fill,), lambda older, newer: (extreme(older[0], newer[0]),), algebra
    )
    return result


def _since(formula: syntax.Paired, x: Values, y: Values, algebra: Algebra[Values]) -> Values:
    """x since[a,b] y is (x since[0,b-a] y) of a steps ago, and x in the a steps from then on."""
    width = window_width(formula, algebra.num_steps)
    combine = chain(algebra.larger, algebra.smaller)
    found, _ = _aggregate((y, x), width, (-INFINITY, INFINITY), combine, algebra)
    if not formula.lower:
        return found
    held = _over_window(syntax.Historically(_ANY, 0, formula.lower - 1), x, algebra)
    return algebra.smaller(algebra.delay(found, formula.lower, -INFINITY), held)


def _aggregate(
    element: Element[Values],
    width: int,
    identity: tuple[float, ...],
    combine: Combine[Values],
    algebra: Algebra[Values],
) -> Element[Values]:
    """Aggregate over the last `width` steps, in O(log width) combinations of whole traces.

    Blocks of 1, 2, 4, ... steps are built from each other; those that the binary digits of
    `width` name are put side by side. No step counts twice, which a smooth maximum would feel.
    """

    def before(block: Element[Values], steps: int) -> Element[Values]:
        pairs = zip(block, identity, strict=True)
        return tuple(algebra.delay(values, steps, fill) for values, fill in pairs)

    if width == 0:
        return before(element, algebra.num_steps)
    block, size, covered = element, 1, 0
    result: Element[Values] | None = None
    while True:
        if width & size:
            result = block if result is None else combine(before(block, covered), result)
            covered += size
        if covered == width:
            assert result is not None
            return result
        block = combine(before(block, size), block)
        size *= 2


def margin(formula: Atom, signals: Mapping[str, Any]) -> Any:
    """Robustness of a comparison or a bare name, from arrays or tensors by name."""
    if isinstance(formula, syntax.Truth):
        return INFINITY if formula.value else -INFINITY
    if isinstance(formula, syntax.Holds):
        return signals[formula.name] - HALF
    left, right = term_value(formula.left, signals), term_value(formula.right, signals)
    if formula.operator in ("<", "<="):
        return right - left
    if formula.operator in (">", ">="):
        return left - right
    return -abs(left - right) if formula.operator == "==" else abs(left - right)


def term_value(term: Term, signals: Mapping[str, Any]) -> Any:
    """Value of a term, from arrays or tensors by name."""
    match term:
        case syntax.Signal(name):
            return signals[name]
        case syntax.Constant(value):
            return value
        case syntax.Negative(operand):
            return -term_value(operand, signals)
        case syntax.Absolute(operand):
            return abs(term_value(operand, signals))
        case syntax.Arithmetic(operator, left, right):
            return _OPERATORS[operator](term_value(left, signals), term_value(right, signals))
    raise TypeError(f"{type(term).__name__} is not a term")


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
}
