from pathlib import Path

import pytest

from standing_orders.presets import list_presets
from tests.cli.commands import run


@pytest.mark.parametrize("preset", [one.name for one in list_presets("search")])
def test_preset_searches_and_its_best_policy_is_scored(
    preset: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "run")
    words = ("search", "--preset", preset, "--run", folder, "--budget", "150")
    words += ("--update-episodes", "10", "--order-episodes", "20", "--evaluation-episodes", "4")
    assert run(*words, "--base.episodes", "20", "--gate.episodes", "4") == 0
    out = capsys.readouterr().out
    assert "150 of 150" in out
    assert "its fresh score: -" in out
    assert run("search", "--resume", "--run", folder) == 0
    assert capsys.readouterr().out == out
    words = ("evaluate", "--policy", str(tmp_path / "run" / "best"), "--episodes", "2", "--json")
    assert run(*words, "--red", "b_line", "--order-episodes", "2") == 0
