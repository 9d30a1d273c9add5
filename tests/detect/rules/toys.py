"""Random streams, and slow definitions to compare with."""

from typing import Any

import numpy as np

from standing_orders.detect.rules import Rule, Streams


def random_streams(seed: int, *, steps: int = 60, num_streams: int = 4, **options: Any) -> Streams:
    """Streams with gaps, several sessions each, and suspicion."""
    rng = np.random.default_rng(seed)
    shape = (steps, num_streams)
    given = {
        "is_valid": rng.random(shape) < 0.9,
        "is_last": rng.random(shape) < 0.1,
        "suspicion": rng.random(shape),
        **options,
    }
    return Streams(rng.integers(0, 4, shape), rng.random(shape) < 0.3, **given)


def traces_of(streams: Streams, scope: str) -> list[list[tuple[int, int]]]:
    """(step, stream) of the events of each trace, found by walking."""
    traces: list[list[tuple[int, int]]] = []
    for column in range(streams.shape[1]):
        trace: list[tuple[int, int]] = []
        for step in range(streams.shape[0]):
            is_valid = bool(streams.valid[step, column])
            if is_valid:
                trace.append((step, column))
            is_last = streams.is_last is not None and bool(streams.is_last[step, column])
            if scope == "session" and trace and (not is_valid or is_last):
                traces.append(trace)
                trace = []
        if trace:
            traces.append(trace)
    return traces


def naive_signals(actions: list[int], threats: list[bool], window: int) -> dict[str, list[float]]:
    """Signals of one trace, event by event."""
    rows = []
    for t, (action, threat) in enumerate(zip(actions, threats, strict=True)):
        since = max(0, t - window + 1)
        recent = list(zip(actions[since : t + 1], threats[since : t + 1], strict=True))
        on_threats = [a != 0 for a, is_threat in recent if is_threat]
        on_benign = [a != 0 for a, is_threat in recent if not is_threat]
        changes = [i > 0 and actions[i] != actions[i - 1] for i in range(since, t + 1)]
        rows.append({
            "threat": float(threat),
            "severity": float(action),
            "allow": float(action == 0),
            "alert": float(action == 1),
            "block": float(action == 2),
            "quarantine": float(action == 3),
            "flagged": float(action in (1, 2, 3)),
            "restrictive": float(action in (2, 3)),
            "blocked": float(action in (2, 3)),
            "changed": float(changes[-1]),
            "num_changes": float(sum(changes)),
            "blocked_share": sum(a in (2, 3) for a, _ in recent) / window,
            "num_threats": float(len(on_threats)),
            "num_benign": float(len(on_benign)),
            "detection_rate": sum(on_threats) / len(on_threats) if on_threats else 1.0,
            "false_alarm_rate": sum(on_benign) / len(on_benign) if on_benign else 0.0,
        })  # fmt: skip
    return {name: [row[name] for row in rows] for name in rows[0]}


def rule_of(formula: str, **options: Any) -> Rule:
    return Rule(**{"name": "rule", "formula": formula, "window": 7, **options})


def column(values: list[Any], dtype: Any = np.int64) -> np.ndarray:
    """One stream."""
    return np.array(values, dtype=dtype)[:, None]
