"""`compare` prints, writes, goes on, and says what cannot be compared."""

import json
from pathlib import Path

import pytest

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


def test_ways_to_search_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compare", "--search", *FEW, "--head-start", "15", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["b_line"]
    assert {row["strategy"] for row in rows} == {"ucb", "thompson", "ei", "random", "sweep"}


def test_an_unknown_contestant_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compare", "--contestants", "nobody") == 2
    assert "nobody" in capsys.readouterr().err
