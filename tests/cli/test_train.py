import json
from pathlib import Path

import pytest

from standing_orders.cli.app import INTERRUPTED
from standing_orders.presets import list_presets
from tests.cli.commands import run, stop


@pytest.mark.parametrize("preset", [one.name for one in list_presets("train")])
def test_preset_trains_and_its_policy_is_scored(
    preset: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "run")
    words = ("train", "--preset", preset, "--run", folder, "--seed", "3")
    assert run(*words, "--episodes", "30", "--update-episodes", "20") == 0
    assert "after 30 episodes" in capsys.readouterr().out
    words = ("evaluate", "--policy", folder, "--red", "b_line", "--episodes", "10", "--json")
    assert run(*words, "--order-episodes", "2") == 0
    card = json.loads(capsys.readouterr().out)
    assert card["scores"][2]["horizon"] == 100
    has_order = "none" not in (tmp_path / "run" / "config.json").read_text()
    assert ("obedience" in card) == has_order


def test_resume_of_something_that_is_no_run_exits_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("train", "--resume", "--run", str(tmp_path)) == 3
    assert "not a run" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["train", "search"])
def test_a_run_that_is_stopped_says_how_to_go_on(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("standing_orders.learn.trainer.Trainer.step", stop)
    folder = tmp_path / "my run"
    for more in ((), ("--resume",)):
        assert run(command, "--run", str(folder), *more) == INTERRUPTED
        hint = f"stopped; to go on: standing-orders {command} --resume --run '{folder}'\n"
        assert capsys.readouterr().err.endswith(hint)


def test_a_command_that_is_stopped_before_its_run_begins_only_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("standing_orders.learn.run.Trainer", stop)
    assert run("train", "--run", str(tmp_path / "run")) == INTERRUPTED
    assert capsys.readouterr().err == "interrupted\n"
