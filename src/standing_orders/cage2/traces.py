"""Recorded episodes of CybORG: read, validate and write them."""

import io
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.actions import NUM_ACTIONS
from standing_orders.cage2.scenario import (
    B_LINE,
    DISCOVER_SERVICES,
    DISCOVER_SYSTEMS,
    IMPACT,
    MEANDER,
    NUM_EXPLOITS,
    NUM_HOSTS,
    OBSERVATION_SIZE,
    RED_SLEEP,
    REFUSED,
    SLEEP,
    SUBNET_TARGET,
    SUBNETS,
)
from standing_orders.cage2.state import MAX_SESSIONS
from standing_orders.errors import ConfigError, DataError
from standing_orders.runs.files import read_regular, write_atomically

FED = 3  # "red agent" whose every action is taken from the recording

# What a recording must hold, with the smallest and largest value. First per step: (E, T).
STEP_ARRAYS = {
    "blue_action": (0, NUM_ACTIONS - 1),
    "blue_success": (0, 2),
    "red_action": (RED_SLEEP, REFUSED),
    "red_target": (-1, SUBNET_TARGET + len(SUBNETS) - 1),
    "red_success": (0, 2),
    "exploit": (0, NUM_EXPLOITS),
    "exploit_port": (0, 65_535),
    "detect": (-1, 1),
    "session_pick": (-1, MAX_SESSIONS - 1),
    "bline_state": (-1, 14),
    "reward10": (-32_768, 32_767),
}
# Then per state, index 0 = after reset: (E, T + 1, size).
STATE_ARRAYS = {
    "obs_stock": OBSERVATION_SIZE,
    "obs_cardiff": OBSERVATION_SIZE,
    "red_access": NUM_HOSTS,
    "first_access": NUM_HOSTS,
    "n_sessions": NUM_HOSTS,
    "n_priv": NUM_HOSTS,
    "n_removable": NUM_HOSTS,
    "malware": NUM_HOSTS,
    "known_ip": NUM_HOSTS,
    "known_host": NUM_HOSTS,
    "scanned": NUM_HOSTS,
    "scan_ports": NUM_HOSTS,
    "decoys": NUM_HOSTS,
    "n_vsftpd": NUM_HOSTS,
    "ot": 4,
    "subnets_known": len(SUBNETS),
    "mdr_escalated": NUM_HOSTS,
    "mdr_exploited": NUM_HOSTS,
    "mdr_scanned": NUM_HOSTS,
}
STATE_FIELDS = tuple(STATE_ARRAYS)
_MAX_BYTES = 4 * 2**30
_UNREADABLE = (  # what a file that is damaged, or lies about its size, ends in
    OSError, ValueError, EOFError, MemoryError, NotImplementedError, RuntimeError, zlib.error,
    zipfile.BadZipFile, zipfile.LargeZipFile,
)  # fmt: skip


@dataclass(frozen=True)
class Recording:
    """E recorded episodes of T steps."""

    path: Path
    red: int  # B_LINE, MEANDER, SLEEP or FED
    arrays: dict[str, NDArray[np.int64]]  # (E, T) per step, (E, T + 1, size) per state

    @property
    def num_episodes(self) -> int:
        """Number of episodes."""
        return int(self.arrays["blue_action"].shape[0])

    @property
    def num_steps(self) -> int:
        """Steps of each episode."""
        return int(self.arrays["blue_action"].shape[1])


def find_recordings(paths: list[Path]) -> list[Path]:
    """The recordings that the paths name: files as they are, folders by the *.npz in them.

    Raises:
        DataError: a path does not exist, or a folder holds no recording.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(path.glob("*.npz"))
            if not inside:
                raise DataError(f"{path}: no recording (*.npz) in this folder")
            found += inside
        elif path.exists():
            found.append(path)
        else:
            raise DataError(f"{path}: no such file or folder")
    return found


def read_recording(path: Path) -> Recording:
    """Read and validate one file; arrays it does not know are ignored.

    Raises:
        DataError: the file cannot be read, or an array is missing, misshapen or out of range.
    """
    try:
        content = read_regular(path, may_be_link=True)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(member.file_size for member in archive.infolist()) > _MAX_BYTES:
                raise DataError(f"{path}: unpacks to more than {_MAX_BYTES} bytes")
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {
                name: _read_array(path, archive, name) for name in (*STEP_ARRAYS, *STATE_ARRAYS)
            }
            if "done" in archive:
                arrays["done"] = _read_array(path, archive, "done")
    except _UNREADABLE as err:
        raise DataError(f"{path}: not a readable npz recording ({err})") from err
    _check_shapes(path, arrays)
    for name, (low, high) in STEP_ARRAYS.items():
        _check_range(path, name, arrays[name], low, high)
    _check_targets(path, arrays)
    return Recording(path, _red_agent(arrays), arrays)


def write_recording(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    """Write one file, which `read_recording` accepts.

    Raises:
        ConfigError: the name does not end in .npz.
        CheckpointError: the file cannot be written.
    """
    if path.suffix != ".npz":
        raise ConfigError(f"record = {path}: must end in .npz")
    packed = io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **arrays)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, packed.getvalue())


def _read_array(path: Path, archive: Any, name: str) -> NDArray[np.int64]:
    if name not in archive:
        raise DataError(f"{path}: array {name!r} is missing")
    array = archive[name]
    if array.dtype.kind not in "iub":
        raise DataError(f"{path}: array {name!r} holds {array.dtype}, not whole numbers")
    return np.asarray(array.astype(np.int64))


def _check_shapes(path: Path, arrays: dict[str, NDArray[np.int64]]) -> None:
    shape = arrays["blue_action"].shape
    if len(shape) != 2 or min(shape) < 1:
        raise DataError(f"{path}: array 'blue_action' has shape {shape}, not (episodes, steps)")
    episodes, steps = shape
    for name, array in arrays.items():
        size = STATE_ARRAYS.get(name)
        wanted = shape if size is None else (episodes, steps + 1, size)
        if array.shape != wanted:
            raise DataError(f"{path}: array {name!r} has shape {array.shape}, not {wanted}")


def _check_range(path: Path, name: str, array: NDArray[np.int64], low: int, high: int) -> None:
    is_bad = (array < low) | (array > high)
    if is_bad.any():
        episode, step = np.argwhere(is_bad)[0]
        raise DataError(
            f"{path}: {name}[{episode}, {step}] = {array[episode, step]}: "
            f"must be between {low} and {high}"
        )


def _check_targets(path: Path, arrays: dict[str, NDArray[np.int64]]) -> None:
    """A host for the actions on hosts, a subnet for DiscoverRemoteSystems."""
    action, target = arrays["red_action"], arrays["red_target"]
    is_bad = (action == DISCOVER_SYSTEMS) & (target < SUBNET_TARGET)
    on_host = (action >= DISCOVER_SERVICES) & (action <= IMPACT)
    is_bad |= on_host & ((target < 0) | (target >= NUM_HOSTS))
    if is_bad.any():
        episode, step = np.argwhere(is_bad)[0]
        raise DataError(
            f"{path}: red_target[{episode}, {step}] = {target[episode, step]}: "
            f"no target of red action {action[episode, step]}"
        )


def _red_agent(arrays: dict[str, NDArray[np.int64]]) -> int:
    """Which agent's memory the recording tells of; others are fed action by action."""
    if (arrays["bline_state"] >= 0).any():
        return B_LINE
    if arrays["mdr_scanned"].any():
        return MEANDER
    return FED if arrays["red_action"].any() else SLEEP
