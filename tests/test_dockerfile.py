"""The Dockerfile, as far as it can be checked without a container engine."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from standing_orders.cli import app
from standing_orders.cli.flags import parse

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "Dockerfile").read_text()
IGNORED = (ROOT / ".dockerignore").read_text().splitlines()


def test_hadolint_finds_nothing() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    if not hadolint.is_file():
        pytest.skip("hadolint is not installed: the Dockerfile is not linted")
    subprocess.run([hadolint, str(ROOT / "Dockerfile")], check=True)


def test_everything_that_is_copied_exists_and_is_sent_to_the_engine() -> None:
    copied = [word for line in re.findall(r"^COPY (.*) \S+$", TEXT, re.MULTILINE)
              for word in line.split()]  # fmt: skip
    assert "src" in copied
    for name in copied:
        assert (ROOT / name).exists()
        assert f"!{name}" in IGNORED  # all else is left out


def test_the_demo_that_it_runs_is_one_of_our_commands_and_it_is_not_run_as_root() -> None:
    found = re.search(r"^CMD (\[.*\])$", TEXT.replace("\\\n", ""), re.MULTILINE)
    assert found
    name, *words = json.loads(found[1])
    made = (ROOT / "Makefile").read_text().replace("\\\n", "").replace("$(DEMO)", "runs/demo")
    assert " ".join([name, *words]) in re.sub(r"\s+", " ", made)
    assert parse(app.load(name), words, name=name)
    assert re.search(r"^USER 1000$", TEXT, re.MULTILINE)
