"""The real CybORG through our interface; skipped where it is not installed."""

import copy
import hashlib
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from standing_orders.cage2.cyborg import CyborgBatch, CyborgSource
from standing_orders.cage2.cyborg.record import record_episodes
from standing_orders.cage2.defenders import ScriptedDefender
from standing_orders.cage2.parity import compare_file
from standing_orders.cage2.traces import write_recording
from standing_orders.config import RuleSet, SimConfig
from standing_orders.errors import ConfigError, SimulationError

pytestmark = pytest.mark.cyborg
REDS: Any = ["b_line", "meander", "sleep"]


def play(batch: CyborgBatch, seeds: list[int], steps: int = 20) -> list[str]:
    """Digest of each episode with random actions."""
    batch.reset(np.array(seeds, dtype=np.uint64))
    digests = [hashlib.sha256() for _ in seeds]
    generators = [np.random.default_rng(seed) for seed in seeds]
    for _ in range(steps):
        actions = np.array([generator.integers(145) for generator in generators])
        observations, rewards = batch.step(actions)
        for i, digest in enumerate(digests):
            digest.update(observations[i].tobytes() + rewards[i].tobytes())
            digest.update(batch.states["held"][i].tobytes())
    return [digest.hexdigest() for digest in digests]


@pytest.mark.parametrize("red", REDS)
@pytest.mark.parametrize("blue", ["heuristic", "random", "useful-random"])
def test_new_recordings_have_no_difference(
    source: CyborgSource, rules: RuleSet, tmp_path: Path, red: Any, blue: str
) -> None:
    path = tmp_path / "new.npz"
    config = SimConfig(red=red, rules=rules)
    policy = ScriptedDefender(blue)
    write_recording(path, record_episodes(policy, config, source=source, num_episodes=2, seed=11))
    report = compare_file(path, rules)
    assert report.red == red
    assert report.num_steps == 100
    assert {name: f.first for name, f in report.fields.items() if f.differences} == {}


@pytest.mark.parametrize("red", REDS)
def test_the_stock_observation_is_that_of_the_challenge_wrapper(
    source: CyborgSource, rules: RuleSet, red: Any
) -> None:
    batch = CyborgBatch(1, SimConfig(red=red, rules=rules, observation="stock"), source=source)
    simulation = batch.envs[0].simulation
    from CybORG.Agents.Wrappers.BlueTableWrapper import BlueTableWrapper

    generator = np.random.default_rng(3)
    batch.reset(3)
    wrapper = BlueTableWrapper(simulation, output_mode="vector")
    first = copy.deepcopy(simulation.get_observation("Blue"))
    wrapper._process_initial_obs(copy.deepcopy(first))
    wrapper.get_last_action = lambda agent: None
    wrapper.observation_change(first, baseline=True)
    wrapper.get_last_action = simulation.get_last_action
    for _ in range(100):
        observations, _ = batch.step(generator.integers(0, 145, 1))
        wanted = wrapper.observation_change(copy.deepcopy(simulation.get_observation("Blue")))
        assert np.array_equal(observations[0], wanted)


def test_an_episode_depends_on_its_seed_alone(source: CyborgSource, rules: RuleSet) -> None:
    config = SimConfig(red="meander", rules=rules)
    alone = CyborgBatch(1, config, source=source)
    first, second = play(alone, [4])[0], play(alone, [9])[0]
    assert first != second
    random.seed(1)
    before = random.getstate()
    assert play(CyborgBatch(2, config, source=source), [9, 4]) == [second, first]
    assert random.getstate() == before


def test_who_attacks_can_change_at_a_reset(source: CyborgSource, rules: RuleSet) -> None:
    batch = CyborgBatch(2, SimConfig(rules=rules, horizon=30), source=source)
    batch.reset(np.array([1, 1], dtype=np.uint64), reds=np.array([2, 0], dtype=np.int8))
    for _ in range(30):
        batch.step(np.zeros(2, dtype=np.int64))
    assert batch.states["held"][0] == 0
    assert batch.states["held"][1] != 0


def test_a_head_start_is_red_alone(source: CyborgSource, rules: RuleSet) -> None:
    late = CyborgBatch(1, SimConfig(rules=rules, head_start=12), source=source)
    late.reset(6)
    standard = CyborgBatch(1, SimConfig(rules=rules), source=source)
    standard.reset(6)
    for _ in range(12):
        observations, _ = standard.step(np.zeros(1, dtype=np.int64))
    assert np.array_equal(late.observations, observations)
    assert late.states["held"][0] == standard.states["held"][0] != 0


def test_the_episode_ends_at_the_horizon(source: CyborgSource, rules: RuleSet) -> None:
    batch = CyborgBatch(1, SimConfig(rules=rules, horizon=1), source=source)
    with pytest.raises(SimulationError, match="before reset"):
        batch.step([0])
    batch.reset(0)
    batch.step([0])
    with pytest.raises(SimulationError, match="call reset"):
        batch.step([0])


def test_other_rules_and_a_faster_red_are_refused(source: CyborgSource, rules: RuleSet) -> None:
    wrong: Any = "head" if rules != "head" else "leaderboard-2022"
    with pytest.raises(ConfigError, match=f"plays '{rules}'"):
        CyborgBatch(1, SimConfig(rules=wrong), source=source)
    with pytest.raises(ConfigError, match="acts once a step"):
        CyborgBatch(1, SimConfig(rules=rules, red_tempo=2), source=source)


def test_a_scenario_with_other_hosts_is_named(
    source: CyborgSource, rules: RuleSet, tmp_path: Path
) -> None:
    import CybORG

    scenario = Path(CybORG.__file__).parent / "Shared/Scenarios/Scenario1b.yaml"
    own = CyborgSource(source.path, scenario=str(scenario))
    with pytest.raises(ConfigError, match=r"Scenario1b.*are not CAGE-2's"):
        CyborgBatch(1, SimConfig(rules=rules), source=own)
    missing = CyborgSource(source.path, scenario=str(tmp_path / "none.yaml"))
    with pytest.raises(ConfigError, match="no such file"):
        CyborgBatch(1, SimConfig(rules=rules), source=missing)


def test_a_red_agent_of_ones_own_attacks(source: CyborgSource, rules: RuleSet) -> None:
    own = CyborgSource(source.path, red="CybORG.Agents:SleepAgent")
    batch = CyborgBatch(1, SimConfig(rules=rules), source=own)
    batch.reset(0)
    for _ in range(30):
        batch.step([0])
    assert batch.states["held"][0] == 0
    for red, message in (("CybORG.Agents:nobody", "nobody"), ("json:loads", "no get_action")):
        with pytest.raises(ConfigError, match=message):
            CyborgBatch(1, SimConfig(rules=rules), source=CyborgSource(source.path, red=red))
