"""Every command and every block of every page is run, with small budgets."""

import ast
import csv
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tomllib
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
import tyro
from sklearn.ensemble import HistGradientBoostingClassifier

from standing_orders.cli import app
from standing_orders.detect.data import load
from standing_orders.detect.data.synthetic import make_sessions
from standing_orders.evaluate import bench
from tests.docs.pages import ALL_BLOCKS, PAGES, ROOT, SHOWN, all_commands, blocks, name_of

# Flags that make a command short enough for a test.
SHORTENED = {
    "bench": "--seconds 0.01 --episodes 100 --workers 2",
    "train": "--episodes 40 --update-episodes 20 --gate.episodes 4",
    "evaluate": "--episodes 20 --order-episodes 2",
    "search": "--budget 150 --base.episodes 20 --update-episodes 10 --order-episodes 20 "
    "--evaluation-episodes 4 --gate.episodes 4",
    "compare": "--seeds 1 --episodes 4 --train-episodes 20",
    "report": "--episodes 4",
    "replay": "--episodes 4",
    "falsify": "--budget 60",
    "detect train": "--learn.iterations 3 --learn.steps 300 --force",
}
IS_LONG = re.compile(
    r"--engine ray|bench collect|compare --(?:published|search)|detect compare|python benchmarks/"
)
# What is not shipped, a data set or CybORG: such commands are only parsed.
NEEDS_FILES = re.compile(r"--format nsl-kdd|--sim cyborg|git clone|policy CybORG|\.zip")
CYBORG = "STANDING_ORDERS_CYBORG"  # a checkout for tests that need one
RUN = all_commands("standing-orders ")
SCRIPTS = all_commands("python benchmarks/")


def words_of(command: str) -> list[str]:
    """Arguments of one of our commands."""
    return shlex.split(command.split(" > ", maxsplit=1)[0])[1:]


def shortened(command: str) -> list[str]:
    """Arguments of one of our commands, with a small budget."""
    words = words_of(command.replace("--order all", "--order 0"))
    name = " ".join(words[:2]) if words[0] == "detect" else words[0]
    short = "" if "--resume" in words else SHORTENED.get(name, "")  # a run keeps its own config
    return words + short.split()


# --------------------------------------------------------------------------- pages, block by block
@pytest.fixture
def newcomer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the recordings, a few logs, and nothing else of the repository."""
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    write_logs(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SB3_LOGDIR", str(tmp_path))  # else a folder in /tmp stays
    monkeypatch.setattr(bench, "BATCH_SIZES", (1, 100))
    monkeypatch.setattr(load, "make_sessions", partial(make_sessions, num_sessions=200))
    monkeypatch.setattr(HistGradientBoostingClassifier, "fit", fit_briefly)
    torch.set_num_threads(1)
    return tmp_path


FIT = HistGradientBoostingClassifier.fit


def fit_briefly(model: Any, *arguments: Any, **options: Any) -> Any:
    """Boosting in a few rounds instead of a hundred."""
    return FIT(model.set_params(max_iter=5), *arguments, **options)


def write_logs(folder: Path) -> None:
    """The logs that the page on detection takes as the reader's own."""
    rng = np.random.default_rng(0)
    is_attack = rng.random(600) < 0.2
    size = rng.normal(0, 1, 600) + 3 * is_attack
    columns = {"size": size, "port": rng.integers(0, 5, 600), "is_attack": is_attack.astype(int)}
    with (folder / "events.csv").open("w", newline="") as file:
        csv.writer(file).writerows([columns, *zip(*columns.values(), strict=True)])
    verdict = np.where(is_attack, "malicious", "fine")
    log = {"size": size, "user": np.arange(600) // 6, "when": np.arange(600), "verdict": verdict}
    pq.write_table(pa.table(log), folder / "log.parquet")
    calls = [" ".join(rng.choice(["open", "exec"] if bad else ["open", "read"], 40))
             for bad in is_attack[:200]]  # fmt: skip
    with (folder / "traces.csv").open("w", newline="") as file:
        rows = zip(calls, is_attack[:200].astype(int), strict=True)
        csv.writer(file).writerows([("calls", "attack"), *rows])


def run_command(command: str, folder: Path) -> None:
    """Run one line of a shell block."""
    if command.startswith("standing-orders "):
        assert app.main(shortened(command)) == 0, command
    elif command.startswith("make "):
        assert f"\n{command.removeprefix('make ')}:" in (ROOT / "Makefile").read_text()
    elif command.startswith("pip install "):
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        extras = re.findall(r"\[(\w+)\]", command)
        assert set(extras) <= set(project["optional-dependencies"])
    elif command.startswith("python "):
        assert (ROOT / shlex.split(command)[1]).is_file()
    else:
        subprocess.run(["bash", "-euc", command], cwd=folder, check=True, capture_output=True)


def run_python(text: str, names: dict[str, Any], place: str = "<page>") -> None:
    """Run a Python block; a value shown behind an expression must be the one that it has."""
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if not isinstance(node, ast.Expr):
            exec(compile(ast.Module([node], []), place, "exec"), names)
            continue
        value = eval(compile(ast.Expression(node.value), place, "eval"), names)
        _, _, comment = lines[node.end_lineno - 1][node.end_col_offset :].partition("# ")
        try:
            shown = ast.literal_eval(comment.split(": ")[0])
        except (SyntaxError, ValueError):
            continue
        assert value == shown, ast.unparse(node)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_page_runs_from_top_to_bottom(
    page: Path, newcomer: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, Any] = {}
    for block in blocks(page):
        if block.language == "python":
            place = "<page>"
            if name := re.match(r"# (\w+\.py)\n", block.text):
                place = str(newcomer / name[1])
                Path(place).write_text(block.text)
            run_python(block.text, names, place)
        for command in block.commands if block.language == "bash" else ():
            if not (IS_LONG.search(command) or NEEDS_FILES.search(command)):
                run_command(command, newcomer)


def test_there_are_no_other_blocks() -> None:
    for block in ALL_BLOCKS:
        where = f"{name_of(block.page)}:{block.line}"
        assert block.language in {"bash", "python"} | SHOWN, where
        if block.language == "toml":
            assert tomllib.loads(block.text), where


# ------------------------------------------------------------------------------- what takes longer
@pytest.mark.slow
@pytest.mark.parametrize("command", [one for one in RUN if IS_LONG.search(one)])
def test_long_command_runs(command: str, newcomer: Path) -> None:
    run_command(command, newcomer)


@pytest.mark.parametrize("command", RUN)
def test_command_can_be_parsed(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = shortened(command)
    name = next(name for name in app.COMMANDS if words[: name.count(" ") + 1] == name.split())
    module, _, model = app.COMMANDS[name][0].partition(":")
    parsed = import_module(f"standing_orders.cli.{module}")
    monkeypatch.setattr(getattr(parsed, model), "run", lambda _: 0)
    assert app.main(words) == 0


def short_script(command: str, folder: Path) -> list[str]:
    """Arguments of a benchmark, with a small budget."""
    words = shlex.split(command.replace("CHECKOUT", os.environ.get(CYBORG, "CHECKOUT")))[1:]
    added = {
        "search.py": [
            *("--num-seeds", "2", "--orders", "1", "--order-episodes", "20"),
            *("--base-episodes", "20", "--results", str(folder)),
        ],
        "detect.py": ["--quick", "--seeds", "1"],
        "belief.py": ["--episodes", "2", "--orders", "2", "--results", str(folder)],
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
