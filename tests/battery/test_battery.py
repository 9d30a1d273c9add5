"""A few cases of every attack that needs no training; and the battery finds what is planted."""

import logging
import random
from pathlib import Path

import pytest

from tests.battery import inputs
from tests.battery.__main__ import Row, read_rows, run_attack, write_rows
from tests.battery.attacks import ATTACKS
from tests.battery.case import Attack, play_case
from tests.faults.processes import may_fork

QUICK = [one for one in ATTACKS if one.prepare is inputs.nothing and one.name != "names"]


@may_fork
@pytest.mark.parametrize("attack", [ATTACKS[0], *QUICK], ids=lambda one: one.name)
def test_a_few_cases_of_each_attack_find_nothing(attack: Attack) -> None:
    row = run_attack(attack, 0, min(attack.short, 20))
    assert row.cases == min(attack.short, 20)
    assert not row.faults


def _planted(fault: str) -> Attack:
    """An attack that succeeds."""

    def play(_: None, rng: random.Random, place: Path) -> str | None:
        if fault == "outside":
            (place.parent / "canary" / "precious").unlink()
        elif fault == "hang":
            while True:
                rng.random()
        elif fault == "traceback":
            raise LookupError("x")
        return "silent" if fault == "silent" else None

    return Attack("planted", "", 1, 1, lambda _: None, play, 0.2)


@pytest.mark.parametrize(
    ("fault", "found"),
    [("outside", "outside the folder"), ("hang", "hang"), ("traceback", "LookupError: x"),
     ("silent", "silent"), ("", None)],
)  # fmt: skip
def test_the_battery_finds_what_is_planted(tmp_path: Path, fault: str, found: str | None) -> None:
    seen = play_case(_planted(fault), None, 0, tmp_path)
    assert seen is None if found is None else found in str(seen)


def test_a_summary_can_be_gone_on_with(tmp_path: Path) -> None:
    rows = {"words": Row("words", "what, and why", 50, 20, 1, 3.5)}
    write_rows(tmp_path / "battery.csv", rows)
    assert read_rows(tmp_path / "battery.csv") == rows
    assert read_rows(tmp_path / "none.csv") == {}


@may_fork
def test_an_attack_leaves_the_log_as_it_was(caplog: pytest.LogCaptureFixture) -> None:
    run_attack(QUICK[0], 0, 1)
    logging.getLogger("standing_orders").warning("heard")
    assert "heard" in caplog.text
