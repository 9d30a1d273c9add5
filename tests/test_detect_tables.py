"""What tables say beside their figures."""

from typing import Any

import pytest

from standing_orders.detect.contest import COLUMNS, EQUAL_PREFIX, TEAM, Contest
from standing_orders.detect_tables import print_contest

Values = dict[str, list[float]]  # by contestant, one for each seed


def contest_of(task: str, column: str, values: Values) -> Contest:
    """A contest with figures that are all 1 except one."""
    figures: dict[str, list[dict[str, Any]]] = {
        name: [dict.fromkeys(COLUMNS[task], 1.0) | {column: one} for one in row]
        for name, row in values.items()
    }
    return Contest(task, figures, {TEAM: [{}] * len(values[TEAM])})


def said(contest: Contest, capsys: pytest.CaptureFixture[str]) -> str:
    print_contest(contest)
    return " ".join(capsys.readouterr().out.split())


def test_a_prefix_that_sees_another_number_of_events_is_said_to_do_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    values = {"fixed prefix": [9.0, 9.0], EQUAL_PREFIX: [4.0, 5.0], TEAM: [10.0, 10.0]}
    out = said(contest_of("sessions", "mean_events_seen", values), capsys)
    assert f"`{EQUAL_PREFIX}` sees 4.5 events a session, the team 10.0" in out
    values[EQUAL_PREFIX] = [9.8, 9.9]
    assert "sees" not in said(contest_of("sessions", "mean_events_seen", values), capsys)
