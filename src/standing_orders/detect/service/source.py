"""Lines of a file, a file that grows, or standard input, each with its place in the stream."""

import gzip
import hashlib
import itertools
import os
import select
import sys
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from standing_orders.errors import DataError

STDIN = Path("-")
MAX_LINE = 1 << 20  # bytes; what is longer is cut, and then cannot be read
_CHUNK = 1 << 18
_HEAD = 1 << 16  # bytes by which a stream is known again
_NAP = 0.2  # seconds between looks at a file that may grow


@dataclass(frozen=True)
class Lines:
    """Some lines, without their ends, and the offset in bytes of the beginning of each."""

    lines: list[bytes]
    offsets: list[int]
    next_offset: int  # behind the last of them


class LineSource:
    """A stream of lines.

    Args:
        path: a file, plain or gzipped, or `-` for standard input.
        follow: wait for more at the end of a file.
        most: lines that are given at once.

    Raises:
        DataError: the file cannot be read.
    """

    def __init__(self, path: Path, *, follow: bool = False, most: int = 10_000) -> None:
        self.path, self._follow, self._most = path, follow, most
        self._file: IO[bytes] | Any = _open(path)
        self._is_pipe = path == STDIN
        self._buffer = b""
        self._offset = 0  # of the beginning of the buffer
        self._is_over = False
        self._head = hashlib.sha256()
        self._head_size = 0

    def head(self) -> dict[str, Any]:
        """Size and sum of the first bytes, by which the stream is known again."""
        return {"size": self._head_size, "sha256": self._head.hexdigest()}

    def go_to(self, offset: int, head: dict[str, Any]) -> bool:
        """Go on where an earlier reader stopped.

        A file is read from there. Of standard input as much is passed over, if it begins with the
        same bytes as then; else all of it is new, and offsets count on.

        Returns:
            Whether the stream is the same as then.

        Raises:
            DataError: a file does not begin as it did, or is shorter.
        """
        start = self._read_exactly(head["size"])
        is_same = hashlib.sha256(start).hexdigest() == head["sha256"]
        if not is_same and not self._is_pipe:
            raise DataError(
                f"{self.path}: is not the file that was judged so far: another --state, or remove "
                "the old one"
            )
        if not is_same:
            self._buffer, self._offset = start, offset
            self._note_head(start)
            return False
        self._note_head(start)
        self._buffer = start[offset:]  # what had been read ahead, but not judged
        left = offset - len(start)
        while left > 0 and (chunk := self._file_read(min(left, _CHUNK))):
            left -= len(chunk)
        if left > 0:
            raise DataError(f"{self.path}: ends {left} bytes before what was judged already")
        self._offset = offset
        return True

    def _read_exactly(self, size: int) -> bytes:
        parts = b""
        while len(parts) < size and (chunk := self._file_read(size - len(parts))):
            parts += chunk
        return parts

    def _file_read(self, size: int) -> bytes:
        try:
            if self._is_pipe:
                return os.read(self._file.fileno(), size)
            return bytes(self._file.read(size))
        except (OSError, EOFError, zlib.error) as err:
            raise DataError(f"{self.path}: cannot be read: {err}") from err

    def _note_head(self, chunk: bytes) -> None:
        part = chunk[: _HEAD - self._head_size]
        self._head.update(part)
        self._head_size += len(part)

    def read(self, wait: float) -> Lines | None:
        """The next lines, as many as are there.

        Args:
            wait: seconds to wait for the first of them at most; then none are given.

        Returns:
            None at the end of the stream.
        """
        until = time.monotonic() + wait
        while not self._is_over and b"\n" not in self._buffer and time.monotonic() < until:
            self._fill(max(until - time.monotonic(), 0.0))
        while not self._is_over and self._buffer.count(b"\n") < self._most and self._has_more():
            if len(self._buffer) > 64 * MAX_LINE:
                break
            self._fill(0.0)
        lines = self._take()
        return None if self._is_over and not lines.lines and not self._buffer else lines

    def _has_more(self) -> bool:
        if not self._is_pipe:
            return not self._follow
        return bool(select.select([self._file], [], [], 0)[0])

    def _fill(self, wait: float) -> None:
        if self._is_pipe and not select.select([self._file], [], [], wait)[0]:
            return
        chunk = self._file_read(_CHUNK)
        if chunk:
            self._note_head(chunk)
            self._buffer += chunk
        elif self._follow and not self._is_pipe:
            time.sleep(min(_NAP, wait))
        else:
            self._is_over = True
        if b"\n" not in self._buffer and len(self._buffer) > 2 * MAX_LINE:
            # A line without end: only its beginning is kept, its length counts.
            self._offset += len(self._buffer) - MAX_LINE
            self._buffer = self._buffer[:MAX_LINE]

    def _take(self) -> Lines:
        """Whole lines of the buffer; at the end also one without its end."""
        *lines, rest = self._buffer.split(b"\n", self._most)
        sizes = [len(line) + 1 for line in lines]
        if self._is_over and rest and len(lines) < self._most:
            lines, sizes, rest = [*lines, rest], [*sizes, len(rest)], b""
        ends = list(itertools.accumulate(sizes, initial=self._offset))
        if max(sizes, default=0) > MAX_LINE:
            lines = [line[:MAX_LINE] for line in lines]
        self._buffer, self._offset = rest, ends[-1]
        return Lines(lines, ends[:-1], self._offset)

    def close(self) -> None:
        """Let go of the file."""
        if not self._is_pipe:
            self._file.close()


def _open(path: Path) -> IO[bytes] | Any:
    if path == STDIN:
        return sys.stdin.buffer
    try:
        if path.is_dir():
            raise DataError(f"{path}: a folder; name a file in it")
        file = path.open("rb")
        if file.peek(2)[:2] == b"\x1f\x8b":
            file.close()
            return gzip.open(path)
        return file
    except OSError as err:
        raise DataError(f"{path}: cannot be read: {err.strerror}") from err
