"""Damage of every file of a run in every way, for every reader: said aloud or without effect."""

import hashlib
import json
import os
import random
import re
import shutil
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load, save

from standing_orders.runs.folder import RunFolder
from standing_orders.runs.journal import HEAD_NAME
from tests.battery.case import Said, call, digest_of, light
from tests.battery.kills import JOBS, do, write_tables

_RESUME = {name: JOBS[name].again for name in ("train", "search", "detect")}
_VERIFY = ("runs", "verify", "RUN", "--json")
_REPAIR = ("runs", "verify", "RUN", "--repair", "--json")
_EVALUATE = ("evaluate", "--policy", "RUN", "--red", "b_line", "--order", "critical_first",
             "--episodes", "2", "--order-episodes", "2", "--json")  # fmt: skip
_LIST = ("runs", "PLACE", "--json")
_COMMON = (_VERIFY, _REPAIR, ("runs", "show", "RUN", "--json"), _LIST,
           ("runs", "diff", "RUN", "WHOLE", "--json"),
           ("report", "RUN", "--episodes", "0"))  # fmt: skip
_POLICY = (
    _EVALUATE, ("play", "--policy", "RUN", "--horizon", "5", "--plain"),
    ("replay", "RUN", "--seed", "1", "--horizon", "5", "--json"),
    ("train", "--start", "RUN", "--run", "RUN-next", "--order", "any", "--episodes", "2",
     "--update-episodes", "2", "--ppo.hidden", "8", "--ppo.epochs", "1", "--ppo.minibatches", "1",
     "--json"),
    ("compare", "--contestants", "RUN", "--reds", "b_line", "--seeds", "1", "--episodes", "2",
     "--run", "RUN-beside", "--json"),
)  # fmt: skip
# How each kind of run is read: the command, with the folder in place of RUN.
READERS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "train": (_RESUME["train"], _RESUME["train"], *_POLICY, *_COMMON),
    "search": (_RESUME["search"], _RESUME["search"], _EVALUATE, *_COMMON),
    "detect": (
        _RESUME["detect"], _RESUME["detect"], ("detect", "evaluate", "RUN", "--json"),
        ("detect", "score", "RUN", "--data", "DATA/new.csv", "--json"), *_COMMON,
    ),
}  # fmt: skip
# Made anew on resuming, or by `report`; nothing is read from them.
_MIRRORS = frozenset({".lock", "tensorboard", "report.html", "training_log.csv",
                      "gp_sampling_log.csv", "leaderboard.csv"})  # fmt: skip
_FIGURES = re.compile(r'"(bytes|seconds|sps|steps_per_second)": [0-9.e+-]+')
_SPARSE = 40 * 2**30


@dataclass(frozen=True)
class Runs:
    """A whole run of a kind, another one with another seed, and what readers say of the whole."""

    kind: str
    whole: Path
    other: Path
    files: tuple[Path, ...]  # of the whole, from its folder on
    answers: dict[tuple[str, ...], "Answer"]  # by reader


@dataclass(frozen=True)
class Answer:
    """What a reader came to, wherever the run lies."""

    said: Said
    left: str  # digest of the run after it


def prepare(kind: str) -> Callable[[Path], Runs]:
    """Make the runs, and let every reader read the whole one."""

    def make(folder: Path) -> Runs:
        write_tables(folder)
        whole, other = folder / "run", folder / "other"
        do(JOBS[kind], whole, folder)
        do(JOBS[kind], other, folder, "--seed", "1")
        files = (path.relative_to(whole) for path in sorted(whole.rglob("*")) if path.is_file())
        kept = tuple(path for path in files if "tensorboard" not in path.parts)
        runs = Runs(kind, whole, other, kept, {})
        for reader in READERS[kind]:
            place = folder / "reference"
            place.mkdir()
            shutil.copytree(whole, place / "run")
            answer = _read(runs, reader, place)
            shutil.rmtree(place)
            if answer.said.code or answer.said.fault:
                raise RuntimeError(f"{reader}: {answer.said}")
            runs.answers[reader] = answer
        return runs

    return make


def _sign_again(checkpoint: Path) -> None:
    """Make the manifest fit the files, as somebody who wants to cheat would."""
    manifest = json.loads((checkpoint / "manifest.json").read_bytes())
    for name in manifest["files"]:
        content = (checkpoint / name).read_bytes()
        sums = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        manifest["files"][name] = sums
    (checkpoint / "manifest.json").write_text(json.dumps(manifest, separators=(",", ":")))


def _read(runs: Runs, reader: tuple[str, ...], place: Path) -> Answer:
    shared = runs.whole.parent
    places = {
        "RUN": str(place / "run"),
        "PLACE": str(place),
        "WHOLE": str(runs.whole),
        "DATA": str(shared),
    }
    words = []
    for word in reader:
        for name, path in places.items():
            word = word.replace(name, path)  # noqa: PLW2901
        words.append(word)
    with light():
        said = call(*words)
    out, err = (_FIGURES.sub("", text.replace(str(place), "")) for text in (said.out, said.err))
    return Answer(Said(said.code, out, err), _outcome(place / "run"))


def _outcome(run: Path) -> str:
    """Digest of what a run has come to: everything but mirrors and older checkpoints."""
    old = [path for place in run.rglob("checkpoints") for path in sorted(place.glob("*"))[:-1]]
    policies = {run / name for name in ("policies", "best", "base")}  # judged where they are read
    # Versions decide nothing; `runs show`, `runs diff` and `runs verify` look at them.
    without = _MIRRORS | {"versions.json"}
    return digest_of(run, without=without, but=frozenset({*old, *policies}))


def damage(runs: Runs, rng: random.Random, place: Path) -> str | None:
    """Damage one file in one way, and let one reader read the run."""
    shutil.copytree(runs.whole, place / "run")
    before = digest_of(place / "run", without=_MIRRORS)
    name = rng.choice(runs.files)
    way = rng.choice(WAYS)
    other = runs.other / name
    if not other.exists():
        other = runs.whole / rng.choice(runs.files)
    way(place / "run" / name, rng, other, place.parent / "canary")
    is_sealed = digest_of(place / "run", without=_MIRRORS) != before
    reader = rng.choice(READERS[runs.kind])
    what = f"{way.__name__.strip('_')} {name}, read by {' '.join(reader[:2])}"
    fault = _judge(runs, reader, place, is_sealed=is_sealed)
    return None if fault is None else f"{what}: {fault}"


def _judge(runs: Runs, reader: tuple[str, ...], place: Path, *, is_sealed: bool) -> str | None:
    """What is wrong with how a reader takes a run in which something was changed."""
    if reader == _LIST and not os.path.lexists(place / "run"):
        return None  # a list cannot miss what is gone altogether
    answer, wanted = _read(runs, reader, place), runs.answers[reader]
    said = answer.said
    if said.fault is not None:
        return said.fault
    if reader == _VERIFY and is_sealed and said.code == 0 and said.out == wanted.said.out:
        return "silent: nothing is said to be wrong"
    if reader == _REPAIR and said.code == 0:
        return _judge(runs, _RESUME[runs.kind], place, is_sealed=False)
    is_told = reader in (_VERIFY, _REPAIR) or re.search(r'"problem": "[^"]', said.out)
    is_other = said.out != wanted.said.out and not is_told
    if said.code == 0 and is_other and said.err == wanted.said.err:
        return "silent: another result, exit code 0 and no word"
    if said.code == 0 and reader == _RESUME[runs.kind] and answer.left != wanted.left:
        return "goes on to other bits"
    return None


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


def _swap_inside(path: Path, rng: random.Random, *_: Path) -> None:
    """With one of the same name elsewhere in the run, such as of another order or checkpoint."""
    run = next(one for one in path.parents if one.name == "run")
    same = [one for one in sorted(run.rglob(path.name)) if one.is_file() and one != path]
    if same:
        shutil.copy(rng.choice(same), path)
    else:
        path.unlink()


def _swap_neighbour(path: Path, rng: random.Random, *_: Path) -> None:
    """A whole folder, such as a policy or a checkpoint, with the one beside it."""
    folder = path.parent if path.parent.name != "run" else path.parent / "checkpoints"
    beside = [one for one in sorted(folder.parent.iterdir()) if one.is_dir() and one != folder]
    if not beside or folder.name == "checkpoints":
        path.unlink()
        return
    shutil.rmtree(folder)
    shutil.copytree(rng.choice(beside), folder)


def _swap_folder(path: Path, _: random.Random, other: Path, __: Path) -> None:
    if path.parent.name == "run":  # with all of its files it would be another run
        shutil.copy(other, path)
        return
    shutil.rmtree(path.parent)
    shutil.copytree(other.parent, path.parent)


def _older(path: Path, rng: random.Random, *_: Path) -> None:
    """As a copy from some time ago would be: the last lines or checkpoints are not there yet."""
    if path.name == "journal.jsonl":
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[: rng.randrange(len(lines))]))
    else:
        shutil.rmtree(path.parent)


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
    _swap_inside, _swap_neighbour, _older, _swap_folder, _delete_folder,
    _link, _link_folder, _loop, _pipe, _folder, _giant, _deep,
)  # fmt: skip


def resign(runs: Runs, rng: random.Random, place: Path) -> str | None:
    """Change what a checkpoint says and sign it again: refused in a message, or read as it is."""
    shutil.copytree(runs.whole, place / "run")
    folders = sorted(path.parent for path in (place / "run").rglob("manifest.json"))
    checkpoint = rng.choice(folders)
    what = rng.choice((_odd_tensor, _odd_data))(checkpoint, rng)
    _sign_again(checkpoint)
    reader = rng.choice(READERS[runs.kind])
    answer = _read(runs, reader, place)
    text = answer.said.out
    fault = answer.said.fault
    if fault is None and re.search(r"\bNaN\b|\bInfinity\b|\bnan\b|\binf\b", text):
        fault = f"a figure that is not finite: {text[-200:]}"
    where = f"{what} in {checkpoint.name}, read by {' '.join(reader[:2])}"
    return None if fault is None else f"{where}: {fault}"


def reseal(runs: Runs, rng: random.Random, place: Path) -> str | None:
    """Change what a journal says and seal it again: refused in a message, or read as it is."""
    shutil.copytree(runs.whole, place / "run")
    journal = RunFolder.open(place / "run").journal()
    records = journal.read()
    what = _odd_value(rng.choice(records[-5:]), rng)
    journal.keep_only([])
    with journal:
        for record in records:
            journal.append(record)
        if (place / "run" / HEAD_NAME).exists():
            journal.note_head()
    reader = rng.choice(READERS[runs.kind])
    fault = _read(runs, reader, place).said.fault
    return None if fault is None else f"{what}, read by {' '.join(reader[:2])}: {fault}"


def soak(runs: Runs, rng: random.Random, place: Path) -> str | None:
    """Let every reader read a whole run several times: nothing of the process may be used up."""
    shutil.copytree(runs.whole, place / "run")
    held, grown = [], []
    for _ in range(4):
        for reader in rng.sample(READERS[runs.kind], len(READERS[runs.kind])):
            for name in ("run-next", "run-beside"):
                shutil.rmtree(place / name, ignore_errors=True)
            answer = _read(runs, reader, place)
            if answer.said.code or answer.said.fault:
                return f"{' '.join(reader[:2])}: {answer.said}"
        held.append((len(list(Path("/proc/self/fd").iterdir())), threading.active_count()))
        grown.append(int(Path("/proc/self/statm").read_text().split()[1]) * 4096)
    if held[-1] > held[1]:
        return f"descriptors and threads in use: {held}"
    return f"memory in use: {grown}" if grown[-1] > grown[1] + 2**26 else None


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
    what = _odd_value(data, rng)
    path.write_text(json.dumps(data, separators=(",", ":")))
    return what


def _odd_value(data: dict[str, Any], rng: random.Random) -> str:
    """Change or remove one value of plain data, at any depth."""
    part = data
    while deeper := [one for one in _values(part) if isinstance(one, dict | list) and one]:
        if rng.random() < 0.4:
            break
        part = rng.choice(deeper)
    key = rng.choice(sorted(part) if isinstance(part, dict) else range(len(part)))
    if rng.random() < 0.3 and isinstance(part, dict):
        del part[key]
        data.setdefault("empty", 1)  # a record must not be
        return f"without {key}"
    odd = (None, -1, 1e300, "x", [], {}, True, 10**30, [[1]], {"a": 1}, "..", ".", "", "\x1b]0;x")
    part[key] = rng.choice(odd)
    return f"{key} = {part[key]!r}"


def _values(part: Any) -> list[Any]:
    return list(part.values() if isinstance(part, dict) else part)
