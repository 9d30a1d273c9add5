"""Every benchmark that a page names can be parsed, and runs with a small budget."""

import importlib.util
import os
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import tyro

from tests.docs.pages import ROOT, all_commands

CYBORG = "STANDING_ORDERS_CYBORG"  # a checkout for tests that need one
SCRIPTS = all_commands("python benchmarks/")


def short_script(command: str, folder: Path) -> list[str]:
    """Arguments of a benchmark, with a small budget."""
    words = shlex.split(command.replace("CHECKOUT", os.environ.get(CYBORG, "CHECKOUT")))[1:]
    added = {
        "search.py": [
            *("--num-seeds", "2", "--orders", "1", "--order-episodes", "20"),
            *("--base-episodes", "20", "--results", str(folder)),
        ],
        "sweeps.py": ["--quick", "--folder", str(folder), "--games", "b_line", "--bases", "0",
                      "--training-episodes", "20", "--episodes", "4"],
        "detect.py": ["--quick", "--seeds", "1"],
        "belief.py": ["--episodes", "2", "--orders", "2", "--updates", "1", "--results",
                      str(folder)],
        "answer.py": ["--num-seeds", "2", "--visits", "8", "--results", str(folder)],
        "cold_start.py": ["--tries", "1", "--no-compiling", "--episodes", "40", "--results",
                          str(folder)],
        "compare.py": ["--quick", "--folder", str(folder)],
        "defenders.py": ["--episodes", "2", "--results", str(folder)],
        "collect.py": [
            *("--workers", "2", "--seconds", "0.1", "--rounds", "1", "--episodes", "4"),
            *("--played", "2", "--seeds", "0", "--results", str(folder)),
        ],
        "streams.py": [
            *("--kills", "2", "--events", "200", "--files", "5", "--seconds", "0.05"),
            *("--results", str(folder)),
        ],
        "commanders.py": f"--budget 60 --episodes 2 --judged-episodes 2 --policies any-b_line "
        f"--only calm answer --seeds 11 --train-episodes 100 --results {folder}".split(),
        "speed.py": ["--seconds", "0.01", "--episodes", "100", "--results", str(folder)],
        "knowledge.py": ["--quick", "--folder", str(folder), "--games", "b_line-late"],
        "learner.py": ["--quick", "--folder", str(folder), "--seeds", "0"],
        "record.py": ["--quick", "--folder", str(folder), "--seeds", "0", "--reds", "meander"],
        "battery.py": ["--quick"],
        "trust.py": ["--quick"],
    }  # fmt: skip
    return words + added.get(Path(words[0]).name, [])


@pytest.mark.slow
@pytest.mark.parametrize("command", SCRIPTS)
def test_benchmark_runs(command: str, tmp_path: Path) -> None:
    if "CHECKOUT" in command and CYBORG not in os.environ:
        pytest.skip(f"no CybORG: {CYBORG} is not set")
    words = [sys.executable, *short_script(command, tmp_path)]
    result = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout


@pytest.mark.parametrize("command", SCRIPTS)
def test_benchmark_can_be_parsed(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, *words = short_script(command, tmp_path)
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    module = load_script(ROOT / path)
    assert callable(module.main)
    if hasattr(module, "Task"):
        tyro.cli(module.Task, args=words)


def load_script(path: Path) -> ModuleType:
    """A benchmark as a module, without running it."""
    name = f"benchmark_{path.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec and spec.loader
        sys.modules[name] = importlib.util.module_from_spec(spec)  # its dataclasses look here
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]
