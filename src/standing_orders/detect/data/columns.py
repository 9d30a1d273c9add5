"""Columns of a table as numbers, words or times, by the plan that was made for them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.csv as pa_csv  # type: ignore[import-untyped]
from numpy.typing import NDArray

from standing_orders.detect.data.options import Kind
from standing_orders.detect.data.plan import Planned, network_of, number_of, plan_column
from standing_orders.errors import ConfigError, DataError

NO_TIME = {*pa_csv.ConvertOptions().null_values, "NaT"}  # text that stands for a missing time
EPHEMERAL = 32_768  # ports from here on are drawn at random by most systems
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

    def take(self, rows: NDArray[np.int64]) -> "NumericColumn":
        """Some rows."""
        return NumericColumn(self.name, self.values[rows])


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

    def take(self, rows: NDArray[np.int64]) -> "WordColumn":
        """Some rows."""
        return WordColumn(self.name, self.values[rows], self.words)


Column = NumericColumn | WordColumn


@dataclass(frozen=True)
class ParsedColumns:
    """The columns that can be inputs, what is planned for all of them, and what was odd."""

    columns: tuple[Column, ...]
    plan: tuple[Planned, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def dropped(self) -> dict[str, str]:
        """Columns that are no inputs, and why."""
        return {one.name: one.why for one in self.plan if one.kind == "out"}


def parse_columns(table: pa.Table, told: Mapping[str, Kind] | None = None) -> ParsedColumns:
    """Plan every column of a table, and read those that are inputs.

    Raises:
        DataError: a column told to be a number has no number in it.
    """
    columns: list[Column] = []
    plan: list[Planned] = []
    notes: list[str] = []
    told = told or {}
    for name in table.column_names:
        values = plain_values(table[name])
        planned = plan_column(name, values, told.get(name))
        plan.append(planned)
        if planned.kind == "out":
            continue
        column, is_misfit = read_column(planned, values)
        if isinstance(column, NumericColumn):
            if column.is_missing.all():
                raise DataError(f"column {name!r} is told to be numeric but has no number in it")
            if is_misfit is not None and is_misfit.any():
                notes.append(f"{name}: {is_misfit.sum()} values are not numbers; taken as missing")
        columns.append(column)
    return ParsedColumns(tuple(columns), tuple(plan), tuple(notes))


def plain_values(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece, without a dictionary."""
    values = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def read_column(planned: Planned, values: pa.Array) -> tuple[Column, NDArray[np.bool_] | None]:
    """Read a column as planned, whatever its values are by now.

    Returns:
        The column, and which rows (num_rows,) hold something that does not fit the plan, such as
        text where a number was; they count as missing. None: none of them.
    """
    name, kind = planned.name, planned.kind
    if kind == "number" and pa.types.is_float64(values.type):  # as most are: nothing else to ask
        return NumericColumn(name, values.to_numpy(zero_copy_only=False)), None
    if pa.types.is_nested(values.type) or pa.types.is_binary(values.type):
        values = pa.nulls(len(values)) if kind == "number" else values.cast(pa.string(), safe=False)
    if kind == "number" or planned.of_numbers:
        numbers, is_misfit = _as_numbers(name, values)
        if kind == "number":
            return NumericColumn(name, numbers), is_misfit
        return _number_words(name, numbers, is_port=kind == "port"), is_misfit
    words = read_words(name, values)
    if kind != "network":
        return words, None
    networks = [network_of(word) for word in words.words]
    known = list(dict.fromkeys(one for one in networks if one))
    codes = np.array([*(known.index(one) if one else -1 for one in networks), -1], dtype=np.int64)
    found = codes[words.values]
    return WordColumn(name, found, tuple(known)), (found < 0) & (words.values >= 0)


def _as_numbers(
    name: str, values: pa.Array
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:  # each (num_rows,)
    """Numbers, NaN where there is none, and where something else stands."""
    if _is_text(values.type):
        words = read_words(name, values)
        numbers = np.array([*map(number_of, words.words), np.nan])[words.values]
        is_nan = np.array([*(word.strip().lower() == "nan" for word in words.words), True])
        return numbers, np.isnan(numbers) & ~is_nan[words.values]
    nothing = np.zeros(len(values), dtype=np.bool_)
    if pa.types.is_temporal(values.type):
        return np.full(len(values), np.nan), values.is_valid().to_numpy(zero_copy_only=False)
    return read_numbers(values), nothing


def _number_words(name: str, numbers: NDArray[np.float64], *, is_port: bool) -> WordColumn:
    """Numbers as categories; of ports, those that systems draw at random share one."""
    if is_port:
        numbers = np.where(numbers >= EPHEMERAL, EPHEMERAL, numbers)
    found, inverse = np.unique(numbers, return_inverse=True)
    words = tuple(f"{int(one)}" if one == np.rint(one) and abs(one) < 1e15 else repr(float(one))
                  for one in found[~np.isnan(found)])  # fmt: skip
    if is_port:
        words = tuple("high" if word == str(EPHEMERAL) else word for word in words)
    codes = np.where(np.isnan(numbers), -1, inverse).astype(np.int64)
    return WordColumn(name, codes, words)


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
    indices = encoded.indices.fill_null(-1) if encoded.null_count else encoded.indices
    codes = indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return WordColumn(name, codes, tuple(encoded.dictionary.to_pylist()))


def read_numbers(values: pa.Array) -> NDArray[np.float64]:  # (num_rows,)
    """A numeric or boolean column as numbers; missing becomes NaN."""
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int8())
    if not pa.types.is_float64(values.type):
        values = values.cast(pa.float64(), safe=False)
    numbers: NDArray[np.float64] = values.to_numpy(zero_copy_only=False)  # null becomes NaN
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
    if not math.isnan(number := number_of(word)):
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


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
