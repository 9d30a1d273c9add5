"""Whether the team is better than the best baseline, against numbers worked out by hand."""

import json
from typing import Any

import pytest

from standing_orders.detect.assess.contest import TEAM, Contest
from standing_orders.detect.assess.verdict import contest_json, verdicts


def contest_of(task: str, **columns: dict[str, list[float | None]]) -> Contest:
    """A contest of these columns: contestant -> one value a seed."""
    names = next(iter(columns.values()))
    figures: dict[str, list[dict[str, Any]]] = {
        name: [
            {column: values[name][seed] for column, values in columns.items()}
            for seed in range(len(names[TEAM]))
        ]
        for name in names
    }
    return Contest(task, 100, figures, {TEAM: [{}], "one agent": [{}]})


def test_the_best_of_all_baselines_is_judged_against_and_no_team() -> None:
    costs: dict[str, list[float | None]] = {
        "fixed prefix": [1.0, 1.1, 1.2],
        "history boosting": [0.5, 0.6, 0.7],
        "one agent": [0.1, 0.1, 0.1],
        TEAM: [0.6, 0.7, 0.81],
    }
    found = verdicts(contest_of("sessions", mean_cost=costs), "mean_cost")
    assert [one.baseline for one in found] == ["history boosting", "fixed prefix"]
    assert [one.outcome for one in found] == ["worse", "better"]
    assert found[0].difference.mean == pytest.approx(0.31 / 3)
    assert found[0].mean == pytest.approx(0.6)


def test_records_may_be_better_by_one_figure_and_worse_by_another() -> None:
    contest = contest_of(
        "records",
        f1={"boosting": [0.9, 0.9, 0.9], "allow-all": [0.0, 0.0, 0.0], TEAM: [0.95, 0.96, 0.97]},
        cost={"boosting": [-1.7, -1.7, -1.7], "allow-all": [1.0, 1.0, 1.0], TEAM: [-1.6] * 3},
    )
    assert [one.outcome for one in verdicts(contest, "f1")] == ["better", "better"]
    assert verdicts(contest, "f1")[0].baseline == "boosting"
    assert [one.outcome for one in verdicts(contest, "cost")] == ["worse", "better"]


def test_seeds_that_disagree_or_are_too_few_show_nothing() -> None:
    apart: dict[str, list[float | None]] = {"boosting": [0.5, 0.5], TEAM: [0.4, 0.7]}
    assert verdicts(contest_of("records", f1=apart), "f1")[0].outcome == "no difference"
    once: dict[str, list[float | None]] = {"boosting": [0.5], TEAM: [0.9]}
    assert verdicts(contest_of("records", f1=once), "f1")[0].outcome == "one seed"


def test_a_baseline_without_the_figure_is_left_out() -> None:
    values: dict[str, list[float | None]] = {
        "blind": [None, 0.9], "boosting": [0.5, 0.5], TEAM: [0.4, 0.7]
    }  # fmt: skip
    assert [one.baseline for one in verdicts(contest_of("records", f1=values), "f1")] == [
        "boosting"
    ]


def test_a_contest_of_one_seed_is_plain_data() -> None:
    values: dict[str, list[float | None]] = {"boosting": [0.5], TEAM: [0.75]}
    found = contest_json(contest_of("records", f1=values, cost=values))
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["verdicts"][0] == {
        "figure": "f1", "baseline": "boosting", "difference": 0.25, "interval": None,
        "team": "one seed",
    }  # fmt: skip
