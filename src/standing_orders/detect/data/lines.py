"""Text logs line by line: JSON lines (Suricata's eve.json too), Zeek logs, CSV and TSV.

What a log is shows in its first lines. One that is read whole, for training, must be in order; of a
stream each line that is not is a fault of its own, and the others are read all the same.
"""

import csv
import io
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.csv as pa_csv  # type: ignore[import-untyped]

from standing_orders.detect.data.saved import Saved
from standing_orders.errors import DataError

SEPARATORS = ("\t", ";", "|", ",")  # of several as frequent ones the first
NULLS = frozenset(pa_csv.ConvertOptions().null_values)
MAX_COLUMNS = 10_000
_MAX_DEPTH = 16  # of nested keys
_ZEEK_NUMBERS = {"time", "interval", "double"}
_ZEEK_COUNTS = {"count", "int", "port"}
_MARK = "\ufeff"

Style = Literal["json", "zeek", "csv"]
Row = dict[str, Any]


@dataclass
class Dialect(Saved):
    """How the lines of one log are read; a Zeek log may change its columns on the way."""

    style: Style
    separator: str = ","
    names: tuple[str, ...] = ()  # of the columns; of JSON each line has its own
    types: tuple[str, ...] = ()  # of a Zeek log
    unset: str = "-"
    empty: str = "(empty)"

    def is_event(self, line: bytes) -> bool:
        """Whether a line is to be answered; else it is empty, a comment or a header, and noted."""
        if not line.strip():
            return False
        if self.style == "zeek" and line.startswith(b"#"):
            self._note_header(line)
            return False
        return True

    def _note_header(self, line: bytes) -> None:
        word, _, rest = (
            line.decode(errors="replace")
            .rstrip("\r\n")
            .partition(" " if line.startswith(b"#separator") else self.separator)
        )
        values = tuple(rest.split(self.separator))
        if word == "#separator":
            self.separator = _unescape(rest) or "\t"
        elif word == "#fields":
            self.names, self.types = values[:MAX_COLUMNS], ()
        elif word == "#types":
            self.types = values
        elif word == "#unset_field":
            self.unset = rest
        elif word == "#empty_field":
            self.empty = rest


@dataclass(frozen=True)
class Block:
    """Some events as a table; a line that cannot be read has no value in it."""

    table: pa.Table  # (num_events,)
    faults: dict[int, str] = field(default_factory=dict)  # by event: why it cannot be read


def find_dialect(
    head: Sequence[bytes], *, separator: str | None = None, header: Sequence[str] = (),
    known: Collection[str] = (),
) -> tuple[Dialect, int]:  # fmt: skip
    """What the first lines of a log say about it.

    Args:
        head: some lines from its beginning.
        separator: of the fields of a CSV, if it is known.
        header: the columns of a CSV without a header.
        known: columns that are expected, in their order; a CSV that names none of them but has as
            many fields has no header.

    Returns:
        How to read it, and how many lines are its header.

    Raises:
        DataError: the lines are of nothing that can be read.
    """
    lines = [line for line in head if line.strip()]
    if not lines:
        raise DataError("no line with anything in it")
    if any(line.lstrip(b"\xef\xbb\xbf \t").startswith(b"{") for line in lines[:10]):
        return Dialect("json"), 0
    if lines[0].startswith((b"#separator", b"#fields")):
        return Dialect("zeek", "\t"), 0
    first = lines[0].decode(errors="replace").removeprefix(_MARK).rstrip("\r\n")
    if first.lstrip().startswith("["):
        raise DataError("a JSON array: write one object a line, for instance with jq -c '.[]'")
    mark = separator or max(SEPARATORS, key=first.count)
    try:
        fields = [name.strip() for name in _split(first, mark) or []]
    except csv.Error as err:
        raise DataError(f"the first line cannot be read: {err}") from err
    if header:
        return Dialect("csv", mark, tuple(header)), 0
    if known and not {*fields} & {*known}:
        if len(fields) == len(known):
            return Dialect("csv", mark, tuple(known)), 0
        raise DataError(
            f"the first line, {first!r:.60}, is no JSON and no header of a Zeek log, and as that "
            f"of a CSV it names no column known from training, such as {next(iter(known))!r}"
        )
    return Dialect("csv", mark, tuple(distinct_names(fields))), head.index(lines[0]) + 1


def distinct_names(names: Iterable[str]) -> list[str]:
    """Names of columns without space around them; of two equal ones the second is `name (2)`.

    Example:
        >>> distinct_names(["a", " a ", "b"])
        ['a', 'a (2)', 'b']
    """
    seen: Counter[str] = Counter()
    distinct = []
    for name in names:
        plain = name.removeprefix(_MARK).strip()
        seen[plain] += 1
        distinct.append(plain if seen[plain] == 1 else f"{plain} ({seen[plain]})")
    return distinct


def read_events(
    dialect: Dialect, lines: Sequence[bytes], wanted: Mapping[str, pa.DataType] | None = None
) -> Block:
    """Read lines that are events, each of them whatever is wrong with the others.

    Of a CSV the columns wanted have types; all columns are read if none are named.
    """
    if dialect.style == "csv":
        if wanted is not None and (table := _read_quickly(dialect, lines, wanted)) is not None:
            return Block(table)
        rows, faults = _each(lines, lambda line: _csv_row(dialect, line))
    elif dialect.style == "zeek":
        rows, faults = _each(lines, lambda line: _zeek_row(dialect, line))
    else:
        rows, faults = _each(lines, _json_row)
    return Block(table_of(rows, None if wanted is None else list(wanted)), faults)


def _each(lines: Sequence[bytes], read: Any) -> tuple[list[Row], dict[int, str]]:
    rows: list[Row] = []
    faults: dict[int, str] = {}
    for index, line in enumerate(lines):
        try:
            rows.append(read(line))
        except UnicodeDecodeError:
            faults[index] = "not UTF-8"
        except (ValueError, RecursionError, csv.Error) as err:
            faults[index] = str(err)[:120] or "cannot be read"
        if index in faults:
            rows.append({})
    return rows, faults


def _json_row(line: bytes) -> Row:
    try:
        value = json.loads(line.decode("utf-8-sig"))
    except json.JSONDecodeError as err:
        raise ValueError(f"not JSON: {err.msg} at character {err.pos}") from err
    if not isinstance(value, dict):
        raise ValueError(f"JSON, but no object: {type(value).__name__}")
    return _flatten(value)


def _flatten(value: Row, prefix: str = "", depth: int = 0) -> Row:
    """Nested keys joined by dots; a list as text, its items separated by spaces."""
    row: Row = {}
    for key, item in value.items():
        name = f"{prefix}{key}"
        if isinstance(item, dict) and depth < _MAX_DEPTH:
            row.update(_flatten(item, f"{name}.", depth + 1))
        elif isinstance(item, dict | list):
            items = item if isinstance(item, list) else [item]
            row[name] = " ".join(
                one if isinstance(one, str) else json.dumps(one, separators=(",", ":"))
                for one in items
            )
        else:
            row[name] = item
    if len(row) > MAX_COLUMNS:
        raise ValueError(f"{len(row)} keys: more than the {MAX_COLUMNS} that can be read")
    return row


def _zeek_row(dialect: Dialect, line: bytes) -> Row:
    fields = line.decode().rstrip("\r\n").split(dialect.separator)
    if len(fields) != len(dialect.names):
        raise ValueError(f"{len(fields)} fields: must be {len(dialect.names)}")
    types = dialect.types if len(dialect.types) == len(fields) else ("string",) * len(fields)
    named = zip(dialect.names, fields, types, strict=True)
    return {name: _zeek_value(dialect, text, kind) for name, text, kind in named}


def _zeek_value(dialect: Dialect, text: str, kind: str) -> Any:
    if text == dialect.unset:
        return None
    if text == dialect.empty:
        return ""
    try:
        if kind in _ZEEK_COUNTS:
            return int(text)
        if kind in _ZEEK_NUMBERS:
            return float(text)
    except ValueError:
        return text
    return {"T": True, "F": False}.get(text, text) if kind == "bool" else text


def _unescape(text: str) -> str:
    r"""`\x09` as the sign that it stands for."""
    text = text.strip()
    if len(text) == 4 and text.startswith("\\x"):
        return (
            chr(int(text[2:], 16)) if all(c in "0123456789abcdefABCDEF" for c in text[2:]) else ""
        )
    return text[:1]


def _split(line: str, separator: str) -> list[str] | None:
    return next(csv.reader([line], delimiter=separator), None)


def _csv_row(dialect: Dialect, line: bytes) -> Row:
    text = line.decode().removeprefix(_MARK).rstrip("\r\n")
    fields = _split(text, dialect.separator) or []
    if len(fields) != len(dialect.names):
        raise ValueError(f"{len(fields)} fields: must be {len(dialect.names)}")
    named = zip(dialect.names, fields, strict=True)
    return {name: None if value in NULLS else value for name, value in named}


def _read_quickly(
    dialect: Dialect, lines: Sequence[bytes], wanted: Mapping[str, pa.DataType]
) -> pa.Table | None:
    """All lines of a CSV at once; None if any of them is not in order."""
    types = {name: kind for name, kind in wanted.items() if name in dialect.names}
    if not types:
        return None
    text = b"\n".join(lines) + b"\n"
    try:
        table = pa_csv.read_csv(
            io.BytesIO(text),
            pa_csv.ReadOptions(
                column_names=list(dialect.names), use_threads=False, block_size=len(text) + 1
            ),
            pa_csv.ParseOptions(delimiter=dialect.separator),
            pa_csv.ConvertOptions(
                column_types=types, include_columns=list(types), strings_can_be_null=True
            ),
        )
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    return table if table.num_rows == len(lines) else None


def table_of(rows: Sequence[Row], names: Sequence[str] | None = None) -> pa.Table:
    """Rows with their own keys as a table; a key that a row lacks is missing there.

    Raises:
        DataError: too many different keys.
    """
    if names is None:
        names = list(dict.fromkeys(key for row in rows for key in row))
        if len(names) > MAX_COLUMNS:
            raise DataError(f"{len(names)} different keys: more than {MAX_COLUMNS} can be read")
    arrays = [_array([row.get(name) for row in rows]) for name in names]
    return pa.table(arrays, names=list(names))


def _array(values: list[Any]) -> pa.Array:
    """Values of any kinds as truth values, numbers or, if they are mixed, text."""
    kinds = {type(value) for value in values} - {type(None)}
    if kinds <= {bool}:
        return pa.array(values, pa.bool_() if kinds else pa.null())
    if kinds <= {int}:
        try:
            return pa.array(values, pa.int64())
        except (OverflowError, pa.ArrowInvalid):
            return pa.array([_float(value) for value in values], pa.float64())
    if kinds <= {int, float}:
        return pa.array([_float(value) for value in values], pa.float64())
    return pa.array([_text(value) for value in values], pa.string())


def _float(value: float | None) -> float | None:
    try:
        return None if value is None else float(value)
    except OverflowError:
        return float("inf")


def _text(value: Any) -> str | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode(errors="replace").decode()  # JSON may hold halves of signs
