"""One small team of records and one of sessions, trained once for all tests of the service."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from standing_orders.detect.config import DetectConfig, LearnConfig, TeamConfig
from standing_orders.detect.learn.run import train
from standing_orders.detect.service.judge import Judge, open_team

Row = dict[str, Any]


def make_rows(num_rows: int, seed: int, sessions: int = 0) -> list[Row]:
    """Flows; a threat has more bytes and packets, and other ports."""
    rng = np.random.default_rng(seed)
    rows = []
    for index in range(num_rows):
        threat = bool(rng.random() < 0.25)
        rows.append(
            {
                "ts": 1.7e9 + index,
                "src_ip": f"10.0.{rng.integers(4)}.{rng.integers(1, 250)}",
                "dest_port": int(rng.choice([22, 445, 3389] if threat else [80, 443, 22])),
                "proto": str(rng.choice(["tcp", "udp"])),
                "bytes": round(float(np.exp(rng.normal(8 if threat else 6, 1))), 1),
                "pkts": int(rng.poisson(18 if threat else 10)),
                "user": f"u{seed}-{rng.integers(sessions)}" if sessions else f"u{rng.integers(8)}",
                "label": int(threat),
            }
        )
    return rows


def write_csv(path: Path, rows: list[Row]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def train_team(folder: Path, **options: Any) -> Path:
    """A run on train.csv and test.csv in the folder; training takes a second."""
    config = DetectConfig(
        data=(folder / "train.csv",),
        test_data=(folder / "test.csv",),
        label="label",
        team=TeamConfig(hidden=(8,), trees=options.pop("trees", 0), **options.pop("team", {})),
        learn=LearnConfig(iterations=2, steps=256),
        **options,
    )
    train(config, folder / "run", report=lambda _: None)
    return folder / "run"


@pytest.fixture(scope="session")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with `run`, a team of records with trees, and its train.csv and test.csv."""
    folder = tmp_path_factory.mktemp("records")
    write_csv(folder / "train.csv", make_rows(600, 1))
    write_csv(folder / "test.csv", make_rows(240, 2))
    train_team(folder, trees=5)
    return folder


@pytest.fixture(scope="session")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same of sessions with times, under a shield."""
    folder = tmp_path_factory.mktemp("sessions")
    write_csv(folder / "train.csv", make_rows(900, 3, sessions=120))
    write_csv(folder / "test.csv", make_rows(240, 4, sessions=40))
    train_team(folder, session="user", time="ts", rules={"mode": "shield"})
    return folder


@pytest.fixture(scope="session")
def judge(records: Path) -> Judge:
    return open_team(records / "run")
