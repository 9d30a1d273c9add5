"""The journal of a run: one JSON line per record, the source of every table and plot."""

import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from standing_orders.errors import CheckpointError, DataError
from standing_orders.runs.files import sync_folder, write_all, write_atomically, writing
from standing_orders.runs.plain import decode, encode

_log = logging.getLogger(__name__)


class Journal:
    """Append-only records in a file; the owner of the run's lock writes, anybody reads.

    A record says nothing about the clock, so that a repeated run writes the same bytes.

    Args:
        path: the file; it need not exist.
        report: told of a half-written last line that is dropped.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Journal(Path(folder) / "journal.jsonl") as journal:
        ...         journal.append({"episode": 1, "reward": {"environment": -3.5}})
        ...         journal.read()
        [{'episode': 1, 'reward': {'environment': -3.5}}]
    """

    def __init__(self, path: Path, *, report: Callable[[str], None] = _log.warning) -> None:
        self.path = path
        self._report = report
        self._file: FileIO | None = None
        self._size = 0  # bytes of the complete records, while the file is open
        self._num_records = 0

    @property
    def num_records(self) -> int:
        """Complete records in the file: what a checkpoint made at this moment must remember."""
        return self._num_records if self._file else len(self.read())

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one record and wait until it is on the disk.

        Args:
            record: plain data; nested mappings and lists are fine.

        Raises:
            NumericsError: a number is not finite; the message names its key.
            DataError: a value is not plain data, or a line of the file is broken.
            CheckpointError: it cannot be written; earlier records are intact.
        """
        line = encode(dict(record), self.path) + b"\n"
        with writing(self.path):
            file = self._file or self._open()
            try:
                write_all(file.fileno(), line)
                os.fsync(file.fileno())
            except BaseException:
                with suppress(OSError):
                    file.truncate(self._size)
                self.close()  # the next append looks at the file afresh
                raise
        self._size += len(line)
        self._num_records += 1

    def read(self) -> list[dict[str, Any]]:
        """Give all complete records; none if there is no file.

        Raises:
            DataError: a line that is not the last one is broken.
        """
        return [record for record, _ in self._lines()]

    def truncate_after(self, num_records: int) -> None:
        """Keep the first records only: those that a checkpoint was made after.

        Raises:
            CheckpointError: there are fewer, or the file cannot be written.
            DataError: a line that is not the last one is broken.
        """
        self.close()
        lines = self._lines()
        if not 0 <= num_records <= len(lines):
            raise CheckpointError(
                f"{self.path}: has {len(lines)} records, cannot be cut after {num_records}"
            )
        kept = b"".join(line for _, line in lines[:num_records])
        if self.path.exists() and kept != self.path.read_bytes():
            write_atomically(self.path, kept)

    def close(self) -> None:
        """Close the file; a later append opens it again."""
        if self._file:
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _open(self) -> FileIO:
        """Open for appending, behind the last complete record."""
        lines = self._lines()
        self._size = sum(len(line) for _, line in lines)
        self._num_records = len(lines)
        file = self.path.open("ab", buffering=0)
        try:
            file.truncate(self._size)
            sync_folder(self.path.parent)
        except BaseException:
            file.close()
            raise
        self._file = file
        return file

    def _lines(self) -> list[tuple[dict[str, Any], bytes]]:
        """Give each complete record with its line."""
        try:
            with self.path.open("rb") as file:
                lines = file.readlines()
        except FileNotFoundError:
            return []
        except OSError as err:
            raise DataError(f"{self.path}: cannot be read: {err.strerror}") from err
        complete = []
        for number, line in enumerate(lines, start=1):
            try:
                complete.append((_parse(line), line))
            except ValueError as err:
                where = f"{self.path}: line {number}"
                if number < len(lines):
                    raise DataError(f"{where}: not a record: {err}") from err
                self._report(f"{where}: the last line is incomplete and is dropped")
        return complete


def _parse(line: bytes) -> dict[str, Any]:
    if not line.endswith(b"\n"):
        raise ValueError("no end of line")
    record = decode(line)
    if not isinstance(record, dict):
        raise ValueError(f"a JSON object is wanted, not {line[:40]!r}")
    return record
