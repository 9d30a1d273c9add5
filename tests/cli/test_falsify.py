"""`falsify` writes an attack that `play --draws` repeats."""

import json
from pathlib import Path

import pytest

from tests.cli.commands import run


def test_what_is_found_can_be_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("falsify", "--policy", "heuristic", "--red", "meander", "--budget", "60", "--json")
    assert run(*words) == 0
    found = json.loads(capsys.readouterr().out)
    assert run("play", "--draws", "worst.json", "--plain") == 0
    assert f"return {found['worst']['return']:g} in 100" in capsys.readouterr().out
    assert run("play", "--draws", "worst.json", "--policy", "sleep", "--plain") == 0
    assert "blue sleep, draws of a file" in capsys.readouterr().out


def test_a_policy_for_any_order_needs_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("falsify", "--policy", "zoo/any-b_line", "--budget", "60") == 2
    assert "name one with --order" in capsys.readouterr().err


def test_an_order_that_changes_is_what_fixes_are_judged_by(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ("play", "--policy", "heuristic", "--order", "user_priority", "--plain")
    assert run(*words, "--order-switch", "50", "--horizon", "52") == 0
    before, after = capsys.readouterr().out.split("step 51/52")
    assert "order user," in before
    assert "order user," not in after
    assert run("play", "--policy", "heuristic", "--order-switch", "5") == 2
    assert "told one order" in capsys.readouterr().err


def test_rules_are_watched_in_play_and_judged_in_evaluate(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rule = "calm = always (restore -> not once[1,1] restore)"
    words = ("--policy", "zoo/any-b_line-late", "--order", "critical_first")
    assert run("play", *words, "--rule", rule, "--plain", "--horizon", "8") == 0
    assert "calm: BROKEN" in capsys.readouterr().out
    assert run("play", *words, "--keep", rule, "--plain", "--horizon", "8") == 0
    assert "rule calm: kept so far" in capsys.readouterr().out
    short = ("--red", "b_line", "--episodes", "4", "--order-episodes", "2", "--json")
    assert run("evaluate", *words, "--keep", rule, "--rule", "restores_10 <= 2", *short) == 0
    found = json.loads(capsys.readouterr().out)["rules"][0]["rules"]
    assert found["calm"]["broken"] == 0
    assert run("evaluate", *words, "--order-switch", "5", *short) == 0
    assert json.loads(capsys.readouterr().out)[0]["step"] == 5


def test_what_is_found_can_be_replayed_as_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("--policy", "zoo/any-b_line", "--order", "user_priority", "--horizon", "20")
    assert run("falsify", *words, "--budget", "60", "--greedy", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert run("replay", "zoo/any-b_line", "--draws", "worst.json", "--json") == 0
    (episode,) = json.loads(capsys.readouterr().out)
    shown = json.dumps(episode)
    assert "attack of a file" in shown
    assert sum(episode["reward"]) == round(10 * found["worst"]["return"])
    assert run("replay", "zoo/any-b_line", "--draws", "worst.json") == 0
    assert (tmp_path / "replay.html").stat().st_size > 10_000
