"""Mirrors of the journal for other tools: CSV and TensorBoard.

They are made from records and may be behind after a kill; on resuming, `rebuild` makes them anew
from the journal.
"""

import csv
import io
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from standing_orders.errors import CheckpointError
from standing_orders.runs.files import open_regular, write_all, write_atomically, writing
from standing_orders.runs.plain import encode, lookup
from standing_orders.tables import csv_cell, printable

_log = logging.getLogger(__name__)


class _Sink:
    """Something that takes records until it is closed."""

    def append(self, record: Mapping[str, Any]) -> None:
        """Mirror one record."""
        raise NotImplementedError

    def close(self) -> None:
        """Write out what is left."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def write_csv(path: Path, records: Iterable[Mapping[str, Any]], columns: Mapping[str, str]) -> None:
    """Write a table of the records: one row each, a value that is missing is an empty cell.

    Args:
        path: the file; it is replaced.
        records: from a journal.
        columns: name of each column -> dotted key in a record, such as "reward.environment".

    Raises:
        CheckpointError: it cannot be written.
    """
    rows = (_row(record, columns) for record in records)
    write_atomically(path, _line(columns) + b"".join(map(_line, rows)))


class CsvSink(_Sink):
    """Appends records to a table, with the same bytes as `write_csv`.

    Args:
        path: the file; the header is written if it is new or empty.
        columns: name of each column -> dotted key in a record.

    Raises:
        CheckpointError: the file has other columns, or cannot be written.
    """

    def __init__(self, path: Path, columns: Mapping[str, str]) -> None:
        self._path = path
        self._columns = dict(columns)
        header = _line(self._columns)
        with writing(path):
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
            self._file = os.fdopen(open_regular(path, flags), "ab+", buffering=0)
            self._file.seek(0)
            seen = self._file.readline()
            if not seen:
                write_all(self._file.fileno(), header)
        if seen and seen != header:
            self._file.close()
            raise CheckpointError(f"{path}: has other columns than {','.join(columns)}: rebuild it")

    @classmethod
    def rebuild(
        cls, path: Path, columns: Mapping[str, str], records: Iterable[Mapping[str, Any]]
    ) -> "CsvSink":
        """Write the table of all `records` anew, and go on from there."""
        write_csv(path, records, columns)
        return cls(path, columns)

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one row."""
        with writing(self._path):
            write_all(self._file.fileno(), _line(_row(record, self._columns)))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class TensorBoardSink(_Sink):
    """Writes numbers of the records as TensorBoard scalars.

    Without TensorBoard installed it says so once and does nothing.

    Args:
        folder: where the event files go; it is made if it does not exist.
        names: tag, such as "charts/env_reward" -> dotted key in a record.
        step_key: dotted key of the step; a record without one is passed over.
        report: told that TensorBoard is not installed.
    """

    def __init__(
        self,
        folder: Path,
        names: Mapping[str, str],
        *,
        step_key: str = "step",
        report: Callable[[str], None] = _log.warning,
    ) -> None:
        self._names = {printable(tag, is_line=True): key for tag, key in names.items()}
        self._step_key = step_key
        self._writer: Any = None
        try:
            module = import_module("torch.utils.tensorboard")  # takes a second: only when used
        except ImportError:
            report(f"{folder}: TensorBoard is not installed, nothing is written there")
            return
        try:
            str(folder).encode()
        except UnicodeEncodeError:
            report(f"{folder}: TensorBoard cannot write there: the path is not UTF-8")
            return
        with writing(folder):
            self._writer = module.SummaryWriter(str(folder), flush_secs=10)

    @classmethod
    def rebuild(
        cls,
        folder: Path,
        names: Mapping[str, str],
        records: Iterable[Mapping[str, Any]],
        *,
        step_key: str = "step",
        report: Callable[[str], None] = _log.warning,
    ) -> "TensorBoardSink":
        """Delete the event files in `folder`, mirror all `records` anew, and go on from there."""
        with writing(folder):
            for path in folder.glob("events.out.tfevents.*"):
                path.unlink()
        sink = cls(folder, names, step_key=step_key, report=report)
        for record in records:
            sink.append(record)
        return sink

    def append(self, record: Mapping[str, Any]) -> None:
        """Write the record's numbers."""
        step = lookup(record, self._step_key)
        if self._writer is None or step is None:
            return
        with writing(Path(self._writer.log_dir)):
            for tag, key in self._names.items():
                value = lookup(record, key)
                if isinstance(value, int | float):
                    self._writer.add_scalar(tag, value, step)

    def close(self) -> None:
        """Write out what is left."""
        if self._writer is not None:
            with writing(Path(self._writer.log_dir)):
                self._writer.close()
            self._writer = None


def _row(record: Mapping[str, Any], columns: Mapping[str, str]) -> list[Any]:
    values = [lookup(record, key) for key in columns.values()]
    return [
        encode(value, "csv").decode() if isinstance(value, list | tuple | Mapping) else value
        for value in values
    ]


def _line(cells: Iterable[Any]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerow(map(csv_cell, cells))
    return text.getvalue().encode()
