"""Traces: cut into events, described without looking ahead or at themselves."""

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from standing_orders.detect.data.options import DataConfig
from standing_orders.detect.data.traces import Traces, describe_traces, read_traces
from standing_orders.errors import DataError


def read(values: list[object], chunk: int = 3, max_events: int = 100) -> Traces:
    return read_traces(
        pa.chunked_array([pa.array(values)]),
        DataConfig(trace="t", chunk=chunk, max_events=max_events),
    )


def describe(
    traces: Traces, training: list[int], threats: list[int], groups: list[int]
) -> dict[str, NDArray[np.float64]]:
    numbers = np.arange(len(groups))
    columns = describe_traces(
        traces,
        is_training=np.isin(numbers, training),
        is_threat=np.isin(numbers, threats),
        groups=np.array(groups),
    )
    assert len({column.name for column in columns}) == len(columns)
    return {column.name: column.values for column in columns}


def test_a_trace_is_cut_into_events_and_the_rest_is_one() -> None:
    traces = read([[5, 5, 6, 7], [6, 6, 6]])
    assert traces.words == ("5", "6", "7")
    assert traces.event_index.tolist() == [0, 0, 0, 1, 2, 2, 2]
    assert traces.event_trace.tolist() == [0, 0, 1]


def test_text_and_lists_are_read_alike() -> None:
    text, lists = read(["5 5  6,7", " 6;6 6 "]), read([[5, 5, 6, 7], [6, 6, 6]])
    assert text.words == lists.words
    np.testing.assert_array_equal(text.tokens, lists.tokens)
    np.testing.assert_array_equal(text.event_index, lists.event_index)


def test_long_traces_are_cut() -> None:
    traces = read([list(range(10)), [1]], chunk=2, max_events=2)
    assert traces.event_trace.tolist() == [0, 0, 1]
    assert len(traces.tokens) == 5


@pytest.mark.parametrize("values", [[[1], []], [[1], None], ["1 2", "  "], [["1", None]]])
def test_an_empty_trace_is_refused(values: list[object]) -> None:
    with pytest.raises(DataError, match="trace column 't': a trace is empty"):
        read(values)


def test_a_column_without_traces_is_refused() -> None:
    with pytest.raises(DataError, match="trace column 't': holds int64"):
        read([1, 2])


def test_counts_are_of_the_event_itself() -> None:
    columns = describe(read([[5, 5, 6, 5], [6, 6]]), [0, 1], [], [-1, -1])
    assert columns["call 5"].tolist() == [2, 1, 0]
    assert columns["call 6"].tolist() == [1, 0, 2]
    assert columns["pair 5 6"].tolist() == [1, 0, 0]
    assert columns["pair 6 5"].tolist() == [0, 1, 0]  # belongs to the event that completes it
    assert columns["pair 6 6"].tolist() == [0, 0, 1]
    assert columns["tokens"].tolist() == [3, 1, 2]
    assert columns["kinds"].tolist() == [2, 1, 1]


def test_a_run_is_new_if_no_benign_training_trace_has_it() -> None:
    traces = read([[1, 2, 3], [1, 2, 3], [1, 2, 9], [9, 9, 9]])
    columns = describe(traces, [0, 1, 3], [3], [-1] * 4)
    assert columns["new 2"].tolist() == [0, 0, 0.5, 1]
    assert columns["new 3"].tolist() == [0, 0, 1, 1]


def test_a_training_trace_is_described_as_if_its_group_were_not_there() -> None:
    traces = read([[1, 2, 3], [1, 2, 3], [4, 5, 6]])
    apart = describe(traces, [0, 1, 2], [], [0, 1, 2])
    together = describe(traces, [0, 1, 2], [], [0, 0, 2])
    assert apart["new 2"].tolist() == [0, 0, 1]
    assert together["new 2"].tolist() == [1, 1, 1]


def test_traces_outside_the_training_part_change_nothing() -> None:
    inside = [[1, 2, 3, 4], [1, 2, 4, 4], [3, 3, 3]]
    first = describe(read([*inside, [1, 2, 1]]), [0, 1, 2], [2], [-1] * 4)
    second = describe(read([*inside, [4, 3, 4]]), [0, 1, 2], [2], [-1] * 4)
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name][:-1], second[name][:-1])


def test_odds_are_high_for_runs_of_threats() -> None:
    traces = read([[1, 1, 1], [1, 1, 1], [2, 2, 2], [2, 2, 2], [1, 1, 1], [2, 2, 2]])
    odds = describe(traces, [0, 1, 2, 3], [2, 3], [-1] * 6)["odds 2"]
    assert odds[4] < -5
    assert odds[5] > 5
