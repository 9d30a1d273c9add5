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

from standing_orders.detect.actions import ACTION_NAMES, ALLOW, BLOCK
from standing_orders.detect.enforcement.streams import Streams, Traces
from standing_orders.errors import ConfigError

SUSPECTED_FROM = 0.5  # of the suspicion
Floats = NDArray[np.float64]
Signals = dict[str, Floats]


@dataclass(frozen=True)
class SignalInfo:
    """What a signal is."""

    meaning: str
    is_observable: bool  # known when the decision is made, for each decision it could be
    is_decision: bool  # depends on what the team decides


def _decision(meaning: str, *, is_observable: bool = True) -> SignalInfo:
    return SignalInfo(meaning, is_observable, True)


SIGNALS: Mapping[str, SignalInfo] = {
    "threat": SignalInfo("1 if the event belongs to an attack: the truth", False, False),
    "suspicion": SignalInfo("what the team believes before it decides, 0 to 1", True, False),
    "suspected": SignalInfo("1 if the suspicion is at least 0.5", True, False),
    "severity": _decision("the decision: 0 allow, 1 alert, 2 block, 3 quarantine"),
    **{name: _decision(f"1 if the decision is {name}") for name in ACTION_NAMES},
    "flagged": _decision("1 if the decision is not allow"),
    "restrictive": _decision("1 if the decision is block or quarantine"),
    "blocked": _decision("the same as restrictive: the event did not get through"),
    "changed": _decision("1 if the decision differs from that on the event before"),
    "num_changes": _decision("events in the window whose decision changed"),
    "blocked_share": _decision("events blocked in the window, divided by the window's length"),
    "num_threats": SignalInfo("threats in the window", False, False),
    "num_benign": SignalInfo("benign events in the window", False, False),
    "detection_rate": _decision(
        "threats in the window that were flagged, divided by the threats; 1 without any",
        is_observable=False,
    ),
    "false_alarm_rate": _decision(
        "benign events in the window that were flagged, divided by the benign; 0 without any",
        is_observable=False,
    ),
}

# What is summed over the window: threats, benign, hits, false alarms, blocks, changes.
_NUM_SUMS = 6


def _summed(
    actions: NDArray[np.integer[Any]], is_threat: NDArray[np.bool_], changed: NDArray[np.bool_]
) -> NDArray[np.int64]:  # (6, ...)
    flagged = actions != ALLOW
    parts = (is_threat, ~is_threat, is_threat & flagged, ~is_threat & flagged, actions >= BLOCK)
    return np.stack((*parts, changed)).astype(np.int64)


def _name_all(
    actions: NDArray[np.integer[Any]],
    is_threat: NDArray[np.bool_],
    suspicion: NDArray[np.floating[Any]] | None,
    changed: NDArray[np.bool_],
    sums: NDArray[np.int64],  # (6, ...)
    window: int,
) -> Signals:
    """All signals from their parts; `suspicion` and `suspected` only if it is given."""
    num_threats, num_benign, hits, false_alarms, blocks, changes = sums.astype(np.float64)
    restrictive = (actions >= BLOCK).astype(np.float64)
    given = {} if suspicion is None else {
        "suspicion": suspicion.astype(np.float64),
        "suspected": (suspicion >= SUSPECTED_FROM).astype(np.float64),
    }  # fmt: skip
    return {
        "threat": is_threat.astype(np.float64),
        **given,
        "severity": actions.astype(np.float64),
        **{name: (actions == i).astype(np.float64) for i, name in enumerate(ACTION_NAMES)},
        "flagged": (actions != ALLOW).astype(np.float64),
        "restrictive": restrictive,
        "blocked": restrictive,
        "changed": changed.astype(np.float64),
        "num_changes": changes,
        "blocked_share": blocks / window,
        "num_threats": num_threats,
        "num_benign": num_benign,
        "detection_rate": np.where(num_threats > 0, hits / np.maximum(num_threats, 1), 1.0),
        "false_alarm_rate": false_alarms / np.maximum(num_benign, 1),
    }


def compute_signals(streams: Streams, traces: Traces, *, window: int) -> Signals:
    """Signals of every event of the traces.

    Args:
        streams: what was decided.
        traces: its layout; windows and changes do not reach from one trace into another.
        window: events of the rolling window, at least 1.

    Returns:
        Arrays (num_events,) by name.
    """
    actions, is_threat = traces.take(streams.actions), traces.take(streams.is_threat)
    index = np.arange(traces.num_events)
    changed = np.zeros(traces.num_events, dtype=np.bool_)
    changed[1:] = (actions[1:] != actions[:-1]) & (index[1:] != traces.first[1:])
    counts = np.zeros((_NUM_SUMS, traces.num_events + 1), dtype=np.int64)
    np.cumsum(_summed(actions, is_threat, changed), axis=1, out=counts[:, 1:])
    oldest = np.maximum(index - window + 1, traces.first)
    suspicion = None if streams.suspicion is None else traces.take(streams.suspicion)
    sums = counts[:, 1:] - counts[:, oldest]
    return _name_all(actions, is_threat, suspicion, changed, sums, window)


class SignalTracker:
    """The same signals while the streams grow; each event costs the same.

    Args:
        num_streams: streams side by side.
        window: events of the rolling window.

    Example:
        >>> tracker = SignalTracker(1, window=2)
        >>> for action in (2, 0, 0):
        ...     now = tracker.push(np.array([action]), np.array([False]))
        ...     print(now["blocked_share"], now["changed"])
        [0.5] [0.]
        [0.5] [1.]
        [0.] [0.]
    """

    def __init__(self, num_streams: int, window: int) -> None:
        self._window = window
        self._streams = np.arange(num_streams)
        self._recent = np.zeros((_NUM_SUMS, window, num_streams), dtype=np.int64)
        self._sums = np.zeros((_NUM_SUMS, num_streams), dtype=np.int64)
        self._num_seen = np.zeros(num_streams, dtype=np.int64)
        self._last = np.zeros(num_streams, dtype=np.int64)

    def peek(
        self,
        actions: NDArray[np.integer[Any]],  # (num_streams,)
        is_threat: NDArray[np.bool_],  # (num_streams,)
        suspicion: NDArray[np.floating[Any]] | None = None,  # (num_streams,)
    ) -> Signals:
        """Signals of the next event, if this is what happens; nothing changes."""
        changed = (actions != self._last) & (self._num_seen > 0)
        leaving = self._recent[:, self._num_seen % self._window, self._streams]
        sums = self._sums + _summed(actions, is_threat, changed) - leaving
        return _name_all(actions, is_threat, suspicion, changed, sums, self._window)

    def push(
        self,
        actions: NDArray[np.integer[Any]],  # (num_streams,)
        is_threat: NDArray[np.bool_],  # (num_streams,)
        suspicion: NDArray[np.floating[Any]] | None = None,  # (num_streams,)
        *,
        is_valid: NDArray[np.bool_] | None = None,  # (num_streams,)
    ) -> Signals:
        """Take the next event of every stream that has one, and give its signals."""
        signals = self.peek(actions, is_threat, suspicion)
        changed = signals["changed"] > 0
        which = self._streams if is_valid is None else np.flatnonzero(is_valid)
        place = self._num_seen[which] % self._window
        new = _summed(actions, is_threat, changed)[:, which]
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


def check_given(names: frozenset[str], signals: Mapping[str, Floats], rule: str) -> None:
    """Refuse a rule about suspicion where none is given.

    Raises:
        ConfigError: with what to do.
    """
    for name in sorted(names - signals.keys()):
        raise ConfigError(f"rule `{rule}`: signal `{name}`: needs the team's suspicion of every "
                          "event, which was not given")  # fmt: skip
