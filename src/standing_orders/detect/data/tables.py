"""Tables from files of any format that is known, with a guard before anything large is read."""

import gzip
import io
import zlib
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pa_compute  # type: ignore[import-untyped]
import pyarrow.csv as pa_csv  # type: ignore[import-untyped]
import pyarrow.parquet as pa_parquet  # type: ignore[import-untyped]

from standing_orders.detect.data.lines import MAX_COLUMNS, distinct_names, find_dialect, read_events
from standing_orders.detect.data.options import DataConfig
from standing_orders.errors import DataError
from standing_orders.memory import require_memory

PARQUET_MAGIC = b"PAR1"
GZIP_MAGIC = b"\x1f\x8b"
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_CONVERT = "convert the file to UTF-8, for instance with iconv"
_CHUNK_BYTES = 1 << 24
_BATCH_ROWS = 1 << 16
_CSV_GROWTH = 4  # bytes in memory for each one of a file: a digit and a comma become a number
_HEAD_BYTES = 1 << 16  # by which a text log is told


def read_tables(paths: Sequence[Path], config: DataConfig) -> pa.Table:
    """All rows of some files with the same columns, one file after the other.

    What a file is shows in its first bytes, not in its name.

    Args:
        paths: CSV, TSV, JSON lines, Zeek logs, plain or gzipped, or Parquet files.
        config: its `separator`, `header`, `max_rows` (in all) and `max_bytes` (of each file).

    Raises:
        DataError: a file cannot be read, is empty, is too large or differs from the first one.
    """
    tables: list[pa.Table] = []
    num_rows = 0
    for path in paths:
        tables.append(_read(path, config, config.max_rows - num_rows))
        num_rows += tables[-1].num_rows
    return join_tables(tables, paths)


def join_tables(tables: Sequence[pa.Table], paths: Sequence[Path]) -> pa.Table:
    """Rows of tables with the same columns; a column of different types becomes text.

    Raises:
        DataError: one has other columns than the first.
    """
    names = tables[0].column_names
    for table, path in zip(tables, paths, strict=True):
        if different := sorted({*table.column_names} ^ {*names}):
            raise DataError(f"{path}: other columns than {paths[0]}: {', '.join(different[:5])}")
    tables = [table.select(names) for table in tables]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        pass
    for name in names:
        if len({table.schema.field(name).type for table in tables}) > 1:
            tables = [
                table.set_column(
                    table.column_names.index(name), name, table[name].cast(pa.string())
                )
                for table in tables
            ]
    return pa.concat_tables(tables)


def _read(path: Path, config: DataConfig, max_rows: int) -> pa.Table:
    max_bytes = config.max_bytes
    try:
        size = path.stat().st_size
        if path.is_dir():
            raise DataError(f"{path}: a folder; name the files in it, or a --format that knows it")
        if not path.is_file():
            raise DataError(f"{path}: a pipe or a device; write what comes from it to a file first")
        with path.open("rb") as file:
            start = file.read(4)
    except OSError as err:
        raise DataError(f"{path}: cannot be read: {err.strerror}") from err
    if size == 0:
        raise DataError(f"{path}: the file is empty")
    if start[:2] in UTF16_MARKS:
        raise DataError(f"{path}: UTF-16 text: {_CONVERT}")
    _check_bytes(path, size, max_bytes)
    if start == PARQUET_MAGIC or path.suffix.lower() in {".parquet", ".pq"}:
        table = _read_parquet(path, max_rows, max_bytes)
    elif start[:2] == GZIP_MAGIC or path.suffix.lower() == ".gz":
        with pa.BufferReader(_unpack(path, max_bytes).getvalue()) as file:
            table = _read_text(path, file, config)
    else:
        # Arrow's own file: its threads may outlive a Python one and end the process.
        with pa.OSFile(str(path)) as file:
            table = _read_text(path, file, config)
    if table.num_rows == 0:
        raise DataError(f"{path}: a header but no rows")
    _check_rows(path, table.num_rows, max_rows)
    return table.rename_columns(distinct_names(_names(path, table)))


def _read_parquet(path: Path, max_rows: int, max_bytes: int) -> pa.Table:
    """A file in pieces, whatever it declares; text as dictionaries until its size is known."""
    try:
        with pa_parquet.ParquetFile(path) as file:
            groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
            _check_bytes(path, sum(group.total_byte_size for group in groups), max_bytes)
            _check_rows(path, file.metadata.num_rows, max_rows)
            names = [field.name for field in file.schema_arrow if _is_texts(field.type)]
            _check_columns(path, len(file.schema_arrow))
        with pa_parquet.ParquetFile(path, read_dictionary=names) as file:
            return _plain_types(pa.Table.from_batches(*_bounded(path, file, max_bytes)))
    except (pa.ArrowException, OSError) as err:
        raise DataError(f"{path}: not a readable Parquet file: {first_line(err)}") from err


def _bounded(
    path: Path, file: pa_parquet.ParquetFile, max_bytes: int
) -> tuple[list[pa.RecordBatch], pa.Schema]:
    """Pieces of a Parquet file and their schema; it stops as soon as they are too large."""
    rows = max(1, min(_BATCH_ROWS, _CHUNK_BYTES // (8 * max(len(file.schema_arrow), 1))))
    batches: list[pa.RecordBatch] = []
    size = 0
    for batch in file.iter_batches(batch_size=rows):
        size += sum(map(_unpacked_bytes, batch.columns))
        _check_bytes(path, size, max_bytes)
        batches.append(batch)
    return batches, batches[0].schema if batches else file.schema_arrow


def _unpacked_bytes(column: pa.Array) -> int:
    if not pa.types.is_dictionary(column.type) or not _is_texts(column.type.value_type):
        return int(column.nbytes)
    lengths = pa_compute.binary_length(column.dictionary)
    return int(pa_compute.sum(lengths.take(column.indices)).as_py() or 0) + 4 * len(column)


def _is_texts(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    )  # fmt: skip


def _plain_types(table: pa.Table) -> pa.Table:
    """Types that not every function of Arrow knows, as those that they all know."""
    for place, field in enumerate(table.schema):
        kind = field.type
        if pa.types.is_dictionary(kind) and _is_texts(kind.value_type):
            wanted = kind.value_type
        elif pa.types.is_string_view(kind):
            wanted = pa.string()
        elif pa.types.is_binary_view(kind) or pa.types.is_fixed_size_binary(kind):
            wanted = pa.binary()
        elif pa.types.is_float16(kind):
            wanted = pa.float32()
        else:
            continue
        table = table.set_column(place, field.name, table.column(place).cast(wanted))
    return table


def _unpack(path: Path, max_bytes: int) -> io.BytesIO:
    """Content of a gzip file; it stops at the guard, whatever the file says about its size."""
    content = io.BytesIO()
    try:
        with gzip.open(path) as file:
            while block := file.read(_CHUNK_BYTES):
                content.write(block)
                _check_bytes(path, content.tell(), max_bytes)
    except (gzip.BadGzipFile, EOFError, zlib.error) as err:
        raise DataError(f"{path}: not a readable gzip file: {first_line(err)}") from err
    if not content.tell():
        raise DataError(f"{path}: the file is empty")
    content.seek(0)
    return content


def _read_text(path: Path, file: pa.NativeFile, config: DataConfig) -> pa.Table:
    """A log of lines; a CSV is read by Arrow, which is faster and lets values hold line ends."""
    require_memory(_CSV_GROWTH * file.size(), str(path))
    head = file.read(_HEAD_BYTES).splitlines()
    file.seek(0)
    try:
        dialect, _ = find_dialect(head, separator=config.separator, header=config.header)
        if dialect.style == "csv":
            return _read_csv(path, file, config, dialect.separator)
        lines = [line for line in file.read().split(b"\n") if dialect.is_event(line)]
        block = read_events(dialect, lines)
    except DataError as err:
        raise DataError(f"{path}: {err}") from err
    for index, why in block.faults.items():
        raise DataError(
            f"{path}: {len(block.faults)} of {len(lines)} events cannot be read, the first of them "
            f"event {index + 1}: {why}; mend them or leave them out"
        )
    return block.table


def _read_csv(path: Path, file: pa.NativeFile, config: DataConfig, separator: str) -> pa.Table:
    read = pa_csv.ReadOptions(column_names=list(config.header) or None)
    parse = pa_csv.ParseOptions(delimiter=separator)
    convert = pa_csv.ConvertOptions(strings_can_be_null=True)
    try:
        try:
            table = pa_csv.read_csv(file, read, parse, convert)
        except pa.ArrowInvalid as err:
            if "conversion error" not in str(err):
                raise
            # Types are guessed from the first block; a later one disagreed: read all as text.
            file.seek(0)
            names = pa_csv.open_csv(file, read, parse).schema.names
            file.seek(0)
            convert.column_types = dict.fromkeys(names, pa.string())
            table = pa_csv.read_csv(file, read, parse, convert)
    except (pa.ArrowException, UnicodeDecodeError) as err:
        why = first_line(_with_row(file, read, parse, err))
        raise DataError(f"{path}: not a readable CSV file: {why}") from err
    _check_columns(path, table.num_columns)
    names = _names(path, table)
    _check_encoding(path, table)
    if table.num_columns == 1:
        raise DataError(
            f"{path}: only one column found, {names[0]!r:.80}; is {separator!r} the "
            "separator? Give the right one with --separator"
        )
    return table


def _with_row(
    file: pa.NativeFile,
    read: pa_csv.ReadOptions,
    parse: pa_csv.ParseOptions,
    err: BaseException,
) -> BaseException:
    """The same error with the number of the row, which one thread alone knows."""
    read.use_threads = False
    file.seek(0)
    try:
        pa_csv.read_csv(file, read, parse)
    except pa.ArrowException as again:
        return again
    return err


def _check_encoding(path: Path, table: pa.Table) -> None:
    """Refuse text that is not UTF-8, which Arrow gives as bytes."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not pa.types.is_binary(column.type):
            continue
        for row, value in enumerate(column.to_pylist(), start=1):
            try:
                (value or b"").decode()
            except UnicodeDecodeError:
                shown = value.decode("latin-1")
                raise DataError(
                    f"{path}: column {name!r}, row {row}: not UTF-8 but probably Latin-1 "
                    f"({shown!r:.60}): {_CONVERT} -f latin1 -t utf-8"
                ) from None


def _names(path: Path, table: pa.Table) -> list[str]:
    try:
        return list(table.column_names)
    except UnicodeDecodeError as err:
        raise DataError(f"{path}: the names of the columns are not UTF-8: {_CONVERT}") from err


def _check_bytes(path: Path, size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise DataError(
            f"{path}: {size / 1e9:.3g} GB of data, more than the {max_bytes / 1e9:.3g} GB allowed; "
            "take a part of it or raise --max-bytes"
        )


def _check_columns(path: Path, num_columns: int) -> None:
    if num_columns > MAX_COLUMNS:
        raise DataError(f"{path}: {num_columns} columns, more than the {MAX_COLUMNS} allowed")


def _check_rows(path: Path, num_rows: int, max_rows: int) -> None:
    if num_rows > max_rows:
        raise DataError(
            f"{path}: {num_rows} rows, more than the {max_rows} allowed; take a part of it or "
            "raise --max-rows"
        )


def first_line(err: BaseException) -> str:
    """Its first line, without anything that a terminal would obey."""
    line = str(err).strip().split("\n")[0][:200]
    return "".join(sign if sign.isprintable() else "?" for sign in line)
