"""`detect score` in service: how fast, killed again and again while its log grows, damaged logs.

python benchmarks/streams.py speed      # events/s and latency, as `bench detect`
python benchmarks/streams.py kills      # is an event lost, or judged otherwise?
python benchmarks/streams.py mangled    # a verdict or one clear message, and bounded memory?
"""

import csv
import gzip
import io
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pa_parquet  # type: ignore[import-untyped]
import tyro

import results
from standing_orders.detect.bench import SIGNED, VARIANTS, Cell, measure_detect
from standing_orders.detect.config import DetectConfig, LearnConfig, TeamConfig
from standing_orders.detect.learn.run import train
from standing_orders.detect.service.judge import Judge, Options, open_team
from standing_orders.detect.service.stream import Task as Stream
from standing_orders.detect.service.stream import score
from standing_orders.errors import DataError
from standing_orders.learn.ppo import use_one_thread

_PATIENCE = 300.0  # seconds for a new process to say something
_OPTIONS = Options(why=0, max_sessions=200)
_BATCH = 20
_COMMAND_EVERY = 20  # lives of the command itself; others are forked, which saves the imports
Row = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """What to do, and how often."""

    what: tyro.conf.Positional[Literal["speed", "kills", "mangled"]]
    seconds: float = 2.0  # for each way and batch size
    kills: int = 200
    events: int = 20_000  # of the stream that is killed
    sessions: int = 1_000
    files: int = 2_000  # that are mangled
    seed: int = 0
    results: Path = results.FOLDER


def make_events(num_events: int, sessions: int, seed: int) -> list[Row]:
    """A log of users; a threat has more bytes and other ports."""
    rng = np.random.default_rng(seed)
    rows = []
    for index in range(num_events):
        threat = bool(rng.random() < 0.2)
        rows.append(
            {
                "timestamp": 1.7e9 + index,
                "user": f"u{seed}-{rng.integers(sessions)}",
                "dest_port": int(rng.choice([22, 445, 3389] if threat else [80, 443, 22])),
                "bytes": round(float(np.exp(rng.normal(8 if threat else 6, 1))), 1),
                "label": int(threat),
            }
        )
    return rows


def as_json(rows: list[Row]) -> bytes:
    """JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def as_csv(rows: list[Row]) -> bytes:
    """With a header."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def as_zeek(rows: list[Row]) -> bytes:
    """A Zeek log with tabs."""
    kinds = {"timestamp": "time", "dest_port": "port", "bytes": "double", "label": "count"}
    head = [
        "#separator \\x09", "#set_separator\t,", "#empty_field\t(empty)", "#unset_field\t-",
        "#path\tconn", "#fields\t" + "\t".join(rows[0]),
        "#types\t" + "\t".join(kinds.get(name, "string") for name in rows[0]),
    ]  # fmt: skip
    body = ["\t".join(map(str, row.values())) for row in rows]
    return "\n".join([*head, *body, "#close\t2026-01-01-00-00-00", ""]).encode()


def as_parquet(rows: list[Row]) -> bytes:
    """A Parquet file."""
    file = io.BytesIO()
    pa_parquet.write_table(pa.Table.from_pylist(rows), file)
    return file.getvalue()


FORMATS: tuple[Callable[[list[Row]], bytes], ...] = (
    as_json,
    as_csv,
    as_zeek,
    as_parquet,
    lambda rows: gzip.compress(as_csv(rows)),
)
_SIGNS = (b"\n", b'"', b",", b"\t", b"{", b"}", b"\x00", b"\xff", b"9" * 400, b"1e999", b"nan",
          b'{"a":' * 3_000)  # fmt: skip


def mangle(content: bytes, rng: random.Random) -> bytes:
    """Bytes changed, lost, added, doubled or cut off, once or often."""
    data = bytearray(content)
    for _ in range(rng.choice([1, 3, 30])):
        data = data or bytearray(b"?")
        at = rng.randrange(len(data))
        kind = rng.randrange(5)
        if kind == 0:
            data[at] = rng.randrange(256)
        elif kind == 1:
            del data[at : at + rng.randrange(1, 40)]
        elif kind == 2:
            data[at:at] = rng.choice(_SIGNS)
        elif kind == 3:
            data[at:at] = data[: rng.randrange(1, 200)]
        else:
            data = data[: max(at, 1)]
    return bytes(data)


def score_mangled(judge: Judge, folder: Path, number: int) -> Counter[str]:
    """Judge a damaged log; whatever else comes of it than verdicts or one clear message is raised.

    Args:
        judge: the team.
        folder: for the files.
        number: the seed.

    Returns:
        Counts of `judged` or `refused` files, of their `events`, and of those that are `bad`.
    """
    rng = random.Random(number)
    path, out = folder / f"mangled{number}", folder / f"mangled{number}.jsonl"
    path.write_bytes(mangle(rng.choice(FORMATS)(make_events(12, 4, number)), rng))
    task = Stream(path, out, batch=rng.choice([1, 5, 1_000]), options=_OPTIONS)
    try:
        tally = score(judge, task, report=lambda _: None).tally
    except DataError as err:
        if not str(err).strip() or "\n" in str(err).strip():
            raise AssertionError(f"seed {number}: not one clear message: {err}") from err
        return Counter(refused=1)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    told = sum("end" not in line for line in lines)
    if told != tally.events or any(line["verdict"] is None for line in lines):
        raise AssertionError(f"seed {number}: {told} verdicts for {tally.events} events")
    path.unlink()
    out.unlink()
    return Counter(judged=1, events=tally.events, bad=tally.unfit + tally.unreadable)


def kill_and_go_on(
    run: Path, text: bytes, folder: Path, *, kills: int, seed: int
) -> tuple[Path, int]:
    """Let a log grow while what judges it is killed.

    Returns:
        The verdicts, and how often it was killed while it was at work.
    """
    rng = random.Random(seed)
    data, out, state = (folder / name for name in ("growing.json", "killed.jsonl", "state"))
    lines = text.splitlines(keepends=True)
    data.write_bytes(b"")
    done = 0
    for life in range(kills):
        part = lines[len(lines) * life // kills : len(lines) * (life + 1) // kills]
        size = out.stat().st_size if out.exists() else 0
        with data.open("ab") as log:
            log.writelines(part[: len(part) // 2])
        command = [sys.executable, "-m", "standing_orders", "detect", "score", str(run), "--data",
                   str(data), "--out", str(out), "--state", str(state), "--why", "0", "--batch",
                   str(_BATCH), "--max-sessions", "200", "--follow"]  # fmt: skip
        task = Stream(data, out, state, follow=True, batch=_BATCH, options=_OPTIONS)
        pid = _start(command) if life % _COMMAND_EVERY == 0 else _fork(run, task)
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until and not (out.exists() and out.stat().st_size > size):
            time.sleep(0.02)
        with data.open("ab") as log:
            log.writelines(part[len(part) // 2 :])
        time.sleep(rng.random() * 1.5)  # before, while and after it keeps its place
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        done += os.WIFSIGNALED(status)
    score(open_team(run), Stream(data, out, state, batch=_BATCH, options=_OPTIONS),
          report=lambda _: None)  # fmt: skip
    return out, done


def _start(command: list[str]) -> int:
    """A process whose number is all that is kept of it."""
    silent = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    return os.posix_spawn(command[0], command, os.environ, file_actions=silent)


def _fork(run: Path, task: Stream) -> int:
    """A process that judges, and has its imports from this one."""
    pid = os.fork()
    if not pid:
        try:
            score(open_team(run), task, report=lambda _: None)
        finally:
            os._exit(1)  # it should have been killed
    return pid


def _train(folder: Path) -> Path:
    """A small team of sessions."""
    (folder / "train.json").write_bytes(as_json(make_events(3_000, 200, seed=1)))
    config = DetectConfig(
        data=(folder / "train.json",), label="label", session="user",
        team=TeamConfig(hidden=(16,), trees=10), learn=LearnConfig(iterations=5, steps=512),
    )  # fmt: skip
    train(config, folder / "run", report=lambda _: None)
    return folder / "run"


def measure_speed(task: Task, _: Path) -> None:
    """All that `bench detect` measures: in one process on one core, then agents on all cores."""
    cores = os.sched_getaffinity(0)
    source = (
        f"python benchmarks/streams.py speed --seconds {task.seconds:g}; votes in one process on "
        f"one core, by its processor time; {SIGNED.name} on {len(cores)}, files by the clock, load "
        f"average {os.getloadavg()[0]:.1f} at the beginning; 30 numbers and 6 categories"
    )
    with results.table("detect-speed.csv", source=source, folder=task.results) as add:
        os.sched_setaffinity(0, {max(cores)})
        cells = measure_detect(seconds=task.seconds, rows=(10_000,), limit=300, variants=VARIANTS)
        _add_cells(add, cells)
        os.sched_setaffinity(0, cores)
        _add_cells(add, measure_detect(seconds=task.seconds, rows=(), limit=0, variants=(SIGNED,)))


def _add_cells(add: Callable[..., None], cells: Iterable[Cell]) -> None:
    for cell in cells:
        numbers = {"rate": cell.rate, "p50": cell.p50, "p99": cell.p99, "seconds": cell.seconds}
        shown = {
            name: "" if value is None else f"{value:.0f}" if name == "rate" else f"{value:.2f}"
            for name, value in numbers.items()
        }
        add(what=cell.what, size=cell.size, **shown)


def measure_kills(task: Task, folder: Path) -> None:
    """Judge a log in one go and under kills, and compare."""
    run = _train(folder)
    text = as_json(make_events(task.events, task.sessions, seed=2))
    (folder / "whole.json").write_bytes(text)
    whole = Stream(folder / "whole.json", folder / "whole.jsonl", folder / "whole-state",
                   options=_OPTIONS)  # fmt: skip
    score(open_team(run), whole, report=lambda _: None)
    out, done = kill_and_go_on(run, text, folder, kills=task.kills, seed=task.seed)
    expected, found = (path.read_text().splitlines() for path in (folder / "whole.jsonl", out))
    lost = len({json.loads(line)["offset"] for line in expected}
               - {json.loads(line)["offset"] for line in found})  # fmt: skip
    differing = sum(a != b for a, b in zip(expected, found, strict=False))
    source = f"python benchmarks/streams.py kills --kills {task.kills} --events {task.events}"
    with results.table("streams.csv", source=source, folder=task.results) as add:
        add(kills=done, events=task.events, lines=len(found), lost=lost,
            twice=len(found) - len(set(found)), differing=differing)  # fmt: skip


def measure_mangled(task: Task, folder: Path) -> None:
    """Judge damaged files one after the other."""
    judge = open_team(_train(folder))
    found = score_mangled(judge, folder, task.seed)
    before = _memory()
    for number in range(task.seed + 1, task.seed + task.files):
        try:
            found += score_mangled(judge, folder, number)
        except Exception as err:
            print(f"seed {number}: {type(err).__name__}: {err}", file=sys.stderr)
            found["otherwise"] += 1
    source = f"python benchmarks/streams.py mangled --files {task.files}"
    with results.table("mangled.csv", source=source, folder=task.results) as add:
        add(files=task.files, judged=found["judged"], refused=found["refused"],
            otherwise=found["otherwise"],
            events=found["events"], bad_events=found["bad"],
            memory_grew_mb=round(_memory() - before))  # fmt: skip


def _memory() -> float:
    """The most that this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


MEASURES = {"speed": measure_speed, "kills": measure_kills, "mangled": measure_mangled}


def main(task: Task) -> None:
    """Do it in a folder that is removed."""
    use_one_thread()
    with tempfile.TemporaryDirectory(prefix="standing-orders-streams-") as name:
        MEASURES[task.what](task, Path(name))


if __name__ == "__main__":
    results.launch(main, Task, __doc__)
