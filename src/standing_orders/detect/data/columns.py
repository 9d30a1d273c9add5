"""Columns of a table: inputs (numbers or words, inferred or told), times, labels and leaks."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pa_compute  # type: ignore[import-untyped]
import pyarrow.csv as pa_csv  # type: ignore[import-untyped]
from numpy.typing import NDArray
from scipy.stats import rankdata  # type: ignore[import-untyped]

from standing_orders.detect.data.options import DataConfig
from standing_orders.errors import ConfigError, DataError

# Share of distinct words that must read as numbers for a text column to be taken as numeric.
MIN_NUMERIC_SHARE = 0.99
NO_TIME = {*pa_csv.ConvertOptions().null_values, "NaT"}  # text that stands for a missing time
# What a two-valued label calls benign, in lower case, the clearest first.
BENIGN_WORDS = ("0", "false", "no", "normal", "benign", "legitimate", "clean", "negative", "-1")
THREAT = "threat"  # name of the attack where no column tells
# More different texts than both of these: rather an identifier than a category.
_MAX_WORDS, _MAX_WORD_SHARE = 50, 0.5
_MAX_RANKED = 20_000
_SUSPICIOUS_AUC = 0.999
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
            if isinstance(column, WordColumn) and _looks_like_an_id(column):
                notes.append(
                    f"{name}: {len(column.words)} different texts in {len(values)} rows: if it "
                    f"names the event, leave it out with --ignore {name}"
                )
            columns.append(column)
    return ParsedColumns(tuple(columns), dropped, tuple(notes))


def _looks_like_an_id(column: WordColumn) -> bool:
    return len(column.words) > max(_MAX_WORDS, _MAX_WORD_SHARE * len(column.values))


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


def read_labels(
    table: pa.Table, config: DataConfig
) -> tuple[NDArray[np.int64], tuple[str, ...]]:  # (num_rows,)
    """Attack of each row, -1 for benign ones, and the names of the attacks.

    Without `attack`, a label of many values names the attacks itself.

    Args:
        table: rows with the columns `label` and, if given, `attack`.
        config: its `label`, `attack`, and `threats` or `benign`.

    Raises:
        ConfigError: a value named does not occur, or both lists are given.
        DataError: a row has no label, or the label is not binary and nobody says what is a threat.
    """
    label, attack = config.label, config.attack
    assert label is not None
    words = _label_words(label, table[label].combine_chunks())
    if num_missing := int(words.is_missing.sum()):
        raise DataError(
            f"label column {label!r}: {num_missing} rows have no label: add it or drop them"
        )
    is_threat = _threat_words(words, config.threats, config.benign)[words.values]
    if attack is not None:
        names = read_words(attack, table[attack].combine_chunks())
    elif len(words.words) > 2:
        names = words
    else:
        names = WordColumn(label, np.zeros(len(is_threat), dtype=np.int64), (THREAT,))
    known = [(name or "unknown").strip() for name in (*names.words, "unknown")]
    used = sorted({known[code] for code in np.unique(names.values[is_threat])})
    index = {name: number for number, name in enumerate(used)}
    numbers = np.array([index.get(name, -1) for name in known], dtype=np.int64)
    return np.where(is_threat, numbers[names.values], -1), tuple(used)


def describe_labels(
    table: pa.Table,
    config: DataConfig,
    attacks: NDArray[np.int64],  # (num_rows,)
) -> str | None:
    """Which values of the label are threats; None if it says so itself, being 0 and 1.

    Args:
        table: rows with the column `label`.
        config: its `label`.
        attacks: what `read_labels` made of it.
    """
    assert config.label is not None
    words = _label_words(config.label, table[config.label].combine_chunks())
    if {*words.words} <= {"0", "1"}:
        return None
    threats = {words.words[code] for code in np.unique(words.values[attacks >= 0])}
    benign = [word for word in words.words if word not in threats]
    return (
        f"label {config.label}: threat is {_some(sorted(threats)) or 'none'}; benign is "
        f"{_some(benign) or 'none'}"
    )


def _label_words(label: str, values: pa.Array) -> WordColumn:
    if pa.types.is_floating(values.type):
        values = pa_compute.if_else(pa_compute.is_nan(values), None, values)
        if pa_compute.any(pa_compute.is_inf(values)).as_py():
            raise DataError(f"label column {label!r}: has infinite values, which are no label")
        whole = values.drop_null()
        if pa_compute.all(pa_compute.equal(whole, pa_compute.round(whole))).as_py() is not False:
            values = values.cast(pa.int64(), safe=False)
    column = read_words(label, values)
    words = tuple(word.strip() for word in column.words)
    unique = sorted(set(words))
    codes = np.array([unique.index(word) for word in words] + [-1], dtype=np.int64)
    return WordColumn(label, codes[column.values], tuple(unique))


def _threat_words(
    label: WordColumn, threats: Collection[str], benign: Collection[str]
) -> NDArray[np.bool_]:
    """Whether each value of the label is a threat."""
    if threats and benign:
        raise ConfigError("threats, benign: name one of the two, the rest follows")
    for option, named in (("threats", threats), ("benign", benign)):
        for word in named:
            if word not in label.words:
                raise ConfigError(
                    f"{option}: {word!r} is no value of {label.name!r}; there are "
                    f"{_some(label.words)}"
                )
    if threats:
        return np.array([word in threats for word in label.words])
    benign = benign or _guess_benign(label)
    return np.array([word not in benign for word in label.words])


def _guess_benign(label: WordColumn) -> tuple[str, ...]:
    """What a label of two values, or one, calls benign."""
    if len(label.words) > 2:
        raise DataError(
            f"label column {label.name!r} is not binary: it has {len(label.words)} values, "
            f"{_some(label.words)}; say which are threats with --threats, or which are benign with "
            "--benign"
        )
    lower = [word.lower() for word in label.words]
    for word in BENIGN_WORDS:
        if word in lower:
            return (label.words[lower.index(word)],)
    if lower in (["1"], ["true"], ["yes"]):
        return ()
    raise DataError(
        f"label column {label.name!r} has the values {_some(label.words)}: say which is a threat "
        "with --threats"
    )


def _some(words: Sequence[str], limit: int = 8) -> str:
    more = f" and {len(words) - limit} more" if len(words) > limit else ""
    return ", ".join(map(repr, words[:limit])) + more


def check_classes(is_threat: NDArray[np.bool_], where: str) -> None:
    """Refuse events of one class only.

    Raises:
        DataError: all events, or none, are threats.
    """
    if not len(is_threat):
        raise DataError(f"{where}: no events")
    if is_threat.all() or not is_threat.any():
        kind = "a threat" if is_threat[0] else "benign"
        raise DataError(
            f"{where}: one class only, every one of {len(is_threat)} events is {kind}; there is "
            "nothing to tell apart"
        )


def find_leaks(
    columns: Sequence[Column],
    rows: NDArray[np.int64],
    is_threat: NDArray[np.bool_],  # (num_training_rows,)
    *,
    told: Collection[str] = (),
) -> tuple[dict[str, str], list[str]]:
    """Columns that are the label under another name, judged on training rows.

    Args:
        columns: the columns of all rows.
        rows: the training rows.
        is_threat: the label of the training rows.
        told: columns that the user named as inputs; they are never dropped.

    Returns:
        Columns to drop and why; and notes on columns that stay but look too good.
    """
    dropped, notes = {}, []
    for column in columns:
        if _decides(column, rows, is_threat):
            if column.name not in told:
                dropped[column.name] = "decides the label alone: the label under another name"
        elif isinstance(column, NumericColumn) and column.name not in told:
            auc = _area(column.values[rows], is_threat)
            if max(auc, 1 - auc) >= _SUSPICIOUS_AUC:
                notes.append(
                    f"{column.name} alone ranks threats before benign events (ROC area "
                    f"{max(auc, 1 - auc):.4f}): is it known when the event happens?"
                )
    return dropped, notes


def _decides(column: Column, rows: NDArray[np.int64], is_threat: NDArray[np.bool_]) -> bool:
    """Whether every word, or either of two numbers, is of one class, often enough to mean it."""
    found, inverse, counts = np.unique(column.values[rows], return_inverse=True, return_counts=True)
    if len(found) < 2 or len(rows) < 10 * len(found):
        return False
    if isinstance(column, NumericColumn) and len(found) > 2:
        return False
    threats = np.bincount(inverse, is_threat)
    return bool(np.all((threats == 0) | (threats == counts)))


def _area(values: NDArray[np.float64], is_threat: NDArray[np.bool_]) -> float:
    """Area under the ROC curve of one column as score; missing values rank lowest."""
    step = max(1, len(values) // _MAX_RANKED)
    values, is_threat = values[::step], is_threat[::step]
    num_threats = int(is_threat.sum())
    num_pairs = num_threats * (len(values) - num_threats)
    if not num_pairs:
        return 0.5
    ranks = rankdata(np.where(np.isnan(values), -np.inf, values))
    return float((ranks[is_threat].sum() - num_threats * (num_threats + 1) / 2) / num_pairs)
