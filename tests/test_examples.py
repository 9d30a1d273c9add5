"""Every script of `examples/` runs, in seconds with a small budget."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
SMALL = {  # flags that make it short, and what it says then
    "train_and_score": ("--episodes 40 --scored 4", "return after 100 steps: -"),
    "search_orders": ("--budget 400 --base-episodes 20", "best: "),
    "own_training_loop": ("--updates 2 --num-envs 20", "update 1: return -"),
    "stable_baselines": ("--steps 256 --scored 4", "Stable-Baselines3 PPO: rules head"),
    "detection": ("--iterations 2 --steps 300", "mean cost on the test part: "),
}


def test_every_example_is_run() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(SMALL)


@pytest.mark.usefixtures("brief_detection")
@pytest.mark.parametrize("name", SMALL)
def test_example_runs(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    flags, said = SMALL[name]
    monkeypatch.chdir(tmp_path)  # nothing of the repository is beside it
    monkeypatch.setenv("SB3_LOGDIR", str(tmp_path))  # else a folder in /tmp stays
    monkeypatch.setattr("sys.argv", [name, *flags.split()])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert said in capsys.readouterr().out
