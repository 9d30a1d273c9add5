"""Figures of whole test parts: liars, rules, shields, and the same numbers by another way."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from standing_orders.detect.assess.assess import (
    Team,
    apply_shield,
    assess,
    assess_liars,
    assess_rules,
    game_of,
    mean_reward,
    vote_figures,
)
from standing_orders.detect.assess.classifiers import Constant
from standing_orders.detect.assess.contest import TEAM, Contest, seeded, teams_of
from standing_orders.detect.assess.metrics import count_decisions
from standing_orders.detect.config import DetectConfig, RulesConfig, TeamConfig
from standing_orders.detect.costs import CostTable, record_rewards
from standing_orders.detect.data.events import DataSet
from standing_orders.detect.data.synthetic import make_sessions
from standing_orders.detect.decisions import as_streams, cast_votes, decide_all, suspicion_of
from standing_orders.detect.learn.trainer import Trainer
from standing_orders.detect.rules import RuleBook
from tests.detect.learn.test_trainer import config_of, make_records


@pytest.fixture(scope="module")
def records() -> DataSet:
    return make_records()


@pytest.fixture(scope="module")
def trained(records: DataSet) -> tuple[Team, DetectConfig]:
    trainer = Trainer(config_of({"iterations": 40, "learning_rate": 1e-2}), records)
    while not trainer.is_done:
        trainer.step()
    return Team(trainer.network, trainer.config), trainer.config


def test_figures_are_those_of_all_test_events(
    trained: tuple[Team, DetectConfig], records: DataSet
) -> None:
    # Published defect: metrics over the last few steps only.
    team, config = trained
    figures = assess(team, records, config, with_intervals=True)
    actions = team.actions(records.test)
    assert figures["num_events"] == records.test.num_events == len(actions)
    assert figures["f1"] == count_decisions(actions != 0, records.test.is_threat).f1
    earned = record_rewards(CostTable(), actions, records.test.is_threat).mean()
    assert figures["cost"] == pytest.approx(-earned)
    assert mean_reward(actions, records.test, records, config) == pytest.approx(earned)
    assert figures["interval"]["low"] <= figures["f1"] <= figures["interval"]["high"]


def test_no_liar_changes_nothing_and_one_of_four_little(
    trained: tuple[Team, DetectConfig], records: DataSet
) -> None:
    team, config = trained
    rows = assess_liars(team, records, config)
    honest = assess(team, records, config)
    assert honest["f1"] > 0.85
    assert all(row.worst == row.mean == honest["f1"] for row in rows if row.num_liars == 0)
    for name in ("recall", "alarms_per_1000_benign"):
        assert all(row.figures[name].mean == honest[name] for row in rows if not row.num_liars)
    assert all(row.worst > honest["f1"] - 0.2 for row in rows if row.num_liars == 1)
    all_lie = {row.kind: row.mean for row in rows if row.num_liars == 4}
    assert all_lie["flip"] < 0.3
    silent = [row for row in rows if row.kind == "silent"]
    assert [row.figures["no_quorum"].mean == 1.0 for row in silent] == [
        False,
        False,
        True,
        True,
        True,
    ]


def test_the_worst_liars_find_fewest_threats_and_raise_most_alarms(
    trained: tuple[Team, DetectConfig], records: DataSet
) -> None:
    rows = assess_liars(trained[0], records, trained[1])
    assert all(row.figures["recall"].worst <= row.figures["recall"].mean for row in rows)
    alarms = [row.figures["alarms_per_1000_benign"] for row in rows]
    assert all(one.worst >= one.mean for one in alarms)
    blockers = [row for row in rows if (row.kind, row.num_liars) == ("always-block", 4)]
    assert blockers[0].figures["alarms_per_1000_benign"].mean == 1000


def test_votes_on_sessions_are_judged_by_cost_detection_and_false_alarms() -> None:
    data = make_sessions(0, num_sessions=60)
    actions = np.full(data.test.num_events, 1)
    found = vote_figures(actions, data.test, "sessions", DetectConfig())
    assert list(found) == ["mean_cost", "detection_rate", "false_alarm_rate"]
    assert (found["detection_rate"], found["false_alarm_rate"]) == (1.0, 1.0)


def test_chunks_of_a_large_part_give_the_same_probabilities(
    trained: tuple[Team, DetectConfig], records: DataSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    team, config = trained
    whole = team.probabilities(records.test)
    monkeypatch.setattr("standing_orders.detect.assess.assess.EVENTS_AT_ONCE", 37)
    parts = team.deciding_by(config).probabilities(records.test)
    assert np.allclose(whole, parts, atol=1e-6)


@pytest.mark.parametrize("task", ["records", "sessions"])
def test_a_shield_breaks_none_of_its_rules(task: str) -> None:
    data = make_records() if task == "records" else make_sessions(0, num_sessions=60)
    config = DetectConfig(rules=RulesConfig(mode="shield"))
    book = RuleBook(config.rules.rules(data.task))
    rng = np.random.default_rng(0)
    chances = [0.4, 0.2, 0.2, 0.2] if task == "records" else [0.5, 0.48, 0.01, 0.01]
    proposed = rng.choice(4, size=data.test.num_events, p=chances)
    actions, counts = apply_shield(
        book, proposed, np.zeros(len(proposed)), data.test.starts, data.task
    )
    assert counts["replaced"] > 0
    assert counts["unavoidable"] == 0
    before = assess_rules(proposed, np.zeros(len(proposed)), data, config)
    after = assess_rules(actions, np.zeros(len(proposed)), data, config)
    shielded = [rule.name for rule in book.rules_of("shield")]
    assert sum(before[name]["violations"] for name in shielded) > 0
    assert all(after[name]["violations"] == 0 for name in shielded)


@pytest.mark.parametrize("task", ["records", "sessions"])
def test_many_deciders_under_a_shield_fare_as_each_alone(task: str) -> None:
    data = make_records() if task == "records" else make_sessions(0, num_sessions=60)
    test = data.test.take_sessions(range(min(120, data.test.num_sessions)))
    book = RuleBook(RulesConfig(mode="shield").rules(data.task))
    rng = np.random.default_rng(0)
    proposed = rng.choice(4, size=(test.num_events, 3), p=[0.5, 0.4, 0.05, 0.05])
    suspicion = rng.random(test.num_events)
    together, counts = apply_shield(book, proposed, suspicion, test.starts, data.task)
    alone = [apply_shield(book, column, suspicion, test.starts, data.task) for column in proposed.T]
    assert counts["replaced"] == sum(one["replaced"] for _, one in alone) > 0
    assert counts["decisions"] == sum(one["decisions"] for _, one in alone)
    assert np.array_equal(together, np.stack([actions for actions, _ in alone], axis=1))


def test_votes_with_liars_are_judged_after_the_shield(records: DataSet) -> None:
    rules = RulesConfig(mode="shield", defaults=False, own=("calm: not flagged",))
    config = config_of({"iterations": 1}).model_copy(update={"rules": rules})
    trainer = Trainer(config, records)
    trainer.step()
    team = Team(trainer.network, trainer.config, RuleBook(rules.rules("records")))
    shielded = team.actions(records.test)
    assert not shielded.any()
    counts = team.shielded
    rows = assess_liars(team, records, trainer.config)
    assert all(row.figures["recall"].mean == 0.0 for row in rows)
    assert team.shielded == counts is not None


def test_average_and_vote_differ_where_one_is_very_sure() -> None:
    probs = np.array([[[0.0, 1.0, 0.0, 0.0]], [[0.6, 0.4, 0, 0]], [[0.6, 0.4, 0, 0]]])
    votes = cast_votes(probs)
    assert votes.tolist() == [[1, 0, 0]]
    quorum = decide_all(votes, probs, TeamConfig(agents=3, faults=1))
    average = decide_all(votes, probs, TeamConfig(agents=3, faults=0, vote="average"))
    assert (quorum.actions[0], average.actions[0]) == (0, 1)
    assert suspicion_of(probs)[0] == pytest.approx(0.6)


def test_events_after_the_end_of_a_session_are_not_judged() -> None:
    data = make_sessions(0, num_sessions=60)
    game = game_of(data.test, data, DetectConfig())
    actions = np.full((data.test.num_events, 1), 2)
    streams = as_streams(game, "sessions", actions)
    assert streams.valid.sum() == data.test.num_sessions


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
        assert {rule.mode for rule in config.rules.rules("records")} == {"watch"}


def test_each_seed_of_a_contest_has_its_own_split() -> None:
    later = seeded(DetectConfig(), 2)
    assert (later.seed, later.data_seed) == (2, 2)


def test_constant_baselines_are_assessed_like_the_team(records: DataSet) -> None:
    figures = assess(Constant(0), records, DetectConfig())
    assert figures["recall"] == 0.0
    assert figures["alarms_per_1000_benign"] == 0.0
