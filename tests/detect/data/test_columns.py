"""Columns: types inferred or told, and what is no input."""

from datetime import datetime

import numpy as np
import pyarrow as pa
import pytest

from standing_orders.detect.data.columns import NumericColumn, WordColumn, parse_columns, read_times
from standing_orders.errors import ConfigError, DataError


def test_types_are_inferred() -> None:
    parsed = parse_columns(
        pa.table(
            {
                "count": [3, 1, 3, None],
                "flag": [True, False, None, True],
                "word": ["b", "a", "b", None],
                "number": ["1.5", "2", "1e3", "2"],
            }
        )
    )
    by_name = {column.name: column for column in parsed.columns}
    assert [type(column) for column in parsed.columns] == [
        NumericColumn,
        NumericColumn,
        WordColumn,
        NumericColumn,
    ]
    count, flag, word, number = by_name.values()
    assert isinstance(count, NumericColumn) and isinstance(number, NumericColumn)
    assert isinstance(flag, NumericColumn) and isinstance(word, WordColumn)
    np.testing.assert_array_equal(count.values, [3, 1, 3, np.nan])
    np.testing.assert_array_equal(flag.values, [1, 0, np.nan, 1])
    np.testing.assert_array_equal(number.values, [1.5, 2, 1000, 2])
    assert word.values.tolist() == [0, 1, 0, -1]
    assert word.words == ("b", "a")


def test_dictionaries_are_read_as_what_they_stand_for() -> None:
    table = pa.table(
        {
            "word": pa.array(["b", "a", "b"]).dictionary_encode(),
            "number": pa.array([2, 7, 2]).dictionary_encode(),
        }
    )
    word, number = parse_columns(table).columns
    assert isinstance(word, WordColumn) and word.words == ("b", "a")
    assert isinstance(number, NumericColumn) and number.values.tolist() == [2, 7, 2]


def test_types_can_be_told() -> None:
    table = pa.table({"port": [80, 443, 80], "size": ["10", "?", "?"]})
    parsed = parse_columns(table, categorical=["port"], numeric=["size"])
    port, size = parsed.columns
    assert isinstance(port, WordColumn) and port.words == ("80", "443")
    assert isinstance(size, NumericColumn)
    np.testing.assert_array_equal(size.values, [10, np.nan, np.nan])
    assert parsed.notes == ("size: 2 values are not numbers; taken as missing",)


def test_a_few_odd_values_do_not_make_a_number_a_word() -> None:
    values = [str(number) for number in range(200)] + ["0x1f"]
    parsed = parse_columns(pa.table({"port": values, "other": [1] * 201}), numeric=["port"])
    assert isinstance(parsed.columns[0], NumericColumn)
    doubled = parse_columns(pa.table({"port": values * 2}))
    assert isinstance(doubled.columns[0], NumericColumn)
    assert np.isnan(doubled.columns[0].values[200])


def test_what_is_no_input_is_named_with_its_reason() -> None:
    table = pa.table(
        {
            "id": [5, 6, 7, 8],
            "uuid": ["a", "b", "c", "d"],
            "when": [datetime(2024, 1, 1)] * 4,
            "nested": [[1], [2], [3], [4]],
            "nothing": pa.nulls(4),
            "kept": [1.0, 2.0, 3.0, 4.0],
        }
    )
    parsed = parse_columns(table)
    assert [column.name for column in parsed.columns] == ["kept"]
    assert parsed.dropped["id"] == "numbers the rows"
    assert parsed.dropped["uuid"] == "a different text in every row"
    assert "--time" in parsed.dropped["when"]
    assert "neither numbers nor text" in parsed.dropped["nested"]
    assert parsed.dropped["nothing"] == "no value in any row"


def test_a_row_number_that_is_told_stays() -> None:
    assert parse_columns(pa.table({"id": [5, 6, 7]}), numeric=["id"]).columns


def test_a_column_told_to_be_numeric_must_have_a_number() -> None:
    with pytest.raises(DataError, match="'word' is told to be numeric"):
        parse_columns(pa.table({"word": ["a", "b", "a"]}), numeric=["word"])


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["1970-01-02T00:00:00Z", None, "1970-01-02 02:00:00.5+02:00"]),
        pa.array(["1970-01-02", "NaT", "1970-01-02 00:00:00.5"]).dictionary_encode(),
        pa.array(["86400", "", "86400.5"], pa.large_string()),
        pa.array([86_400_000, None, 86_400_500], pa.duration("ms")),
        pa.array([86_400 * 10**9, None, 86_400 * 10**9 + 500_000_001], pa.timestamp("ns", "UTC")),
        pa.array([86_400.0, None, 86_400.5]),
    ],
    ids=lambda values: str(values.type),
)
def test_times_are_seconds_and_missing_ones_nan(values: pa.Array) -> None:
    np.testing.assert_allclose(read_times("when", values), [86_400, np.nan, 86_400.5], rtol=1e-12)


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["12:30", "n/a", "12:30:01.5"]),
        pa.array([45_000_000, None, 45_001_500], pa.time32("ms")),
        pa.array([45_000 * 10**9, None, 45_001_500 * 10**6], pa.time64("ns")),
    ],
    ids=lambda values: str(values.type),
)
def test_times_of_day_are_seconds_after_midnight(values: pa.Array) -> None:
    np.testing.assert_allclose(read_times("when", values), [45_000, np.nan, 45_001.5])


def test_dates_are_seconds() -> None:
    for kind in (pa.date32(), pa.date64()):
        values = pa.array([datetime(1970, 1, 3).date(), None], kind)
        np.testing.assert_array_equal(read_times("when", values), [2 * 86_400, np.nan])


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        (pa.array(["2024-01-01", "tomorrow"]), "'when' holds text such as 'tomorrow'"),
        (pa.array([[1]]), "'when' holds list"),
        (pa.array([(1, 2, 3)], pa.month_day_nano_interval()), "has no order in time"),
    ],
)
def test_what_has_no_order_in_time_is_refused(values: pa.Array, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        read_times("when", values)
