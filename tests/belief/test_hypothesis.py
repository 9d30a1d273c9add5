"""A packed state has the same future as the state it was made of."""

import numpy as np
import pytest

from standing_orders.belief.hypothesis import NUM_WORDS, pack, read_observation, unpack
from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.defenders import ScriptedDefender
from standing_orders.cage2.opponents import settle
from standing_orders.cage2.scenario import RULE_SETS
from standing_orders.cage2.step import play_step, step_all
from standing_orders.config import SimConfig

GAMES = [
    SimConfig(red="b_line"),
    SimConfig(red="meander"),
    SimConfig(red="sleep"),
    SimConfig(red="b_line", rules="leaderboard-2022", head_start=9),
    SimConfig(red="meander", rules="leaderboard-2022", observation="stock", red_tempo=3),
    SimConfig(red="b_line", red_tempo=2, observation="stock"),
]


def rewrite(states: np.ndarray) -> None:
    """Pack every state and put it together again from the packed words."""
    words = np.zeros(NUM_WORDS, np.int64)
    for i in range(len(states)):
        settle(states[i])
        pack(states[i], words)
        unpack(words, states[i])
        states["ot_known"][i] = 1


@pytest.mark.parametrize("config", GAMES, ids=str)
@pytest.mark.parametrize("defender", ["useful-random", "heuristic"])
def test_a_state_made_of_its_words_plays_on_as_before(config: SimConfig, defender: str) -> None:
    num_envs = 12
    batch, policy = Cage2Batch(num_envs, config), ScriptedDefender(defender)
    observations = batch.reset(seed=5)
    policy.reset(np.arange(num_envs, dtype=np.uint64))
    twins, seen = batch.states.copy(), np.zeros((num_envs, 52), np.int8)
    everyone, rewards = np.ones(num_envs, np.bool_), np.zeros(num_envs, np.int32)
    for _ in range(100):
        rewrite(twins)
        actions = policy.act(observations).copy()
        observations, _ = batch.step(actions)
        step_all(
            twins, everyone, actions, RULE_SETS.index(config.rules), config.red_tempo,
            ("corrected", "stock").index(config.observation), seen.view(np.uint32), rewards,
        )  # fmt: skip
        assert (seen == observations).all()
        assert (twins["held"] == batch.states["held"]).all()
        assert (twins["privileged"] == batch.states["privileged"]).all()


@pytest.mark.parametrize("config", GAMES, ids=str)
def test_packing_a_packed_state_changes_nothing(config: SimConfig) -> None:
    batch = Cage2Batch(20, config)
    batch.reset(seed=1)
    before, after = np.zeros(NUM_WORDS, np.int64), np.zeros(NUM_WORDS, np.int64)
    for env in batch.states:
        for _ in range(40):
            play_step(env, 0, 0, config.red_tempo)
        settle(env)
        pack(env, before)
        unpack(before, env)
        settle(env)
        pack(env, after)
        assert before.tolist() == after.tolist()


def test_an_observation_is_read_as_activity_and_table() -> None:
    observation = np.zeros(52, np.int8)
    observation[0:4] = (1, 0, 0, 1)  # Defender: Scan, User
    observation[48:52] = (1, 1, 1, 1)  # User4: Exploit, Privileged
    table, activity = read_observation(observation.view(np.uint32))
    assert (table, activity) == (2 | 3 << 24, 1 | 2 << 24)
