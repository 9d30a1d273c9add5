"""Decoys that are planned for the first steps, and how a network takes them over."""

from typing import Any

import numpy as np
import pytest

from standing_orders.cage2.actions import FIRST_DECOY, KIND_OF_ACTION, LAST_DECOY, encode
from standing_orders.collect.plan import Trials
from standing_orders.config import TrainConfig
from standing_orders.learn import opening
from standing_orders.learn import trainer as trainer_module
from standing_orders.learn.build import game_of, make_network
from standing_orders.learn.opening import find_opening, is_plannable
from standing_orders.learn.rollout import collect
from standing_orders.learn.trainer import Trainer

GOOD = encode("DecoyFemitter", "User2")
BAD = encode("DecoyApache", "User1")
SMALL: dict[str, Any] = {
    "order": "none", "episodes": 400, "update_episodes": 10,
    "ppo": {
        "hidden": (16,), "learning_rate": 1e-2, "final_learning_rate": None, "belief": False,
        "useful_actions": True,
    },
}  # fmt: skip


def gain(found: tuple[int, ...], count: int, seed: int) -> np.ndarray:
    """A made-up game: the good decoy is worth a point, every other one costs one."""
    noise = np.random.Generator(np.random.Philox(seed)).normal(scale=5.0, size=(1, count))
    return noise + sum(1.0 if action == GOOD else -1.0 for action in found)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_ROUNDS", ((1, 4),))
    monkeypatch.setattr(opening, "_CHECK_EPISODES", 10)
    monkeypatch.setattr(opening, "_MIN_EPISODES", 1)
    monkeypatch.setattr(opening, "useful_decoys", lambda: [GOOD, BAD])


def test_a_decoy_that_is_clearly_better_is_found_against_the_same_attacks() -> None:
    told: list[str] = []
    assert find_opening(gain, num_steps=2, seed=1, report=told.append) == (GOOD, GOOD)
    assert told[1].endswith("DecoyFemitter User2 gains 1.00 points: kept")


def test_planning_goes_on_from_what_is_planned_and_ends_where_nothing_is_better() -> None:
    def once(found: tuple[int, ...], count: int, seed: int) -> np.ndarray:
        return gain(found[:2], count, seed) - 0.1 * len(found)

    assert find_opening(once, first=(GOOD,), num_steps=3, seed=1) == (GOOD, GOOD)


def test_what_is_better_against_one_attacker_and_worse_against_another_is_not() -> None:
    noise = 0.1 * np.random.Generator(np.random.Philox(3)).standard_normal((2, 100))
    assert opening._is_better(np.array([[1.0], [0.0]]) + noise)
    assert not opening._is_better(np.array([[1.0], [-0.5]]) + noise)
    assert not opening._is_better(noise)


def test_only_decoys_are_tried() -> None:
    kinds = KIND_OF_ACTION[opening.useful_decoys()]
    assert len(kinds) > 20
    assert kinds.min() >= FIRST_DECOY
    assert kinds.max() <= LAST_DECOY


@pytest.mark.parametrize(
    "options",
    [
        {"opening": 0},
        {"episodes": 4_999},
        {"episodes": 6_000, "starts": 3},
        {"head_start": 5},
        {"sim": "cyborg"},
        {"red_agent": "module:red"},
        {"rule": ("calm = always (restores_10 <= 2)",)},
    ],
)
def test_where_planning_makes_no_sense_nothing_is_planned(options: dict[str, Any]) -> None:
    assert is_plannable(TrainConfig(episodes=5_000))
    assert not is_plannable(TrainConfig(**({"episodes": 5_000} | options)))


@pytest.mark.usefixtures("few")
def test_what_is_planned_is_imitated_and_its_episodes_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    planned: list[int] = []

    def plan(play: Any, *, num_steps: int, **_: Any) -> tuple[int, ...]:
        planned.append(num_steps)
        play((GOOD,), 7, 0)
        return (GOOD, GOOD) if len(planned) == 1 else ()

    monkeypatch.setattr(trainer_module, "find_opening", plan)
    config = TrainConfig(**SMALL, red="mixed")
    trainer, records = Trainer(config), []
    while not trainer.is_done:
        records.append(trainer.step())
    found = {r["total_episodes"]: r["opening"] for r in records if r["opening"]}
    told = {"actions": ["DecoyFemitter User2"] * 2}
    assert found == {160: told | {"episodes": 21}, 280: told | {"episodes": 42}}
    assert trainer.progress.opening_episodes == 42  # each of the seven against three attackers
    assert planned == [3, 3]
    played = collect(trainer.collector, trainer.network, np.zeros(200, np.int64), seed=3)
    untrained = collect(trainer.collector, make_network(config), np.zeros(200, np.int64), seed=3)
    assert (played.actions[:2] == GOOD).mean() > 0.5
    assert (untrained.actions[:2] == GOOD).mean() < 0.05


@pytest.mark.usefixtures("few")
def test_a_run_that_is_killed_around_its_planning_ends_in_the_same_bits() -> None:
    config = TrainConfig(**SMALL)
    whole = Trainer(config)
    while not whole.is_done:
        whole.step()
    killed = Trainer(config)
    while not killed.is_done:
        killed.step()
        other = Trainer(config)
        other.restore(killed.to_arrays(), killed.to_json())
        killed = other
    assert killed.progress == whole.progress
    one, two = whole.to_arrays(), killed.to_arrays()
    assert all(np.array_equal(one[name], two[name]) for name in one)


def test_an_opening_is_played_by_all_collectors_instead_of_the_networks_choice() -> None:
    config = TrainConfig(**SMALL)
    game = game_of(config).make(4)
    played = collect(game, make_network(config), np.zeros(4, np.int64), seed=1, opening=(GOOD, BAD))  # type: ignore[arg-type]
    assert (played.actions[0] == GOOD).all()
    assert (played.actions[1] == BAD).all()
    assert len(np.unique(played.actions[2])) > 1


def test_a_trial_takes_the_place_of_one_choice() -> None:
    config = TrainConfig(**SMALL)
    trials = Trials(np.array([3, 0, 50, 99]), np.array([GOOD, BAD, GOOD, BAD]))
    game, network = game_of(config).make(4), make_network(config)
    own = collect(game, network, np.zeros(4, np.int64), seed=1)  # type: ignore[arg-type]
    tried = collect(game, network, np.zeros(4, np.int64), seed=1, trials=trials)  # type: ignore[arg-type]
    for episode, (step, action) in enumerate(zip(trials.steps, trials.actions, strict=True)):
        assert (own.actions[:step, episode] == tried.actions[:step, episode]).all()
        assert tried.actions[step, episode] == action


def test_decoys_are_tried_in_every_episode_until_late_in_training() -> None:
    trainer = Trainer(TrainConfig(**(SMALL | {"episodes": 100})))
    tried = []
    while not trainer.is_done:
        trials = trainer._trials(500)
        tried.append(trials is not None)
        if trials is not None:
            assert set(trials.actions) == set(opening.useful_decoys())
            assert len(set(trials.steps)) > 90
        trainer.step()
    assert tried == [True] * 7 + [False] * 3
    assert Trainer(TrainConfig(**SMALL, try_decoys=False))._trials(5) is None
    calm = TrainConfig(**SMALL, rule=("calm = always (restores_10 <= 2)",))
    assert Trainer(calm)._trials(5) is None
