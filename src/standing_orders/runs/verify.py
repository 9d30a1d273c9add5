"""Whether every file of a run is as it was written, and back to the last good state if not."""

import errno
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from standing_orders.errors import CheckpointError, DataError, StandingOrdersError
from standing_orders.runs.checkpoint import (
    CHECKPOINTS,
    Checkpoint,
    list_checkpoints,
    load_checkpoint,
    remove_checkpoint,
)
from standing_orders.runs.files import TEMPORARY_PREFIX, is_real_folder
from standing_orders.runs.folder import JOURNAL_NAME, MARK, RunFolder, check_files, is_run
from standing_orders.runs.journal import HEAD_NAME, Line
from standing_orders.runs.listing import WITHOUT_CHECKPOINT
from standing_orders.runs.lock import LOCK_NAME
from standing_orders.runs.loop import belongs_to

GOOD, DAMAGED = "as written", "damaged"
MIRROR = "not sealed"  # made anew from the journal, or by `report`: nothing is read from it
FOREIGN = "not of the run"
_MIRRORS = {
    "training_log.csv", "gp_sampling_log.csv", "leaderboard.csv", "report.html", "tensorboard",
    LOCK_NAME,
}  # fmt: skip


@dataclass(frozen=True)
class FileState:
    """One file of a run, or a folder that is judged as one."""

    name: str  # from the run folder on
    state: str  # GOOD, DAMAGED, MIRROR or FOREIGN
    note: str = ""  # what is wrong with it, or to be known

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def verify_run(path: Path) -> list[FileState]:
    """Look at every file of a run, and of the runs inside it; nothing is changed.

    Args:
        path: the run folder.

    Raises:
        CheckpointError: it is no run folder at all.
    """
    if not os.path.lexists(path / MARK):
        raise CheckpointError(f"{path}: not a run: there is no {MARK} in it")
    states = [_judged(name, fault) for name, fault in check_files(path).items()]
    if not any(one.state == DAMAGED for one in states):
        folder = RunFolder.open(path)
        states += [*_journal_states(folder), *_checkpoint_states(folder)]
    known = {one.name.partition(os.sep)[0] for one in states} | {CHECKPOINTS}
    for entry in sorted(path.iterdir()):
        if entry.name not in known:
            states += _other_states(entry)
    return states


def repair_run(path: Path) -> list[str]:
    """Cut a run, and the runs inside it, back to the last good state.

    Args:
        path: the run folder.

    Returns:
        What was lost, a line each; none if nothing was wrong.

    Raises:
        CheckpointError: there is no good state, or another process writes the run; then nothing
            has been changed.
    """
    faults = [f"{name}: {fault}" for name, fault in check_files(path).items() if fault]
    if faults:
        raise CheckpointError(f"{path}: cannot be repaired: {'; '.join(faults)}")
    folder = RunFolder.open(path)
    lost: list[str] = []
    with folder.lock():
        lines, fault = _lines(folder)
        if folder.kind in WITHOUT_CHECKPOINT:
            keep = len(lines)
            if fault is not None and not keep:  # its policies are trained: no way to begin again
                raise CheckpointError(f"{path}: cannot be repaired: {fault}")
        else:
            good = _newest_good(folder, lines)
            lost += _remove_bad(folder, good, lines)
            witness = good.witness
            keep = len(lines) if witness is None else witness.num_records
        num_cut = len(lines) - keep
        if fault is not None or num_cut:
            why = f", {fault.rpartition(f'{JOURNAL_NAME}: ')[2]}" if fault else ""
            lost.append(f"{JOURNAL_NAME}: all after record {keep}{why}")
        with folder.journal() as journal:
            journal.keep_only(lines[:keep])
            if folder.kind in WITHOUT_CHECKPOINT and folder.seal is not None:
                journal.note_head()
    for inner in _inner_runs(path):
        lost += [f"{inner.relative_to(path)}{os.sep}{line}" for line in repair_run(inner)]
    return lost


def _judged(name: str, fault: str | None, note: str = "") -> FileState:
    return FileState(name, GOOD, note) if fault is None else FileState(name, DAMAGED, fault)


def _lines(folder: RunFolder) -> tuple[list[Line], str | None]:
    try:
        return folder.journal(lambda _: None).examine()
    except DataError as err:
        return [], str(err)


def _journal_states(folder: RunFolder) -> Iterator[FileState]:
    remarks: list[str] = []
    journal = folder.journal(remarks.append)
    try:
        lines, fault = journal.examine()
        if fault is None and folder.kind in WITHOUT_CHECKPOINT:
            journal.check_head()
    except StandingOrdersError as err:
        lines, fault = [], str(err)
    if lines or fault or journal.path.exists():
        note = f"{len(lines)} records" + ("; the last line is incomplete" if remarks else "")
        yield _judged(JOURNAL_NAME, fault, note)
    if folder.kind in WITHOUT_CHECKPOINT and (folder.path / HEAD_NAME).exists():
        yield _judged(HEAD_NAME, fault)


def _checkpoint_states(folder: RunFolder) -> Iterator[FileState]:
    place = folder.path / CHECKPOINTS
    if folder.kind in WITHOUT_CHECKPOINT or not os.path.lexists(place):
        return
    if not is_real_folder(place):
        yield FileState(CHECKPOINTS, DAMAGED, os.strerror(errno.ENOTDIR))
        return
    lines, _ = _lines(folder)
    for path in list_checkpoints(folder.path):
        fault = None
        try:
            belongs_to(folder, lines)(load_checkpoint(path))
        except StandingOrdersError as err:
            fault = str(err)
        yield _judged(f"{CHECKPOINTS}{os.sep}{path.name}", fault)
    for path in sorted(set(place.iterdir()) - set(list_checkpoints(folder.path))):
        yield FileState(f"{CHECKPOINTS}{os.sep}{path.name}", FOREIGN)


def _other_states(entry: Path) -> Iterator[FileState]:
    """What lies in a run folder besides its own files."""
    if entry.is_symlink():
        yield FileState(entry.name, FOREIGN, "a link")
    elif is_run(entry):
        for one in verify_run(entry):
            yield FileState(f"{entry.name}{os.sep}{one.name}", one.state, one.note)
    elif entry.name in _MIRRORS:
        yield FileState(entry.name, MIRROR)
    elif entry.name.startswith(TEMPORARY_PREFIX):
        yield FileState(entry.name, MIRROR, "left by a killed write")
    elif entry.is_dir() and any(map(is_run, entry.iterdir())):
        for inner in sorted(entry.iterdir()):
            for one in _other_states(inner):
                yield FileState(f"{entry.name}{os.sep}{one.name}", one.state, one.note)
    else:
        yield FileState(entry.name, FOREIGN)


def _inner_runs(path: Path) -> list[Path]:
    places = [entry for entry in path.iterdir() if is_real_folder(entry)]
    places += [inner for entry in places for inner in entry.iterdir() if is_real_folder(inner)]
    return sorted(filter(is_run, places))


def _newest_good(folder: RunFolder, lines: list[Line]) -> Checkpoint:
    check = belongs_to(folder, lines)
    for path in reversed(list_checkpoints(folder.path)):
        try:
            checkpoint = load_checkpoint(path)
            check(checkpoint)
        except StandingOrdersError:
            continue
        return checkpoint
    raise CheckpointError(
        f"{folder.path}: cannot be repaired: no checkpoint is good: begin the run again"
    )


def _remove_bad(folder: RunFolder, good: Checkpoint, lines: list[Line]) -> list[str]:
    """Remove checkpoints that are newer than the newest good one, or damaged."""
    lost = []
    check = belongs_to(folder, lines)
    for path in list_checkpoints(folder.path):
        try:
            check(load_checkpoint(path))
            if int(path.name) <= good.index:
                continue
        except StandingOrdersError:
            pass
        remove_checkpoint(path)
        lost.append(f"{CHECKPOINTS}{os.sep}{path.name}")
    return lost
