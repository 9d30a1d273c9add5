"""Where verdicts go: lines of JSON, CSV or Parquet; a new file at once, or one that grows."""

import csv
import io
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

import pyarrow.parquet as pa_parquet  # type: ignore[import-untyped]

from standing_orders.detect.service.verdicts import (
    Columns,
    flat_columns,
    flat_table,
    json_lines,
    no_columns,
)
from standing_orders.errors import ConfigError, DataError

SUFFIXES = (".jsonl", ".json", ".csv", ".parquet")


class Output(Protocol):
    """What takes verdicts."""

    def write(self, columns: Columns) -> None:
        """Take some more."""

    def sync(self) -> int:
        """Have all of them on the disk, and give the size in bytes."""

    def close(self, *, is_whole: bool = True) -> None:
        """Nothing more follows; a new file that is not whole is thrown away."""


class TextOutput:
    """JSON lines or CSV, in a file or on standard output.

    Args:
        file: open for writing bytes, at its end.
        as_csv: CSV instead of JSON lines.
        rules: whose margins are columns of a CSV.
        final: the name that the file gets once it is whole; None if it has it already.
    """

    def __init__(
        self, file: IO[bytes], *, as_csv: bool, rules: Sequence[str], final: Path | None = None
    ) -> None:
        self._file, self._final = file, final
        self._as_csv = as_csv
        if as_csv and not (file.seekable() and file.tell()):
            self._write_rows([list(flat_columns(no_columns(rules)))])

    def write(self, columns: Columns) -> None:
        """Take some more."""
        if self._as_csv:
            self._write_rows(zip(*flat_columns(columns).values(), strict=True))
            return
        lines = json_lines(columns)
        self._file.write(("\n".join(lines) + "\n").encode() if lines else b"")

    def _write_rows(self, rows: Iterable[Iterable[Any]]) -> None:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        self._file.write(text.getvalue().encode())

    def sync(self) -> int:
        """Have all of them on the disk."""
        self._file.flush()
        if not self._file.seekable():
            return 0
        os.fsync(self._file.fileno())
        return self._file.tell()

    def close(self, *, is_whole: bool = True) -> None:
        """Nothing more follows."""
        if self._file is sys.stdout.buffer:
            self._file.flush()
            return
        if is_whole:
            self.sync()
        self._file.close()
        if self._final is not None:
            _finish(Path(self._file.name), self._final, is_whole=is_whole)


def _finish(part: Path, final: Path, *, is_whole: bool) -> None:
    """Give a file its name, or remove it."""
    if is_whole:
        part.replace(final)
    else:
        part.unlink(missing_ok=True)


class ParquetOutput:
    """A Parquet file that appears once it is whole."""

    def __init__(self, path: Path, rules: Sequence[str]) -> None:
        self._path = path
        self._part = path.with_name(f".{path.name}.part")
        self._writer = pa_parquet.ParquetWriter(self._part, flat_table(no_columns(rules)).schema)

    def write(self, columns: Columns) -> None:
        """Take some more."""
        if columns["offset"]:
            self._writer.write_table(flat_table(columns))

    def sync(self) -> int:
        """It is whole only when it is closed."""
        return 0

    def close(self, *, is_whole: bool = True) -> None:
        """Nothing more follows."""
        self._writer.close()
        _finish(self._part, self._path, is_whole=is_whole)


@contextmanager
def output(path: Path | None, *, rules: Sequence[str], size: int | None) -> Iterator[Output]:
    """What verdicts go to, closed behind its user whatever happens.

    Args:
        path: standard output if None.
        rules: whose margins are told.
        size: of a file that grows, what of it counts: the rest is cut off; None for a new file.

    Raises:
        ConfigError: the ending of the name is not known, or a file of that kind cannot grow.
        DataError: it cannot be written, or is shorter than what was written.
    """
    out = _open(path, rules, size)
    try:
        yield out
    except BaseException:
        out.close(is_whole=False)
        raise
    out.close()


def _open(path: Path | None, rules: Sequence[str], size: int | None) -> Output:
    if path is None:
        return TextOutput(sys.stdout.buffer, as_csv=False, rules=rules)
    if path.suffix not in SUFFIXES:
        raise ConfigError(f"out = {path}: must end in one of {', '.join(SUFFIXES)}")
    if path.suffix == ".parquet" and size is not None:
        raise ConfigError(f"out = {path}: a Parquet file cannot grow with a stream: take .jsonl")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".parquet":
            return ParquetOutput(path, rules)
        as_csv = path.suffix == ".csv"
        if size is None:
            part = path.with_name(f".{path.name}.part")
            return TextOutput(part.open("wb"), as_csv=as_csv, rules=rules, final=path)
        file = path.open("ab")
        if file.tell() < size:
            file.close()
            raise DataError(f"{path}: shorter than what was written to it: restore it, or remove "
                            "it together with the state")  # fmt: skip
        file.truncate(size)
        file.seek(size)
        return TextOutput(file, as_csv=as_csv, rules=rules)
    except OSError as err:
        raise DataError(f"{path}: cannot be written: {err.strerror}") from err
