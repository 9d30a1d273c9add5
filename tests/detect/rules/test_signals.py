"""Signals: exactly as defined, trace by trace, and the same online."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from standing_orders.detect.rules import SIGNALS, Streams
from standing_orders.detect.rules.signals import SignalTracker, compute_signals
from standing_orders.detect.rules.streams import lay_out
from tests.detect.rules.toys import column, naive_signals, random_streams, traces_of
from tests.effort import effort


def signals_of(streams: Streams, scope: str, window: int) -> dict[str, np.ndarray]:
    traces = lay_out(streams, scope)
    signals = compute_signals(streams, traces, window=window)
    return {name: traces.put(values) for name, values in signals.items()}


def one_stream(actions: list[int], threats: list[int], window: int) -> dict[str, list[float]]:
    streams = Streams(column(actions), column(threats, bool))
    signals = signals_of(streams, "stream", window)
    return {name: values[:, 0].tolist() for name, values in signals.items()}


@settings(max_examples=effort(40, 15), deadline=None)
@given(
    seed=st.integers(0, 10**6),
    window=st.sampled_from([1, 2, 5, 100]),
    scope=st.sampled_from(["session", "stream"]),
)
def test_signals_are_those_of_each_trace_by_itself(seed: int, window: int, scope: str) -> None:
    streams = random_streams(seed)
    signals = signals_of(streams, scope, window)
    wanted = {name: np.zeros(streams.shape) for name in SIGNALS}
    for trace in traces_of(streams, scope):
        rows, columns = map(list, zip(*trace, strict=True))
        naive = naive_signals(
            streams.actions[rows, columns].tolist(), streams.is_threat[rows, columns].tolist(),
            window,
        )  # fmt: skip
        for name, values in naive.items():
            wanted[name][rows, columns] = values
    wanted["suspicion"] = np.where(streams.valid, streams.suspicion, 0)
    wanted["suspected"] = (wanted["suspicion"] >= 0.5).astype(float)
    assert signals.keys() == SIGNALS.keys()
    for name, values in wanted.items():
        np.testing.assert_array_equal(signals[name], values, err_msg=name)


def test_a_window_without_evidence_satisfies() -> None:
    signals = one_stream([3, 3, 0, 0], [0, 0, 0, 1], window=2)
    assert signals["detection_rate"] == [1, 1, 1, 0]
    assert signals["false_alarm_rate"] == [1, 1, 0.5, 0]
    assert one_stream([1], [1], window=9)["false_alarm_rate"] == [0]


def test_the_blocked_share_is_of_the_whole_window_even_when_the_stream_is_young() -> None:
    assert one_stream([2, 3, 1, 0], [0] * 4, window=4)["blocked_share"] == [0.25, 0.5, 0.5, 0.5]


def test_the_first_decision_is_no_change() -> None:
    signals = one_stream([3, 3, 1, 1, 0], [0] * 5, window=3)
    assert signals["changed"] == [0, 0, 1, 0, 1]
    assert signals["num_changes"] == [0, 0, 1, 1, 2]


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    window=st.sampled_from([1, 3, 8]),
    scope=st.sampled_from(["session", "stream"]),
)
def test_online_signals_equal_those_of_the_batch(seed: int, window: int, scope: str) -> None:
    streams = random_streams(seed)
    if scope == "session":  # online a gap is no end
        streams = random_streams(seed, is_valid=None)
    batch = signals_of(streams, scope, window)
    tracker = SignalTracker(streams.shape[1], window)
    for t, valid in enumerate(streams.valid):
        sample = (streams.actions[t], streams.suspicion[t])
        peeked = tracker.peek(*sample)
        pushed = tracker.push(*sample, is_valid=valid)
        assert pushed.keys() == {name for name, info in SIGNALS.items() if info.is_observable}
        for name in pushed:
            values = batch[name]
            assert pushed[name][valid].tolist() == values[t, valid].tolist(), name
            assert peeked[name].tolist() == pushed[name].tolist(), name
        if scope == "session":
            tracker.reset(streams.is_last[t] & valid)


def test_a_session_ends_where_its_last_event_does() -> None:
    last = column([True, False, False, True], bool)
    streams = Streams(column([0, 1, 2, 3]), column([1, 0, 1, 1], bool), is_last=last)
    assert [len(trace) for trace in traces_of(streams, "session")] == [1, 3]
    assert lay_out(streams, "session").first.tolist() == [0, 1, 1, 1]
    assert lay_out(streams, "stream").first.tolist() == [0, 0, 0, 0]


def test_an_empty_batch_has_no_events() -> None:
    streams = Streams(np.zeros((3, 2), int), np.zeros((3, 2), bool), np.zeros((3, 2), bool))
    assert lay_out(streams, "session").num_events == 0


def test_what_is_not_an_event_may_hold_anything() -> None:
    valid = np.array([[True], [False]])
    streams = Streams(column([1, -9]), valid, valid, suspicion=np.array([[0.5], [np.nan]]))
    assert signals_of(streams, "session", 3)["suspicion"].tolist() == [[0.5], [0]]
