"""Run folders as a list: what each is, how far it is, and whether it can go on."""

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from standing_orders.errors import StandingOrdersError
from standing_orders.runs.checkpoint import load_latest
from standing_orders.runs.files import open_regular
from standing_orders.runs.folder import JOURNAL_NAME, MARK, RunFolder, is_run, kind_of_run
from standing_orders.runs.journal import Line
from standing_orders.runs.lock import LOCK_NAME
from standing_orders.runs.loop import Report, belongs_to, has_ended, missing_end
from standing_orders.runs.shipped import locate

FINISHED, RUNNING, RESUMABLE, DAMAGED = "finished", "running", "resumable", "damaged"
STATES = (FINISHED, RUNNING, RESUMABLE, DAMAGED)
WITHOUT_CHECKPOINT = {"search", "compare", "published"}  # whose journal alone says how to go on


@dataclass(frozen=True)
class RunInfo:
    """One run folder."""

    path: str
    kind: str  # "?" if that cannot be read
    state: str  # one of STATES
    problem: str  # why it is damaged, or what else is wrong with it; empty if nothing is
    bytes: int
    records: int
    done: int | None  # episodes or events so far
    order: str | None
    red: str | None
    seed: int | None
    version: str | None

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def find_runs(
    roots: Iterable[Path], *, is_deep: bool = False, report: Report = lambda _: None
) -> Iterator[Path]:
    """Run folders in some folders, by name, damaged ones included; each root may be one itself.

    Args:
        roots: where to look. Links are not followed.
        is_deep: also those inside other runs, such as the policies of a search.
        report: told of links to folders, or to nothing.
    """
    for root in roots:
        if is_run(root) or _has_traces(root):
            yield root
            if not is_deep:
                continue
        with suppress(PermissionError):
            for path in sorted(root.iterdir()):
                if path.is_symlink() and not path.is_file():
                    report(f"{path}: a link, which is not followed")
                elif path.is_dir():
                    yield from find_runs([path], is_deep=is_deep, report=report)


def _has_traces(path: Path) -> bool:
    """Whether a folder has held a run, whatever its mark has become."""
    return any(os.path.lexists(path / name) for name in (MARK, JOURNAL_NAME))


def look_at(path: Path) -> RunInfo:
    """What one run folder is; never raises for what is wrong inside it.

    Every checkpoint and every line of the journal is checked.
    """
    kind, problem, config, version = "?", "", {}, None
    records: list[dict[str, Any]] = []
    state, place = DAMAGED, path
    try:
        place = locate(path)
        kind = kind_of_run(path)
        folder = RunFolder.open(path, kind=kind)
        config, version = folder.config, folder.versions().get("standing_orders")
        remarks: list[str] = []
        journal = folder.journal(remarks.append)
        lines = journal.lines()
        records = [line.record for line in lines]
        if kind in WITHOUT_CHECKPOINT and not is_in_use(place):
            journal.check_head()
        state, problem = _state(folder, lines)
        problem = "; ".join([*filter(None, [problem]), *remarks])
    except (StandingOrdersError, OSError, ValueError, LookupError, TypeError) as err:
        problem = str(err)
    return RunInfo(
        path=str(path),
        kind=kind,
        state=state,
        problem=problem,
        bytes=size_of(place),
        records=len(records),
        done=_done(records),
        order=_text(config.get("order")),
        red=_text(config.get("red")),
        seed=config.get("seed") if isinstance(config.get("seed"), int) else None,
        version=_text(version),
    )


def _state(folder: RunFolder, lines: list[Line]) -> tuple[str, str]:
    """How a run stands, and what is wrong with it."""
    messages: list[str] = []
    is_running = is_in_use(folder.path)
    if folder.kind not in WITHOUT_CHECKPOINT:
        # While it is being written, a checkpoint may be newer than the journal that was just read.
        check = None if is_running else belongs_to(folder, lines)
        checkpoint, messages = load_latest(folder.path, check)
        if checkpoint is None and (messages or lines):
            return DAMAGED, "; ".join(messages) or "no checkpoint"
        if checkpoint is not None and not is_running:
            messages = messages or missing_end(checkpoint, lines)
    problem = "; ".join(messages)
    if is_running:
        return RUNNING, problem
    return (FINISHED if has_ended(lines) and not messages else RESUMABLE), problem


def is_in_use(path: Path) -> bool:
    """Whether a process holds the folder's lock; nothing is written to find out."""
    try:
        with os.fdopen(open_regular(path / LOCK_NAME, os.O_RDONLY), "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def size_of(path: Path) -> int:
    """Bytes of all files of a folder; links are not followed."""
    return sum(
        file.lstat().st_size for file in path.rglob("*") if file.is_file() or file.is_symlink()
    )


def _done(records: list[dict[str, Any]]) -> int | None:
    for record in reversed(records):
        for name in ("total_episodes", "total_events"):
            if isinstance(record.get(name), int):
                return int(record[name])
    return None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
