"""Input columns of a table: numbers or words, inferred or told."""

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pa_compute  # type: ignore[import-untyped]
import pyarrow.csv as pa_csv  # type: ignore[import-untyped]
from numpy.typing import NDArray

from standing_orders.errors import ConfigError, DataError

# Share of distinct words that must read as numbers for a text column to be taken as numeric.
MIN_NUMERIC_SHARE = 0.99
NO_TIME = {*pa_csv.ConvertOptions().null_values, "NaT"}  # text that stands for a missing time
# Seconds in the unit of a time column.
_TICKS = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "date32[day]": 86_400, "date64[ms]": 1e-3}


@dataclass(frozen=True, eq=False)
class NumericColumn:
    """A column of numbers."""

    name: str
    values: NDArray[np.float64]  # (num_rows,): NaN where missing; may be infinite

    @property
    def is_missing(self) -> NDArray[np.bool_]:  # (num_rows,)
        """Rows without a value."""
        return np.isnan(self.values)


@dataclass(frozen=True, eq=False)
class WordColumn:
    """A column of categories."""

    name: str
    values: NDArray[np.int64]  # (num_rows,): index into words, -1 where missing
    words: tuple[str, ...]

    @property
    def is_missing(self) -> NDArray[np.bool_]:  # (num_rows,)
        """Rows without a value."""
        return self.values < 0


Column = NumericColumn | WordColumn


@dataclass(frozen=True)
class ParsedColumns:
    """The columns that can be inputs, why others cannot, and what was odd."""

    columns: tuple[Column, ...]
    dropped: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def parse_columns(
    table: pa.Table, *, numeric: Collection[str] = (), categorical: Collection[str] = ()
) -> ParsedColumns:
    """Read every column of a table as numbers or as words.

    Numbers and booleans are numeric, text is categorical unless nearly all of it reads as numbers.
    Dates, nested values and columns that merely number the rows are no inputs.

    Args:
        table: the rows of all parts.
        numeric: columns to read as numbers whatever they look like.
        categorical: columns to read as words, numbers included.

    Raises:
        DataError: a column told to be numeric has no number in it.
    """
    columns: list[Column] = []
    dropped: dict[str, str] = {}
    notes: list[str] = []
    told = {*numeric, *categorical}
    for name in table.column_names:
        values = table[name].combine_chunks()
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        reason = _not_an_input(values, name in told)
        if reason:
            dropped[name] = reason
        elif name in categorical:
            columns.append(read_words(name, values))
        else:
            column = _read_column(name, values, name in numeric)
            if isinstance(column, NumericColumn) and _is_text(values.type):
                lost = int(column.is_missing.sum()) - values.null_count
                if lost:
                    notes.append(f"{name}: {lost} values are not numbers; taken as missing")
            columns.append(column)
    return ParsedColumns(tuple(columns), dropped, tuple(notes))


def read_words(name: str, values: pa.Array) -> WordColumn:
    """A column as categories, numbered by first appearance."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    try:
        encoded = values.cast(pa.string()).dictionary_encode()
    except pa.ArrowException as err:
        raise DataError(
            f"column {name!r} holds {values.type}, which is no readable text: convert it to UTF-8 "
            "text or numbers"
        ) from err
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return WordColumn(name, codes, tuple(encoded.dictionary.to_pylist()))


def read_numbers(values: pa.Array) -> NDArray[np.float64]:  # (num_rows,)
    """A numeric or boolean column as numbers; missing becomes NaN."""
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int8())
    numbers: NDArray[np.float64] = (
        values.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
    )
    return numbers


def read_times(name: str, values: pa.Array) -> NDArray[np.float64]:  # (num_rows,)
    """A column as seconds; missing becomes NaN.

    Args:
        name: of the column.
        values: dates, times, times of day, durations, numbers, or any of these but durations as
            text, by ISO 8601; a text without a zone is in UTC.

    Raises:
        ConfigError: values that have no order in time.
    """
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    kind = values.type
    if _is_text(kind):
        words = read_words(name, values)
        return np.array([*(_seconds(name, word) for word in words.words), np.nan])[words.values]
    try:
        if not pa.types.is_temporal(kind):
            return read_numbers(values)
        ticks = values.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
        return read_numbers(ticks) * _TICKS[getattr(kind, "unit", str(kind))]
    except pa.ArrowException as err:
        raise ConfigError(
            f"time: column {name!r} holds {kind}, which has no order in time"
        ) from err


def _seconds(column: str, word: str) -> float:
    word = word.strip()
    if word in NO_TIME:
        return float("nan")
    if not math.isnan(number := _number(word)):
        return number
    for day in ("", "1970-01-01T"):  # the second makes a time of day a time
        try:
            moment = datetime.fromisoformat(day + word)
        except ValueError:
            continue
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    raise ConfigError(
        f"time: column {column!r} holds text such as {word!r:.60}: must be numbers or ISO 8601 "
        "times"
    )


def _read_column(name: str, values: pa.Array, must_be_numeric: bool) -> Column:
    if not _is_text(values.type):
        return NumericColumn(name, read_numbers(values))
    words = read_words(name, values)
    numbers = np.array([_number(word) for word in words.words] + [np.nan])
    share = np.isfinite(numbers[:-1]).mean() if words.words else 0.0
    if must_be_numeric and not share:
        raise DataError(f"column {name!r} is told to be numeric but has no number in it")
    if must_be_numeric or share >= MIN_NUMERIC_SHARE:
        return NumericColumn(name, numbers[words.values])
    return words


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        return float("nan")


def _not_an_input(values: pa.Array, is_told: bool) -> str:
    """Why a column is no input, '' if it is one."""
    kind = values.type
    if values.null_count == len(values):
        return "no value in any row"
    if pa.types.is_nested(kind) or pa.types.is_binary(kind):
        return f"values of type {kind} are neither numbers nor text"
    if pa.types.is_temporal(kind):
        return "a time; order by it with --time"
    if is_told or len(values) < 3:
        return ""
    if _is_text(kind) and pa_compute.count_distinct(values).as_py() == len(values):
        return "a different text in every row"
    if pa.types.is_integer(kind) and not values.null_count:
        steps = np.diff(values.to_numpy(zero_copy_only=False).astype(np.float64))
        if np.all(steps == 1):
            return "numbers the rows"
    return ""


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
