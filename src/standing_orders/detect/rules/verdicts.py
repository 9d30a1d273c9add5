"""Judging whole streams by one rule."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.rules.margins import trace_robustness
from standing_orders.detect.rules.rule import Rule
from standing_orders.detect.rules.signals import Signals, check_given, compute_signals
from standing_orders.detect.rules.streams import Scope, Streams, Traces, lay_out
from standing_orders.errors import ConfigError
from standing_orders.rules.stl.syntax import Always

TARGET_RANGE = 1.0  # what a constraint head learns is clipped to -1..1
LOG_RANGE = 1_000.0  # margins in the log are clipped to this, for some are infinite


@dataclass(frozen=True, eq=False)
class Verdicts:
    """What a rule says about streams; each array (steps, num_streams), 0 where no event is."""

    margins: NDArray[np.float64]  # of what the rule asks at this event; below 0: broken
    is_obliged: NDArray[np.bool_]  # the rule asks something at this event, and it is decided
    is_violated: NDArray[np.bool_]  # the obligation of this event is broken
    num_certain: NDArray[np.int64]  # violations, of whatever events, that this event makes certain

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


class Bench:
    """Streams ready to be judged: layouts and signals, computed once for all rules that share them.

    Example:
        >>> from standing_orders.detect.rules.rule import RuleConfig
        >>> bench = Bench(Streams(np.array([[0], [0], [1]]), np.array([[True], [False], [True]])))
        >>> rule = Rule(RuleConfig(name="fast", formula="threat -> eventually[0,1] flagged"))
        >>> verdicts = bench.judge(rule)
        >>> verdicts.is_violated[:, 0].tolist(), verdicts.num_certain[:, 0].tolist()
        ([True, False, False], [0, 1, 0])
    """

    def __init__(self, streams: Streams) -> None:
        self.streams = streams
        self._traces: dict[Scope, Traces] = {}
        self._signals: dict[tuple[Scope, int], Signals] = {}

    def signals(self, rule: Rule) -> tuple[Traces, Signals]:
        """Layout and signals (num_events,) as this rule sees them.

        Raises:
            ConfigError: the rule is about suspicion, and none is given.
        """
        scope, window = rule.config.scope, rule.config.window
        if scope not in self._traces:
            self._traces[scope] = lay_out(self.streams, scope)
        traces = self._traces[scope]
        if (scope, window) not in self._signals:
            self._signals[scope, window] = compute_signals(self.streams, traces, window=window)
        signals = self._signals[scope, window]
        check_given(rule.names, signals, rule.name)
        return traces, signals

    def judge(self, rule: Rule) -> Verdicts:
        """Margins, obligations and violations of one rule."""
        traces, signals = self.signals(rule)
        margins = trace_robustness(rule.body, signals, traces)
        verdict_at = np.arange(traces.num_events) + rule.delay
        certain_at = np.minimum(verdict_at, traces.last)
        is_obliged = ~traces.is_open | (verdict_at <= traces.last)
        is_obliged &= traces.rows[certain_at] >= self.streams.num_before
        is_violated = is_obliged & (margins < 0)
        if rule.trigger is not None:
            is_obliged &= trace_robustness(rule.trigger, signals, traces) > 0
        num_certain = np.bincount(certain_at[is_violated], minlength=traces.num_events)
        return Verdicts(
            margins=traces.put(margins),
            is_obliged=traces.put(is_obliged),
            is_violated=traces.put(is_violated),
            num_certain=traces.put(num_certain),
        )

    def margin_targets(
        self, rule: Rule, *, lookahead: int = 10
    ) -> NDArray[np.float64]:  # (steps, num_streams)
        """What a constraint head should predict at every event: the margin that will come out.

        The smallest margin of the rule at this event and the `lookahead` events after it: the
        robustness of `always[0,lookahead] (rule)`, cut where the trace ends, clipped to -1..1.
        To the end of a long stream it would hardly vary: one bad event marks all before it.

        Args:
            rule: the rule.
            lookahead: events, at least 0.

        Raises:
            ConfigError: `lookahead` is negative.
        """
        if lookahead < 0:
            raise ConfigError(f"lookahead = {lookahead}: must be at least 0")
        traces, signals = self.signals(rule)
        margins = trace_robustness(Always(rule.body, 0, lookahead), signals, traces)
        return traces.put(np.clip(margins, -TARGET_RANGE, TARGET_RANGE))
