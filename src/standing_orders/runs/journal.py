"""The journal of a run: one JSON line per record, the source of every table and plot.

The lines are a chain: each ends with a seal, the digest of the line and of the seal before it; the
first one builds on the digest of the run's config. So a changed, lost or foreign line is noticed.
"""

import hashlib
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from standing_orders.errors import CheckpointError, DataError
from standing_orders.runs.files import (
    MAX_TEXT_BYTES,
    open_regular,
    read_regular,
    sync_folder,
    write_all,
    write_atomically,
    writing,
)
from standing_orders.runs.plain import decode, encode

_log = logging.getLogger(__name__)
HEAD_NAME = "journal.head"
SEAL = "seal"  # key of the last entry of a line; no record may use it
_SEAL_DIGITS = 32
_TAIL = len(f',"{SEAL}":"') + _SEAL_DIGITS + len('"}\n')


@dataclass(frozen=True)
class Line:
    """One line of a journal."""

    record: dict[str, Any]
    text: bytes
    seal: str  # of all lines up to this one


class Journal:
    """Append-only records in a file; the owner of the run's lock writes, anybody reads.

    A record says nothing about the clock, so that a repeated run writes the same bytes.

    Args:
        path: the file; it need not exist.
        origin: what the chain of seals begins with: the digest of the run's config. None for the
            journal of a run that was written before there were seals.
        report: told of a half-written last line that is dropped.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Journal(Path(folder) / "journal.jsonl", origin="run") as journal:
        ...         journal.append({"episode": 1, "reward": {"environment": -3.5}})
        ...         journal.read()
        [{'episode': 1, 'reward': {'environment': -3.5}}]
    """

    def __init__(
        self,
        path: Path,
        *,
        origin: str | None,
        report: Callable[[str], None] = _log.warning,
    ) -> None:
        self.path = path
        self._origin = origin
        self._report = report
        self._file: int | None = None
        self._seal = ""  # of the last line, while the file is open
        self._size = 0  # bytes of the complete records, while the file is open
        self._num_records = 0

    @property
    def head(self) -> tuple[int, str]:
        """Number of complete records and the last seal: what a checkpoint must remember."""
        if self._file is None:
            lines = self.lines()
            return len(lines), lines[-1].seal if lines else self._origin or ""
        return self._num_records, self._seal

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one record and wait until it is on the disk.

        Args:
            record: plain data, not empty; nested mappings and lists are fine.

        Raises:
            NumericsError: a number is not finite; the message names its key.
            DataError: a value is not plain data, or a line of the file is broken.
            CheckpointError: it cannot be written; earlier records are intact.
        """
        if not record or SEAL in record:
            raise DataError(f"{self.path}: a record must not be empty, nor have the key {SEAL!r}")
        text = encode(dict(record), self.path)
        with writing(self.path):
            file = self._open()
            seal = "" if self._origin is None else _next_seal(self._seal, text)
            line = _sealed(text, seal) if seal else text + b"\n"
            try:
                write_all(file, line)
                os.fsync(file)
            except BaseException:
                with suppress(OSError):
                    os.ftruncate(file, self._size)
                self.close()  # the next append looks at the file afresh
                raise
        self._seal = seal
        self._size += len(line)
        self._num_records += 1

    def read(self) -> list[dict[str, Any]]:
        """Give all complete records; none if there is no file.

        Raises:
            DataError: a line is broken, other than by being cut short at the end of the file.
        """
        return [line.record for line in self.lines()]

    def truncate_after(self, num_records: int) -> None:
        """Keep the first records only: those that a checkpoint was made after.

        Raises:
            CheckpointError: there are fewer, or the file cannot be written.
            DataError: a line is broken.
        """
        self.close()
        lines = self.lines()
        if not 0 <= num_records <= len(lines):
            raise CheckpointError(
                f"{self.path}: has {len(lines)} records, cannot be cut after {num_records}"
            )
        self.keep_only(lines[:num_records])

    def keep_only(self, lines: Sequence[Line]) -> None:
        """Make these lines all that the file holds; nothing if there is no file.

        Raises:
            CheckpointError: it cannot be written.
        """
        self.close()
        kept = b"".join(line.text for line in lines)
        with writing(self.path):
            if os.path.lexists(self.path) and kept != self._content():
                write_atomically(self.path, kept)

    def _content(self) -> bytes | None:
        try:
            return read_regular(self.path)
        except OSError:  # a link or a pipe in its place: it is replaced
            return None

    def note_head(self) -> None:
        """Write down how far the journal goes, for a run whose only state it is.

        Raises:
            CheckpointError: it cannot be written.
        """
        num_records, seal = self.head
        content = encode({"records": num_records, SEAL: seal}, self._head_path)
        write_atomically(self._head_path, content + b"\n")

    def check_head(self) -> None:
        """Look whether all that was written down by `note_head` is still there.

        Raises:
            CheckpointError: records are missing, or they are not those that were written.
            DataError: a line is broken.
        """
        lines = self.lines()
        if self._origin is None:
            return
        try:
            noted = decode(read_regular(self._head_path, max_bytes=MAX_TEXT_BYTES))
            num_records, seal = noted["records"], noted[SEAL]
        except FileNotFoundError:
            num_records, seal = 0, self._origin  # killed before the first was written down
            if len(lines) > 1:
                raise CheckpointError(f"{self._head_path}: missing") from None
        except (OSError, ValueError, LookupError, TypeError) as err:
            raise CheckpointError(f"{self._head_path}: damaged: {err}") from err
        seals = [self._origin, *(line.seal for line in lines)]
        if num_records not in range(len(seals)):
            raise CheckpointError(
                f"{self.path}: has {len(lines)} records, but {num_records} were written"
            )
        if seals[num_records] != seal or len(lines) > num_records + 1:
            raise CheckpointError(f"{self.path}: not the records that were written")

    @property
    def _head_path(self) -> Path:
        return self.path.with_name(HEAD_NAME)

    def close(self) -> None:
        """Close the file; a later append opens it again."""
        if self._file is not None:
            os.close(self._file)
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

    def _open(self) -> int:
        """Open for appending, behind the last complete record; nothing if it is open."""
        if self._file is not None:
            return self._file
        lines = self.lines()
        file = open_regular(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._seal = lines[-1].seal if lines else self._origin or ""
        self._size = sum(len(line.text) for line in lines)
        self._num_records = len(lines)
        try:
            os.ftruncate(file, self._size)
            sync_folder(self.path.parent)
        except BaseException:
            os.close(file)
            raise
        self._file = file
        return file

    def lines(self) -> list[Line]:
        """Give each complete line, checked.

        Raises:
            DataError: a line is broken, other than by being cut short at the end of the file.
        """
        good, fault = self.examine()
        if fault is not None:
            raise DataError(fault)
        return good

    def examine(self) -> tuple[list[Line], str | None]:
        """Give the lines up to the first broken one, and what is wrong with that.

        Raises:
            DataError: the file cannot be read at all.
        """
        try:
            lines = read_regular(self.path).splitlines(keepends=True)
        except FileNotFoundError:
            return [], None
        except OSError as err:
            raise DataError(f"{self.path}: cannot be read: {err.strerror}") from err
        good: list[Line] = []
        seal = self._origin or ""
        for number, text in enumerate(lines, start=1):
            where = f"{self.path}: line {number}"
            try:
                record = _parse(text)
            except ValueError as err:
                if number < len(lines):
                    return good, f"{where}: not a record: {err}"
                self._report(f"{where}: the last line is incomplete and is dropped")
                break
            if self._origin is not None and not _is_sealed(text, seal):
                return good, f"{where}: its seal does not fit the line and those before it"
            seal = record.pop(SEAL, "")
            good.append(Line(record, text, seal))
        return good, None


def _next_seal(seal: str, text: bytes) -> str:
    return hashlib.sha256(seal.encode() + text).hexdigest()[:_SEAL_DIGITS]


def _sealed(text: bytes, seal: str) -> bytes:
    return text[:-1] + f',"{SEAL}":"{seal}"}}\n'.encode()


def _is_sealed(line: bytes, seal: str) -> bool:
    """Whether the seal of a line fits it and the seal before it."""
    text = line[:-_TAIL] + b"}"
    return line == _sealed(text, _next_seal(seal, text))


def _parse(line: bytes) -> dict[str, Any]:
    if not line.endswith(b"\n"):
        raise ValueError("no end of line")
    record = decode(line)
    if not isinstance(record, dict):
        raise ValueError(f"a JSON object is wanted, not {line[:40]!r}")
    return record
