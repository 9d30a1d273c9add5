import json
from pathlib import Path

import numpy as np
import pytest

from standing_orders.cage2.actions import describe
from standing_orders.cage2.defenders import (
    NAMES,
    ScriptedDefender,
    compatible_decoys,
    useful_actions,
)
from standing_orders.errors import ConfigError, SimulationError

DETERMINISTIC = ("sleep", "react_restore", "react_remove", "heuristic")


@pytest.mark.parametrize("red", ["bline", "meander"])
@pytest.mark.parametrize("name", DETERMINISTIC)
def test_defender_acts_as_in_the_recordings(name: str, red: str, reference: Path) -> None:
    with np.load(reference / "head" / f"{name}__{red}.npz") as recording:
        observations, actions = recording["obs_cardiff"], recording["blue_action"]
    defender = ScriptedDefender(name)
    defender.reset(np.zeros(len(actions), dtype=np.uint64))
    for step in range(actions.shape[1]):
        chosen = defender.act(observations[:, step].astype(np.int8))
        assert (chosen == actions[:, step]).all()


def test_useful_actions_are_those_of_the_recordings(shared: Path) -> None:
    listed = json.loads((shared / "distribution" / "distribution.json").read_text())
    assert useful_actions() == listed["useful_actions"]


def test_there_are_67_useful_actions_none_on_defender_or_user0() -> None:
    names = [describe(action) for action in useful_actions()]
    assert len(set(names)) == 67
    assert not any(name.endswith((" Defender", " User0")) for name in names)


def test_compatible_decoys_of_a_windows_server() -> None:
    assert compatible_decoys("Enterprise1") == ["Femitter"]


@pytest.mark.parametrize(("name", "choices"), [("random", range(145)), ("useful-random", None)])
def test_random_defenders_choose_uniformly(name: str, choices: range | None) -> None:
    wanted = list(choices or useful_actions())
    defender = ScriptedDefender(name)
    defender.reset(np.arange(20_000, dtype=np.uint64))
    blank = np.zeros((20_000, 52), np.int8)
    actions = np.concatenate([defender.act(blank).copy() for _ in range(5)])
    values, counts = np.unique(actions, return_counts=True)
    assert values.tolist() == wanted
    expected = len(actions) / len(wanted)
    assert abs(counts - expected).max() < 5 * np.sqrt(expected)


def test_random_choices_depend_on_the_seed_of_the_environment_alone() -> None:
    first, second = ScriptedDefender("random"), ScriptedDefender("random")
    first.reset(np.array([7, 8, 9], dtype=np.uint64))
    second.reset(np.array([9], dtype=np.uint64))
    blank = np.zeros((3, 52), np.int8)
    for _ in range(20):
        assert first.act(blank)[2] == second.act(blank[:1])[0]


def test_unknown_defender_is_refused_with_the_choices() -> None:
    with pytest.raises(ConfigError, match=f"'champion': must be one of {', '.join(NAMES)}"):
        ScriptedDefender("champion")


def test_observations_of_another_batch_size_are_refused() -> None:
    defender = ScriptedDefender("heuristic")
    defender.reset(np.zeros(2, dtype=np.uint64))
    with pytest.raises(SimulationError, match=r"reset was for \(2, 52\)"):
        defender.act(np.zeros((3, 52), np.int8))
