"""Where the pages are run: a folder of a newcomer, and commands that take little."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from standing_orders.evaluate import bench, card
from standing_orders.evaluate.obedience import Obedience, measure_obedience
from tests.docs.pages import ROOT


@pytest.fixture(scope="package", autouse=True)
def _brief(brief_endings: None) -> None:
    """Commands that train are run in many tests: what they do at their end is kept short."""


@pytest.fixture
def newcomer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, brief_detection: None) -> Path:
    """A folder with some recordings, a few logs, and nothing else of the repository."""
    for rules in ("head", "leaderboard-2022"):
        recordings = tmp_path / "tests" / "reference" / rules
        recordings.mkdir(parents=True)
        for path in sorted((ROOT / "tests" / "reference" / rules).iterdir())[::8]:
            (recordings / path.name).symlink_to(path)
    write_logs(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SB3_LOGDIR", str(tmp_path))  # else a folder in /tmp stays
    monkeypatch.setattr(bench, "BATCH_SIZES", (1, 100))
    monkeypatch.setattr(card, "measure_obedience", measure_a_few)
    torch.set_num_threads(1)
    return tmp_path


def measure_a_few(
    policy: Any, config: Any, orders: Sequence[int], *, num_episodes: int, **options: Any
) -> list[Obedience]:
    """The obedience of a policy to every thirtieth of its orders, in few episodes."""
    few = min(num_episodes, 4)
    return measure_obedience(policy, config, orders[::30], num_episodes=few, **options)


def write_logs(folder: Path) -> None:
    """The logs that the page on detection takes as the reader's own."""
    rng = np.random.default_rng(0)
    is_attack = rng.random(600) < 0.2
    size = rng.normal(0, 1, 600) + 3 * is_attack
    columns = {"size": size, "port": rng.integers(0, 5, 600), "is_attack": is_attack.astype(int)}
    with (folder / "events.csv").open("w", newline="") as file:
        csv.writer(file).writerows([columns, *zip(*columns.values(), strict=True)])
    verdict = np.where(is_attack, "malicious", "fine")
    log = {"size": size, "user": np.arange(600) // 6, "when": np.arange(600), "verdict": verdict}
    pq.write_table(pa.table(log), folder / "log.parquet")
    calls = [" ".join(rng.choice(["open", "exec"] if bad else ["open", "read"], 40))
             for bad in is_attack[:200]]  # fmt: skip
    with (folder / "traces.csv").open("w", newline="") as file:
        rows = zip(calls, is_attack[:200].astype(int), strict=True)
        csv.writer(file).writerows([("calls", "attack"), *rows])
