"""Checkpoints: folders of arrays and plain data that are complete and checked, or refused.

A checkpoint is `checkpoints/<index>/` with `tensors.safetensors`, `data.json` and
`manifest.json`, which holds the size and SHA-256 sum of the other two. It appears under its name
by one rename, after everything in it is on the disk.
"""

import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.errors import CheckpointError, ConfigError, DataError
from standing_orders.runs.files import (
    TEMPORARY_PREFIX,
    is_real_folder,
    make_real_folder,
    sync_folder,
    write_synced,
    writing,
)
from standing_orders.runs.manifest import MANIFEST, make_manifest, read_verified
from standing_orders.runs.plain import decode, encode
from standing_orders.runs.tensors import Layouts, bytes_as_records, layout_of, pack, unpack

CHECKPOINTS = "checkpoints"
_TENSORS, _DATA = "tensors.safetensors", "data.json"


@dataclass(frozen=True)
class Witness:
    """What a checkpoint says of its run: to which one it belongs, and its journal up to then."""

    run: str  # seal of the run folder
    num_records: int
    seal: str  # of the last record


@dataclass(frozen=True)
class Checkpoint:
    """What one checkpoint holds."""

    path: Path
    index: int
    tensors: dict[str, NDArray[Any]]  # structured ones as bytes: see `structured`
    data: dict[str, Any]
    layouts: Layouts
    witness: "Witness | None"  # None in runs without seals

    def structured(self, name: str, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Give a structured array back.

        Args:
            name: of the array.
            dtype: the record type wanted; it must be the one that was saved.

        Raises:
            CheckpointError: there is no such array, or its records have other fields.
        """
        if self.layouts.get(name) is None:
            raise CheckpointError(f"{self.path}: holds no structured array {name}")
        if self.layouts[name] != layout_of(dtype):
            raise CheckpointError(
                f"{self.path}: {name} has other fields than this version uses: "
                f"{self.layouts[name]}; resume with the version that wrote it"
            )
        return bytes_as_records(self.tensors[name], dtype)


def save_checkpoint(
    folder: Path,
    index: int,
    tensors: Mapping[str, NDArray[Any]],
    data: Mapping[str, Any],
    *,
    witness: Witness | None = None,
    keep: int = 3,
) -> Path:
    """Write a checkpoint, then remove those it makes superfluous.

    The same content gives the same bytes. An older checkpoint of the same index is replaced.

    Args:
        folder: the run folder; its lock must be held.
        index: grows as the run goes on, at least 0.
        tensors: arrays, structured ones too.
        data: plain data, such as counters and the states of random generators.
        witness: the run and its journal.
        keep: how many checkpoints stay, this one included, at least 1.

    Returns:
        The checkpoint's own folder.

    Raises:
        CheckpointError: it cannot be written; earlier checkpoints are intact.
        ConfigError: `index` or `keep` is too small.
        DataError, NumericsError: a value cannot be stored.
    """
    if index < 0 or keep < 1:
        raise ConfigError(f"index = {index}, keep = {keep}: must be at least 0 and 1")
    path = folder / CHECKPOINTS / f"{index:08d}"
    content, layouts = pack(tensors)
    state = {"index": index, "data": dict(data), "layouts": layouts}
    if witness is not None:
        state["witness"] = asdict(witness)
    files = {_TENSORS: content, _DATA: encode(state, path / _DATA)}
    files[MANIFEST] = make_manifest(index, files)  # last, as a dictionary keeps its order
    with writing(path):
        _place(path, files)
    prune_checkpoints(folder, index, keep=keep)
    return path


def load_checkpoint(path: Path) -> Checkpoint:
    """Read one checkpoint, after checking all of it.

    Raises:
        CheckpointError: something is missing, damaged, of another format version or does not
            belong; the message names the file.
    """
    index, files = read_verified(path, {_TENSORS, _DATA})
    try:
        state = decode(files[_DATA])
        if state["index"] != index or (path.name.isdecimal() and int(path.name) != index):
            raise ValueError(f"the manifest's index, {index}, is not that of the rest")
        tensors = unpack(files[_TENSORS], state["layouts"])
        witness = Witness(**state["witness"]) if "witness" in state else None
        if witness is not None and not _is_count(witness.num_records):
            raise ValueError(f"witness of {witness.num_records!r:.60} records")
        if not isinstance(state["data"], dict):
            raise ValueError("its data are no object")
        return Checkpoint(path, index, tensors, state["data"], state["layouts"], witness)
    except (ValueError, LookupError, TypeError, AttributeError, DataError) as err:
        raise CheckpointError(f"{path}: damaged: {err}") from err


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def load_latest(
    folder: Path, check: Callable[[Checkpoint], None] | None = None
) -> tuple[Checkpoint | None, list[str]]:
    """Read the newest checkpoint that is in order.

    Args:
        folder: the run folder.
        check: a further look at one, which raises CheckpointError.

    Returns:
        The checkpoint, None if there is none to use, and what to tell the user: each newer one
        that was refused, with the reason, and which one is used instead.
    """
    messages: list[str] = []
    for path in reversed(list_checkpoints(folder)):
        try:
            checkpoint = load_checkpoint(path)
            if check is not None:
                check(checkpoint)
        except CheckpointError as err:
            messages.append(f"refused: {err}")
            continue
        if messages:
            messages.append(f"{path}: used instead")
        return checkpoint, messages
    return None, messages


def prune_checkpoints(folder: Path, index: int, *, keep: int = 3) -> None:
    """Keep the newest checkpoints up to `index`; remove older and newer ones.

    Newer ones exist only when a run goes on from an earlier checkpoint, because they were refused
    or not wanted: they belong to records that the journal no longer has. Call this on resuming,
    before the journal is cut.

    Raises:
        CheckpointError: one cannot be removed.
    """
    paths = list_checkpoints(folder)
    kept = [path for path in paths if int(path.name) <= index][-keep:]
    with writing(folder / CHECKPOINTS):
        for path in paths:
            if path not in kept:
                remove_checkpoint(path)


def list_checkpoints(folder: Path) -> list[Path]:
    """Folders of a run that look like checkpoints, from the oldest to the newest.

    Raises:
        CheckpointError: the place where they should be is a link.
    """
    place = folder / CHECKPOINTS
    if place.is_symlink():
        raise CheckpointError(f"{place}: is a link: must be a folder of the run itself")
    named = [path for path in place.glob("*") if re.fullmatch(r"[0-9]{8,}", path.name)]
    return sorted(named, key=lambda path: int(path.name))


def _place(path: Path, files: Mapping[str, bytes]) -> None:
    """Write the files under a temporary name, then let the folder appear."""
    make_real_folder(path.parent)
    temporary = path.with_name(f"{TEMPORARY_PREFIX}new-{path.name}")
    try:
        temporary.mkdir()
        for name, content in files.items():
            write_synced(temporary / name, content)
        sync_folder(temporary)
        if path.exists() or path.is_symlink():
            remove_checkpoint(path)
        temporary.rename(path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    sync_folder(path.parent)


def remove_checkpoint(path: Path) -> None:
    """Remove a checkpoint: its name first, so that no half of it is ever taken for one."""
    doomed = path.with_name(f"{TEMPORARY_PREFIX}old-{path.name}")
    path.rename(doomed)
    if is_real_folder(doomed):
        shutil.rmtree(doomed)
    else:
        doomed.unlink()
