"""Recorded episodes are what `play` shows, and a fork keeps the attack's draws."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from standing_orders.cage2.actions import MONITOR
from standing_orders.cage2.defenders import ScriptedDefender
from standing_orders.cli.play_view import play
from standing_orders.config import SimConfig
from standing_orders.errors import ConfigError
from standing_orders.learn.inputs import InputLayout
from standing_orders.learn.networks import ActorCritic
from standing_orders.learn.policy import LearnedDefender
from standing_orders.report.episodes import Episode
from standing_orders.report.record import Takeover, notable, record

GAME = SimConfig(horizon=25)


class Remembering:
    """Monitors, and remembers what it was told that it played."""

    name = "remembering"

    def reset(self, seeds: NDArray[np.uint64]) -> None:
        self.told: list[int] = []
        self.seen = 0

    def act(self, observations: NDArray[np.int8]) -> NDArray[np.int64]:
        self.seen += 1
        return np.full(len(observations), MONITOR)

    def played(self, actions: NDArray[np.int64]) -> None:
        self.told.append(int(actions[0]))


def test_an_episode_is_the_one_that_play_shows_with_its_seed() -> None:
    defender = ScriptedDefender("heuristic")
    recording = record(defender, GAME, [4, 9])
    for place, seed in enumerate((4, 9)):
        frames = list(play(defender, GAME, seed=seed))
        assert recording.returns[place] / 10 == pytest.approx(frames[-1].total)


def test_an_episode_does_not_depend_on_its_company() -> None:
    defender = ScriptedDefender("random")
    alone, together = record(defender, GAME, [7]), record(defender, GAME, [3, 7, 5])
    assert (alone.actions[:, 0] == together.actions[:, 1]).all()
    assert alone.states[-1, 0] == together.states[-1, 1]


def test_a_fork_is_the_same_up_to_its_step_and_meets_the_same_draws_after_it() -> None:
    first, second = ScriptedDefender("sleep"), ScriptedDefender("react_restore")
    whole = record(first, GAME, [2])
    forked = record(Takeover(first, second, 12), GAME, [2])
    assert (whole.states[:13] == forked.states[:13]).all()
    assert (whole.actions[12:] != forked.actions[12:]).any()
    same = record(Takeover(first, ScriptedDefender("sleep"), 12), GAME, [2])
    assert (same.states == whole.states).all()


def test_a_successor_that_remembers_is_told_what_was_really_played() -> None:
    successor = Remembering()
    recording = record(Takeover(ScriptedDefender("random"), successor, 10), GAME, [1])
    assert successor.told == recording.actions[:10, 0].tolist()
    assert successor.seen == GAME.horizon
    assert (recording.actions[10:] == MONITOR).all()


def test_best_median_and_worst_are_found_by_their_return() -> None:
    recording = record(ScriptedDefender("random"), GAME, range(21))
    found, returns = notable(recording), sorted(recording.returns)
    assert recording.returns[found["best"]] == returns[-1]
    assert recording.returns[found["worst"]] == returns[0]
    assert recording.returns[found["median"]] == returns[10]


def test_no_episode_at_all_is_refused() -> None:
    with pytest.raises(ConfigError, match="no episode"):
        record(ScriptedDefender("sleep"), GAME, [])


@pytest.mark.parametrize("is_greedy", [True, False])
def test_a_network_that_takes_over_from_itself_changes_nothing(is_greedy: bool) -> None:
    layout = InputLayout(has_belief=True, has_memory=True, has_clock=True, certainty=0.95)
    net = ActorCritic(layout, hidden=(8,), activation="tanh", seed=1)
    with torch.no_grad():
        net.actor[-1].weight.mul_(200.0)  # away from uniform: what it remembers matters

    def make() -> LearnedDefender:
        return LearnedDefender(net, name="it", orders=(33,), is_greedy=is_greedy)

    whole = record(make(), GAME, [6])
    forked = record(Takeover(make(), make(), 11), GAME, [6])
    assert (forked.actions == whole.actions).all()
    assert len(np.unique(whole.actions)) > 1


class Certain:
    """Believes that red holds as many hosts as there were steps."""

    def __init__(self, config: SimConfig, num_envs: int) -> None:
        self.held = np.zeros((num_envs, 13))

    def reset(self, observations: NDArray[np.int8]) -> None:
        self.held[:] = 0

    def update(self, actions: NDArray[np.int64], observations: NDArray[np.int8]) -> None:
        self.held[:, : int(self.held[0].sum()) % 13 + 1] = 1


def test_a_belief_that_watches_is_recorded_step_by_step() -> None:
    recording = record(ScriptedDefender("sleep"), GAME, [1, 2], make_believer=Certain)
    assert recording.held_chance is not None
    assert recording.held_chance[:4, 0].sum(axis=1).tolist() == [0, 1, 2, 3]
    told = Episode("one", recording, 1, None).to_json()
    assert told["chance"][2][:3] == [100, 100, 0]
