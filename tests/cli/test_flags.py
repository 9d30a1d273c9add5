import json
import subprocess
import sys
from pathlib import Path

import pytest

from standing_orders.cli.app import COMMANDS, load
from standing_orders.cli.flags import parse
from tests.cli.commands import run


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("evaluate", "--policy", "nobody"), "'nobody': must be one of sleep, random"),
        (("evaluate", "--red", "green"), "green"),
        (("evaluate", "--rules", "new"), "new"),
        (("evaluate", "--observation", "all"), "all"),
        (("evaluate", "--head-start", "-1"), "head_start = -1"),
        (("evaluate", "--episodes", "1"), "episodes = 1"),
        (("evaluate", "--seed", "-3"), "seed = -3"),
        (("evaluate", "--policy", "sleep", "--order", "first>last"), "neither a unit type"),
        (("train", "--order", "user>first"), "'first' is neither a unit type"),
        (("train", "--order", "user>user>user>user>user"), "must name each of"),
        (("train", "--ppo.learning-rate", "-1"), "learning_rate = -1"),
        (("search", "--budget", "100"), "budget = 100: must be greater than base.episodes"),
        (("search", "--acquisition", "guess"), "guess"),
        (("search", "--start", "own", "--base-run", "runs/none"), "start = 'own'"),
        (("search", "--address", "127.0.0.1:1"), "only engine = 'ray'"),
        (("play", "--speed", "0"), "speed = 0"),
        (("play", "--policy", "nobody", "--plain"), "'nobody'"),
        (("bench", "disk"), "disk"),
        (("parity",), "paths: give recordings"),
        (("frobnicate",), "frobnicate"),
    ],
)
def test_bad_input_is_named_and_exits_2(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*words) == 2
    captured = capsys.readouterr()
    assert message in captured.err + captured.out
    assert "Traceback" not in captured.err


@pytest.mark.parametrize(
    ("words", "complaints"),
    [
        (("train", "--ppo.epochs", "0"), ("ppo.epochs = 0",)),
        (("search", "--base.episodes", "-1", "--seed", "-1"), ("seed = -1", "base.episodes = -1")),
        (("detect", "train", "--learn.steps", "0", "--learn.epochs", "0"),
         ("learn.epochs = 0", "learn.steps = 0")),
        (("detect", "compare", "--costs.team", "nan"), ("costs.team = nan",)),
        (("detect", "evaluate", "runs/none", "--messages", "-1"), ("messages = -1",)),
    ],
)  # fmt: skip
def test_a_bad_value_is_named_as_in_the_config(
    words: tuple[str, ...], complaints: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*words) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert [complaint.split(": ")[0] for complaint in err[7:].split("; ")] == [*complaints]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("detect", "train", "--learn.iterations", "abc"), "--learn.iterations"),
        (("detect", "train", "--learn.iteration", "3"), "--learn.iteration, 3"),
        (("detect", "compare", "--team.vote", "luck"), "'--team.vote'"),
    ],
)
def test_a_bad_flag_is_named_as_it_was_typed(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*words) == 2
    err = capsys.readouterr().err
    assert message in err
    assert "__" not in err


@pytest.mark.parametrize("form", [("--config", "{}"), ("--config={}",)])
def test_a_file_can_be_named_in_both_ways(form: tuple[str, ...], tmp_path: Path) -> None:
    preset = tmp_path / "preset.toml"
    preset.write_text("episodes = 10\nupdate_episodes = 10\nseed = 9\n")
    words = [word.format(preset) for word in form]
    assert run("train", *words, "--run", str(tmp_path / "run")) == 0
    assert json.loads((tmp_path / "run" / "config.json").read_text())["seed"] == 9


def test_flags_override_the_preset(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    preset = tmp_path / "preset.toml"
    preset.write_text("episodes = 40\nseed = 9\n[ppo]\nepochs = 2\n")
    words = ("train", "--config", str(preset), "--run", str(folder), "--episodes", "20")
    assert run(*words, "--order", "none") == 0
    config = json.loads((folder / "config.json").read_text())
    assert (config["episodes"], config["seed"], config["ppo"]["epochs"]) == (20, 9, 2)


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("episodes = 0", 2, "episodes = 0"),
        ("colour = 1", 2, "colour: no such option"),
        ("[ppo]\nlearning_rate = -1", 2, "ppo.learning_rate = -1"),
        ("episodes =", 3, "cannot be read as TOML"),
    ],
)
def test_a_bad_preset_is_named(
    text: str, code: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    preset = tmp_path / "preset.toml"
    preset.write_text(text)
    assert run("train", "--config", str(preset), "--run", str(tmp_path / "run")) == code
    err = capsys.readouterr().err
    assert message in err
    assert str(preset) in err
    assert not (tmp_path / "run").exists()


BAD = {  # what is typed, and what is said about it
    "evaluate --policy nobody": "must be one of sleep",
    "evaluate --out card.txt": "must end in .json, .csv, .md",
    "play --policy nowhere/run": "a run folder",
    "train --order user": "quote it, or use commas",
    "train --preset slow": "must be one of fast",
    "train --preset fast --config mine.toml": "give one of them",
    "train --start nowhere": "not a run",
    "train --resume --run nowhere": "not a run",
    "search --base-run nowhere": "not a run",
    "search --budget 10": "must be greater than base.episodes",
    "search --resume --run nowhere": "not a run",
    "parity nowhere.npz": "no such file",
    "detect train --data nowhere.csv --label x": "nowhere.csv: no such file",
    "detect train --team.agents 2": "n >= 2f + 1 = 3",
    "detect train --resume --run nowhere": "not a run",
    "detect evaluate nowhere": "not a run",
    "detect compare --data nowhere.csv --label x": "no such file",
}


def test_bad_input_is_answered_before_anything_slow_is_imported(tmp_path: Path) -> None:
    code = (
        "import contextlib, io, json, sys\n"
        "from standing_orders.cli.app import main\n"
        "said = {}\n"
        "for line in json.loads(sys.argv[1]):\n"
        "    with contextlib.redirect_stderr(io.StringIO()) as err:\n"
        "        assert main(line.split()) in (2, 3), line\n"
        "    said[line] = err.getvalue()\n"
        "    slow = {'torch', 'sklearn', 'pandas', 'ray'} & set(sys.modules)\n"
        "    assert not slow, (line, slow)\n"
        "print(json.dumps(said))\n"
    )
    words = [sys.executable, "-c", code, json.dumps(list(BAD))]
    found = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    said = json.loads(found.stdout)
    assert [line for line, message in BAD.items() if message not in said[line]] == []


def test_help_shows_the_common_options_and_help_all_every_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("train", "--help") == 0
    brief = capsys.readouterr().out
    assert run("train", "--help-all") == 0
    full = capsys.readouterr().out
    for flag in ("--order", "--preset", "--run", "--resume"):
        assert f" {flag} " in brief
        assert f" {flag} " in full
    for flag in ("--ppo.learning-rate", "--alignment.weight", "--config"):
        assert flag not in brief
        assert flag in full
    assert brief.count("\n") < 60 < full.count("\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_three_examples_whose_flags_exist(name: str) -> None:
    model = load(name)
    assert len(model.EXAMPLES) >= 3
    for example in model.EXAMPLES:
        words = example.split()
        called = next(one for one in COMMANDS if words[: one.count(" ") + 1] == one.split())
        if "runs/" in example or "--preset" in example:
            parse(load(called), words[called.count(" ") + 1 :], name=called)
    assert set(model.BASIC) <= set(model.model_fields)


def test_a_flag_that_switches_something_off_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("train", "--help-all") == 0
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "--ppo.no-memory Switch off: inputs: scans, exploits and decoys so far" in shown


def test_results_are_written_as_the_ending_of_the_file_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("evaluate", "--policy", "sleep", "--red", "b_line", "--episodes", "2")
    for name in ("card.json", "card.csv", "card.md"):
        assert run(*words, "--out", str(tmp_path / "new" / name)) == 0
        assert f"written: {tmp_path / 'new' / name}" in capsys.readouterr().err
    card = json.loads((tmp_path / "new" / "card.json").read_text())
    lines = (tmp_path / "new" / "card.csv").read_text().splitlines()
    assert lines[0].startswith("red,steps,mean return,std error")
    assert float(lines[3].split(",")[2]) == card["scores"][2]["mean"]
    assert "| b_line | 100 |" in (tmp_path / "new" / "card.md").read_text()
