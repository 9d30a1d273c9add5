import json
from pathlib import Path
from typing import Any

import pytest

from standing_orders.cage2.actions import encode
from standing_orders.config import SimConfig
from standing_orders.evaluate import card
from standing_orders.evaluate.obedience import Obedience, measure_obedience
from standing_orders.learn import opening
from standing_orders.version import VERSION
from tests.cli.commands import run


def test_evaluate_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("evaluate", "--policy", "sleep", "--red", "b_line", "--episodes", "20") == 0
    out = capsys.readouterr().out
    assert "rules head" in out
    assert "n = 20 episodes" in out
    assert "b_line" in out
    assert "meander" not in out


def test_evaluate_prints_json_with_all_that_repeats_it(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("evaluate", "--policy", "random", "--episodes", "30", "--seed", "5", "--json")
    assert run(*words, "--rules", "leaderboard-2022", "--observation", "stock") == 0
    first = capsys.readouterr().out
    found = json.loads(first)
    assert {key: found[key] for key in found if key != "scores"} == {
        "policy": "random", "rules": "leaderboard-2022", "observation": "stock", "head_start": 0,
        "red_tempo": 1, "episodes": 30, "seed": 5, "version": VERSION, "simulator": "own",
    }  # fmt: skip
    assert len(found["scores"]) == 16
    assert set(found["scores"][0]["percentiles"]) == {
        "0", "5", "10", "25", "50", "75", "90", "95", "100",
    }  # fmt: skip
    assert run(*words, "--rules", "leaderboard-2022", "--observation", "stock") == 0
    assert capsys.readouterr().out == first


def test_all_orders_are_told_to_a_policy_for_any_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def briefly(policy: Any, config: SimConfig, *words: Any, **options: Any) -> list[Obedience]:
        short = config.model_copy(update={"horizon": 3})
        return measure_obedience(policy, short, *words, **options)

    monkeypatch.setattr(card, "measure_obedience", briefly)
    folder = str(tmp_path / "run")
    assert run("train", "--run", folder, "--episodes", "20", "--update-episodes", "20") == 0
    words = ("evaluate", "--policy", folder, "--red", "meander", "--episodes", "10")
    assert run(*words, "--order", "all", "--order-episodes", "2", "--greedy") == 0
    out = capsys.readouterr().out
    assert " of 120 orders pass the gate" in out
    assert "(greedy)" in out


@pytest.mark.parametrize("flag", [["--red", "asleep:decide"], ["--red-agent=asleep:decide"]])
@pytest.mark.parametrize("command", ["evaluate --episodes 4", "play --plain --horizon 3"])
def test_a_red_agent_of_ones_own_attacks(
    command: str,
    flag: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = "from standing_orders.cage2.scenario import RED_SLEEP\n"
    source += "def decide(env, memory, word): return RED_SLEEP, -1\n"
    (tmp_path / "asleep.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    assert run(*command.split(), "--policy", "sleep", *flag) == 0
    shown = capsys.readouterr().out
    assert "asleep:decide" in shown
    assert "b_line" not in shown


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (["--policy", "sleep"], "needs a trained policy"),
        (["--policy", "zoo/leaderboard", "--collect", "episodes"], "only in our own simulator"),
    ],
)
def test_what_cannot_be_planned_is_refused(
    flags: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("evaluate", *flags, "--plan", "1", "--episodes", "2") == 2
    assert problem in capsys.readouterr().err


def test_a_planned_opening_is_scored_and_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "useful_decoys", lambda: [encode("DecoyApache", "User2")])
    monkeypatch.setattr(opening, "_ROUNDS", ())
    monkeypatch.setattr(opening, "_CHECK_EPISODES", 300)
    words = ("evaluate", "--policy", "zoo/leaderboard", "--plan", "1", "--red", "meander")
    assert run(*words, "--episodes", "2", "--json") == 0
    assert json.loads(capsys.readouterr().out)["policy"].endswith("opening DecoyApache User2")
