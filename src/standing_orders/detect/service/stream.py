"""Judge a log from its beginning to its end, or for as long as it grows; killed, it goes on.

A snapshot is a checkpoint like those of training: it appears whole or not at all, and is checked.
What was written to the output after the last one is written again; by the offset it is told apart.
"""

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pa_parquet  # type: ignore[import-untyped]
from numpy.typing import NDArray

from standing_orders.detect.data.lines import MAX_COLUMNS, Block, Dialect, find_dialect, read_events
from standing_orders.detect.data.options import fill_options
from standing_orders.detect.data.tables import PARQUET_MAGIC, first_line
from standing_orders.detect.engine import JudgeEngine
from standing_orders.detect.service.judge import Follower, Judge, Options
from standing_orders.detect.service.output import Output, output
from standing_orders.detect.service.source import STDIN, Lines, LineSource
from standing_orders.detect.service.summary import Summary
from standing_orders.errors import CheckpointError, DataError
from standing_orders.runs.checkpoint import load_latest, save_checkpoint
from standing_orders.runs.lock import RunLock

WAIT = 0.5  # seconds for more of a stream, before a look at the clock
COMMIT_EVERY = 1.0  # seconds between snapshots, at least
_MAX_SHARE = 0.1  # of the time that snapshots may take
Report = Callable[[str], None]


@dataclass(frozen=True)
class Task:
    """What is to be judged, and where the verdicts go."""

    data: Path
    out: Path | None = None
    state: Path | None = None  # folder; None: nothing is kept, and a new output is written
    follow: bool = False
    batch: int = 10_000  # events judged at once, at most
    options: Options = field(default_factory=Options)


def score(
    judge: Judge, task: Task, *, engine: JudgeEngine | None = None, report: Report = print
) -> Summary:
    """Judge the events of a file or a stream, and write a line for each.

    Without an engine the agents vote in this process; who opened one closes it.

    Raises:
        ConfigError: the output cannot be of that kind.
        DataError: the input cannot be read, or the state is of another stream or another team.
    """
    follower = Follower(judge, task.options, engine)
    began = time.perf_counter()
    if task.data != STDIN and _is_parquet(task.data):
        _score_parquet(follower, task)
    else:
        with ExitStack() as stack:
            if task.state is not None:
                task.state.mkdir(parents=True, exist_ok=True)
                stack.enter_context(RunLock(task.state))
            source = LineSource(task.data, follow=task.follow, most=task.batch)
            stack.enter_context(closing(source))
            _Stream(judge, follower, task, source).run(report)
    return follower.summary(task.data.name, time.perf_counter() - began)


def _is_parquet(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == PARQUET_MAGIC
    except OSError as err:
        raise DataError(f"{path}: cannot be read: {err.strerror}") from err


def _score_parquet(follower: Follower, task: Task) -> None:
    """A Parquet file is whole: its rows are counted instead of bytes."""
    seen = 0
    with output(task.out, rules=_rule_names(follower), size=None) as out:
        try:
            with pa_parquet.ParquetFile(task.data) as file:
                there = set(file.schema_arrow.names)
                wanted = [name for name in follower.judge_.wanted() if name in there]
                for part in file.iter_batches(task.batch, columns=wanted):
                    told = follower.judge(pa.Table.from_batches([part]))
                    out.write(told.columns(np.arange(seen, seen + part.num_rows)))
                    seen += part.num_rows
        except (OSError, pa.ArrowException) as err:
            why = first_line(err)
            raise DataError(f"{task.data}: not a readable Parquet file: {why}") from err
        out.write(follower.close().columns(np.array([seen])))


def _rule_names(follower: Follower) -> list[str]:
    has_margins = follower.options.rules or follower.watch.has_shield
    return [rule.name for rule in follower.watch.rules] if has_margins else []


class StreamState:
    """Snapshots of a stream in a folder of their own."""

    def __init__(self, folder: Path, judge: Judge) -> None:
        self._folder, self._team = folder, _digest_of(judge)
        self._index = 0
        self._next = time.monotonic() + COMMIT_EVERY

    def load(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]] | None:
        """The newest snapshot that is in order; None without any.

        Raises:
            DataError: it is of another team.
            CheckpointError: all of them are damaged.
        """
        checkpoint, messages = load_latest(self._folder)
        if checkpoint is None:
            if messages:
                raise CheckpointError("; ".join(messages))
            return None
        if checkpoint.data["team"] != self._team:
            raise DataError(
                f"{self._folder}: is of another team than this one: take another --state, or "
                "remove it"
            )
        self._index = checkpoint.index + 1
        return checkpoint.tensors, checkpoint.data["stream"]

    def is_due(self) -> bool:
        """Whether it is time for the next snapshot."""
        return time.monotonic() >= self._next

    def save(self, arrays: dict[str, NDArray[Any]], data: dict[str, Any]) -> None:
        """Keep a snapshot; the output must be on the disk already."""
        began = time.monotonic()
        plain = {name: np.ascontiguousarray(value) for name, value in arrays.items()}
        save_checkpoint(
            self._folder, self._index, plain, {"team": self._team, "stream": data}, keep=2
        )
        self._index += 1
        now = time.monotonic()
        self._next = now + max(COMMIT_EVERY, (now - began) / _MAX_SHARE)


def _digest_of(judge: Judge) -> str:
    """SHA-256 of all weights."""
    digest = hashlib.sha256()
    for name, tensor in judge.team.network.state_dict().items():
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(tensor.numpy()).tobytes())
    return digest.hexdigest()


class _Stream:
    """One run through a log."""

    def __init__(self, judge: Judge, follower: Follower, task: Task, source: LineSource) -> None:
        self._judge, self._follower, self._task, self._source = judge, follower, task, source
        self._state = StreamState(task.state, judge) if task.state else None
        self._dialect: Dialect | None = None
        self._wanted = judge.wanted()
        self._offset = 0
        self._out: Output

    def _go_on(self, state: StreamState, report: Report) -> int:
        """Take up what an earlier process left; the size of its output."""
        saved = state.load()
        if saved is None:
            return 0
        arrays, data = saved
        self._follower.load_state(arrays, data["follower"])
        self._dialect = data["dialect"] and Dialect.from_json(data["dialect"])
        self._offset = data["offset"]
        is_same = self._source.go_to(self._offset, data["head"])
        report(
            f"goes on at offset {self._offset}"
            if is_same
            else f"another stream than before: all of it is new, offsets count on from "
            f"{self._offset}"
        )
        return int(data["out_size"])

    def run(self, report: Report) -> None:
        """Judge until the end of the stream."""
        size = None if self._state is None else self._go_on(self._state, report)
        names = _rule_names(self._follower)
        with output(self._task.out, rules=names, size=size) as self._out:
            while (lines := self._source.read(WAIT)) is not None:
                self._take(lines)
                if self._state is not None and self._state.is_due():
                    self._commit(self._state)
            if self._state is None:
                self._out.write(self._follower.close().columns(np.array([self._offset])))
            else:  # the stream may go on another day, and its sessions with it
                self._commit(self._state)

    def _commit(self, state: StreamState) -> None:
        arrays, follower = self._follower.to_state()
        state.save(arrays, {
            "follower": follower,
            "dialect": self._dialect and self._dialect.to_json(),
            "offset": self._offset,
            "head": self._source.head(),
            "out_size": self._out.sync(),
        })  # fmt: skip

    def _take(self, lines: Lines) -> None:
        """Judge some lines; only then do they count as read."""
        for block, offsets in self._blocks(lines):
            told = self._follower.judge(block.table, block.faults)
            self._out.write(told.columns(offsets))
        self._offset = lines.next_offset

    def _blocks(self, lines: Lines) -> Iterator[tuple[Block, NDArray[np.int64]]]:
        """Events that can be read together: a Zeek log may change its columns on the way."""
        if self._dialect is None and any(line.strip() for line in lines.lines):
            lines = self._begin(lines)
        if (dialect := self._dialect) is None:
            return
        if dialect.style == "zeek":
            events: list[int] = []
            for index, line in enumerate(lines.lines):
                if line.startswith(b"#fields") and events:
                    yield self._read(lines, events)
                    events = []
                if dialect.is_event(line):
                    events.append(index)
        else:
            events = [index for index, line in enumerate(lines.lines) if line.strip()]
        if events:
            yield self._read(lines, events)

    def _begin(self, lines: Lines) -> Lines:
        """Find out what the log is, by its first lines."""
        schema, options = (
            self._judge.standard.schema,
            fill_options(self._judge.config.data_config()),
        )
        try:
            self._dialect, skipped = find_dialect(
                lines.lines[:50], separator=options.separator, header=options.header,
                known=schema.names,
            )  # fmt: skip
        except DataError as err:
            raise DataError(f"{self._task.data}: {err}") from err
        if (num := len(self._dialect.names)) > MAX_COLUMNS:
            raise DataError(
                f"{self._task.data}: {num} columns, more than the {MAX_COLUMNS} allowed"
            )
        return Lines(lines.lines[skipped:], lines.offsets[skipped:], lines.next_offset)

    def _read(self, lines: Lines, events: list[int]) -> tuple[Block, NDArray[np.int64]]:
        assert self._dialect is not None
        block = read_events(self._dialect, [lines.lines[i] for i in events], self._wanted)
        return block, np.array([lines.offsets[i] for i in events], dtype=np.int64)
