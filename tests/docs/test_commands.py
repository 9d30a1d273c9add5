"""Every command of every page can be parsed; those that take long are run too."""

import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from standing_orders.cli import app
from tests.docs.pages import ALL_BLOCKS, SHOWN, name_of
from tests.docs.running import IS_LONG, RUN, run_command, shortened


def test_there_are_no_other_blocks() -> None:
    for block in ALL_BLOCKS:
        where = f"{name_of(block.page)}:{block.line}"
        assert block.language in {"bash", "python"} | SHOWN, where
        if block.language == "toml":
            assert tomllib.loads(block.text), where


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
