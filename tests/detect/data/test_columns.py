"""Columns: types inferred or told, what is no input, what is a threat, and what gives it away."""

from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from standing_orders.detect.data.columns import (
    NumericColumn,
    WordColumn,
    parse_columns,
    read_times,
)
from standing_orders.detect.data.labels import check_classes, find_leaks
from standing_orders.detect.data.labels import read_labels as read_labels_as
from standing_orders.detect.data.options import DataConfig
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
    parsed = parse_columns(table, {"port": "category", "size": "number"})
    port, size = parsed.columns
    assert isinstance(port, WordColumn) and port.words == ("80", "443")
    assert isinstance(size, NumericColumn)
    np.testing.assert_array_equal(size.values, [10, np.nan, np.nan])
    assert parsed.notes == ("size: 2 values are not numbers; taken as missing",)


def test_a_few_odd_values_do_not_make_a_number_a_word() -> None:
    values = [str(number) for number in range(200)] + ["0x1f"]
    parsed = parse_columns(pa.table({"port": values, "other": [1] * 201}), {"port": "number"})
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
    assert parse_columns(pa.table({"id": [5, 6, 7]}), {"id": "number"}).columns


def test_a_column_told_to_be_numeric_must_have_a_number() -> None:
    with pytest.raises(DataError, match="'word' is told to be numeric"):
        parse_columns(pa.table({"word": ["a", "b", "a"]}), {"word": "number"})


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


def read_labels(
    table: pa.Table, label: str, **options: Any
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    return read_labels_as(table, DataConfig(label=label, **options))


@pytest.mark.parametrize(
    "values",
    [
        [0, 1, 1],
        [0.0, 1.0, 1.0],
        [-1, 1, 1],
        [False, True, True],
        ["no", "Yes", "Yes"],
        [" Normal", "attack ", "attack"],
        ["BENIGN", "bot", "bot"],
    ],
)
def test_a_binary_label_explains_itself(values: list[Any]) -> None:
    attacks, names = read_labels(pa.table({"y": values}), "y")
    assert attacks.tolist() == [-1, 0, 0]
    assert names == ("threat",)


def test_threats_or_benign_values_can_be_told_and_name_the_attacks() -> None:
    table = pa.table({"y": ["ok", "dos", "scan", "odd"]})
    assert read_labels(table, "y", threats=["dos", "scan"])[0].tolist() == [-1, 0, 1, -1]
    attacks, names = read_labels(table, "y", benign=["ok"])
    assert attacks.tolist() == [-1, 0, 2, 1]
    assert names == ("dos", "odd", "scan")


def test_a_column_can_name_the_attacks() -> None:
    table = pa.table({"y": [0, 1, 1, 1], "kind": [None, " dos", None, "dos"]})
    attacks, names = read_labels(table, "y", attack="kind")
    assert names == ("dos", "unknown")
    assert attacks.tolist() == [-1, 0, 1, 0]


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        (["a", "b", "c"], "not binary: it has 3 values, 'a', 'b', 'c'; say which .*--threats"),
        (["a", "b", "b"], "has the values 'a', 'b': say which is a threat"),
        ([0, 1, None], "1 rows have no label"),
        ([0.5, 0.25, 0.75], "not binary"),
    ],
)
def test_a_label_that_cannot_be_used_is_explained(values: list[Any], complaint: str) -> None:
    with pytest.raises(DataError, match=f"label column 'y'.*{complaint}"):
        read_labels(pa.table({"y": values}), "y")


def test_values_that_do_not_occur_are_refused() -> None:
    table = pa.table({"y": ["ok", "dos"]})
    with pytest.raises(ConfigError, match="threats: 'Dos' is no value of 'y'; there are 'dos'"):
        read_labels(table, "y", threats=["Dos"])
    with pytest.raises(ConfigError, match="name one of the two"):
        read_labels(table, "y", threats=["dos"], benign=["ok"])


@pytest.mark.parametrize(("value", "kind"), [(True, "a threat"), (False, "benign")])
def test_one_class_only_is_refused(value: bool, kind: str) -> None:
    with pytest.raises(DataError, match=f"f.csv: one class only, every one of 3 events is {kind}"):
        check_classes(np.array([value] * 3), "f.csv")


def make_leaks() -> tuple[list[NumericColumn | WordColumn], np.ndarray]:
    rng = np.random.default_rng(0)
    is_threat = np.arange(200) % 4 == 0
    noise = rng.integers(0, 2, 200)
    return [
        NumericColumn("copy", 7.0 - 2 * is_threat),
        WordColumn("category", np.where(is_threat, 1 + noise, 0), ("Normal", "dos", "scan")),
        NumericColumn("verdict", is_threat + rng.random(200) / 2),
        NumericColumn("noise", noise.astype(np.float64)),
        WordColumn("hint", np.where(is_threat & (np.arange(200) < 150), 0, 1), ("x", "y")),
    ], is_threat


def test_columns_that_are_the_label_are_dropped_and_suspects_are_named() -> None:
    columns, is_threat = make_leaks()
    dropped, notes = find_leaks(columns, np.arange(200), is_threat)
    assert set(dropped) == {"copy", "category"}
    assert len(notes) == 1
    assert notes[0].startswith("verdict alone ranks threats")


def test_a_column_told_to_be_an_input_stays() -> None:
    columns, is_threat = make_leaks()
    assert set(find_leaks(columns, np.arange(200), is_threat, told=["copy"])[0]) == {"category"}


def test_only_training_rows_are_judged() -> None:
    columns, is_threat = make_leaks()
    rows = np.arange(150)  # where the hint decides
    assert "hint" in find_leaks(columns, rows, is_threat[rows])[0]


def test_a_word_that_hardly_repeats_proves_nothing() -> None:
    column = WordColumn("word", np.arange(20), tuple(map(str, range(20))))
    assert find_leaks([column], np.arange(20), np.arange(20) % 2 == 0) == ({}, [])


def test_a_label_that_is_no_number_is_a_missing_one() -> None:
    table = pa.table({"label": pa.array([0.0, 1.0, float("nan")])})
    with pytest.raises(DataError, match="1 rows have no label"):
        read_labels(table, "label")


def test_an_infinite_label_is_refused() -> None:
    table = pa.table({"label": pa.array([0.0, 1.0, float("inf")])})
    with pytest.raises(DataError, match="infinite"):
        read_labels(table, "label")
