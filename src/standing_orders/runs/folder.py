"""The run folder: the only output of a training or search run."""

import hashlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from standing_orders.errors import CheckpointError, ConfigError
from standing_orders.runs.files import (
    MAX_TEXT_BYTES,
    TEMPORARY_PREFIX,
    read_regular,
    write_atomically,
    writing,
)
from standing_orders.runs.journal import Journal
from standing_orders.runs.lock import LOCK_NAME, RunLock
from standing_orders.runs.plain import decode, encode
from standing_orders.runs.shipped import check_writable, locate
from standing_orders.runs.versions import software_versions

if TYPE_CHECKING:
    from standing_orders.config import Config

_log = logging.getLogger(__name__)
Model = TypeVar("Model", bound="Config")
FORMAT = 2  # of run folders; those of format 1 have no seals and are read as they are
_UNSEALED = 1
MARK, _CONFIG, _VERSIONS = "run.json", "config.json", "versions.json"
JOURNAL_NAME = "journal.jsonl"
_EXTENSION = "extension.json"


@dataclass(frozen=True)
class RunFolder:
    """A folder with the config, versions, journal, checkpoints and mirrors of one run.

    Make one with `create` or `open`; hold its `lock()` while writing into it.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as parent:
        ...     run = RunFolder.create(Path(parent) / "first", {"seed": 7}, "train")
        ...     RunFolder.open(run.path, kind="train").config
        {'seed': 7}
    """

    path: Path  # absolute, links resolved
    kind: str  # what makes such runs, such as "train"
    config: dict[str, Any]  # fully resolved: it alone repeats the run
    seal: (
        str | None
    )  # digest of kind and config, which journal and checkpoints name; None: format 1

    @classmethod
    def create(cls, path: Path, config: Mapping[str, Any], kind: str) -> "RunFolder":
        """Begin a run in a new or empty folder.

        Args:
            path: the folder; folders above it are made too.
            config: every value of the configuration, defaults included, as plain data.
            kind: what makes the run.

        Raises:
            CheckpointError: the folder holds a run or other things, is in use, or cannot be
                written.
            DataError, NumericsError: a value of the configuration cannot be stored.
        """
        with writing(path):
            path.mkdir(parents=True, exist_ok=True)
        path = path.resolve()
        check_unused(path)
        files = {_CONFIG: dict(config), _VERSIONS: software_versions()}
        content = {name: encode(value, name, indent=2) + b"\n" for name, value in files.items()}
        sums = {name: _digest(data) for name, data in content.items()}
        mark = {"format": FORMAT, "kind": kind, "sha256": sums}
        content[MARK] = encode(mark, MARK, indent=2) + b"\n"  # last: it makes the folder a run
        with RunLock(path):
            check_unused(path)  # again: another process may have been faster
            for name, data in content.items():
                write_atomically(path / name, data)
        return cls.open(path, kind=kind)

    @classmethod
    def open(cls, path: Path, *, kind: str | None = None) -> "RunFolder":
        """Find a run in order to resume or read it.

        Args:
            path: the folder, or `zoo/NAME`.
            kind: that the run must be of, if that matters.

        Raises:
            CheckpointError: the folder is no run, or one of another kind or format version.
        """
        try:
            path = locate(path).resolve()
        except (OSError, RuntimeError, ValueError) as err:  # a loop of links, a null byte
            raise CheckpointError(f"{path}: not a path: {err}") from err
        found = kind_of_run(path)
        mark = _read_mark(path / MARK)
        if kind not in (None, found):
            raise CheckpointError(f"{path}: a run of kind {found!r}: must be {kind!r}")
        config = _read_object(path / _CONFIG, mark.get("sha256", {}).get(_CONFIG))
        seal = _seal_of(mark)
        return cls(path, found, config | _read_extension(path / _EXTENSION, seal), seal)

    def parse_config(self, model: type[Model], *, without: str) -> Model:
        """The config as the model that it was made from.

        Args:
            model: of the config.
            without: what the folder's config holds besides the model's own values.

        Raises:
            CheckpointError: it does not fit the model, such as one of an older version.
        """
        values = {name: value for name, value in self.config.items() if name != without}
        try:
            return model.of_run(values)
        except ConfigError as err:
            raise CheckpointError(
                f"{self.path / _CONFIG}: not a config of this version: {err}"
            ) from err

    @property
    def is_extended(self) -> bool:
        """Whether the run has been given a larger budget than it began with."""
        return (self.path / _EXTENSION).exists()

    def extend(self, **values: Any) -> "RunFolder":
        """Give the run a larger budget; the config that it began with stays as it is.

        Args:
            values: that take the place of those of the config.

        Raises:
            CheckpointError: the folder cannot be written.
        """
        sealed = {"values": values, "seal": _extension_seal(values, self.seal)}
        content = encode(sealed, _EXTENSION, indent=2) + b"\n"
        with writing(self.path):
            write_atomically(self.path / _EXTENSION, content)
        return RunFolder.open(self.path, kind=self.kind)

    def lock(self) -> RunLock:
        """Give the lock that whoever writes into the folder must hold.

        Raises:
            CheckpointError: the run comes with the package.
        """
        check_writable(self.path)
        return RunLock(self.path)

    def versions(self) -> dict[str, Any]:
        """Read with which software the run was begun; compare with `software_versions()`."""
        sums = _read_mark(self.path / MARK).get("sha256", {})
        return _read_object(self.path / _VERSIONS, sums.get(_VERSIONS))

    def journal(self, report: Callable[[str], None] = _log.warning) -> Journal:
        """The records of the run, with its seal; `report` is told of a line that is dropped."""
        return Journal(self.path / JOURNAL_NAME, origin=self.seal, report=report)

    def resolve(self, name: str | Path) -> Path:
        """Give the path of something in the folder.

        Raises:
            CheckpointError: the name leads out of the folder, or a link is on the way.
        """
        path = self.path / name
        try:
            is_inside = path.resolve() == path and path.is_relative_to(self.path)
        except (OSError, RuntimeError, ValueError) as err:  # a loop of links, a null byte
            raise CheckpointError(f"{self.path}: {str(name)!r} is not a path: {err}") from err
        if not is_inside or path == self.path:
            raise CheckpointError(
                f"{self.path}: {str(name)!r} leads out of the run folder, or over a link"
            )
        return path

    @property
    def tensorboard_path(self) -> Path:
        """Folder of the TensorBoard mirror of the journal."""
        return self.resolve("tensorboard")


def is_run(path: Path) -> bool:
    """Whether a folder holds a run."""
    mark = locate(path) / MARK
    return mark.is_file() and not mark.is_symlink()


def kind_of_run(path: Path) -> str:
    """What made a run.

    Raises:
        CheckpointError: it is no run, or its mark is damaged.
    """
    if not is_run(path):
        raise CheckpointError(f"{path}: not a run: there is no {MARK} in it")
    return str(_read_mark(locate(path) / MARK)["kind"])


def check_files(path: Path) -> dict[str, str | None]:
    """What is wrong with each file that a run begins with, None if nothing is.

    Args:
        path: of a run.
    """
    faults: dict[str, str | None] = {}

    def look(name: str, read: Callable[[Path], Any]) -> Any:
        faults[name] = None
        try:
            return read(path / name)
        except CheckpointError as err:
            faults[name] = str(err)
        return {}

    mark = look(MARK, _read_mark)
    sums = mark.get("sha256", {})
    seal = _seal_of(mark)
    for name in (_CONFIG, _VERSIONS):
        look(name, lambda file: _read_object(file, sums.get(file.name)))
    if (path / _EXTENSION).exists():
        look(_EXTENSION, lambda file: _read_extension(file, seal))
    return faults


def check_unused(path: Path) -> None:
    """Refuse a place where no run can begin; for use before long work.

    Raises:
        CheckpointError: it is no folder, or one that holds a run or other things.
    """
    with writing(path):
        names = {entry.name for entry in path.iterdir()} if path.exists() else set()
    names = {name for name in names if not name.startswith(TEMPORARY_PREFIX)}
    if MARK in names:
        raise CheckpointError(f"{path}: holds a run: go on with --resume or choose another folder")
    # A lock without a mark: our own creation was cut short and may be repeated.
    is_unfinished = LOCK_NAME in names and names <= {LOCK_NAME, _CONFIG, _VERSIONS}
    if names and not is_unfinished:
        raise CheckpointError(
            f"{path}: not empty and not a run (it holds {min(names)!r}): choose another folder"
        )


def _read_mark(path: Path) -> dict[str, Any]:
    """What the mark of a run says, after looking whether it can be one."""
    mark = _read_object(path)
    if mark.get("format") not in {FORMAT, _UNSEALED}:
        raise CheckpointError(
            f"{path}: format {mark.get('format')!r}: this version reads {_UNSEALED} and {FORMAT}"
        )
    keys = {"format", "kind"} | ({"sha256"} if mark["format"] == FORMAT else set())
    sums = mark.get("sha256", dict.fromkeys((_CONFIG, _VERSIONS)))
    if set(mark) != keys or not isinstance(sums, dict) or set(sums) != {_CONFIG, _VERSIONS}:
        raise CheckpointError(f"{path}: damaged: not the mark of a run")
    return mark


def _read_object(path: Path, wanted: str | None = None) -> dict[str, Any]:
    """A JSON object, with the SHA-256 sum wanted, if any."""
    try:
        content = read_regular(path, max_bytes=MAX_TEXT_BYTES)
        if wanted is not None and _digest(content) != wanted:
            raise CheckpointError(f"{path}: damaged: its SHA-256 sum is not that of {MARK}")
        value = decode(content)
    except OSError as err:
        raise CheckpointError(f"{path}: cannot be read: {err.strerror}") from err
    except ValueError as err:
        raise CheckpointError(f"{path}: cannot be read: {err}") from err
    if not isinstance(value, dict):
        raise CheckpointError(f"{path}: must hold a JSON object")
    return value


def _seal_of(mark: Mapping[str, Any]) -> str | None:
    """Digest of kind and config; None for a run of format 1."""
    sums = mark.get("sha256")
    return _digest(f"{mark['kind']}:{sums[_CONFIG]}".encode()) if sums else None


def _extension_seal(values: Mapping[str, Any], seal: str | None) -> str:
    return _digest(encode(dict(values), _EXTENSION) + (seal or "").encode())


def _read_extension(path: Path, seal: str | None) -> dict[str, Any]:
    """Values that take the place of those of the config; none if the run was not extended."""
    if not path.exists():
        return {}
    found = _read_object(path)
    values = found.get("values")
    if not isinstance(values, dict) or found.get("seal") != _extension_seal(values, seal):
        raise CheckpointError(f"{path}: damaged, or the extension of another run")
    return values


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
