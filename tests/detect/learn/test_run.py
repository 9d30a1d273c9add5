"""A detection run survives what can happen to it, and ends in the same bits."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from standing_orders.detect.config import DetectConfig, LearnConfig, RulesConfig, TeamConfig
from standing_orders.detect.data.synthetic import make_sessions
from standing_orders.detect.learn import run as runs
from standing_orders.detect.learn.run import config_of, load_team, resume, train
from standing_orders.detect.learn.trainer import Trainer
from standing_orders.errors import CheckpointError, NumericsError
from standing_orders.runs.checkpoint import load_latest
from standing_orders.runs.folder import RunFolder
from tests.faults.processes import may_fork, train_in_child

CONFIG = DetectConfig(
    checkpoint_every=3,
    team=TeamConfig(hidden=(8,), critic="shared", trees=4),
    learn=LearnConfig(iterations=8, steps=200, minibatches=2, epochs=2, gradient="sampled"),
    rules=RulesConfig(mode="lagrange"),
)


def quiet(_: str) -> None:
    """Tell nobody."""


def small(_: object) -> Any:
    return make_sessions(0, num_sessions=60)


@pytest.fixture(autouse=True)
def small_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "load", small)


def content(path: Path) -> dict[str, bytes]:
    """All that must be the same: journal, table, and the files of the last checkpoint."""
    checkpoint, _ = load_latest(path)
    assert checkpoint is not None
    files = [path / "journal.jsonl", path / "training_log.csv", *sorted(checkpoint.path.iterdir())]
    return {file.name: file.read_bytes() for file in files}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that nothing happened to."""
    path = tmp_path_factory.mktemp("whole") / "run"
    train(CONFIG, path, data=small(None), report=quiet)
    return path


@may_fork
def test_a_killed_run_ends_in_the_same_bits(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    for last in (2, 7):
        assert train_in_child(runs, CONFIG, path, last) == -signal.SIGKILL
    resume(path, report=quiet)
    assert content(path) == content(whole)


def test_resuming_a_finished_run_changes_nothing(whole: Path) -> None:
    before = content(whole)
    assert resume(whole, report=quiet).progress.stopped == "budget used"
    assert content(whole) == before


def test_the_journal_has_price_and_violation_curves(whole: Path) -> None:
    records = [json.loads(line) for line in (whole / "journal.jsonl").read_text().splitlines()]
    assert len(records) == 8
    assert {"approx_kl", "clipfrac", "explained_variance"} <= set(records[0]["loss"])
    for record in records:
        assert {"violation_rate", "margin_mean", "price"} <= set(record["rules"]["answered"])
        assert {price["rule"] for price in record["prices"]} == set(record["rules"])
    assert "answered" in (whole / "training_log.csv").read_text()
    assert list((whole / "tensorboard").glob("events.out.tfevents.*"))


def test_the_team_of_a_run_can_be_loaded(whole: Path) -> None:
    team, data = load_team(whole)
    assert team.config == CONFIG.settled("sessions")
    assert team.network.num_agents == 4
    assert team.task == data.task == "sessions"
    assert len(team.judge(data.test).actions) == data.test.num_events


def test_other_events_than_those_it_began_with_are_refused(
    whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "load", lambda _: make_sessions(1, num_sessions=60))
    with pytest.raises(CheckpointError, match="events are not those"):
        resume(whole, report=quiet)


def test_only_one_process_writes_and_no_run_is_overwritten(whole: Path, tmp_path: Path) -> None:
    with RunFolder.open(whole, kind="detect").lock(), pytest.raises(CheckpointError):
        resume(whole, report=quiet)
    with pytest.raises(CheckpointError, match="--resume"):
        train(CONFIG, whole, report=quiet)
    with pytest.raises(CheckpointError, match="not a run"):
        resume(tmp_path, report=quiet)


def test_a_nan_stops_the_run_and_leaves_the_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play = Trainer.play

    def poisoned(self: Trainer) -> Any:
        if self.progress.updates == 4:
            with torch.no_grad():
                self.network.worth.weight[0, 0, 0] = float("nan")
        return play(self)

    monkeypatch.setattr(Trainer, "play", poisoned)
    with pytest.raises(NumericsError, match=r"update 5: .*(policy|value|values)"):
        train(CONFIG, tmp_path / "run", report=quiet)
    checkpoint, _ = load_latest(tmp_path / "run")
    assert checkpoint is not None
    assert checkpoint.data["progress"]["updates"] == 3
    monkeypatch.undo()
    monkeypatch.setattr(runs, "load", small)
    assert resume(tmp_path / "run", report=quiet).progress.stopped == "budget used"


def test_an_option_that_is_gone_is_passed_over_if_it_changed_nothing(tmp_path: Path) -> None:
    settings = DetectConfig().model_dump(mode="json")
    settings |= {"missing": "indicator", "team": settings["team"] | {"ties": "alert"}}
    folder = RunFolder.create(tmp_path / "run", settings, "detect")
    assert config_of(folder) == DetectConfig()
    other = RunFolder.create(tmp_path / "other", settings | {"missing": "refuse"}, "detect")
    with pytest.raises(CheckpointError, match="missing: no such option"):
        config_of(other)
