"""The detection commands, end to end on small data, and what they say about bad input."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from standing_orders.cli.app import INTERRUPTED
from standing_orders.detect.compare import Contest, hold_contest
from standing_orders.presets import list_presets
from tests.cli.commands import run, stop

pytestmark = pytest.mark.usefixtures("brief_detection")
SMALL = ("--learn.iterations", "3", "--learn.steps", "200", "--team.hidden", "8")


def write_log(
    path: Path, num: int = 400, *, is_learnable: bool = True, label: str = "label"
) -> Path:
    """An event log of a user's own: port and user are categories, bytes a number."""
    rng = np.random.default_rng(0)
    threat = rng.random(num) < 0.2
    size = rng.normal(size=num) + 3 * threat * is_learnable
    rows = [f"bytes,port,user,{label}"]
    rows += [
        f"{size[i]:.4f},{rng.choice([22, 80, 443])},u{rng.integers(4)},{int(threat[i])}"
        for i in range(num)
    ]
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_log(tmp_path_factory.mktemp("log") / "events.csv")


@pytest.fixture(scope="module")
def trained(log: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained") / "run"
    words = ("detect", "train", "--data", str(log), "--label", "label", "--run", str(folder))
    assert run(*words, "--columns", "port=category", *SMALL) == 0
    return folder


def test_train_says_what_is_to_be_known_first(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("detect", "train", "--data", str(log), "--label", "label")
    assert run(*words, "--run", str(tmp_path / "run"), *SMALL) == 0
    out, err = capsys.readouterr()
    assert "The label can be learned" in out
    for name in ("allow-all", "block-all", "perfect", "85 % accurate", "threshold of alert"):
        assert name in out
    assert "after 3 updates" in out
    assert f"report: {tmp_path / 'run' / 'report.html'}" in err


def test_evaluate_prints_every_figure(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("detect", "evaluate", str(trained)) == 0
    out = capsys.readouterr().out
    assert "update 3 of 3" in " ".join(out.split())
    for name in ("f1", "pr auc", "recall at 1 percent", "cost gap", "always-block", "equivocate",
                 "detection", "steadiness", "margin", "recall by number of liars",
                 "alarms per 1000 benign by number", "no quorum by number of liars"):  # fmt: skip
        assert name in out
    assert run("detect", "evaluate", str(trained), "--messages", "6", "--batch", "2", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert all(row["agreed"] == row["in_range"] == 1.0 for row in found["agreements"])
    assert len(found["agreements"]) == 25  # nobody and 11 kinds in two networks, and the worst
    assert all(0 <= row["f1"] <= 1 for row in found["agreements"])
    assert all(row["undecided"] == 0 for row in found["agreements"])
    rough = [row["view_changes"] for row in found["agreements"] if row["network"] == "rough"]
    assert max(rough) > 0
    assert {row["num_liars"] for row in found["liars"]} == {0, 1, 2, 3, 4}
    assert len({row["kind"] for row in found["liars"]}) == 12
    silent = [row for row in found["liars"] if row["kind"] == "silent"]
    assert list(silent[0]["figures"]) == ["f1", "recall", "alarms_per_1000_benign", "no_quorum"]
    assert silent[-1]["figures"]["no_quorum"]["mean"] == 1.0
    assert found["figures"]["prevalence"] == pytest.approx(0.2, abs=0.07)
    assert found["figures"]["interval"]["low"] <= found["figures"]["f1"]


def test_too_few_agents_to_agree_by_messages_are_refused_before_the_work(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("detect", "train", "--data", str(log), "--label", "label", "--team.agents", "3")
    assert run(*words, "--run", str(tmp_path / "run"), *SMALL) == 0
    monkeypatch.delattr("standing_orders.detect.assess.report.load_team")
    assert run("detect", "evaluate", str(tmp_path / "run"), "--messages", "5") == 2
    assert "n >= 3f + 1 = 4" in capsys.readouterr().err


def test_resume_of_a_finished_run(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("detect", "train", "--resume", "--run", str(trained)) == 0
    assert "budget used after 3 updates" in capsys.readouterr().out


def test_a_finished_run_is_extended(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(trained, tmp_path / "more")
    words = ("detect", "train", "--resume", "--run", str(folder))
    assert run(*words, "--learn.steps", "3") == 2
    assert "--learn.steps: of no effect with --resume" in capsys.readouterr().err
    assert run(*words, "--learn.iterations", "3") == 2
    assert "nothing to do" in capsys.readouterr().err
    assert run(*words, "--learn.iterations", "5", "--json") == 0
    assert json.loads(capsys.readouterr().out)["updates"] == 5


def test_compare_puts_everybody_side_by_side(
    log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    contests: list[Contest] = []

    def hold_once(*settings: Any, **options: Any) -> Contest:
        contests[:] = contests or [hold_contest(*settings, **options)]
        return contests[0]

    monkeypatch.setattr("standing_orders.detect.compare.hold_contest", hold_once)
    words = ("detect", "compare", "--data", str(log), "--label", "label", "--quick")
    assert run(*words, "--team.hidden", "8", "--json") == 0
    printed = capsys.readouterr()
    assert "seed 1/1: PPO without rules" in printed.err  # where it is, also without a terminal
    found = json.loads(printed.out)
    assert list(found["contestants"]) == [
        "allow-all", "block-all", "logistic regression", "gradient boosting",
        "one agent, all views", "PPO without rules", "plain averaging",
        "team, false_alarms priced", "team (as `train` makes it)",
    ]  # fmt: skip
    assert all(len(figures) == 1 for figures in found["contestants"].values())
    assert run(*words, "--team.hidden", "8") == 0
    assert "rules broken, team, false_alarms priced" in capsys.readouterr().out


def test_the_default_stream_needs_no_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "run")
    assert run("detect", "train", "--run", folder, *SMALL) == 0
    assert "sessions" in capsys.readouterr().out
    assert run("detect", "evaluate", folder, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["main_figure"] == "mean_cost"
    assert "delay_at_1_percent_false_alarms" in found["figures"]
    attacks = found["figures"]["attacks"]
    assert sum(one["count"] for one in attacks) == round(
        found["figures"]["prevalence"] * found["figures"]["num_sessions"]
    )
    assert [one["is_unseen"] for one in attacks].count(True) == 1


@pytest.mark.parametrize("preset", [one.name for one in list_presets("detect")])
def test_preset_trains(preset: str, log: Path, tmp_path: Path) -> None:
    words = ("detect", "train", "--preset", preset, "--data", str(log), "--label", "label")
    small = ("--learn.iterations", "2", "--learn.steps", "100", "--team.agents", "3")
    assert run(*words, "--run", str(tmp_path / "run"), *small) == 0
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["learn"]["iterations"] == 2


def test_published_settings_are_in_their_preset(log: Path, tmp_path: Path) -> None:
    words = ("detect", "train", "--preset", "detect-published")
    folder = tmp_path / "run"
    small = ("--learn.steps", "50", "--learn.iterations", "1", "--team.agents", "3")
    assert run(*words, "--data", str(log), "--label", "label", "--run", str(folder), *small) == 0
    config = json.loads((folder / "config.json").read_text())
    learn = config["learn"]
    assert (learn["entropy"], learn["value"], learn["learning_rate"]) == (0.15, 1.0, 1e-3)
    assert (learn["gradient"], config["rules"]["target"]) == ("sampled", 0.95)


def test_a_label_that_cannot_be_learned_stops_the_command_unless_forced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write_log(tmp_path / "noise.csv", is_learnable=False)
    words = ("detect", "train", "--data", str(log), "--label", "label")
    assert run(*words, "--run", str(tmp_path / "run"), *SMALL) == 3
    captured = capsys.readouterr()
    assert "cannot be learned" in captured.out
    assert "--force" in captured.err
    assert not (tmp_path / "run").exists()
    assert run(*words, "--run", str(tmp_path / "run"), "--force", *SMALL) == 0


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--label", "threat"), 2, "no column 'threat'"),
        ((), 2, "--label"),
        (("--label", "label", "--team.agents", "1", "--team.faults", "0"), 2, "quorum of one"),
        (("--label", "label", "--team.agents", "2"), 2, "n >= 2f + 1 = 3"),
        (("--label", "label", "--team.vote", "average"), 2, "tolerates no fault"),
        (("--label", "label", "--rules.own", "odd: colour -> flagged"), 2, "no signal is called"),
        (("--label", "label", "--rules.own", "odd: always ("), 2, "odd"),
        (("--label", "label", "--rules.own", "sure: flagged or not flagged"), 2, "sure"),
        (
            ("--label", "label", "--rules.own", "bad name!: always flagged"),
            2,
            "rules.own = 'bad name!: always flagged': name = 'bad name!': a name is a letter and",
        ),
        (("--label", "label", "--rules.window", "20000"), 2, "rules.window = 20000"),
        (("--label", "label", "--learn.learning-rate", "-1"), 2, "learning_rate = -1"),
        (("--label", "label", "--costs.preset", "mine"), 2, "mine"),
        (("--label", "port"), 3, "port"),
        (("--label", "label", "--max-bytes", "10"), 3, "--max-bytes"),
    ],
)
def test_bad_input_is_named(
    words: tuple[str, ...],
    code: int,
    message: str,
    log: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "run"
    assert run("detect", "train", "--data", str(log), *words, "--run", str(folder)) == code
    captured = capsys.readouterr()
    assert message in captured.err + captured.out
    assert "Traceback" not in captured.err
    assert not folder.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("a,label\n1,0\n2,0\n3,0\n", "benign"),
        ("a,label\n1,0\n2,1\n3,7\n", "label"),
        ("a~label\n1~0\n2~1\n", "separator"),
    ],
)
def test_a_bad_file_is_named(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "events.csv"
    log.write_text(text)
    code = run("detect", "train", "--data", str(log), "--label", "label", "--run", "nowhere")
    err = capsys.readouterr().err
    assert code in (2, 3)
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--run", "{trained}"), 3, "holds a run"),
        (("--run", "{log}"), 3, "cannot be written"),
        (("--rules.own", "odd: threat"), 2, "names no signal that depends on"),
        (("--rules.mode", "shield", "--rules.enforce", "answered"), 2, "cannot be a shield"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_the_long_work(
    words: tuple[str, ...],
    code: int,
    message: str,
    log: Path,
    trained: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("standing_orders.detect.assess.probe.probe", stop)
    given = [word.format(log=log, trained=trained) for word in words]
    start = ("detect", "train", "--data", str(log), "--label", "label")
    assert run(*start, "--run", str(tmp_path / "run"), *given) == code
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_wrong_rules_are_refused_before_anything_is_compared(
    log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr("standing_orders.detect.compare.Baselines")
    words = ("detect", "compare", "--data", str(log), "--label", "label")
    assert run(*words, "--rules.own", "odd: threat") == 2
    assert "names no signal that depends on" in capsys.readouterr().err


def test_evaluating_something_that_is_no_run_exits_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("detect", "evaluate", str(tmp_path)) == 3
    assert "not a run" in capsys.readouterr().err


def test_a_run_of_another_version_is_named(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(trained, tmp_path / "old")
    config = folder / "config.json"
    config.write_text(config.read_text().replace('"agents"', '"members"'))
    (folder / "run.json").write_text('{"format": 1, "kind": "detect"}')  # before there were seals
    for words in (("evaluate", str(folder)), ("train", "--resume", "--run", str(folder))):
        assert run("detect", *words) == 3
        assert f"{config}: not a config of this version: team.members" in capsys.readouterr().err


def test_a_run_can_be_used_from_another_folder(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(log.parent)
    words = ("detect", "train", "--data", log.name, "--label", "label", *SMALL)
    assert run(*words, "--run", str(tmp_path / "run")) == 0
    monkeypatch.chdir(tmp_path)
    assert run("detect", "evaluate", "run", "--json") == 0
    assert run("detect", "train", "--resume", "--run", "run") == 0


def test_names_that_are_not_utf8_are_said_to_be_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "latin.csv"
    path.write_bytes("größe,label\n1,0\n2,1\n".encode("latin-1"))
    assert run("detect", "train", "--data", str(path), "--label", "label") == 3
    assert "not UTF-8" in capsys.readouterr().err


def test_labels_that_are_no_text_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pa_parquet

    path = tmp_path / "lists.parquet"
    pa_parquet.write_table(pa.table({"x": [1.0, 2.0], "label": [[1], [0]]}), path)
    assert run("detect", "train", "--data", str(path), "--label", "label") == 3
    assert "column 'label' holds list" in capsys.readouterr().err


def test_training_that_is_stopped_says_how_to_go_on(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("standing_orders.detect.learn.trainer.Trainer.step", stop)
    words = ("detect", "train", "--run", str(tmp_path / "run"))
    for more in (("--data", str(log), "--label", "label"), ("--resume",)):
        assert run(*words, *more) == INTERRUPTED
        hint = f"to go on: standing-orders detect train --resume --run {tmp_path / 'run'}\n"
        assert capsys.readouterr().err.endswith(hint)


def test_to_resume_takes_the_name_of_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("detect", "train", "--resume") == 2
    assert "--run" in capsys.readouterr().err


def test_a_team_without_rules_can_be_compared(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("detect", "compare", "--quick", "--data", str(log), "--label", "label", *SMALL[4:])
    assert run(*words, "--rules.no-defaults") == 0


@pytest.mark.parametrize("sizes", ["0", "-3"])
def test_layers_have_at_least_one_unit(sizes: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("detect", "train", "--team.hidden", sizes) == 2
    assert run("train", "--ppo.hidden", sizes) == 2
