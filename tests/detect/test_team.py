"""The team judges: probabilities, votes, shields, and what rules see of them."""

import numpy as np
import pytest

from standing_orders.detect import team as team_module
from standing_orders.detect.assess.report import assess_rules
from standing_orders.detect.config import DetectConfig, RulesConfig, TeamConfig
from standing_orders.detect.data.synthetic import make_sessions
from standing_orders.detect.engine import count_votes, suspicion_of
from standing_orders.detect.learn.trainer import Trainer
from standing_orders.detect.team import (
    Decisions,
    Team,
    apply_shield,
    as_streams,
    make_book,
)
from tests.detect.learn.test_trainer import config_of, make_records


def test_an_agent_votes_for_its_likeliest_action_and_the_score_is_mean_suspicion() -> None:
    data = make_records()
    trainer = Trainer(config_of(), data)
    judged = Team(trainer.network, trainer.config, "records").judge(data.test)
    assert np.array_equal(judged.votes, judged.log_probs.numpy().argmax(axis=-1).T)
    assert np.allclose(judged.scores, 1 - judged.probs[:, :, 0].mean(axis=0))
    outcome = count_votes(judged.votes, judged.probs, trainer.config.team)
    assert np.array_equal(judged.actions, outcome.actions)
    assert judged.shielded is None


def test_chunks_of_a_large_part_are_judged_like_the_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = make_sessions(0, num_sessions=60)
    trainer = Trainer(config_of(), data)
    team = Team(trainer.network, trainer.config, "sessions")
    whole = team.judge(data.test)
    monkeypatch.setattr(team_module, "EVENTS_AT_ONCE", 37)
    parts = team.judge(data.test)
    assert np.allclose(whole.probs, parts.probs, atol=1e-6)
    assert whole.hidden.shape == parts.hidden.shape
    assert np.array_equal(whole.actions, parts.actions)


@pytest.mark.parametrize("task", ["records", "sessions"])
def test_a_shield_breaks_none_of_its_rules(task: str) -> None:
    data = make_records() if task == "records" else make_sessions(0, num_sessions=60)
    config = DetectConfig(rules=RulesConfig(mode="shield"))
    book = make_book(config.rules, data.task)
    rng = np.random.default_rng(0)
    chances = [0.4, 0.2, 0.2, 0.2] if task == "records" else [0.5, 0.48, 0.01, 0.01]
    proposed = rng.choice(4, size=data.test.num_events, p=chances)
    nothing = np.zeros(len(proposed))
    actions, counts = apply_shield(book, proposed[:, None], nothing, data.test.sessions, data.task)
    assert counts["replaced"] > 0
    assert counts["unavoidable"] == 0
    before = assess_rules(Decisions(nothing, proposed), data, config)
    after = assess_rules(Decisions(nothing, actions[:, 0]), data, config)
    shielded = [rule.name for rule in book.rules_of("shield")]
    assert sum(before[name]["violations"] for name in shielded) > 0
    assert all(after[name]["violations"] == 0 for name in shielded)


@pytest.mark.parametrize("task", ["records", "sessions"])
def test_many_deciders_under_a_shield_fare_as_each_alone(task: str) -> None:
    data = make_records() if task == "records" else make_sessions(0, num_sessions=60)
    test = data.test.take_sessions(range(min(120, data.test.num_sessions)))
    book = make_book(RulesConfig(mode="shield"), data.task)
    rng = np.random.default_rng(0)
    proposed = rng.choice(4, size=(test.num_events, 3), p=[0.5, 0.4, 0.05, 0.05])
    suspicion = rng.random(test.num_events)
    together, counts = apply_shield(book, proposed, suspicion, test.sessions, data.task)
    alone = [
        apply_shield(book, column[:, None], suspicion, test.sessions, data.task)
        for column in proposed.T
    ]
    assert counts["replaced"] == sum(one["replaced"] for _, one in alone) > 0
    assert counts["decisions"] == sum(one["decisions"] for _, one in alone)
    assert np.array_equal(together, np.concatenate([actions for actions, _ in alone], axis=1))


def test_average_and_vote_differ_where_one_is_very_sure() -> None:
    probs = np.array([[[0.0, 1.0, 0.0, 0.0]], [[0.6, 0.4, 0, 0]], [[0.6, 0.4, 0, 0]]])
    votes = np.array([[1, 0, 0]], dtype=np.int8)
    quorum = count_votes(votes, probs, TeamConfig(agents=3, faults=1))
    average = count_votes(votes, probs, TeamConfig(agents=3, faults=0, vote="average"))
    assert (quorum.actions[0], average.actions[0]) == (0, 1)
    assert suspicion_of(probs, np.zeros((3, 1)), lean=0)[0] == pytest.approx(0.6)


def test_events_after_the_end_of_a_session_are_not_judged() -> None:
    data = make_sessions(0, num_sessions=60)
    game = DetectConfig().game_of(data.test, "sessions")
    actions = np.full(data.test.num_events, 2)
    streams = as_streams(game, "sessions", actions, np.zeros(len(actions)))
    assert streams.valid.sum() == data.test.num_sessions
