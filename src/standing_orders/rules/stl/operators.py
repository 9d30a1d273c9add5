"""The operators of a formula as machines that take one value a step, for the online monitor."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from standing_orders.rules.stl import syntax
from standing_orders.rules.stl.semantics import INFINITY, Combine, Element, chain
from standing_orders.rules.stl.syntax import Formula

# (batch_size,), or (2, batch_size): lower and upper bounds of what is not known yet. The two
# broadcast. Arrays are never changed in place, so that machines may share them.
Floats = NDArray[np.float64]


class Mark(Enum):
    """Stands in the place of a value."""

    NOT_YET = 0  # too early for step 0
    ENDED = 1  # of a step after the last
    UNSEEN = 2  # of a step that may follow, with any value, or may be after the last


Value = Floats | Mark


class Node(ABC):
    """An operator: takes the values of its parts, each in the order of steps, and gives its own.

    Parts that look ahead are late; their values wait for each other here.
    """

    def __init__(self, num_parts: int) -> None:
        self._waiting: list[deque[Value]] = [deque() for _ in range(num_parts)]

    def push(self, values: Sequence[Value]) -> Value:
        """Take the next value of every part, or that there is none yet."""
        for queue, value in zip(self._waiting, values, strict=True):
            if value is not Mark.NOT_YET:
                queue.append(value)
        if not all(self._waiting):
            return Mark.NOT_YET
        ready: list[Floats] = []
        for queue in self._waiting:
            value = queue.popleft()
            if isinstance(value, Mark):
                mark = value  # of one step, so that the other parts have the same one
            else:
                ready.append(value)
        return self._take(*ready) if len(ready) == len(self._waiting) else self._go_on(mark)

    @abstractmethod
    def _take(self, *values: Floats) -> Value:
        """Value that becomes known with these, which are of one step."""

    def _go_on(self, mark: Mark) -> Value:
        """Value that becomes known when the parts have none for a step."""
        return mark


def negate(values: Floats) -> Floats:
    """Change the sign; a lower bound becomes an upper one.

    Example:
        >>> negate(np.array([[1.0], [5.0]])).tolist()
        [[-5.0], [-1.0]]
    """
    return -values if values.ndim == 1 else -values[::-1]


class _Pointwise(Node):
    """A connective: looks at one step only."""

    def __init__(self, num_parts: int, function: Callable[..., Floats]) -> None:
        super().__init__(num_parts)
        self._function = function

    def _take(self, *values: Floats) -> Value:
        return self._function(*values)


class Window:
    """Aggregate of the last `width` elements, or of all.

    Two stacks make a queue: the older elements as aggregates from each to the newest of them, the
    newer ones as they came with their aggregate. When the older ones run out the newer ones are
    turned into older ones; each element is turned once, which makes the cost amortised constant.

    Example:
        >>> window = Window(2, lambda older, newer: (np.maximum(older[0], newer[0]),))
        >>> [float(window.push((np.array([x]),))[0][0]) for x in (3, 1, 2, 0, 0)]
        [3.0, 3.0, 2.0, 2.0, 0.0]
    """

    def __init__(self, width: int | None, combine: Combine[Floats]) -> None:
        self._width = width
        self._combine = combine
        self._older: list[Element[Floats]] = []
        self._newer: list[Element[Floats]] = []
        self._sum: Element[Floats] | None = None  # of the newer elements

    def push(self, element: Element[Floats]) -> Element[Floats]:
        """Add the newest element and give the aggregate."""
        if self._width is not None:
            if len(self._older) + len(self._newer) == self._width:
                self._drop_oldest()
            self._newer.append(element)
        self._sum = element if self._sum is None else self._combine(self._sum, element)
        return self._combine(self._older[-1], self._sum) if self._older else self._sum

    def _drop_oldest(self) -> None:
        if not self._older:
            self._older = [self._newer.pop()]
            while self._newer:
                self._older.append(self._combine(self._newer.pop(), self._older[-1]))
            self._sum = None
        self._older.pop()


class _Delay:
    """The value some steps before; `fill` where there was none."""

    def __init__(self, steps: int, fill: Floats) -> None:
        self._steps = steps
        self._fill = fill
        self._values: deque[Floats] = deque()

    def push(self, value: Floats) -> Floats:
        self._values.append(value)
        return self._values.popleft() if len(self._values) > self._steps else self._fill


def _highest(older: Element[Floats], newer: Element[Floats]) -> Element[Floats]:
    return (np.maximum(older[0], newer[0]),)


def _lowest(older: Element[Floats], newer: Element[Floats]) -> Element[Floats]:
    return (np.minimum(older[0], newer[0]),)


_since = chain(np.maximum, np.minimum)


def _until(older: Element[Floats], newer: Element[Floats]) -> Element[Floats]:
    return _since(newer, older)


def _width(formula: syntax.Windowed | syntax.Paired) -> int | None:
    return None if formula.upper is None else formula.upper - formula.lower + 1


class _Behind(Node):
    """`once` and `historically`."""

    def __init__(self, formula: syntax.Windowed, batch_size: int) -> None:
        super().__init__(1)
        is_max = isinstance(formula, syntax.Once)
        self._window = Window(_width(formula), _highest if is_max else _lowest)
        fill = np.full(batch_size, -INFINITY if is_max else INFINITY)
        self._delay = _Delay(formula.lower, fill)

    def _take(self, *values: Floats) -> Value:
        return self._delay.push(self._window.push(values)[0])


class _Ahead(Node):
    """Looks ahead: gives the value of a step when the last one of its window is there."""

    def __init__(self, num_parts: int, steps: int | None, neutral: Element[Floats]) -> None:
        super().__init__(num_parts)
        assert steps is not None, "the monitor takes bounded formulas only"
        self._steps = steps
        unknown = np.repeat([[-INFINITY], [INFINITY]], len(neutral[0]), axis=1)
        self._instead = {Mark.ENDED: neutral, Mark.UNSEEN: (unknown,) * num_parts}
        self._num_taken = 0
        self._num_beyond = 0

    def _take(self, *values: Floats) -> Value:
        value = self._look(*values)
        self._num_taken += 1
        return value if self._num_taken > self._steps else Mark.NOT_YET

    def _go_on(self, mark: Mark) -> Value:
        self._num_beyond += 1
        return mark if self._num_beyond > self._steps else self._take(*self._instead[mark])

    @abstractmethod
    def _look(self, *values: Floats) -> Floats:
        """Value of the step whose window these values complete."""


class _WindowAhead(_Ahead):
    """`eventually` and `always`."""

    def __init__(self, formula: syntax.Windowed, batch_size: int) -> None:
        is_max = isinstance(formula, syntax.Eventually)
        neutral = np.full(batch_size, -INFINITY if is_max else INFINITY)
        super().__init__(1, formula.upper, (neutral,))
        self._window = Window(_width(formula), _highest if is_max else _lowest)

    def _look(self, *values: Floats) -> Floats:
        return self._window.push(values)[0]


class _SinceNode(Node):
    def __init__(self, formula: syntax.Since, batch_size: int) -> None:
        super().__init__(2)
        self._found = Window(_width(formula), _since)
        self._delay = _Delay(formula.lower, np.full(batch_size, -INFINITY))
        self._held = Window(formula.lower, _lowest) if formula.lower else None

    def _take(self, *values: Floats) -> Value:
        left, right = values
        found = self._delay.push(self._found.push((right, left))[0])
        return found if self._held is None else np.minimum(found, self._held.push((left,))[0])


class _UntilNode(_Ahead):
    def __init__(self, formula: syntax.Until, batch_size: int) -> None:
        highest = np.full(batch_size, INFINITY)
        super().__init__(2, formula.upper, (highest, -highest))
        width = _width(formula)
        self._found = Window(width, _until)
        # From the step itself to the beginning of the window, when the window is complete.
        self._delay = _Delay(width or 0, highest)
        self._held = Window(formula.lower, _lowest) if formula.lower else None

    def _look(self, *values: Floats) -> Floats:
        left, right = values
        found = self._found.push((right, left))[0]
        if self._held is None:
            return found
        return np.minimum(found, self._held.push((self._delay.push(left),))[0])


def build_node(formula: Formula, batch_size: int) -> Node:
    """The machine of one operator; its parts are machines of their own."""
    match formula:
        case syntax.Not():
            return _Pointwise(1, negate)
        case syntax.And(parts):
            return _Pointwise(len(parts), _minimum_of)
        case syntax.Or(parts):
            return _Pointwise(len(parts), _maximum_of)
        case syntax.Implies():
            return _Pointwise(2, _implies)
        case syntax.Iff():
            return _Pointwise(2, lambda x, y: np.minimum(_implies(x, y), _implies(y, x)))
        case syntax.Once() | syntax.Historically():
            return _Behind(formula, batch_size)
        case syntax.Eventually() | syntax.Always():
            return _WindowAhead(formula, batch_size)
        case syntax.Since():
            return _SinceNode(formula, batch_size)
        case syntax.Until():
            return _UntilNode(formula, batch_size)
    raise TypeError(f"{type(formula).__name__} is not an operator")


def _minimum_of(first: Floats, *others: Floats) -> Floats:
    for other in others:
        first = np.minimum(first, other)
    return first


def _maximum_of(first: Floats, *others: Floats) -> Floats:
    for other in others:
        first = np.maximum(first, other)
    return first


def _implies(left: Floats, right: Floats) -> Floats:
    return np.maximum(negate(left), right)
