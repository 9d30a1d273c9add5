"""How good decisions about sessions are: how soon an attack raises an alarm, and at what price.

An *alarm* is any action but allow, while the session is open. A session with an attack is
*detected* if an alarm is raised at its onset or later; the *delay* is the number of attack events
that passed without one. A session without an attack has a *false alarm* if it has any alarm; so
has one with an attack before its onset.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from standing_orders.detect.actions import ALLOW, BLOCK
from standing_orders.detect.assess.metrics import AttackRecall, recall_by_attack
from standing_orders.detect.data.events import Events
from standing_orders.detect.session_costs import (
    SessionContext,
    SessionCosts,
    running_count,
    session_context,
    session_rewards,
)
from standing_orders.errors import ConfigError, NumericsError

MAX_FALSE_ALARMS = 0.01  # share of benign sessions with an alarm at the operating point
CURVE_POINTS = 101


@dataclass(frozen=True)
class Alarms:
    """When each session raised an alarm that counts."""

    has_attack: NDArray[np.bool_]  # (num_sessions,)
    has_false_alarm: NDArray[np.bool_]  # (num_sessions,): an alarm although nothing had begun
    is_detected: NDArray[np.bool_]  # (num_sessions,): an alarm at the onset or later
    delays: NDArray[np.int64]  # (num_sessions,): attack events before it; all of them without one

    @property
    def false_alarm_rate(self) -> float:
        """Share of benign sessions with an alarm."""
        return _mean(self.has_false_alarm[~self.has_attack])

    @property
    def detection_rate(self) -> float:
        """Share of attacks that raised an alarm."""
        return _mean(self.is_detected[self.has_attack])

    @property
    def mean_delay(self) -> float:
        """Attack events before the alarm, an attack without one counting with all its events."""
        return _mean(self.delays[self.has_attack])


def find_alarms(
    actions: ArrayLike,  # (num_events,)
    context: SessionContext,
) -> Alarms:
    """Find the alarms of each session; actions after a restrictive one do not count."""
    actions = np.asarray(actions)
    is_stop = (actions >= BLOCK).astype(np.int64)
    is_open = running_count(is_stop, context.starts) - is_stop == 0
    return _alarms((actions != ALLOW) & is_open, context)


def _alarms(is_alarm: NDArray[np.bool_], context: SessionContext) -> Alarms:
    starts, has_begun = context.starts, context.has_begun
    in_time = (is_alarm & has_begun).astype(np.int64)
    has_passed = has_begun & (running_count(in_time, starts) == 0)
    return Alarms(
        has_attack=has_begun[starts[1:] - 1],
        has_false_alarm=_any(is_alarm & ~has_begun, starts),
        is_detected=_any(is_alarm & has_begun, starts),
        delays=np.add.reduceat(has_passed.astype(np.int64), starts[:-1]),
    )


@dataclass(frozen=True)
class DelayCurve:
    """Delay against false alarms for thresholds on a score, strictest first."""

    thresholds: NDArray[np.float64]  # (n,): alarm at the first event with at least this score
    false_alarm_rates: NDArray[np.float64]  # (n,): share of benign sessions with an alarm
    detection_rates: NDArray[np.float64]  # (n,): share of attacks with an alarm
    mean_delays: NDArray[np.float64]  # (n,): attack events before it, all of them without one

    def at_false_alarms(self, max_rate: float = MAX_FALSE_ALARMS) -> "OperatingPoint":
        """The shortest delay of a threshold with no more false alarms than this."""
        allowed = np.flatnonzero(self.false_alarm_rates <= max_rate)
        best = allowed[np.argmin(self.mean_delays[allowed])] if len(allowed) else 0
        return OperatingPoint(
            threshold=float(self.thresholds[best]),
            false_alarm_rate=float(self.false_alarm_rates[best]),
            detection_rate=float(self.detection_rates[best]),
            mean_delay=float(self.mean_delays[best]),
        )


@dataclass(frozen=True)
class OperatingPoint:
    """One threshold of a delay curve."""

    threshold: float
    false_alarm_rate: float
    detection_rate: float
    mean_delay: float


def delay_curve(
    scores: ArrayLike,  # (num_events,)
    context: SessionContext,
    num_points: int = CURVE_POINTS,
) -> DelayCurve:
    """Sweep a threshold on a score of each event.

    The thresholds are quantiles of the highest score of each session, so that each step changes
    the fate of about as many sessions; the first lets every session pass.

    Raises:
        ConfigError: there is not one score for each event.
        NumericsError: a score is not finite.
    """
    scores = np.asarray(scores, dtype=np.float64)
    if scores.shape != context.has_begun.shape:
        raise ConfigError(
            f"scores: shape {scores.shape} does not fit {context.has_begun.shape}: one an event"
        )
    if not np.isfinite(scores).all():
        raise NumericsError("scores: must be finite numbers")
    highest = np.maximum.reduceat(scores, context.starts[:-1])
    steps = np.linspace(1, 0, num_points)
    levels = np.unique(np.quantile(highest, steps, method="higher"))[::-1]
    thresholds = np.concatenate([[np.inf], levels])
    points = [_alarms(scores >= threshold, context) for threshold in thresholds]
    return DelayCurve(
        thresholds=thresholds,
        false_alarm_rates=np.array([point.false_alarm_rate for point in points]),
        detection_rates=np.array([point.detection_rate for point in points]),
        mean_delays=np.array([point.mean_delay for point in points]),
    )


@dataclass(frozen=True)
class SessionMetrics:
    """Everything that is said about decisions on sessions."""

    num_sessions: int
    prevalence: float  # share of sessions with an attack
    mean_cost: float  # a session
    mean_events_seen: float  # until the session was ended or ran out
    mean_attack_events_seen: float  # the same, over sessions with an attack
    detection_rate: float
    mean_delay: float
    false_alarm_rate: float
    early_stop_rate: float  # share of attacks whose session was ended before the onset
    false_alarms_per_1000: float  # alarms on events without an attack, per 1,000 of them seen
    costs: NDArray[np.float64]  # (num_sessions,): for bootstraps and paired differences
    events_seen: NDArray[np.int64]  # (num_sessions,)


def session_metrics(
    events: Events,
    actions: ArrayLike,  # (num_events,)
    costs: SessionCosts,
) -> SessionMetrics:
    """All figures of decisions about whole sessions."""
    actions = np.asarray(actions)
    if actions.shape != (events.num_events,):
        raise ConfigError(
            f"actions: shape {actions.shape} does not fit ({events.num_events},): one an event"
        )
    context = session_context(events.is_threat, events.starts)
    scores, alarms = session_rewards(costs, actions, context), find_alarms(actions, context)
    is_open = np.arange(events.num_events) < np.repeat(
        events.starts[:-1] + scores.events_seen, events.lengths
    )
    is_benign = is_open & ~context.has_begun
    onset_seen = _any(context.has_begun & is_open, events.starts)
    return SessionMetrics(
        num_sessions=events.num_sessions,
        prevalence=_mean(alarms.has_attack),
        mean_cost=-float(scores.totals.mean()),
        mean_events_seen=float(scores.events_seen.mean()),
        mean_attack_events_seen=_mean(scores.events_seen[alarms.has_attack]),
        detection_rate=alarms.detection_rate,
        mean_delay=alarms.mean_delay,
        false_alarm_rate=alarms.false_alarm_rate,
        early_stop_rate=_mean(~onset_seen[alarms.has_attack]),
        false_alarms_per_1000=1000 * _mean(actions[is_benign] != ALLOW),
        costs=-scores.totals,
        events_seen=scores.events_seen,
    )


def detection_by_attack(
    events: Events,
    actions: ArrayLike,  # (num_events,)
    seen: Iterable[int],  # attacks that occur in training
) -> tuple[AttackRecall, ...]:
    """Detection rate of each attack that occurs, most frequent first.

    A session counts for one attack: that of its onset, for detection is judged from there.
    """
    context = session_context(events.is_threat, events.starts)
    alarms, starts = find_alarms(actions, context), events.starts
    onsets = starts[1:] - np.add.reduceat(context.has_begun.astype(np.int64), starts[:-1])
    attacks = np.full(events.num_sessions, -1)
    attacks[alarms.has_attack] = events.attacks[onsets[alarms.has_attack]]
    return recall_by_attack(alarms.is_detected, attacks, events.attack_names, seen)


def _any(values: NDArray[np.bool_], starts: NDArray[np.int64]) -> NDArray[np.bool_]:
    result: NDArray[np.bool_] = np.logical_or.reduceat(values, starts[:-1])
    return result


def _mean(values: NDArray[np.bool_] | NDArray[np.int64]) -> float:
    return float(values.mean()) if len(values) else float("nan")
