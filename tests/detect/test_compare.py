"""A contest: its teams, its differences seed by seed, and what it comes to."""

import json
from pathlib import Path
from typing import Any

import pytest

from standing_orders.detect.compare import TEAM, Contest, seeded, teams_of
from standing_orders.detect.config import DetectConfig, RulesConfig
from standing_orders.detect.team import make_book


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
    found = contest_of("sessions", mean_cost=costs).verdicts("mean_cost")
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
    assert [one.outcome for one in contest.verdicts("f1")] == ["better", "better"]
    assert contest.verdicts("f1")[0].baseline == "boosting"
    assert [one.outcome for one in contest.verdicts("cost")] == ["worse", "better"]


def test_seeds_that_disagree_or_are_too_few_show_nothing() -> None:
    apart: dict[str, list[float | None]] = {"boosting": [0.5, 0.5], TEAM: [0.4, 0.7]}
    assert contest_of("records", f1=apart).verdicts("f1")[0].outcome == "no difference"
    once: dict[str, list[float | None]] = {"boosting": [0.5], TEAM: [0.9]}
    assert contest_of("records", f1=once).verdicts("f1")[0].outcome == "one seed"


def test_a_baseline_without_the_figure_is_left_out() -> None:
    values: dict[str, list[float | None]] = {
        "blind": [None, 0.9], "boosting": [0.5, 0.5], TEAM: [0.4, 0.7]
    }  # fmt: skip
    assert [one.baseline for one in contest_of("records", f1=values).verdicts("f1")] == ["boosting"]


def test_a_contest_of_one_seed_is_plain_data() -> None:
    values: dict[str, list[float | None]] = {"boosting": [0.5], TEAM: [0.75]}
    found = contest_of("records", f1=values, cost=values).to_json()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["verdicts"][0] == {
        "figure": "f1", "baseline": "boosting", "difference": 0.25, "interval": None,
        "team": "one seed",
    }  # fmt: skip


def test_a_contest_reports_differences_seed_by_seed() -> None:
    figures: dict[str, list[dict[str, Any]]] = {
        "team": [{"f1": 0.5}, {"f1": 0.7}], "other": [{"f1": 0.4}, {"f1": 0.6}],
        "blind": [{"f1": None}, {"f1": 0.1}],
    }  # fmt: skip
    contest = Contest("records", 100, figures, {})
    gap = contest.difference("team", "other", "f1")
    assert gap is not None
    assert (gap.mean, gap.num) == (pytest.approx(0.1), 2)
    assert contest.interval("blind", "f1") is None


def test_the_team_of_a_contest_is_the_one_that_train_makes() -> None:
    for rules in (RulesConfig(), RulesConfig(mode="shield"), RulesConfig(defaults=False)):
        config = DetectConfig(rules=rules).settled("records")
        assert teams_of(config)[TEAM] == config


def test_other_teams_of_a_contest_are_named_for_what_they_are() -> None:
    config = DetectConfig(data=(Path("x"),)).settled("records")
    teams = teams_of(config)
    assert teams["one agent, all views"].team.agents == 1
    sampled = teams["PPO without rules"]
    assert (sampled.learn.gradient, sampled.learn.entropy) == ("sampled", 0.15)
    assert sampled.rules.mode == "watch"
    priced = teams["team, false_alarms priced"].rules
    assert (priced.mode, priced.enforce) == ("lagrange", ("false_alarms",))
    own = DetectConfig(rules=RulesConfig(own=("calm: not restrictive",)))
    assert teams_of(own)["team, calm priced"].rules.enforce == ("calm",)


def test_a_team_that_is_held_to_its_rules_is_beside_one_that_is_not() -> None:
    teams = teams_of(DetectConfig(rules=RulesConfig(mode="fine")))
    assert teams["team, rules only watched"].rules.mode == "watch"
    assert not [name for name in teams if name.endswith("priced")]


def test_a_rule_with_a_mode_of_its_own_holds_for_the_team_alone() -> None:
    rules = RulesConfig(enforce=("detection=lagrange", "blocking=shield"))
    teams = teams_of(DetectConfig(rules=rules))
    assert teams.pop(TEAM).rules == rules
    assert set(teams) >= {"team, rules only watched", "PPO without rules"}
    for config in teams.values():
        assert {rule.mode for rule in make_book(config.rules, "records").rules} == {"watch"}


def test_each_seed_of_a_contest_has_its_own_split() -> None:
    later = seeded(DetectConfig(), 2)
    assert (later.seed, later.data_seed) == (2, 2)
