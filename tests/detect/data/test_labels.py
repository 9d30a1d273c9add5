"""Labels: what is a threat, and columns that give it away."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from standing_orders.detect.data.columns import NumericColumn, WordColumn
from standing_orders.detect.data.labels import check_classes, find_leaks
from standing_orders.detect.data.labels import read_labels as read_labels_as
from standing_orders.detect.data.options import DataConfig
from standing_orders.errors import ConfigError, DataError


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
