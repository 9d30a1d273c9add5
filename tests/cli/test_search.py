from pathlib import Path

import pytest

from standing_orders.presets import list_presets
from tests.cli.commands import run


@pytest.mark.parametrize("preset", [one.name for one in list_presets("search")])
def test_preset_searches_and_its_best_policy_is_scored(
    preset: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "run")
    words = ("search", "--preset", preset, "--run", folder, "--budget", "100")
    words += ("--update-episodes", "10", "--order-episodes", "20", "--evaluation-episodes", "4")
    assert run(*words, "--base.episodes", "20", "--gate.episodes", "4") == 0
    out = capsys.readouterr().out
    assert "100 of 100" in out
    assert "its fresh score: -" in out
    assert run("search", "--resume", "--run", folder) == 0
    assert capsys.readouterr().out == out
    words = ("evaluate", "--policy", str(tmp_path / "run" / "best"), "--episodes", "2", "--json")
    assert run(*words, "--red", "b_line", "--order-episodes", "2") == 0


def test_a_finished_search_is_extended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    words = ("search", "--run", str(folder), "--budget", "60", "--base.episodes", "20")
    words += ("--update-episodes", "10", "--order-episodes", "20", "--evaluation-episodes", "4")
    assert run(*words, "--gate.episodes", "4") == 0
    before = (folder / "journal.jsonl").read_text()
    resumed = ("search", "--resume", "--run", str(folder))
    assert run(*resumed, "--budget", "60") == 2
    assert "budget = 60: must be larger than 60" in capsys.readouterr().err
    assert run(*resumed, "--budget", "120") == 0
    out = capsys.readouterr().out
    assert "120 of 120" in out
    after = (folder / "journal.jsonl").read_text()
    assert after.startswith(before)
    assert after.count('"final"') > before.count('"final"')
    assert run(*resumed) == 0
    assert capsys.readouterr().out == out


def test_flags_of_a_search_that_would_do_nothing_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("search", "--resume", "--run", str(tmp_path), "--order-episodes", "3")
    assert run(*words) == 2
    assert "--order-episodes: of no effect with --resume" in capsys.readouterr().err


def test_a_search_begins_with_a_policy_of_the_zoo(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("search", "--base-run", "zoo/any-b_line", "--run", str(tmp_path / "run"))
    words += ("--budget", "40", "--update-episodes", "10", "--order-episodes", "10")
    words += ("--evaluation-episodes", "4", "--gate.episodes", "4", "--prior", "none")
    assert run(*words) == 0
    seen = capsys.readouterr()
    assert "red b_line, budget 40 episodes, seed 0" in seen.err
    assert "40 of 40" in seen.out
