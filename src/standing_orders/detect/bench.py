"""Speed of a team in service and of its training, on tables made here: 30 numbers, 6 categories."""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.csv as pa_csv  # type: ignore[import-untyped]

from standing_orders.detect.config import DetectConfig, LearnConfig, RulesConfig
from standing_orders.detect.engine import JudgeEngine
from standing_orders.detect.learn.run import train
from standing_orders.detect.remote import RayEngine
from standing_orders.detect.service.judge import Follower, Judge, Options, open_team
from standing_orders.seeding import child_seed

BATCHES = (1, 100, 10_000)
NUM_NUMBERS, NUM_CATEGORIES = 30, 6
_TRAINED_ON = 4_000  # rows, for the teams whose speed is measured
_MOST = 20_000  # events of one measurement, so that one event at a time does not take for ever


@dataclass(frozen=True)
class Cell:
    """One measurement."""

    what: str
    size: int  # events at once, or rows of the file
    rate: float | None = None  # events/s; in one process: a second of its processor time
    p50: float | None = None  # milliseconds for one batch, by the same clock
    p99: float | None = None
    seconds: float | None = None  # in all
    memory_mb: float | None = None  # of a process of its own, at most
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Variant:
    """A way in which events are judged."""

    name: str
    options: Options
    shield: bool = False
    engine: Callable[[Judge], JudgeEngine] = Judge.engine
    # Of this process: what others do on the machine is not counted.
    clock: Callable[[], float] = time.process_time


def _on_ray(judge: Judge) -> JudgeEngine:
    return RayEngine(judge.agents(), judge.config.team, report=partial(print, file=sys.stderr))


VARIANTS = (
    Variant("plain vote", Options(why=0, rules=False)),
    Variant("with rules", Options(why=0)),
    Variant("with shield", Options(why=0), shield=True),
    Variant("with reasons", Options(why=3, rules=False)),
)
# Each agent a process of its own; 100 events to an agreement, however many there are at once.
SIGNED = Variant("signed PBFT on Ray", Options(why=0, rules=False), engine=_on_ray,
                 clock=time.perf_counter)  # fmt: skip


def make_table(num_rows: int, seed: int) -> pa.Table:
    """Records, one in five a threat, whose numbers and categories tell a little each."""
    rng = np.random.Generator(np.random.Philox(child_seed(seed, "bench", "detect")))
    threat = rng.random(num_rows) < 0.2
    columns: dict[str, Any] = {
        f"number{i}": np.round(np.exp(rng.normal(2, 1, num_rows) + 0.4 * threat * (i % 3)), 3)
        for i in range(NUM_NUMBERS)
    }
    for i in range(NUM_CATEGORIES):
        codes = np.minimum(rng.geometric(np.where(threat, 0.2, 0.35)) - 1, 11)
        columns[f"word{i}"] = pa.DictionaryArray.from_arrays(
            pa.array(codes.astype(np.int8)), [f"w{code}" for code in range(12)]
        ).cast(pa.string())
    return pa.table({**columns, "label": threat.astype(np.int8)})


def measure_detect(
    *,
    seconds: float,
    rows: Sequence[int],
    limit: float,
    variants: Sequence[Variant] | None = None,
) -> Iterator[Cell]:
    """All measurements, as they come.

    Args:
        seconds: for each way and batch size.
        rows: sizes of files that are trained on; the largest is also judged, for its memory. None
            of them: no files.
        limit: seconds after which a process of its own is given up.
        variants: ways in which events are judged; if left out all that this machine can.
    """
    if variants is None:
        has_ray = all(find_spec(name) for name in ("ray", "cryptography"))
        variants = (*VARIANTS, SIGNED) if has_ray else VARIANTS
    with tempfile.TemporaryDirectory(prefix="standing-orders-bench-") as name:
        folder = Path(name)
        table = make_table(_MOST, seed=1).drop_columns(["label"])
        teams = {shield: _train(folder, shield=shield) for shield in (False, True)}
        for variant in variants:
            for size in BATCHES:
                yield _measure(variant, teams[variant.shield], table, size, seconds)
        if rows:
            yield _score_file(folder, max(rows), limit)
        for count in rows:
            yield _train_file(folder, count, limit)


def _train(folder: Path, *, shield: bool) -> Judge:
    data, run = folder / "small.csv", folder / f"run-{shield}"
    pa_csv.write_csv(make_table(_TRAINED_ON, seed=0), data)
    config = DetectConfig(
        data=(data,), label="label", learn=LearnConfig(iterations=2),
        rules=RulesConfig(mode="shield" if shield else "watch"),
    )  # fmt: skip
    train(config, run, report=lambda _: None)
    return open_team(run)


def _measure(variant: Variant, judge: Judge, table: pa.Table, size: int, seconds: float) -> Cell:
    """Judge batches of a table in memory, from columns to verdicts."""
    follower = Follower(judge, variant.options, variant.engine(judge))
    parts = [table.slice(at, size) for at in range(0, table.num_rows, size)]
    follower.judge(parts[0])  # compiles, and fills caches
    times: list[float] = []
    until = time.perf_counter() + seconds
    while time.perf_counter() < until and len(times) * size < 50 * _MOST:
        began = variant.clock()
        follower.judge(parts[len(times) % len(parts)])
        times.append(variant.clock() - began)
    follower.engine.close()
    p50, p99 = np.percentile(times, [50, 99]) * 1e3
    rate = size * len(times) / sum(times)
    return Cell(variant.name, size, rate=rate, p50=float(p50), p99=float(p99))


def _score_file(folder: Path, num_rows: int, limit: float) -> Cell:
    """`detect score` of a file, CSV to JSON lines, in a process of its own."""
    data = folder / "large.csv"
    pa_csv.write_csv(make_table(num_rows, seed=2), data)
    spent, note = _run(
        limit, "score", str(folder / "run-False"), "--data", str(data), "--out",
        str(folder / "verdicts.jsonl"), "--why", "0",
    )  # fmt: skip
    data.unlink()
    rate = num_rows / spent if spent is not None else None
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return Cell(
        "score, CSV to JSON lines", num_rows, rate=rate, seconds=spent, memory_mb=memory, note=note
    )


def _train_file(folder: Path, num_rows: int, limit: float) -> Cell:
    data, run = folder / "training.csv", folder / f"trained-{num_rows}"
    pa_csv.write_csv(make_table(num_rows, seed=3), data)
    spent, note = _run(limit, "train", "--data", str(data), "--label", "label", "--run", str(run))
    data.unlink()
    return Cell("train", num_rows, seconds=spent, note=note)


def _run(limit: float, *arguments: str) -> tuple[float | None, str]:
    """Seconds that a `detect` command takes in a process of its own, or why there is no figure."""
    command = [sys.executable, "-m", "standing_orders", "detect", *arguments]
    began = time.perf_counter()
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None, f"not done after {limit:g} s"
    except subprocess.CalledProcessError as err:
        return None, f"failed: {err.stderr.decode(errors='replace').strip()[-120:]}"
    return time.perf_counter() - began, ""
