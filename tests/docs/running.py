"""How the commands and blocks of the pages are run, with small budgets."""

import ast
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

from standing_orders.cli import app
from tests.docs.pages import ROOT, Block, all_commands, blocks

# Flags that make a command short enough for a test.
SHORTENED = {
    "bench": "--seconds 0.01 --episodes 100 --workers 2",
    "train": "--episodes 20 --update-episodes 20 --gate.episodes 4",
    "evaluate": "--episodes 20 --order-episodes 2",
    "search": "--budget 100 --base.episodes 20 --update-episodes 10 --order-episodes 20 "
    "--evaluation-episodes 4 --gate.episodes 4 --prior-episodes 4",
    "compare": "--seeds 1 --episodes 4 --train-episodes 20",
    "play": "--horizon 10",
    "report": "--episodes 4",
    "replay": "--episodes 4",
    "falsify": "--budget 60",
    "detect train": "--learn.iterations 2 --learn.steps 200 --force",
}
# What makes a Python block short enough: the largest numbers that its settings may have.
AT_MOST = {"episodes": 20, "budget": 100}
IS_LONG = re.compile(
    r"--engine ray|bench collect|compare --(?:published|search)|detect compare|python benchmarks/"
)
# What is not shipped, a data set or CybORG: such commands are only parsed.
NEEDS_FILES = re.compile(r"--format nsl-kdd|--sim cyborg|git clone|policy CybORG|\.zip")
RUN = all_commands("standing-orders ")


def words_of(command: str) -> list[str]:
    """Arguments of one of our commands."""
    return shlex.split(command.split(" > ", maxsplit=1)[0])[1:]


def shortened(command: str) -> list[str]:
    """Arguments of one of our commands, with a small budget."""
    command = re.sub(r"--messages \d+", "--messages 1", command)
    words = words_of(command.replace("--order all", "--order 0"))
    name = " ".join(words[:2]) if words[0] == "detect" else words[0]
    # A run keeps its own config, and an attack its length.
    short = "" if {"--resume", "--draws", "--horizon"} & set(words) else SHORTENED.get(name, "")
    return words + short.split()


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


def run_page(page: Path, folder: Path) -> None:
    """Run all blocks of a page, from top to bottom."""
    names: dict[str, Any] = {}
    for block in blocks(page):
        if block.language == "python":
            run_block(block, names, folder)
        for command in block.commands if block.language == "bash" else ():
            if not (IS_LONG.search(command) or NEEDS_FILES.search(command)):
                run_command(command, folder)


def shortened_python(text: str) -> str:
    """A Python block with small budgets."""

    def lower(found: re.Match[str]) -> str:
        return f"{found[1]}{min(int(found[3]), AT_MOST[found[2]])}"

    return re.sub(rf"(\b({'|'.join(AT_MOST)})(?:=|\": ))([\d_]+)", lower, text)


def run_block(block: Block, names: dict[str, Any], folder: Path) -> None:
    """Run a Python block; one that begins with the name of a file is also that file."""
    place = "<page>"
    text = shortened_python(block.text)
    if name := re.match(r"# (\w+\.py)\n", block.text):
        place = str(folder / name[1])
        Path(place).write_text(text)
    run_python(text, names, place)
