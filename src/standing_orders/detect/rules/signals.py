"""The signals that a rule may name, exactly defined, for whole streams and one event at a time.

Those over a window look at the last `window` events of the trace, this one included. Before the
trace began there was nothing: no threat, no alarm, no block, no change. A rate without a single
event that could count is the one that satisfies (no evidence is no offence): detection rate 1,
false-alarm rate 0. A rule that wants more evidence says so: `num_threats > 9 -> ...`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.actions import ACTION_NAMES, ALLOW, BLOCK, NUM_ACTIONS
from standing_orders.detect.rules.streams import Streams, Traces

SUSPECTED_FROM = 0.5  # of the suspicion
Floats = NDArray[np.float64]
Signals = dict[str, Floats]
Values = Any  # an array, or a tensor that remembers its gradient


@dataclass(frozen=True)
class SignalInfo:
    """What can be done about a signal."""

    is_observable: bool  # known when the decision is made, for each decision it could be
    is_decision: bool  # depends on what the team decides


_TRUTH, _BELIEF = SignalInfo(False, False), SignalInfo(True, False)
_DECISION, _RATE = SignalInfo(True, True), SignalInfo(False, True)
SIGNALS: Mapping[str, SignalInfo] = {
    "threat": _TRUTH,  # 1 if the event belongs to an attack
    "suspicion": _BELIEF,  # what the team believes before it decides, 0 to 1
    "suspected": _BELIEF,  # 1 if the suspicion is at least 0.5
    "severity": _DECISION,  # 0 allow, 1 alert, 2 block, 3 quarantine
    **dict.fromkeys(ACTION_NAMES, _DECISION),  # 1 if that is the decision
    "flagged": _DECISION,  # 1 if the decision is not allow
    "restrictive": _DECISION,  # 1 if the decision is block or quarantine
    "blocked": _DECISION,  # the same: the event did not get through
    "changed": _DECISION,  # 1 if the decision differs from that on the event before
    "num_changes": _DECISION,  # events in the window whose decision changed
    "blocked_share": _DECISION,  # events blocked in the window, divided by the window's length
    "num_threats": _TRUTH,  # in the window
    "num_benign": _TRUTH,  # the same
    "detection_rate": _RATE,  # share of the threats in the window that were flagged; 1 without any
    "false_alarm_rate": _RATE,  # the same of its benign events; 0 without any
}


def shares_of(actions: NDArray[np.integer[Any]]) -> Floats:  # (...) -> (..., NUM_ACTIONS)
    """Decisions as shares of the four actions: 1 for the one that was taken."""
    return (actions[..., None] == np.arange(NUM_ACTIONS)).astype(np.float64)


def _restrictive(shares: Values) -> Values:
    return shares[..., BLOCK:].sum(-1)


def _observable(
    shares: Values,  # (..., NUM_ACTIONS)
    suspicion: Values,
    changed: Values,
    sums: Values,  # (2, ...): blocks and changes in the window
    window: int,
) -> dict[str, Values]:
    """Signals that need no truth."""
    blocks, changes = sums
    restrictive = _restrictive(shares)
    return {
        "suspicion": suspicion,
        "suspected": (suspicion >= SUSPECTED_FROM) * 1.0,
        "severity": sum(i * shares[..., i] for i in range(1, NUM_ACTIONS)),
        **{name: shares[..., i] for i, name in enumerate(ACTION_NAMES)},
        "flagged": 1 - shares[..., ALLOW],
        "restrictive": restrictive,
        "blocked": restrictive,
        "changed": changed,
        "num_changes": changes,
        "blocked_share": blocks / window,
    }


def _about_truth(threat: Values, sums: Values) -> dict[str, Values]:
    """Signals that need the truth, from threats, benign, hits and false alarms in the window."""
    num_threats, num_benign, hits, false_alarms = sums
    no_threats, no_benign = (num_threats == 0) * 1.0, (num_benign == 0) * 1.0
    return {
        "threat": threat,
        "num_threats": num_threats,
        "num_benign": num_benign,
        "detection_rate": hits / (num_threats + no_threats) + no_threats,
        "false_alarm_rate": false_alarms / (num_benign + no_benign),
    }


def compute_signals(streams: Streams, traces: Traces, *, window: int) -> Signals:
    """Signals of every event of the traces."""
    return signals_of(
        shares_of(traces.take(streams.actions)),
        traces.take(streams.is_threat).astype(np.float64),
        traces.take(streams.doubts).astype(np.float64),
        traces,
        window=window,
    )


def signals_of(
    shares: Values,  # (num_events, NUM_ACTIONS)
    threat: Values,  # (num_events,)
    suspicion: Values,  # (num_events,)
    traces: Traces,
    *,
    window: int,
) -> dict[str, Values]:
    """Signals of decisions given as shares, or as probabilities: what is then expected of them."""
    index = np.arange(traces.num_events)
    same = (shares * shares[np.maximum(index - 1, 0)]).sum(-1)
    changed = (1 - same) * _like(index != traces.first, threat)
    flagged, restrictive = 1 - shares[..., ALLOW], _restrictive(shares)
    counted = (threat, 1 - threat, threat * flagged, (1 - threat) * flagged, restrictive, changed)
    *sums, blocks, changes = [window_sum(values, traces, window) for values in counted]
    observable = _observable(shares, suspicion, changed, (blocks, changes), window)
    return observable | _about_truth(threat, sums)


def window_sum(values: Values, traces: Traces, window: int) -> Values:  # both (num_events,)
    """Sum over the last `window` events of the trace, each event included."""
    before = np.maximum(np.arange(traces.num_events) - window, traces.first - 1)  # outside it
    total = values.cumsum(0)
    return total - total[np.maximum(before, 0)] * _like(before >= 0, values)


def _like(mask: NDArray[np.bool_], values: Values) -> Values:
    """0 and 1 in an array or a tensor like another."""
    return values.new_tensor(mask) if hasattr(values, "new_tensor") else mask.astype(np.float64)


def observable_signals(
    actions: NDArray[np.integer[Any]],  # (n,)
    changed: Floats,  # (n,)
    sums: Floats,  # (2, n): blocks and changes in the window
    window: int,
) -> Signals:
    """Signals of single events without suspicion, by what their window holds."""
    return _observable(shares_of(actions), np.zeros(len(actions)), changed, sums, window)


class SignalTracker:
    """The observable signals while the streams grow; each event costs the same.

    Example:
        >>> tracker = SignalTracker(1, window=2)
        >>> for action in (2, 0, 0):
        ...     now = tracker.push(np.array([action]), np.zeros(1), is_valid=np.array([True]))
        ...     print(now["blocked_share"], now["changed"])
        [0.5] [0.]
        [0.5] [1.]
        [0.] [0.]
    """

    def __init__(self, num_streams: int, window: int) -> None:
        self._window = window
        self._streams = np.arange(num_streams)
        self._recent = np.zeros((2, window, num_streams))  # blocks and changes
        self._sums = np.zeros((2, num_streams))
        self._num_seen = np.zeros(num_streams, dtype=np.int64)
        self._last = np.zeros(num_streams, dtype=np.int64)

    def peek(
        self,
        actions: NDArray[np.integer[Any]],  # (..., num_streams)
        suspicion: Floats,  # (..., num_streams)
    ) -> Signals:
        """Signals of the next event, if this is what happens; nothing changes.

        Several things that may happen are looked at together, if the actions have more axes.
        """
        shares = shares_of(actions)
        changed = ((actions != self._last) & (self._num_seen > 0)).astype(np.float64)
        leaving = self._recent[:, self._num_seen % self._window, self._streams]
        kept = (self._sums - leaving).reshape(2, *[1] * (actions.ndim - 1), -1)
        sums = kept + np.stack([_restrictive(shares), changed])
        return _observable(shares, suspicion, changed, sums, self._window)

    def push(
        self,
        actions: NDArray[np.integer[Any]],  # (num_streams,)
        suspicion: Floats,  # (num_streams,)
        *,
        is_valid: NDArray[np.bool_],  # (num_streams,)
    ) -> Signals:
        """Take the next event of every stream that has one, and give its signals."""
        signals = self.peek(actions, suspicion)
        which = np.flatnonzero(is_valid)
        place = self._num_seen[which] % self._window
        new = np.stack([signals["restrictive"], signals["changed"]])[:, which]
        self._sums[:, which] += new - self._recent[:, place, which]
        self._recent[:, place, which] = new
        self._num_seen[which] += 1
        self._last[which] = actions[which]
        return signals

    def reset(self, which: NDArray[np.bool_]) -> None:  # (num_streams,)
        """Begin new traces in these streams."""
        self._recent[:, :, which] = 0
        self._sums[:, which] = 0
        self._num_seen[which] = 0
