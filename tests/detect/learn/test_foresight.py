"""The constraint heads: what they are told, and that they foresee real margins."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from standing_orders.detect.assess.report import assess_foresight, assess_rules
from standing_orders.detect.config import DetectConfig, LearnConfig, RulesConfig, TeamConfig
from standing_orders.detect.data.events import DataSet
from standing_orders.detect.data.synthetic import make_sessions
from standing_orders.detect.learn.foresight import (
    ValidationBatch,
    foreseen_shares,
    stretches,
    window_features,
)
from standing_orders.detect.learn.trainer import Trainer
from standing_orders.detect.network import ConstraintHeads
from standing_orders.detect.rules import Rule, RuleBook, Streams
from standing_orders.detect.team import Team


def rules_of(*windows: tuple[str, int]) -> RuleBook:
    return RuleBook(
        [
            Rule(name=f"r{i}", formula="blocked_share <= 0.5", scope=scope, window=window)
            for i, (scope, window) in enumerate(windows)
        ]
    )


def trainer_of(data: DataSet, **learn: float) -> Trainer:
    torch.set_num_threads(1)
    config = LearnConfig(**{"steps": 1_000} | learn)
    return Trainer(DetectConfig(team=TeamConfig(hidden=(16, 16)), learn=config), data)


@pytest.fixture(scope="module")
def data() -> DataSet:
    return make_sessions(0, num_sessions=300)


def test_a_head_is_told_of_each_window_that_rules_look_at() -> None:
    streams = Streams(
        np.array([[2], [0], [0], [1]]),
        np.zeros((4, 1), dtype=bool),
        is_last=np.array([[False], [True], [False], [False]]),
        suspicion=np.array([[0.75], [0.25], [0.5], [0.75]]),
    )
    book = rules_of(("session", 4), ("stream", 4), ("session", 4))
    known = window_features(streams, book.rules)
    assert known.shape == (1, 4, 16)  # two windows
    # alert, block, quarantine, changed, suspicion, suspicion allowed, trust in what was flagged
    session, stream = known[0, 3, :8], known[0, 3, 8:]
    assert session[:7] * 2 == pytest.approx([1, 0, 0, 1, 1.25, 0.5, 0.25])
    assert stream[:7] * 2 == pytest.approx([1, 1, 0, 2, 2.25, 0.75, 0.5])
    assert (session[7], stream[7]) == (0.5, 1.0)  # how much of the window has passed


def test_a_head_is_told_nothing_of_the_truth() -> None:
    actions, doubt = np.array([[1], [0]]), np.array([[0.9], [0.2]])
    book = rules_of(("stream", 2))
    first, second = (
        window_features(Streams(actions, np.full((2, 1), truth), suspicion=doubt), book.rules)
        for truth in (False, True)
    )
    assert np.array_equal(first, second)


def test_what_is_foreseen_is_in_the_units_of_the_margins() -> None:
    book = rules_of(("stream", 2), ("stream", 2))
    heads = ConstraintHeads(2, 3, book.rules, torch.Generator().manual_seed(0))
    heads.note(torch.tensor([[1.0, 10.0], [3.0, 10.0]]))
    assert heads.mean.tolist() == [2.0, 10.0]
    assert heads.spread.tolist() == pytest.approx([1.0, 1e-3])  # never nothing
    inputs = torch.randn(2, 5, 11)
    wanted = heads(inputs).mean(dim=0) * heads.spread + heads.mean
    assert torch.equal(heads.margins(inputs), wanted)


def test_mean_and_spread_follow_a_team_that_learns() -> None:
    heads = ConstraintHeads(1, 1, rules_of(("stream", 2)).rules, torch.Generator().manual_seed(0))
    heads.note(torch.full((4, 1), -1.0))
    for _ in range(60):
        heads.note(torch.tensor([[0.0], [1.0]]))
    assert float(heads.mean[0]) == pytest.approx(0.5, abs=0.01)
    assert float(heads.spread[0]) == pytest.approx(0.5, abs=0.01)


def test_foreseen_is_0_for_the_mean_and_1_for_the_truth() -> None:
    book = rules_of(("stream", 2), ("stream", 2))
    margins = torch.tensor([[0.0, 0.5], [1.0, 0.5], [2.0, 0.5]])

    class Fixed(ConstraintHeads):
        def margins(self, inputs: torch.Tensor) -> torch.Tensor:
            return inputs

    heads = Fixed(1, 1, book.rules, torch.Generator().manual_seed(0))

    def shares(foreseen: torch.Tensor) -> list[float | None]:
        return list(foreseen_shares(heads, ValidationBatch(foreseen, margins), book).values())

    assert shares(margins) == [1.0, None]
    assert shares(torch.ones(3, 2))[0] == pytest.approx(0.0)
    worse = shares(torch.tensor([[2.0, 0.5], [1.0, 0.5], [0.0, 0.5]]))[0]
    assert worse == pytest.approx(-3.0)


def test_the_actors_learn_the_same_with_and_without_heads(data: DataSet) -> None:
    with_heads, without = (trainer_of(data, iterations=3, foresight=rate) for rate in (0.1, 0.0))
    for _ in range(3):
        record, plain = with_heads.step(), without.step()
    assert set(record["foresight"]) == set(record["rules"])
    assert plain["foresight"] == {}
    others = dict(without.network.named_parameters())
    for name, weight in with_heads.network.named_parameters():
        assert torch.equal(weight, others[name]) != name.startswith("heads."), name


def test_the_heads_learn_from_events_that_the_actors_do_not(data: DataSet) -> None:
    # Validation does choose the number of trees, calibrates them, and says which team is the best.
    config = DetectConfig(
        team=TeamConfig(hidden=(16, 16), trees=0),
        learn=LearnConfig(steps=1_000, iterations=2, patience=0),
    )
    first, second = (Trainer(config, part) for part in (data, replace(data, validation=data.test)))
    for trainer in (first, second):
        trainer.step()
    weights = dict(second.network.named_parameters())
    for name, weight in first.network.named_parameters():
        assert torch.equal(weight, weights[name]) != name.startswith("heads."), name


@pytest.mark.slow
def test_the_heads_foresee_the_margins_of_new_events_better_than_any_constant() -> None:
    data = make_sessions(0)
    trainer = trainer_of(data, iterations=60, steps=2_000)
    while not trainer.is_done:
        trainer.step()
    team = trainer.team
    found = assess_foresight(team, team.judge(data.test), data)
    assert found["blocking"] > 0.5  # of a window that is known
    assert found["detection"] > 0  # and of one that can be guessed
    assert found["false_alarms"] > 0
    # Whether the very next threats are answered nobody can know.
    assert all(share > -0.05 for share in found.values() if share is not None)


def test_the_heads_foresee_the_team_that_is_kept(data: DataSet) -> None:
    """The best team is kept, here the first one, but not its heads, which had learned nothing."""
    trainer = trainer_of(data, iterations=2, learning_rate=0.5)
    first = {name: value.clone() for name, value in trainer.network.state_dict().items()}
    while not trainer.is_done:
        trainer.step()
    assert trainer.progress.looks
    for name, value in trainer.network.state_dict().items():
        if not name.startswith("heads."):
            assert torch.equal(value, first[name]), name
    validation = replace(data, test=data.validation)
    found = assess_foresight(trainer.team, trainer.team.judge(data.validation), validation)
    assert all(share > 0 for share in found.values() if share is not None)


def test_the_heads_foresee_what_comes_of_a_shield() -> None:
    # An impatient team flags everything; the shield lets it flag nothing.
    data = make_sessions(0, num_sessions=200)
    rules = RulesConfig(defaults=False, own=("calm: not flagged",), mode="shield")
    config = DetectConfig(
        team=TeamConfig(hidden=(8,), initial_allow_bias=-3.0),
        learn=LearnConfig(iterations=1, steps=300, learning_rate=1e-9),
        rules=rules,
    )
    trainer = Trainer(config, data)
    trainer.step()
    assert float(trainer.network.heads.mean[0]) == pytest.approx(0.5)


def test_without_rules_there_is_nothing_to_foresee(data: DataSet) -> None:
    config = DetectConfig(
        learn=LearnConfig(iterations=1, steps=300), rules=RulesConfig(defaults=False)
    )
    trainer = Trainer(config, data)
    assert trainer.step()["foresight"] == {}
    assert assess_foresight(trainer.team, trainer.team.judge(data.test), data) == {}


def test_prices_are_set_by_events_that_the_actors_do_not_learn_from(data: DataSet) -> None:
    learn = LearnConfig(steps=1_500, iterations=1, foresight=0.0)
    rules = RulesConfig(mode="lagrange", enforce=("answered",))
    trainer = Trainer(
        DetectConfig(team=TeamConfig(initial_allow_bias=0.0), learn=learn, rules=rules), data
    )
    chosen = stretches(data.validation.num_sessions, trainer._sessions_an_update(), update=0)
    validation = data.validation.take_sessions(chosen)
    record = trainer.step()
    judged = Team(trainer.network, trainer.config, "sessions").judge(validation)
    part = replace(data, test=validation)
    found = assess_rules(judged, part, trainer.config)["answered"]
    (price,) = record["prices"]
    assert price["violation_rate"] == found["violation_rate"]
    learned_from = record["rules"]["answered"]["violation_rate"]
    assert None not in (price["violation_rate"], learned_from)
    assert price["violation_rate"] != learned_from
    assert record["foresight"] == {}
