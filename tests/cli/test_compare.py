"""`compare` prints, writes, goes on, and says what cannot be compared."""

import json
from pathlib import Path

import pytest

from standing_orders.compare import starts, trials
from standing_orders.compare.trials import WAYS
from tests.cli.commands import run

FEW = ("--seeds", "2", "--episodes", "10", "--reds", "b_line")


def test_defenders_are_compared_and_the_report_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = tmp_path / "c", tmp_path / "c.csv"
    words = ("compare", "--contestants", "sleep", "heuristic", *FEW, "--run", str(folder))
    assert run(*words, "--out", str(out)) == 0
    assert "heuristic" in capsys.readouterr().out
    assert out.read_text().startswith("defender,b_line,")
    assert (folder / "report.html").is_file()
    assert run(*words, "--json") == 0  # goes on, and finds nothing left to do
    names = [row["name"] for row in json.loads(capsys.readouterr().out)["contestants"]]
    assert names == ["sleep", "heuristic"]
    assert run(*words, "--seeds", "3", "--episodes", "10") == 2
    said = capsys.readouterr().err
    assert "--seeds: of no effect" in said
    assert "--episodes" not in said  # as it was


def test_ways_to_search_are_compared(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "BUDGETS", (2, 4))
    assert run("compare", "--search", *FEW, "--head-start", "15", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["b_line"]
    assert {row["strategy"] for row in rows} == set(WAYS)


def test_starts_are_compared_by_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starts, "VISITS", 2)
    monkeypatch.setattr(starts, "EVALUATION_EPISODES", 4)
    words = ("compare", "--search", "--seeds", "1", "--reds", "b_line", "--starts", "scratch",
             "previous", "base", "--train-episodes", "20", "--run", str(tmp_path / "s"),
             "--json")  # fmt: skip
    for _ in range(2):  # the second time nothing is trained
        assert run(*words) == 0
        rows = json.loads(capsys.readouterr().out)["starts"]["b_line"]
        assert [row["start"] for row in rows] == ["scratch", "previous", "base"]
        assert [row["orders"] for row in rows] == [2, 2, 2]
        assert rows[2]["episodes"] > rows[0]["episodes"]  # the base policy's own


def test_an_unknown_contestant_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compare", "--contestants", "nobody") == 2
    assert "nobody" in capsys.readouterr().err
