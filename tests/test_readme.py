"""Every command, example and reproducible figure of the README."""

import re
import shlex
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import torch

from standing_orders.cage2.defenders import NAMES, ScriptedDefender
from standing_orders.cli.app import main
from standing_orders.config import GameConfig
from standing_orders.detect.data.synthetic import make_sessions
from standing_orders.evaluate import bench
from standing_orders.evaluate.card import evaluate

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


COMMANDS = [line.split("#")[0].strip() for block in blocks("bash") for line in block.splitlines()]
OURS = [command for command in COMMANDS if command.startswith("standing-orders ")]
SCRIPTS = [command for command in COMMANDS if command.startswith("python ")]


# Flags that make a command short enough for a test.
SHORTENED = {
    "bench": "--seconds 0.01 --episodes 100",
    "train": "--episodes 40 --update-episodes 20",
    "evaluate": "--order-episodes 2",
    "search": "--budget 150 --base.episodes 20 --update-episodes 10 --order-episodes 20 "
    "--evaluation-episodes 4 --gate.episodes 4",
    "detect train": "--learn.iterations 3 --learn.steps 300",
}


def test_every_command_is_one_that_is_run() -> None:
    makes = [command for command in COMMANDS if command.startswith("make ")]
    assert makes == ["make demo", "make test"]  # both by .ci/run
    assert all(f"{make}\n" in (ROOT / ".ci" / "run").read_text() for make in makes)
    assert len(OURS) + len(SCRIPTS) + len(makes) == len([c for c in COMMANDS if c])


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that looks like the repository to the commands."""
    folder = tmp_path_factory.mktemp("newcomer")
    for name in ("configs", "tests"):
        (folder / name).symlink_to(ROOT / name)
    return folder


@pytest.mark.parametrize("command", OURS)
def test_command_runs(
    command: str,
    newcomer: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(newcomer)
    monkeypatch.setattr(bench, "BATCH_SIZES", (1, 100))
    few = partial(make_sessions, num_sessions=400)
    monkeypatch.setattr("standing_orders.detect.data.load.make_sessions", few)
    words = shlex.split(command.split(">", maxsplit=1)[0])[1:]
    name = " ".join(words[:2]) if words[0] == "detect" else words[0]
    words += SHORTENED.get(name, "").split()
    assert main(words) == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize("command", SCRIPTS)
def test_script_runs(command: str, tmp_path: Path) -> None:
    words = [sys.executable, *shlex.split(command)[1:]]
    if "search.py" in command:
        words += ["--num-seeds", "2"]
    if "detect.py" in command:
        words += ["--quick", "--seeds", "1"]
    if "learner.py" in command:
        words += ["--quick", "--folder", str(tmp_path), "--seeds", "0", "--reds", "meander"]
    result = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout


def test_python_examples_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SB3_LOGDIR", str(tmp_path))  # else a folder in /tmp stays
    torch.set_num_threads(1)
    names: dict[str, object] = {}
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), names)
    assert names["reward"] == -1.0
    assert names["many"].num_envs == 1000
    assert names["model"].num_timesteps >= 1_024


def test_documented_values_of_the_examples_are_right() -> None:
    for expression, shown in re.findall(r"^(\S.*\))  # ('[^']+'|\d+)$", README, flags=re.MULTILINE):
        from standing_orders.cage2 import actions

        assert repr(eval(expression, {"actions": actions})) == shown


@pytest.mark.parametrize("name", NAMES)
def test_scores_are_those_of_the_command(name: str) -> None:
    card = evaluate(
        ScriptedDefender(name), GameConfig(), reds=("b_line", "meander"), num_episodes=1_000, seed=0
    )
    cells = [card.score(red, 100) for red in ("b_line", "meander")]
    row = " | ".join(f"{score.mean:.1f} ± {score.std_error:.1f}" for score in cells)
    assert f"| {name} | {row} |" in README


def test_picture_is_the_one_its_script_makes() -> None:
    sys.path.insert(0, str(ROOT / "docs"))
    import pictures

    assert (ROOT / "docs" / "play.svg").read_text() == pictures.board()
