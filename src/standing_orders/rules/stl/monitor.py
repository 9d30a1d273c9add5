"""Robustness while a trace grows, at a cost a step that does not depend on the windows."""

import copy
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from standing_orders.errors import ConfigError
from standing_orders.rules.stl.inputs import finite_array, used_signals
from standing_orders.rules.stl.operators import Mark, Node, Value, build_node
from standing_orders.rules.stl.reach import as_formula, horizon, parts
from standing_orders.rules.stl.reach import signals as names_of
from standing_orders.rules.stl.robustness import checked_margin
from standing_orders.rules.stl.semantics import Atom
from standing_orders.rules.stl.syntax import Comparison, Formula, Holds, Truth

Floats = NDArray[np.float64]


class Monitor:
    """Online robustness of a batch of traces in lock step.

    After n updates the values of steps 0 to n - 1 - delay have been returned; each one equals
    `robustness` at that step of the prefix of n samples, and of every longer trace. A formula
    about the past has delay 0. Each update costs amortised constant time and the memory is
    proportional to the windows, however long the trace.

    Args:
        formula: a formula or its text, every window ahead bounded.
        batch_size: number of traces, at least 1.

    Raises:
        ConfigError: the batch is empty, or the formula looks ahead without bound.

    Example:
        >>> monitor = Monitor("x > 0 and eventually[0,1] y", batch_size=2)
        >>> monitor.delay
        1
        >>> monitor.update({"x": 3.0, "y": [0, 0]})  # step 0 waits for step 1
        >>> monitor.update({"x": 3.0, "y": [0, 1]})
        array([-0.5,  0.5])
        >>> monitor.finish()  # step 1, if the trace ends here
        array([[-0.5],
               [ 0.5]])
    """

    def __init__(self, formula: Formula | str, batch_size: int = 1) -> None:
        if batch_size < 1:
            raise ConfigError(f"batch_size = {batch_size}: must be at least 1")
        self.formula = as_formula(formula)
        self.batch_size = batch_size
        self.num_steps = 0
        reach = horizon(self.formula)
        if reach == float("inf"):
            raise ConfigError(f"`{self.formula}`: looks ahead without bound; give every `always`, "
                              "`eventually` and `until` bounds, or use the past forms")  # fmt: skip
        self.delay = int(reach)
        self._names = names_of(self.formula)
        self._atoms, self._nodes, self._sources = _flatten(self.formula, batch_size)

    def update(self, sample: Mapping[str, ArrayLike]) -> Floats | None:  # (batch_size,)
        """Take the next sample of every trace.

        Args:
            sample: a number, or an array (batch_size,), for every signal of the formula.

        Returns:
            Robustness at step `num_steps - 1 - delay`; None while that is negative.

        Raises:
            ConfigError: a signal is missing, not finite or of the wrong shape. Nothing changes.
        """
        if not self._names <= sample.keys():
            used_signals(self.formula, sample)  # says which one is missing
        arrays = {}
        for name in self._names:
            array = finite_array(name, sample[name])
            if array.shape not in ((), (self.batch_size,)):
                raise ConfigError(
                    f"signal `{name}`: shape {array.shape}: must be () or ({self.batch_size},)"
                )
            arrays[name] = array
        margins = [self._margin(atom, arrays) for atom in self._atoms]
        value = _advance(self._nodes, self._sources, margins)
        self.num_steps += 1
        return None if isinstance(value, Mark) else value.copy()

    def finish(self) -> Floats:  # (batch_size, min(delay, num_steps))
        """Robustness at the steps not returned yet, oldest first, if the traces end here.

        Together with what `update` returned this is `robustness` of the whole trace. The monitor
        does not change, so that more samples may follow. Costs as much as `delay` updates.

        Example:
            >>> monitor = Monitor("always[0,9] x > 0")
            >>> monitor.update({"x": 5}), monitor.update({"x": 3})
            (None, None)
            >>> monitor.finish().tolist()
            [[3.0, 3.0]]
        """
        values, _ = self._drain(Mark.ENDED)
        return values

    def interval(self) -> tuple[Floats, Floats]:  # each (batch_size, min(delay, num_steps))
        """Bounds of the robustness at the steps not returned yet, oldest first.

        Whatever samples follow, and wherever the traces end, the robustness lies between them: a
        lower bound above 0 or an upper one below 0 is a verdict ahead of time. The monitor does
        not change. Costs as much as `delay` updates.

        Example:
            >>> monitor = Monitor("always[0,9] x > 0")
            >>> monitor.update({"x": 5}), monitor.update({"x": -3})
            (None, None)
            >>> lower, upper = monitor.interval()
            >>> upper.tolist()  # steps 0 and 1 fail for sure
            [[-3.0, -3.0]]
        """
        return self._drain(Mark.UNSEEN)

    def _margin(self, atom: Atom, arrays: Mapping[str, Floats]) -> Floats:
        return np.array(np.broadcast_to(checked_margin(atom, arrays), (self.batch_size,)))

    def _drain(self, mark: Mark) -> tuple[Floats, Floats]:  # each (batch_size, pending)
        """Bounds at the steps not returned yet, with a mark in the place of further samples."""
        nodes = copy.deepcopy(self._nodes)
        pending = min(self.delay, self.num_steps)
        drained = np.empty((2, self.batch_size, pending))
        for index in range(pending - self.delay, pending):
            value = _advance(nodes, self._sources, [mark] * len(self._atoms))
            if index >= 0:
                assert not isinstance(value, Mark)
                drained[..., index] = value
        return drained[0], drained[1]


def _advance(
    nodes: Sequence[Node], sources: Sequence[tuple[int, ...]], atoms: Sequence[Value]
) -> Value:
    """Feed one step through all operators."""
    values = list(atoms)
    for node, places in zip(nodes, sources, strict=True):
        values.append(node.push([values[place] for place in places]))
    return values[-1]


def _flatten(
    formula: Formula, batch_size: int
) -> tuple[list[Atom], list[Node], list[tuple[int, ...]]]:
    """Atoms, operators, and where each operator finds its parts; atoms first, the root last.

    A part that occurs more than once is computed once.
    """
    places: dict[Formula, int] = {}
    atoms: list[Atom] = []
    operators: list[Formula] = []

    def collect(part: Formula) -> None:
        if part in places:
            return
        places[part] = -1
        if isinstance(part, Truth | Holds | Comparison):
            atoms.append(part)
            return
        for below in _below(part):
            collect(below)
        operators.append(part)

    collect(formula)
    places.update({part: place for place, part in enumerate([*atoms, *operators])})
    sources = [tuple(places[below] for below in _below(part)) for part in operators]
    return atoms, [build_node(part, batch_size) for part in operators], sources


def _below(formula: Formula) -> list[Formula]:
    return [part for part in parts(formula) if isinstance(part, Formula)]
