import json
from pathlib import Path

import pytest

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
        (("evaluate", "--policy", "sleep", "--order", "reverse"), "takes no order"),
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
