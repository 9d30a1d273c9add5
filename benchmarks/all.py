"""Every result again, one command after the other: what `make results` runs.

python benchmarks/all.py            # go on where it was stopped
python benchmarks/all.py --again    # all of it anew

Which commands: those on the pages, lines `python benchmarks/...` of a block. What is done is noted
in the folder of logs, so that a stop costs one command at most, and that one goes on with its own
training runs. A command that fails, such as one whose data set is not there, is named; the others
go on. At the end the tables of the pages are written anew.
"""

import re
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

import results

_BLOCK = re.compile(r"^```bash\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^(python benchmarks/[^#\n]+?)\s*(?:#.*)?$", flags=re.MULTILINE)
DATA = {"benchmarks/detect.py"}  # what reads data sets that are not shipped
CHECKOUT = "CHECKOUT"  # on the pages: of CAGE Challenge 2, not shipped either


@dataclass(frozen=True)
class Task:
    """What to run, and where to note it."""

    data: Path = Path("../shared/data")  # folders nsl-kdd, unsw-nb15 and adfa-ld
    cyborg_path: Path = Path("../cage-challenge-2")  # what the pages call CHECKOUT
    logs: Path = Path("runs/results")
    again: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False  # what is done, too
    only: str = ""  # commands with this word alone
    list: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False  # say what would run, run nothing


def commands(pages: list[Path]) -> list[str]:
    """Every benchmark command of the pages, once, in the order in which they stand."""
    found = [
        command
        for page in pages
        for block in _BLOCK.findall(page.read_text(encoding="utf-8"))
        for command in _COMMAND.findall(block)
    ]
    return list(dict.fromkeys(found))


def slug(command: str) -> str:
    """A file name for a command.

    Example:
        >>> slug("python benchmarks/detect.py views --only nsl-kdd")
        'detect-views-only-nsl-kdd'
    """
    text = command.removeprefix("python benchmarks/").replace(".py", "")
    return re.sub(r"[^\w]+", "-", text).strip("-")


def run(command: str, task: Task) -> str | None:
    """Run one command into its log, and say what went wrong, if something did."""
    words = shlex.split(command.replace(CHECKOUT, shlex.quote(str(task.cyborg_path))))[1:]
    if words[0] in DATA:
        words += ["--data", str(task.data)]
    log = task.logs / f"{slug(command)}.log"
    with log.open("w", encoding="utf-8") as file:
        code = subprocess.run(
            [sys.executable, *words], check=False, stdout=file, stderr=subprocess.STDOUT
        ).returncode
    if code == 0:
        return None
    said = log.read_text(encoding="utf-8").strip().splitlines()
    return f"exit code {code}: {said[-1] if said else 'no output'} (see {log})"


def main(task: Task) -> None:
    """Run what is left; exit code 1 if something failed."""
    task.logs.mkdir(parents=True, exist_ok=True)
    failed = {}
    for command in commands(results.pages()):
        done = task.logs / f"{slug(command)}.done"
        if task.only not in command or (done.exists() and not task.again):
            continue
        print(command, flush=True)
        if task.list:
            continue
        began = time.perf_counter()
        problem = run(command, task)
        if problem is None:
            done.write_text(f"{command}; {time.perf_counter() - began:.0f} s\n", encoding="utf-8")
        else:
            failed[command] = problem
            print(f"  left out: {problem}", flush=True)
    results.main()
    for command, problem in failed.items():
        print(f"not made: {command}: {problem}")
    if failed:
        sys.exit(1)


if __name__ == "__main__":
    results.launch(main, Task, __doc__)
