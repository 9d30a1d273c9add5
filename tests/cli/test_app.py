import subprocess
import sys

import pytest

from standing_orders.cli.app import COMMANDS
from standing_orders.version import VERSION
from tests.cli.commands import run


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from standing_orders.cli.app import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'numba', 'torch', 'scipy', 'stable_baselines3', 'sklearn', 'ray', 'plotly'}\n"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.stderr.strip() == ""
    assert "evaluate" in result.stdout


@pytest.mark.parametrize("command", [*COMMANDS, "detect"])
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*command.split(), "--help") == 0
    assert f"standing-orders {command}" in capsys.readouterr().out


def test_the_package_is_a_command() -> None:
    words = [sys.executable, "-m", "standing_orders", "--version"]
    shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert shown == f"standing-orders {VERSION}\n"


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--version") == 0
    assert capsys.readouterr().out == f"standing-orders {VERSION}\n"
