import json
import shutil
from pathlib import Path

import pytest

from standing_orders.api import ending, starting
from standing_orders.cli.app import INTERRUPTED
from standing_orders.presets import list_presets
from standing_orders.runs.folder import RunFolder
from tests.cli.commands import run, stop

QUICK = ("--update-episodes", "20", "--gate.episodes", "4")


@pytest.mark.parametrize("preset", [one.name for one in list_presets("train")])
def test_preset_trains_and_its_policy_is_scored(
    preset: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "run")
    words = ("train", "--preset", preset, "--run", folder, "--seed", "3")
    assert run(*words, "--episodes", "30", *QUICK) == 0
    assert "after 30 episodes" in capsys.readouterr().out
    has_order = json.loads((tmp_path / "run" / "config.json").read_text())["order"] != "none"
    words = ("evaluate", "--policy", folder, "--red", "b_line", "--episodes", "10", "--json")
    told = ("--order", "balanced") if has_order else ()
    assert run(*words, "--order-episodes", "2", *told) == 0
    card = json.loads(capsys.readouterr().out)
    assert card["scores"][2]["horizon"] == 100
    assert ("obedience" in card) == has_order


def test_resume_of_something_that_is_no_run_exits_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("train", "--resume", "--run", str(tmp_path)) == 3
    assert "not a run" in capsys.readouterr().err


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
    assert capsys.readouterr().err.splitlines()[1:] == ["interrupted"]  # after what it is to do


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("train") / "run"
    words = ("--order", "none", "--episodes", "40", "--ppo.hidden", "8")
    assert run("train", *words, *QUICK, "--run", str(folder)) == 0
    return folder


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (("--seed", "3"), "--seed"),
        (("--seed=0", "--preset", "fast"), "--preset, --seed"),
        (("--update_episodes", "20"), "--update-episodes"),
        (("--ppo.no-memory",), "--ppo.no-memory"),
    ],
)
def test_a_flag_that_would_do_nothing_is_refused(
    flags: tuple[str, ...], named: str, trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("train", "--resume", "--run", str(trained), *flags) == 2
    assert f"error: {named}: of no effect with --resume" in capsys.readouterr().err


def test_resume_needs_the_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("train", "--resume") == 2
    assert "name the run folder with --run" in capsys.readouterr().err


def test_a_finished_run_is_extended_and_stays_as_it_was_until_then(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(trained, folder)
    before = (folder / "journal.jsonl").read_text()
    resumed = ("train", "--resume", "--run", str(folder))
    assert run(*resumed, "--episodes", "40") == 2
    assert "nothing to do" in capsys.readouterr().err
    assert run(*resumed, "--episodes", "80", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["played"], found["updates"], found["stopped"]) == (80, 4, "budget used")
    assert found["config"]["episodes"] == 80
    assert json.loads((folder / "config.json").read_text())["episodes"] == 40
    assert (folder / "journal.jsonl").read_text().startswith(before)
    assert run(*resumed) == 0
    assert "budget used after 80 episodes" in capsys.readouterr().out


def test_an_extension_that_was_cut_short_goes_on(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    for folder in (whole, cut):
        shutil.copytree(trained, folder)
    assert run("train", "--resume", "--run", str(whole), "--episodes", "80") == 0
    with monkeypatch.context() as patch:
        patch.setattr("standing_orders.learn.trainer.Trainer.step", stop)
        words = ("train", "--resume", "--run", str(cut), "--episodes", "80")
        assert run(*words) == INTERRUPTED
    assert run("train", "--resume", "--run", str(cut)) == 0
    assert (whole / "journal.jsonl").read_bytes() == (cut / "journal.jsonl").read_bytes()
    one, two = (max(folder.glob("checkpoints/*/tensors.safetensors")) for folder in (whole, cut))
    assert one.parent.name == two.parent.name
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize(
    ("order", "folder"),
    [
        ("os,e,d,oh,u", "op_server-enterprise-defender-op_host-user-b_line-0"),
        ("54", "op_server-enterprise-defender-op_host-user-b_line-0"),
        ("none", "none-b_line-0"),
    ],
)
def test_a_run_without_a_name_gets_one(
    order: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("train", "--order", order, "--episodes", "20", *QUICK) == 0
    assert [path.name for path in (tmp_path / "runs").iterdir()] == [folder]


def test_one_order_begins_with_the_zoos_policy_of_the_game_and_small_steps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "one"
    words = ("train", "--order", "user_priority", "--episodes", "20", *QUICK)
    assert run(*words, "--run", str(folder)) == 0
    seen = capsys.readouterr()
    assert "begins with zoo/any-b_line" in seen.err
    config = RunFolder.open(folder).config
    assert config["start"]["run"] == "any-b_line"
    assert config["ppo"]["learning_rate"] == 3e-4  # of fast-order
    assert "order swap" in seen.out
    assert "barely trained" not in seen.out  # the start has had its episodes
    assert f"standing-orders play --policy {folder}" in seen.out


def test_one_order_in_another_game_trains_its_start_first_and_finds_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = starting.base_of

    def small_base(config: object) -> object:
        return real(config).model_copy(update={"episodes": 20, "update_episodes": 20})

    monkeypatch.setattr(starting, "base_of", small_base)
    words = ("train", "--order", "balanced", "--head-start", "3", "--episodes", "20", *QUICK)
    for name, said in (("one", "training one first"), ("two", "begins with")):
        assert run(*words, "--run", str(tmp_path / name)) == 0
        assert said in capsys.readouterr().err
        start = RunFolder.open(tmp_path / name).config["start"]
        assert (start["run"], start["order"]) == ("any-b_line-3-ahead-0", "any")


def test_start_none_begins_afresh(tmp_path: Path) -> None:
    words = ("train", "--order", "balanced", "--start", "none", "--episodes", "20", *QUICK)
    assert run(*words, "--run", str(tmp_path / "one")) == 0
    assert RunFolder.open(tmp_path / "one").config["start"] is None


def test_training_ends_with_figures_on_fresh_episodes_and_plain_warnings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "deaf")
    words = ("train", "--certainty", "none", "--episodes", "20", "--json", *QUICK)
    assert run(*words, "--run", folder) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["measured"]["orders"] == ending.NUM_ORDERS_TOLD
    assert found["measured"]["return"] < 0
    assert any(text.startswith("barely trained: 20 episodes") for text in found["warnings"])
    assert any("does not listen" in text for text in found["warnings"])
    assert any("do not pass the gate" in text for text in found["warnings"])
    assert found["next"][0] == f"standing-orders play --policy {folder} --order critical_first"
