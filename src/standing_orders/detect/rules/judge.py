"""Judging whole streams by one rule: margins, verdicts, and what more of an action would be worth.

**Worths.** With the agents' probabilities in the place of decisions, every signal becomes what is
expected of it and every margin m a smooth function of the probabilities. An obligation costs
price * softplus(-m / 0.5) * 0.5: nearly linear between a 0/1 signal's two values, so that what is
drawn less often costs less, growing with how far the rule is broken, fading where it is kept with
ease. The derivative of the sum by the probability of an action says how much more of it would cost,
at every event in the window of a rule and not only where it breaks; and since the gradient of any
F(pi) is sum_a pi(a) (dF / dpi(a)) grad log pi(a), it stands beside the advantages of the rewards in
the all-actions gradient, or for the action drawn in a sampled one.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from standing_orders.detect.rules.rule import Rule
from standing_orders.detect.rules.signals import SIGNALS, Signals, compute_signals, signals_of
from standing_orders.detect.rules.streams import Scope, Streams, Traces, lay_out
from standing_orders.rules.stl import signals as names_of
from standing_orders.rules.stl.obligation import judge
from standing_orders.rules.stl.robustness import ExactAlgebra, checked_margin
from standing_orders.rules.stl.semantics import Atom, evaluate
from standing_orders.rules.stl.smooth import SmoothAlgebra
from standing_orders.rules.stl.syntax import Always, Formula, Implies

LOOKAHEAD = 10  # events after one whose margins a constraint head foresees
TARGET_RANGE = 1.0  # what a constraint head learns is clipped to -1..1
LOG_RANGE = 1_000.0  # margins in the log are clipped to this, for some are infinite
WIDTH = 0.5  # margin over which the cost of an obligation fades away
TEMPERATURE = 0.02  # of the smooth margins

Floats = NDArray[np.float64]


class _EndToEnd(ExactAlgebra):
    """Traces laid end to end; no value crosses from one into another."""

    def __init__(self, signals: Mapping[str, Floats], traces: Traces) -> None:
        super().__init__(signals, int(traces.place.max()) + 1)
        self._place, self._mirror = traces.place, traces.mirror

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


class _SmoothEndToEnd(SmoothAlgebra):
    """The same, differentiable."""

    def __init__(self, signals: Mapping[str, Tensor], traces: Traces, temperature: float) -> None:
        super().__init__(signals, int(traces.place.max()) + 1, temperature)
        self._index = torch.arange(traces.num_events)
        self._place, self._mirror = map(torch.from_numpy, (traces.place, traces.mirror))

    def delay(self, values: Tensor, steps: int, fill: float) -> Tensor:
        late = values[(self._index - steps).clamp(min=0)]
        return torch.where(self._place < steps, fill, late)

    def reverse(self, values: Tensor) -> Tensor:
        return values[self._mirror]


def trace_robustness(
    formula: Formula,
    signals: Mapping[str, Floats],  # each (num_events,)
    traces: Traces,
) -> Floats:  # (num_events,)
    """Margin by which a formula holds at every event of every trace, each trace by itself.

    As `rules.stl.robustness` of traces of different lengths at once, without padding: windows are
    cut at the two ends of a trace.

    Raises:
        ConfigError: an arithmetic expression overflows or divides by zero.
    """
    return evaluate(formula, _EndToEnd(signals, traces)) if traces.num_events else np.zeros(0)


def smooth_trace_robustness(
    formula: Formula,
    signals: Mapping[str, Tensor],  # each (num_events,)
    traces: Traces,
    *,
    temperature: float = TEMPERATURE,
) -> Tensor:  # (num_events,)
    """Differentiable stand-in for `trace_robustness`, of at least one event."""
    return evaluate(formula, _SmoothEndToEnd(signals, traces, temperature))


@dataclass(frozen=True, eq=False)
class Verdicts:
    """What a rule says about streams; each array (steps, num_streams), 0 where no event is."""

    margins: Floats  # of what the rule asks at this event; below 0: broken
    is_obliged: NDArray[np.bool_]  # the rule asks something at this event, and it is decided
    is_violated: NDArray[np.bool_]  # the obligation of this event is broken

    @property
    def num_obligations(self) -> int:
        """Obligations that are decided."""
        return int(self.is_obliged.sum())

    @property
    def num_violations(self) -> int:
        """Obligations that are broken."""
        return int(self.is_violated.sum())

    @property
    def violation_rate(self) -> float | None:
        """Share of the obligations that are broken; None without any."""
        return self.num_violations / self.num_obligations if self.num_obligations else None

    def to_json(self) -> dict[str, float | None]:
        """Plain figures for the log; the margins are those of the obligations."""
        margins = np.clip(self.margins[self.is_obliged], -LOG_RANGE, LOG_RANGE)
        return {
            "obligations": self.num_obligations,
            "violations": self.num_violations,
            "violation_rate": self.violation_rate,
            "margin_mean": float(margins.mean()) if margins.size else None,
            "margin_min": float(margins.min()) if margins.size else None,
        }


class RuleJudge:
    """Streams ready to be judged: layouts and signals, computed once for all rules that share them.

    Example:
        >>> streams = Streams(np.array([[0], [0], [1]]), np.array([[True], [False], [True]]))
        >>> rule = Rule("fast", "threat -> eventually[0,1] flagged")
        >>> RuleJudge(streams).judge(rule).is_violated[:, 0].tolist()
        [True, False, False]
    """

    def __init__(self, streams: Streams) -> None:
        self.streams = streams
        self._traces: dict[Scope, Traces] = {}
        self._signals: dict[tuple[Scope, int], Signals] = {}

    def signals(self, rule: Rule) -> tuple[Traces, Signals]:
        """Layout and signals (num_events,) as this rule sees them."""
        scope, window = rule.scope, rule.window
        if scope not in self._traces:
            self._traces[scope] = lay_out(self.streams, scope)
        traces = self._traces[scope]
        if (scope, window) not in self._signals:
            self._signals[scope, window] = compute_signals(self.streams, traces, window=window)
        return traces, self._signals[scope, window]

    def judge(self, rule: Rule) -> Verdicts:
        """Margins, obligations and violations of one rule."""
        traces, signals = self.signals(rule)
        verdict_at = np.arange(traces.num_events) + rule.delay
        margins, is_obliged, is_violated = judge(
            rule.body,
            ~traces.is_open | (verdict_at <= traces.last),
            lambda formula: trace_robustness(formula, signals, traces),
        )
        return Verdicts(traces.put(margins), traces.put(is_obliged), traces.put(is_violated))

    def margin_targets(self, rule: Rule) -> Floats:  # (steps, num_streams)
        """What a constraint head should predict at every event: the margin that will come out.

        The smallest margin of the rule at this event and the `LOOKAHEAD` events after it: the
        robustness of `always[0,LOOKAHEAD] (rule)`, cut where the trace ends, clipped to -1..1.
        To the end of a long stream it would hardly vary: one bad event marks all before it.
        """
        traces, signals = self.signals(rule)
        margins = trace_robustness(Always(rule.body, 0, LOOKAHEAD), signals, traces)
        return traces.put(np.clip(margins, -TARGET_RANGE, TARGET_RANGE))


def action_worths(
    rule: Rule,
    price: float,
    streams: Streams,
    probs: Floats,  # (steps, num_streams, NUM_ACTIONS)
) -> Floats:  # (steps, num_streams, NUM_ACTIONS)
    """What more of each action would save, in reward; 0 where no event is."""
    traces = lay_out(streams, rule.scope)
    worths = np.zeros(probs.shape)
    if not traces.num_events:
        return worths
    shares = torch.from_numpy(traces.take(probs)).requires_grad_()
    threat = torch.from_numpy(traces.take(streams.is_threat).astype(np.float64))
    suspicion = torch.from_numpy(traces.take(streams.doubts).astype(np.float64))
    signals = signals_of(shares, threat, suspicion, traces, window=rule.window)
    margins = _obliged_margins(rule, signals, traces)
    cost = price * (WIDTH * torch.nn.functional.softplus(-margins / WIDTH)).sum()
    if cost.requires_grad:
        (gradient,) = torch.autograd.grad(cost, shares)
        worths[traces.rows, traces.columns] = -gradient.numpy()
    return worths


def _obliged_margins(rule: Rule, signals: dict[str, Tensor], traces: Traces) -> Tensor:  # (n,)
    """Smooth margins of the obligations that are finite; of `a -> b`, b where a holds.

    The latter if a is out of our hands.
    """
    goal, condition, body = rule.body, None, rule.body
    if isinstance(body, Implies) and not any(
        SIGNALS[name].is_decision for name in names_of(body.left)
    ):
        goal, condition = body.right, body.left
    margins = smooth_trace_robustness(goal, signals, traces)
    is_obliged = torch.isfinite(margins)
    if condition is not None:
        with torch.no_grad():
            is_obliged &= smooth_trace_robustness(condition, signals, traces) > 0
    return margins[is_obliged]
