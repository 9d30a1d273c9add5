"""Figures of whole test parts: liars, rules, shields, and what is said about a run."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from standing_orders.detect.actions import ALLOW
from standing_orders.detect.assess.baselines import StoppingRule
from standing_orders.detect.assess.figures import assess, vote_figures
from standing_orders.detect.assess.liars import WORST, agree_by_messages, assess_liars
from standing_orders.detect.assess.report import rules_not_kept
from standing_orders.detect.config import DetectConfig, RulesConfig
from standing_orders.detect.costs import CostConfig, play, record_game
from standing_orders.detect.data.events import DataSet
from standing_orders.detect.data.synthetic import make_sessions
from standing_orders.detect.learn.trainer import Trainer
from standing_orders.detect.metrics import count_decisions
from standing_orders.detect.team import Judged, Team, make_book
from standing_orders.voting import decide, lie
from standing_orders.voting.liars import withhold
from tests.detect.learn.test_trainer import config_of, make_records


@pytest.fixture(scope="module")
def records() -> DataSet:
    return make_records()


@pytest.fixture(scope="module")
def trained(records: DataSet) -> tuple[Team, Judged]:
    trainer = Trainer(config_of({"iterations": 40, "learning_rate": 1e-2}), records)
    while not trainer.is_done:
        trainer.step()
    team = Team(trainer.network, trainer.config, "records")
    return team, team.judge(records.test)


def test_figures_are_those_of_all_test_events(
    trained: tuple[Team, Judged], records: DataSet
) -> None:
    # Published defect: metrics over the last few steps only.
    team, judged = trained
    figures = assess(team, records, team.config, with_intervals=True)
    assert figures["num_events"] == records.test.num_events == len(judged.actions)
    assert figures["f1"] == count_decisions(judged.actions != 0, records.test.is_threat).f1
    earned = play(
        record_game(records.test.is_threat, CostConfig().rewards()), judged.actions
    ).rewards.mean()
    assert figures["cost"] == pytest.approx(-earned)
    assert figures["interval"]["low"] <= figures["f1"] <= figures["interval"]["high"]


def test_no_liar_changes_nothing_and_one_of_four_little(
    trained: tuple[Team, Judged], records: DataSet
) -> None:
    team, judged = trained
    rows = assess_liars(team, judged, records)
    honest = assess(team, records, team.config, judged=judged)
    assert honest["f1"] > 0.85
    nobody = [row for row in rows if row.num_liars == 0 and row.kind != WORST]
    assert all(row.main.worst == row.main.mean == honest["f1"] for row in nobody)
    for name in ("recall", "alarms_per_1000_benign"):
        assert all(row.figures[name].mean == honest[name] for row in nobody)
    assert all(row.main.worst > honest["f1"] - 0.2 for row in rows if row.num_liars == 1)
    all_lie = {row.kind: row.main.mean for row in rows if row.num_liars == 4}
    assert all_lie["flip"] < 0.3
    silent = [row for row in rows if row.kind == "silent"]
    assert [row.figures["no_quorum"].mean == 1.0 for row in silent] == [
        False,
        False,
        True,
        True,
        True,
    ]


def test_a_liar_that_knows_the_truth_does_most_harm_and_more_with_the_network_on_its_side(
    trained: tuple[Team, Judged], records: DataSet
) -> None:
    rows = assess_liars(trained[0], disagreeing(trained[1]), records)
    one = {row.kind: row.main for row in rows if row.num_liars == 1}
    assert one[WORST].mean < one["omniscient"].mean
    others = [found for kind, found in one.items() if kind not in (WORST, "omniscient")]
    assert one["omniscient"].mean <= min(found.mean for found in others)
    alone = {row.kind: row.main.mean for row in rows if row.num_liars == 0}
    assert one[WORST].mean < alone[WORST] < alone["omniscient"]  # it withholds without a liar too


def disagreeing(judged: Judged) -> Judged:
    """The same with every fifth vote drawn anew: agents that see the same hardly ever differ."""
    rng = np.random.default_rng(0)
    other = rng.integers(4, size=judged.votes.shape)
    is_other = rng.random(judged.votes.shape) < 0.2
    return replace(judged, votes=np.where(is_other, other, judged.votes).astype(np.int8))


@pytest.mark.parametrize("batch", [1, 20])
def test_the_team_is_scored_by_what_its_agents_agree_on(
    trained: tuple[Team, Judged], records: DataSet, batch: int
) -> None:
    team, judged = trained[0], disagreeing(trained[1])
    num = 20 + 2 * batch
    rows = agree_by_messages(team, judged, records, num_events=num, batch=batch)
    found = {(row["network"], row["liar"]): row for row in rows}
    chosen = decide(judged.votes[:num], team.config.team.faults, num_choices=4).choices
    plain = count_decisions(chosen != 0, records.test.is_threat[:num]).f1
    assert found["calm", "none"]["f1"] == plain
    worst = found["worst", "omniscient"]
    assert worst["f1"] < plain
    assert all(row["agreed"] == row["in_range"] == 1.0 for row in rows)
    assert all(row["undecided"] == 0 for row in rows)
    assert found["calm", "none"]["messages_per_event"] < 40 / batch
    if batch == 1:
        assert worst["f1"] <= found["calm", "omniscient"]["f1"]
        # The protocol comes to what the count of the worst ballots says.
        is_right = records.test.is_threat[:num]
        told = team.config.team
        rng = np.random.default_rng(0)
        lies = lie("omniscient", judged.votes[:num], [0], rng, num_choices=4, is_right=is_right)
        lies[withhold(lies, [0], told.faults, num_choices=4, is_right=is_right)] = -1
        counted = decide(lies, told.faults, num_choices=4).choices
        assert worst["f1"] == count_decisions(counted != 0, is_right).f1
    assert agree_by_messages(team, judged, records, num_events=0) == []


def test_the_worst_liars_find_fewest_threats_and_raise_most_alarms(
    trained: tuple[Team, Judged], records: DataSet
) -> None:
    rows = assess_liars(*trained, records)
    assert all(row.figures["recall"].worst <= row.figures["recall"].mean for row in rows)
    alarms = [row.figures["alarms_per_1000_benign"] for row in rows]
    assert all(one.worst >= one.mean for one in alarms)
    blockers = [row for row in rows if (row.kind, row.num_liars) == ("always-block", 4)]
    assert blockers[0].figures["alarms_per_1000_benign"].mean == 1000


def test_votes_on_sessions_are_judged_by_cost_detection_and_false_alarms() -> None:
    data = make_sessions(0, num_sessions=60)
    actions = np.full(data.test.num_events, 1)
    found = vote_figures(actions, DetectConfig().game_of(data.test, "sessions"), "sessions")
    assert list(found) == ["mean_cost", "detection_rate", "false_alarm_rate"]
    assert (found["detection_rate"], found["false_alarm_rate"]) == (1.0, 1.0)


def test_votes_with_liars_are_judged_after_the_shield(records: DataSet) -> None:
    rules = RulesConfig(mode="shield", defaults=False, own=("calm: not flagged",))
    config = config_of({"iterations": 1}).model_copy(update={"rules": rules})
    trainer = Trainer(config, records)
    trainer.step()
    team = Team(trainer.network, trainer.config, "records", make_book(rules, "records"))
    judged = team.judge(records.test)
    assert not judged.actions.any()
    assert judged.shielded is not None
    rows = assess_liars(team, judged, records)
    assert all(row.figures["recall"].mean == 0.0 for row in rows)


def test_a_baseline_is_assessed_like_the_team(records: DataSet) -> None:
    nothing = StoppingRule(lambda events: np.zeros(events.num_events), np.inf, ALLOW)
    figures = assess(nothing, records, DetectConfig())
    assert figures["recall"] == 0.0
    assert figures["alarms_per_1000_benign"] == 0.0


def update_of(rate: float | None, price: float = 7.0) -> dict[str, Any]:
    entry = {"rule": "calm", "violation_rate": rate, "allowed": 0.05, "next_price": price}
    return {"prices": [entry]}


def test_a_rule_that_its_price_does_not_make_the_team_keep_is_named() -> None:
    line, advice = rules_not_kept([update_of(0.0)] * 50 + [update_of(0.4)] * 20)
    assert "`calm` is not kept: 40.0 % broken on the validation part" in line
    assert "in the last 20 updates, 5.0 % allowed, at a price of 7.0" in line
    assert "--rules.enforce" in advice


def test_nothing_is_said_of_rules_that_are_kept_or_that_have_no_price() -> None:
    assert rules_not_kept([update_of(1.0)] * 50 + [update_of(0.06)] * 20) == []
    assert rules_not_kept([update_of(None)] * 3) == []
    assert rules_not_kept([{"prices": []}]) == []
    assert rules_not_kept([]) == []
