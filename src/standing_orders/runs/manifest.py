"""Manifests: which files belong to a folder, with their sizes and SHA-256 sums."""

import hashlib
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any

from standing_orders.errors import CheckpointError
from standing_orders.runs.files import MAX_BYTES, MAX_TEXT_BYTES, read_regular
from standing_orders.runs.plain import decode, encode

FORMAT = 1  # of checkpoints; any change of their layout raises it
MANIFEST = "manifest.json"


def make_manifest(index: int, files: Mapping[str, bytes]) -> bytes:
    """Give the content of the manifest of some files."""
    sums = {
        name: {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in files.items()
    }
    return encode({"format": FORMAT, "index": index, "files": sums}, MANIFEST)


def read_verified(folder: Path, names: Set[str]) -> tuple[int, dict[str, bytes]]:
    """Read all files of a folder; what is returned is what was checked.

    Args:
        folder: where the files and their manifest are.
        names: the files that must be there, and no others.

    Returns:
        The index in the manifest, and the content of each file.

    Raises:
        CheckpointError: the manifest or a file is missing, damaged, of another format version or
            does not belong; the message names it.
    """
    manifest = _read_manifest(folder / MANIFEST)
    listed = set(manifest["files"])
    # Names are compared with known ones, so none can point out of the folder.
    for name in sorted(listed ^ names):
        what = "lists a file that does not belong" if name in listed else "does not list"
        raise CheckpointError(f"{folder / MANIFEST}: {what}: {name!r}")
    for path in sorted(folder.iterdir()):
        if path.name not in {*names, MANIFEST}:
            raise CheckpointError(f"{path}: does not belong to the checkpoint")
    return manifest["index"], {
        name: _read_listed(folder / name, manifest["files"][name]) for name in sorted(names)
    }


def _read_manifest(path: Path) -> dict[str, Any]:
    content = _read(path, MAX_TEXT_BYTES)
    try:
        manifest = decode(content)
        if manifest["format"] != FORMAT:
            raise CheckpointError(
                f"{path}: format {manifest['format']!r}: this version reads format {FORMAT}"
            )
        is_known = (
            set(manifest) == {"format", "index", "files"}
            and type(manifest["index"]) is int
            and isinstance(manifest["files"], dict)
            and encode(manifest, path) == content
        )
    except (ValueError, LookupError, TypeError) as err:
        raise CheckpointError(f"{path}: damaged: {err}") from err
    if not is_known:
        raise CheckpointError(f"{path}: damaged: not a manifest of this format")
    return dict(manifest)


def _read_listed(path: Path, wanted: Any) -> bytes:
    if not isinstance(wanted, dict) or set(wanted) != {"size", "sha256"}:
        raise CheckpointError(f"{path.parent / MANIFEST}: damaged: no size and sum of {path.name}")
    content = _read(path, MAX_BYTES)
    if len(content) != wanted["size"]:
        raise CheckpointError(f"{path}: {len(content)} bytes: must be {wanted['size']}")
    if hashlib.sha256(content).hexdigest() != wanted["sha256"]:
        raise CheckpointError(f"{path}: damaged: its SHA-256 sum is not that of the manifest")
    return content


def _read(path: Path, max_bytes: int) -> bytes:
    try:
        return read_regular(path, max_bytes=max_bytes)
    except FileNotFoundError as err:
        raise CheckpointError(f"{path}: missing") from err
    except OSError as err:
        raise CheckpointError(f"{path}: cannot be read: {err.strerror}") from err
