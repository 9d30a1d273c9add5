"""`detect score` killed again and again while its log grows: is an event lost, or judged otherwise?

python benchmarks/streams.py --kills 200 --events 20000
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tyro

import results
from standing_orders.detect.config import DetectConfig, LearnConfig, TeamConfig
from standing_orders.detect.learn.run import train

_PATIENCE = 300.0  # seconds for a new process to say something


@dataclass(frozen=True)
class Task:
    """How often it is killed."""

    kills: int = 200
    events: int = 20_000
    sessions: int = 1_000
    seed: int = 0
    results: Path = results.FOLDER


def make_events(num_events: int, sessions: int, seed: int) -> list[dict[str, Any]]:
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


def lines_of(rows: list[dict[str, Any]]) -> str:
    """JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def kill_and_go_on(
    run: Path, text: str, folder: Path, *, kills: int, seed: int
) -> tuple[Path, int]:
    """Let a log grow while what judges it is killed.

    Returns:
        The verdicts, and how often it was killed while it was at work.
    """
    rng = random.Random(seed)
    data, out = folder / "growing.json", folder / "killed.jsonl"
    lines = text.splitlines(keepends=True)
    data.write_text("")
    command = [sys.executable, "-m", "standing_orders", "detect", "score", str(run), "--data",
               str(data), "--out", str(out), "--state", str(folder / "state"), "--why", "0",
               "--batch", "20", "--max-sessions", "200"]  # fmt: skip
    done = 0
    for life in range(kills):
        part = lines[len(lines) * life // kills : len(lines) * (life + 1) // kills]
        size = out.stat().st_size if out.exists() else 0
        with data.open("a") as log:
            log.writelines(part[: len(part) // 2])
        process = subprocess.Popen(
            [*command, "--follow"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until = time.monotonic() + _PATIENCE
        while process.poll() is None and time.monotonic() < until:
            if out.exists() and out.stat().st_size > size:
                break
            time.sleep(0.02)
        with data.open("a") as log:
            log.writelines(part[len(part) // 2 :])
        time.sleep(rng.random() * 1.5)  # before, while and after it keeps its place
        done += process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    subprocess.run(command, check=True, capture_output=True)
    return out, done


def main(task: Task) -> None:
    """Train a small team, judge the log in one go and under kills, compare."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "train.json").write_text(lines_of(make_events(3_000, 200, seed=1)))
        config = DetectConfig(
            data=(folder / "train.json",), label="label", session="user",
            team=TeamConfig(hidden=(16,), trees=10), learn=LearnConfig(iterations=5, steps=512),
        )  # fmt: skip
        train(config, folder / "run")
        text = lines_of(make_events(task.events, task.sessions, seed=2))
        (folder / "whole.json").write_text(text)
        whole = folder / "whole.jsonl"
        subprocess.run(
            [sys.executable, "-m", "standing_orders", "detect", "score", str(folder / "run"),
             "--data", str(folder / "whole.json"), "--out", str(whole), "--state",
             str(folder / "whole-state"), "--why", "0", "--max-sessions", "200"],
            check=True, capture_output=True,
        )  # fmt: skip
        out, done = kill_and_go_on(folder / "run", text, folder, kills=task.kills, seed=task.seed)
        expected, found = whole.read_text().splitlines(), out.read_text().splitlines()
    lost = len({json.loads(line)["offset"] for line in expected}
               - {json.loads(line)["offset"] for line in found})  # fmt: skip
    differing = sum(a != b for a, b in zip(expected, found, strict=False))
    source = f"python benchmarks/streams.py --kills {task.kills} --events {task.events}"
    with results.table("streams.csv", source=source, folder=task.results) as add:
        add(kills=done, events=task.events, lines=len(found), lost=lost,
            twice=len(found) - len(set(found)), differing=differing)  # fmt: skip


if __name__ == "__main__":
    main(tyro.cli(Task, description=__doc__))
