"""`report`, `replay` and `runs` on a small run that was really trained."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from standing_orders.report.build import build_report
from tests.cli.commands import run

SMALL = ("--episodes", "20", "--update-episodes", "10", "--gate.episodes", "4")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "one"
    words = ("train", "--order", "critical_first", "--start", "none", "--run", str(folder),
             "--head-start", "12")  # fmt: skip
    assert run(*words, *SMALL) == 0
    return folder


def test_a_run_leaves_its_report(trained: Path) -> None:
    text = (trained / "report.html").read_text()
    assert "Training: one" in text
    assert '"kind":"replay"' in text


def lines_of(block: Any) -> Iterator[dict[str, Any]]:
    """Every line of every chart in a document, with the title of its chart."""
    if isinstance(block, dict):
        if block.get("kind") == "lines":
            yield from ({"chart": block["title"], **one} for one in block["series"])
        for value in block.values():
            yield from lines_of(value)
    elif isinstance(block, list):
        for value in block:
            yield from lines_of(value)


def test_every_line_of_a_real_runs_charts_has_points(trained: Path) -> None:
    lines = list(lines_of(build_report([trained], num_episodes=0)))
    assert len(lines) > 8
    assert [(one["chart"], one["name"]) for one in lines if not one["x"]] == []


def test_report_writes_where_it_is_told(trained: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.html"
    assert run("report", str(trained), "--out", str(out), "--episodes", "0") == 0
    assert out.read_text().startswith("<!DOCTYPE html>")


def test_report_of_what_is_no_run_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("report", str(tmp_path)) == 3
    assert "not a run" in capsys.readouterr().err


def test_replay_forks_a_trained_policy_under_another_order(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("replay", str(trained), "--seed", "4", "--fork-at", "6", "--order", "balanced")
    assert run(*words, "--horizon", "15", "--json") == 0
    (episode,) = json.loads(capsys.readouterr().out)
    (fork,) = episode["forks"]
    assert episode["head_start"] == 12
    assert fork["order_text"].startswith("defender>enterprise")
    assert fork["blue_text"][:6] == episode["blue_text"][:6]


def test_replay_writes_a_page(tmp_path: Path) -> None:
    out = tmp_path / "p.html"
    words = ("replay", "heuristic", "--red", "meander", "--episodes", "3", "--horizon", "10")
    assert run(*words, "--out", str(out)) == 0
    assert "Replay: heuristic" in out.read_text()


def test_runs_lists_shows_and_diffs(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("runs", str(trained.parent), "--json") == 0
    (info,) = json.loads(capsys.readouterr().out)
    assert (info["kind"], info["state"], info["done"]) == ("train", "finished", 20)
    assert run("runs", "show", str(trained)) == 0
    assert "standing-orders train" in capsys.readouterr().out
    assert run("runs", "diff", str(trained), str(trained)) == 0
    assert "no difference" in capsys.readouterr().out


def test_runs_says_which_are_damaged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "run.json").write_text("{}")
    assert run("runs", str(tmp_path)) == 1
    assert "damaged" in capsys.readouterr().out
    assert run("runs", str(tmp_path), "--state", "finished") == 0


def test_runs_of_a_folder_that_is_not_there(tmp_path: Path) -> None:
    assert run("runs", str(tmp_path / "nowhere")) == 2
