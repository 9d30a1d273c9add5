"""What the page is told of an episode is what happened."""

import json

import numpy as np
import pytest

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.defenders import ScriptedDefender
from standing_orders.cage2.info import true_state
from standing_orders.cage2.observe import describe
from standing_orders.cage2.policy import Policy
from standing_orders.cage2.scenario import ACTIVITIES, BELIEFS, HOSTS
from standing_orders.config import SimConfig
from standing_orders.errors import ConfigError
from standing_orders.report.episodes import Episode, game_names
from standing_orders.report.record import record
from standing_orders.report.replays import OtherFuture, find_episodes, first_contested
from standing_orders.rules.compliance import count_episodes, judge_all, look_all

GAME = SimConfig(horizon=40, head_start=12)
ORDER = 58


def restoring(order: int | None = None) -> Policy:
    return ScriptedDefender("react_restore")


def test_truth_view_and_reward_are_those_of_the_simulator() -> None:
    recording = record(restoring(), GAME, [3])
    told = Episode("one", recording, 0, ORDER).to_json()
    for t in (0, 7, GAME.horizon):
        truth = true_state(recording.states[t])
        assert [int(d) for d in told["access"][t]] == truth["red_access"][0].tolist()
        seen = describe(recording.observations[t, 0])
        for host, name in enumerate(HOSTS):
            assert ACTIVITIES[int(told["activity"][t][host])] == seen[name][0]
            assert BELIEFS[int(told["belief"][t][host])] == seen[name][1]
    assert sum(told["reward"]) == recording.returns[0]


def test_verdicts_are_those_that_the_gate_counts() -> None:
    policy = restoring()
    recording = record(policy, GAME, [5])
    told = Episode("one", recording, 0, ORDER).to_json()
    top, held = np.zeros(1, np.int8), np.zeros(1, np.int8)
    hosts, verdicts, tally = np.zeros(1, np.int16), np.zeros(1, np.int8), np.zeros((1, 9), np.int64)
    for t in range(GAME.horizon):
        look_all(recording.states[t], np.array([ORDER]), False, top, held, hosts)
        judge_all(recording.actions[t], top, held, hosts, verdicts, tally)
        assert told["verdict"][t] == verdicts[0]
    assert told["verdict"].count(2) == count_episodes(tally).compliant


def test_decoys_are_told_as_changes() -> None:
    recording = record(ScriptedDefender("heuristic"), SimConfig(horizon=30), [0])
    told = Episode("one", recording, 0, None).to_json()
    masks = np.zeros(13, int)
    changes = iter([*told["decoys"], [999, 0, 0]])
    change = next(changes)
    for t in range(31):
        while change[0] == t:
            masks[change[1]] = change[2]
            change = next(changes)
        assert masks.tolist() == recording.states["decoys"][t, 0].tolist()


def test_an_episode_is_plain_data_and_small() -> None:
    told = Episode("one", record(restoring(), GAME, [1]), 0, ORDER).to_json()
    assert len(json.dumps(told)) < 25_000
    assert len(game_names()["hosts"]) == 13
    assert (told["red"], told["head_start"]) == (GAME.red, GAME.head_start)


def test_a_fork_begins_where_two_types_are_held() -> None:
    others = [OtherFuture("asleep", lambda: ScriptedDefender("sleep"), ORDER)]
    episodes = find_episodes(restoring, GAME, order=ORDER, num_episodes=8, others=others)
    assert [episode.label for episode in episodes] == ["best", "median", "worst"]
    for episode in episodes:
        step = first_contested(episode.recording, episode.place)
        assert step is not None
        (fork,) = episode.forks
        assert fork.step == step
        before = Cage2Batch(1, GAME)
        assert before.config == fork.recording.config


def test_a_fork_beyond_the_end_is_refused() -> None:
    with pytest.raises(ConfigError, match="fork-at = 40"):
        find_episodes(restoring, GAME, order=ORDER, num_episodes=2, fork_at=40)
