"""The quick-start page typed into a real terminal, small and large, and what a person must see.

What was on the screen is kept in the folder that STANDING_ORDERS_CAPTURES names, for reading.
"""

import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from standing_orders.runs.shipped import shipped_names
from tests.docs.pages import ROOT, blocks
from tests.docs.running import shortened
from tests.walkthrough.terminal import Terminal, need_tmux

SIZES = [(80, 24), (160, 50)]
PATIENCE = 600.0  # seconds for a command; a busy machine is slow
POLICY = "zoo/any-b_line"
TRAINED = f"{POLICY} is not in the zoo"
# What must be seen after the first command that matches.
SEEN = (
    (r" detect train", ("test part", "threshold of the score", "detect evaluate runs/team")),
    (r" detect evaluate", ("mean.cost", "liar")),
    (r" zoo$", (POLICY, "what it is", "value")),
    (r" play .*--plain", (r"step (\d+)/\1", "blue believes", "the episode: return")),
    (r" play ", ("the episode: return", "of 100 steps")),
    (r" evaluate .*zoo/", ("told user,defender,enterprise,op_server,op_host", "mean return")),
    (r" evaluate .*--json", ('"mean"', '"interval95"')),
    (r" evaluate ", ("mean return", "std error", "b_line|meander")),
    (r" presets$", ("fast", "fast-order", "search")),
    (r" train .*--resume", ("going on", "budget used", "next:")),
    (r" train .*--order", (f"begins with {POLICY}", "fresh episodes", "next:")),
    (r" train ", ("fresh episodes", "warning: barely trained", "standing-orders play --policy")),
    (r" search ", ("orders? visited", "episodes: ")),
)


@pytest.fixture(params=SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def terminal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Terminal]:
    need_tmux()
    programs = tmp_path / "bin"
    programs.mkdir()
    program = programs / "standing-orders"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m standing_orders "$@"\n')
    program.chmod(0o755)
    environment = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(sys.path),
        "LANG": "C.UTF-8",
        "HISTFILE": "/dev/null",
    }
    captures = Path(os.environ.get("STANDING_ORDERS_CAPTURES", tmp_path / "captures"))
    folder = tmp_path / "empty"
    folder.mkdir()
    with Terminal(*request.param, folder, environment, captures) as opened:
        yield opened


def check_width(text: str, width: int) -> None:
    """No line of a table is wider than the terminal; prose may wrap."""
    for line in text.splitlines():
        is_tabular = "─" in line or len(re.findall(r"\S   +\S", line)) >= 2
        assert not is_tabular or len(line.rstrip()) <= width, line


def quick_start() -> list[str]:
    """The commands of the page that are ours, in order."""
    page = ROOT / "docs" / "quick-start.md"
    commands = [c for block in blocks(page) if block.language == "bash" for c in block.commands]
    return [command for command in commands if command.startswith("standing-orders ")]


def expected(command: str) -> tuple[str, ...]:
    return next(seen for pattern, seen in SEEN if re.search(pattern, command))


@pytest.mark.slow
def test_the_quick_start_page_as_a_person_types_it(terminal: Terminal) -> None:
    for number, command in enumerate(quick_start()):
        words = shlex.join(["standing-orders", *shortened(command)])
        if " play " in command and "--plain" not in command:
            words += " --speed 1000"
        _, is_redirected, file = command.partition(" > ")
        name = f"{number:02}-{'-'.join(command.split()[1:3])}"
        text = terminal.run(words + (f" > {file}" if is_redirected else ""), PATIENCE, name)
        assert "exit code 0" in text, text
        check_width(text, terminal.width)
        if is_redirected:  # a file is as wide as it is
            text += terminal.run(f"tail -n 40 {file}", PATIENCE, f"{name}-file")
        for wanted in expected(command):
            assert re.search(wanted, text.replace("\n", " ")), (command, wanted, text)


@pytest.mark.slow
@pytest.mark.skipif(POLICY not in shipped_names(), reason=TRAINED)
def test_play_shows_an_obedient_defender_back_and_forth_and_at_any_size(terminal: Terminal) -> None:
    terminal.type(f"standing-orders play --policy {POLICY} --order critical_first --head-start 20")
    screen = terminal.wait_for(lambda text: "step 0/100" in text, PATIENCE)
    assert "order defender,op_server,enterprise,op_host,user" in screen
    assert "blue believes" in screen
    terminal.press(*["Enter"] * 12)
    screen = terminal.wait_for(lambda text: "step 12/100" in text, PATIENCE)
    terminal.keep("play")
    assert re.search(r"[1-9]\d* fix(es)?: \d+ compliant, \d+ neutral, 0 violations", screen)
    assert re.search(r"held  \w+", screen)
    assert ("Ent0" in screen) == (terminal.width < 100)
    assert len(screen.rstrip("\n").splitlines()) <= terminal.height
    terminal.press("b")
    terminal.wait_for(lambda text: "step 11/100" in text, PATIENCE)
    other = next(size for size in SIZES if size[0] != terminal.width)
    terminal.resize(*other)
    terminal.wait_for(lambda text: ("Ent0" in text) == (other[0] < 100), PATIENCE)
    terminal.keep("play-resized")
    terminal.press("h")
    terminal.wait_for(lambda text: "is judged by the" in text.replace("\n", " "), PATIENCE)
    terminal.press("q", "q")
    terminal.wait_for(lambda text: "so far: return" in text, PATIENCE)
    terminal.keep("play-summary")


@pytest.mark.slow
def test_train_shows_a_bar_and_says_how_to_go_on_when_it_is_stopped(terminal: Terminal) -> None:
    terminal.type("standing-orders train --run runs/any")
    terminal.wait_for(lambda text: "order any, red b_line, 20,000 episodes" in text, PATIENCE)
    terminal.wait_for(lambda text: "compiling and playing the first" in text, PATIENCE)
    screen = terminal.wait_for(lambda text: " of 20,000, " in text and " left" in text, PATIENCE)
    terminal.keep("train")
    assert "contested" in screen
    assert "━" in screen
    terminal.press("C-c")
    told = "to go on: standing-orders train --resume --run runs/any"
    terminal.wait_for(lambda text: told in text.replace("\n", ""), PATIENCE)
    terminal.keep("train-stopped")


def test_bad_input_is_answered_in_one_line(terminal: Terminal) -> None:
    text = terminal.run("standing-orders evaluate --policy zoo/lion", PATIENCE, "no-lion")
    assert "exit code 3" in text
    assert "zoo/lion: not in the zoo" in text.replace("\n", " ")
    assert "Traceback" not in text
