"""Damage of every file of a run in every way, for every reader: said aloud or without effect."""

import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load, save

from tests.battery.case import Said, call
from tests.battery.kills import detect_work, result_of, search_work, train_work

FEW = ("--episodes", "2")
# How each kind of run is read: the command, with the folder in place of RUN.
READERS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "train": (
        ("evaluate", "--policy", "RUN", "--red", "b_line", "--order-episodes", "2", "--json", *FEW),
        ("train", "--resume", "--run", "RUN", "--json"),
        ("train", "--start", "RUN", "--run", "RUN-next", "--order", "any", "--episodes", "4",
         "--update-episodes", "4", "--ppo.hidden", "8", "--ppo.epochs", "1",
         "--ppo.minibatches", "1", "--json"),
        ("runs", "show", "RUN", "--json"),
        ("runs", "verify", "RUN", "--json"),
        ("runs", "verify", "RUN", "--repair", "--json"),
    ),
    "search": (
        ("search", "--resume", "--run", "RUN", "--json"),
        ("evaluate", "--policy", "RUN", "--red", "b_line", "--order-episodes", "2", "--json", *FEW),
        ("runs", "show", "RUN", "--json"),
        ("runs", "verify", "RUN", "--json"),
        ("runs", "verify", "RUN", "--repair", "--json"),
    ),
    "detect": (
        ("detect", "evaluate", "RUN", "--json"),
        ("detect", "train", "--resume", "--run", "RUN", "--json"),
        ("runs", "verify", "RUN", "--json"),
    ),
}  # fmt: skip
WORK = {"train": train_work, "search": search_work, "detect": detect_work}
_SPARSE = 40 * 2**30


@dataclass(frozen=True)
class Runs:
    """A whole run of a kind, another one with other settings, and what readers say of the whole."""

    kind: str
    whole: Path
    other: Path
    files: tuple[Path, ...]  # of the whole, from its folder on
    answers: dict[tuple[str, ...], str]  # by reader: what it prints of the whole run


def prepare(kind: str) -> Callable[[Path], Runs]:
    """Make the runs."""

    def make(folder: Path) -> Runs:
        whole, other = folder / "run", folder / "other"
        WORK[kind](whole)
        shutil.copytree(whole, other)
        _give_other_content(other)
        files = (path.relative_to(whole) for path in sorted(whole.rglob("*")) if path.is_file())
        kept = tuple(path for path in files if "tensorboard" not in path.parts)
        answers = {}
        for reader in READERS[kind]:
            place = folder / "reference"
            shutil.copytree(whole, place / "run")
            answers[reader] = _answer(_read(reader, place / "run"), place)
            shutil.rmtree(place)
        return Runs(kind, whole, other, kept, answers)

    return make


def _give_other_content(folder: Path) -> None:
    """Another run of the same shape: other weights and figures, each file signed by itself."""
    for path in folder.rglob("tensors.safetensors"):
        path.write_bytes(save({name: _shifted(a) for name, a in load(path.read_bytes()).items()}))
        _sign_again(path.parent)


def _shifted(array: Any) -> Any:
    return (array * 1.5).astype(array.dtype) if array.dtype.kind == "f" else array


def _sign_again(checkpoint: Path) -> None:
    """Make the manifest fit the files, as somebody who wants to cheat would."""
    manifest = json.loads((checkpoint / "manifest.json").read_bytes())
    for name in manifest["files"]:
        content = (checkpoint / name).read_bytes()
        sums = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        manifest["files"][name] = sums
    (checkpoint / "manifest.json").write_text(json.dumps(manifest, separators=(",", ":")))


def _read(reader: tuple[str, ...], run: Path) -> Said:
    return call(*(word.replace("RUN", str(run)) for word in reader))


def _answer(said: Said, place: Path) -> str:
    """What a reader came to, wherever the run lies: its output and the bits that it leaves."""
    text = said.out.replace(str(place), "")
    left = [result_of(path) for path in sorted(place.glob("run*"))]
    return f"{said.code} {text} {left}"


def damage(runs: Runs, rng: random.Random, place: Path) -> str | None:
    """Damage one file in one way, and let one reader read the run."""
    shutil.copytree(runs.whole, place / "run")
    name = rng.choice(runs.files)
    way = rng.choice(WAYS)
    way(place / "run" / name, rng, runs.other / name, place.parent / "canary")
    return _judge(runs, rng, place, f"{way.__name__.strip('_')} {name}", must_fit=True)


def _judge(runs: Runs, rng: random.Random, place: Path, what: str, *, must_fit: bool) -> str | None:
    reader = rng.choice(READERS[runs.kind])
    said = _read(reader, place / "run")
    fault = said.fault
    answer = _answer(said, place)
    if fault is None and must_fit and said.code == 0 and not said.err.strip():
        # Verify says it in its output; a mirror that was damaged and is made anew has no effect.
        text = answer.partition(" [")[0]
        if "verify" not in reader and text != runs.answers[reader].partition(" [")[0]:
            fault = "silent: another result, exit code 0 and no word"
    return None if fault is None else f"{what}, read by {' '.join(reader[:2])}: {fault}"


def _flip_a_bit(path: Path, rng: random.Random, *_: Path) -> None:
    content = bytearray(path.read_bytes() or b"\0")
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)


def _cut(path: Path, rng: random.Random, *_: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: rng.randrange(len(content) + 1)])


def _lengthen(path: Path, rng: random.Random, *_: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content + rng.choice((b"\0", b"\n", b"{}\n", content)))


def _overwrite(path: Path, rng: random.Random, *_: Path) -> None:
    content = bytearray(path.read_bytes())
    start = rng.randrange(len(content) + 1)
    content[start : start + 64] = rng.randbytes(64)
    path.write_bytes(content)


def _delete(path: Path, *_: Any) -> None:
    path.unlink()


def _swap(path: Path, _: random.Random, other: Path, __: Path) -> None:
    shutil.copy(other, path)


def _swap_folder(path: Path, _: random.Random, other: Path, __: Path) -> None:
    shutil.rmtree(path.parent)
    shutil.copytree(other.parent, path.parent)


def _delete_folder(path: Path, *_: Any) -> None:
    shutil.rmtree(path.parent)


def _link(path: Path, _: random.Random, __: Path, canary: Path) -> None:
    path.unlink()
    path.symlink_to(canary / "precious")


def _link_folder(path: Path, _: random.Random, __: Path, canary: Path) -> None:
    shutil.rmtree(path.parent)
    path.parent.symlink_to(canary / "checkpoints")


def _loop(path: Path, *_: Any) -> None:
    path.unlink()
    path.symlink_to(path)


def _pipe(path: Path, *_: Any) -> None:
    path.unlink()
    os.mkfifo(path)


def _folder(path: Path, *_: Any) -> None:
    path.unlink()
    path.mkdir()


def _giant(path: Path, *_: Any) -> None:
    with path.open("r+b") as file:
        file.truncate(_SPARSE)


def _deep(path: Path, *_: Any) -> None:
    path.write_bytes(b"[" * 100_000)


WAYS = (
    _flip_a_bit, _flip_a_bit, _flip_a_bit, _cut, _lengthen, _overwrite, _delete, _swap,
    _swap_folder, _delete_folder, _link, _link_folder, _loop, _pipe, _folder, _giant, _deep,
)  # fmt: skip


def resign(runs: Runs, rng: random.Random, place: Path) -> str | None:
    """Change what a checkpoint says and sign it again: refused in a message, or read as it is."""
    shutil.copytree(runs.whole, place / "run")
    folders = sorted(path.parent for path in (place / "run").rglob("manifest.json"))
    checkpoint = rng.choice(folders)
    what = rng.choice((_odd_tensor, _odd_data))(checkpoint, rng)
    _sign_again(checkpoint)
    return _judge(runs, rng, place, f"{what} in {checkpoint.name}", must_fit=False)


def _odd_tensor(checkpoint: Path, rng: random.Random) -> str:
    path = checkpoint / "tensors.safetensors"
    arrays = load(path.read_bytes())
    name = rng.choice(sorted(arrays))
    array = arrays[name]
    odd = rng.choice(("nan", "inf", "shape", "type", "gone", "scalar", "empty"))
    changed = {
        "nan": np.full_like(array, np.nan if array.dtype.kind == "f" else 0),
        "inf": np.full_like(array, np.inf if array.dtype.kind == "f" else 1),
        "shape": np.zeros((*array.shape, 3), array.dtype),
        "type": np.zeros(array.shape, np.int8),
        "scalar": np.zeros((), array.dtype),
        "empty": np.zeros((0, *array.shape), array.dtype),
    }
    if odd == "gone":
        del arrays[name]
    else:
        arrays[name] = changed[odd]
    path.write_bytes(save(arrays))
    return f"{odd} {name}"


def _odd_data(checkpoint: Path, rng: random.Random) -> str:
    path = checkpoint / "data.json"
    data = json.loads(path.read_bytes())
    parts = [data, *(value for value in data.values() if isinstance(value, dict))]
    part = rng.choice([one for one in parts if one])
    key = rng.choice(sorted(part))
    if rng.random() < 0.3:
        del part[key]
        what = f"without {key}"
    else:
        part[key] = rng.choice((None, -1, 1e300, "x", [], {}, True, 10**30, [[1]], {"a": 1}))
        what = f"{key} = {part[key]!r}"
    path.write_text(json.dumps(data, separators=(",", ":")))
    return what
