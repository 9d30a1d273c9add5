import json
import subprocess
import sys
from pathlib import Path

import pytest

from standing_orders.cli.app import INTERRUPTED, main
from standing_orders.version import VERSION

CONFIGS = Path(__file__).parents[2] / "src" / "standing_orders" / "presets"


def run(*words: str) -> int:
    """Exit code of a command; the parser leaves by SystemExit."""
    try:
        return main(list(words))
    except SystemExit as stop:
        return int(stop.code or 0)


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from standing_orders.cli.app import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'numba', 'torch', 'scipy', 'stable_baselines3', 'sklearn', 'ray', 'plotly'}\n"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.stderr.strip() == ""
    assert "evaluate" in result.stdout


@pytest.mark.parametrize(
    "command", ["search", "train", "evaluate", "play", "parity", "bench", "detect"]
)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command, "--help") == 0
    assert f"standing-orders {command}" in capsys.readouterr().out


def test_the_package_is_a_command() -> None:
    words = [sys.executable, "-m", "standing_orders", "--version"]
    shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert shown == f"standing-orders {VERSION}\n"


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--version") == 0
    assert capsys.readouterr().out == f"standing-orders {VERSION}\n"


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
    card = json.loads(first)
    assert {key: card[key] for key in card if key != "scores"} == {
        "policy": "random", "rules": "leaderboard-2022", "observation": "stock", "head_start": 0,
        "red_tempo": 1, "episodes": 30, "seed": 5, "version": VERSION, "simulator": "own",
    }  # fmt: skip
    assert len(card["scores"]) == 16
    assert set(card["scores"][0]["percentiles"]) == {
        "0", "5", "10", "25", "50", "75", "90", "95", "100",
    }  # fmt: skip
    assert run(*words, "--rules", "leaderboard-2022", "--observation", "stock") == 0
    assert capsys.readouterr().out == first


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
        (("parity",), "paths = (): "),
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
         ("learn.steps = 0", "learn.epochs = 0")),
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


def test_parity_of_equal_recordings_exits_0(
    reference: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("parity", str(reference / "head" / "useful__bline.npz")) == 0
    out = capsys.readouterr().out
    assert "0 differences in 400 steps of 1 files" in out
    assert "n_removable" in out


def test_parity_names_a_process_id_reuse(
    reference: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("parity", str(reference / "head" / "heuristic__saboteur.npz")) == 0
    assert "process-id re-use" in capsys.readouterr().out


def test_parity_with_differences_exits_1_and_says_where(
    reference: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = reference / "leaderboard-2022" / "react_restore__meander.npz"
    assert run("parity", str(path), "--rules", "head", "--json") == 1
    (report,) = json.loads(capsys.readouterr().out)
    assert report["differences"] > 0
    assert report["fields"]["reward10"]["first"].startswith("episode ")
    assert run("parity", str(path), "--rules", "leaderboard-2022") == 0


def test_parity_of_a_malformed_file_exits_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken.npz"
    path.write_text("nothing")
    assert run("parity", str(path)) == 3
    err = capsys.readouterr().err
    assert err.startswith(f"error: {path}: not a readable npz recording")
    assert err.count("\n") == 1


def test_debug_shows_the_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("parity", "nowhere.npz", "--debug") == 3
    assert "Traceback" in capsys.readouterr().err


def test_play_prints_every_step(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("play", "--plain", "--seed", "3", "--red", "meander", "--horizon", "12")
    assert run(*words) == 0
    first = capsys.readouterr().out
    assert [f"step {i}/12" in first for i in range(13)] == [True] * 13
    assert "DecoyFemitter Enterprise2" in first
    assert run(*words) == 0
    assert capsys.readouterr().out == first


def test_bench_prints_json(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("standing_orders.evaluate.bench.BATCH_SIZES", (1, 10))
    assert run("bench", "sim", "--seconds", "0.01", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["bytes_per_environment"] < 1_000
    measured = {(speed["system"], speed["red"]) for speed in result["speeds"]}
    assert measured >= {
        (system, red)
        for system in ("standing-orders", "gymnasium Env.step")
        for red in ("b_line", "meander", "sleep")
    }
    assert all(speed["steps_per_second"] > 0 for speed in result["speeds"])


def test_bench_prints_a_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("standing_orders.evaluate.bench.BATCH_SIZES", (10,))
    assert run("bench", "sim", "--seconds", "0.01") == 0
    assert "steps/s" in capsys.readouterr().out


def presets(command: str) -> list[Path]:
    """Presets of a command; those of `train` have no prefix."""
    names = {path: path.stem.partition("-")[0] for path in sorted(CONFIGS.glob("*.toml"))}
    prefixes = {"search", "detect"}
    return [
        path
        for path, name in names.items()
        if name == command or (command == "train" and name not in prefixes)
    ]


@pytest.mark.parametrize("preset", presets("search"), ids=lambda path: path.stem)
def test_preset_searches_and_its_best_policy_is_scored(
    preset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "run")
    words = ("search", "--config", str(preset), "--run", folder, "--budget", "150")
    words += ("--update-episodes", "10", "--order-episodes", "20", "--evaluation-episodes", "4")
    assert run(*words, "--base.episodes", "20", "--gate.episodes", "4") == 0
    out = capsys.readouterr().out
    assert "150 of 150" in out
    assert "its fresh score: -" in out
    assert run("search", "--resume", "--run", folder) == 0
    assert capsys.readouterr().out == out
    words = ("evaluate", "--policy", str(tmp_path / "run" / "best"), "--episodes", "2", "--json")
    assert run(*words, "--red", "b_line", "--order-episodes", "2") == 0


@pytest.mark.parametrize("preset", presets("train"), ids=lambda path: path.stem)
def test_preset_trains_and_its_policy_is_scored(
    preset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "run")
    words = ("train", "--config", str(preset), "--run", folder, "--seed", "3")
    assert run(*words, "--episodes", "30", "--update-episodes", "20") == 0
    assert "after 30 episodes" in capsys.readouterr().out
    words = ("evaluate", "--policy", folder, "--red", "b_line", "--episodes", "10", "--json")
    assert run(*words, "--order-episodes", "2") == 0
    card = json.loads(capsys.readouterr().out)
    assert card["scores"][2]["horizon"] == 100
    has_order = "none" not in (tmp_path / "run" / "config.json").read_text()
    assert ("obedience" in card) == has_order


@pytest.mark.parametrize("form", [("--config", "{}"), ("--config={}",)])
def test_a_preset_can_be_named_in_both_ways(form: tuple[str, ...], tmp_path: Path) -> None:
    preset = tmp_path / "preset.toml"
    preset.write_text("episodes = 10\nupdate_episodes = 10\nseed = 9\n")
    words = [word.format(preset) for word in form]
    assert run("train", *words, "--run", str(tmp_path / "run")) == 0
    assert json.loads((tmp_path / "run" / "config.json").read_text())["seed"] == 9


def test_flags_come_before_the_preset(tmp_path: Path) -> None:
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


def test_resume_of_something_that_is_no_run_exits_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("train", "--resume", "--run", str(tmp_path)) == 3
    assert "not a run" in capsys.readouterr().err


def stop(*_: object) -> None:
    raise KeyboardInterrupt


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


def test_all_orders_are_told_to_a_policy_for_any_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "run")
    assert run("train", "--run", folder, "--episodes", "20", "--update-episodes", "20") == 0
    words = ("evaluate", "--policy", folder, "--red", "meander", "--episodes", "10")
    assert run(*words, "--order", "all", "--order-episodes", "2", "--greedy") == 0
    out = capsys.readouterr().out
    assert "orders 120" in out
    assert "(greedy)" in out


def test_bench_train_prints_the_split(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("bench", "train", "--episodes", "100") == 0
    out = capsys.readouterr().out
    assert "s playing" in out
    assert "s learning" in out
