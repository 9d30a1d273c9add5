"""What tables say beside their figures."""

from typing import Any

import pytest

from standing_orders.detect.compare import EQUAL_PREFIX, TEAM, Contest
from standing_orders.detect.tables import COLUMNS, contest_tables, figure_tables
from standing_orders.tables import to_text

Values = dict[str, list[float]]  # by contestant, one for each seed


def contest_of(task: str, column: str, values: Values, updates: int = 100) -> Contest:
    """A contest with figures that are all 1 except one."""
    figures: dict[str, list[dict[str, Any]]] = {
        name: [dict.fromkeys(COLUMNS[task], 1.0) | {column: one} for one in row]
        for name, row in values.items()
    }
    return Contest(task, updates, figures, {TEAM: [{}] * len(values[TEAM])})


def said(contest: Contest) -> str:
    return " ".join(to_text(contest_tables(contest), 400).split())


def test_a_prefix_that_sees_another_number_of_events_is_said_to_do_so() -> None:
    values = {"fixed prefix": [9.0, 9.0], EQUAL_PREFIX: [4.0, 5.0], TEAM: [10.0, 10.0]}
    out = said(contest_of("sessions", "mean_events_seen", values))
    assert f"`{EQUAL_PREFIX}` sees 4.5 events a session, the team 10.0" in out
    values[EQUAL_PREFIX] = [9.8, 9.9]
    assert "sees" not in said(contest_of("sessions", "mean_events_seen", values))


@pytest.mark.parametrize("task", ["records", "sessions"])
def test_figures_of_a_few_updates_are_said_to_mean_nothing(task: str) -> None:
    column, values = next(iter(COLUMNS[task])), {"allow-all": [0.1], TEAM: [0.2]}
    warning = "A TRIAL: teams of 5 updates have learned next to nothing"
    assert said(contest_of(task, column, values, updates=5)).startswith(warning)
    assert "TRIAL" not in said(contest_of(task, column, values))


def test_the_area_under_the_curve_is_beside_the_prevalence() -> None:
    values = {"allow-all": [0.1], TEAM: [0.2]}
    assert "PR-AUC prevalence" in said(contest_of("records", "f1", values))
    out = said(contest_of("sessions", "mean_cost", values))
    assert "PR-AUC, events prevalence" in out
    assert "unseen detected" in out


@pytest.mark.parametrize(
    ("team", "last"),
    [
        ([0.7, 0.71, 0.72], "team minus it -0.19 ± 0.025: the team is WORSE"),
        ([0.95, 0.95, 0.95], "team minus it 0.05 ± 0: the team is better"),
        ([0.8, 0.95, 0.96], "no difference that 3 seeds show"),
        ([0.95], "team minus it 0.05: one seed shows nothing"),
    ],
)
def test_a_contest_ends_with_what_it_comes_to(team: list[float], last: str) -> None:
    values = {"allow-all": [0.0] * len(team), "boosting": [0.9] * len(team), TEAM: team}
    out = said(contest_of("records", "f1", values))
    assert "F1: the best baseline is boosting with 0.9; team minus it" in out
    assert f"{last} cost: the best baseline is" in out  # the last two lines
    sessions = said(contest_of("sessions", "mean_cost", values))
    assert "cost: the best baseline is allow-all with 0; team minus it" in sessions


@pytest.mark.parametrize(("figure", "unit"), [("recall", "events"), ("mean_cost", "sessions")])
def test_attacks_unseen_in_training_are_always_listed(figure: str, unit: str) -> None:
    attacks = [
        {"attack": f"attack-{index}", "count": 100 - index, "recall": 0.5, "is_unseen": index > 17}
        for index in range(20)
    ]
    out = to_text(figure_tables("a team", {figure: 0.5, "attacks": attacks}))
    listed = [line.split() for line in out.splitlines() if "attack-" in line]
    assert [words[0] for words in listed] == [f"attack-{i}" for i in (*range(12), 18, 19)]
    assert [words[-1] == "unseen" for words in listed] == [False] * 12 + [True] * 2
    assert "6 more rows" in out
    assert unit in out


def test_nothing_is_said_to_be_more_where_all_attacks_are_listed() -> None:
    one = {"attack": "worm", "count": 3, "recall": 1.0, "is_unseen": False}
    assert "more" not in to_text(figure_tables("a team", {"recall": 0.5, "attacks": [one]}))
