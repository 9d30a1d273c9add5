"""Defenders of the user's own, given as module:attribute."""

from pathlib import Path

import numpy as np
import pytest

from standing_orders.config import SimConfig
from standing_orders.errors import ConfigError
from standing_orders.evaluate.card import play_returns
from standing_orders.evaluate.find import find_policy, is_own

SOURCE = '''
import numpy as np

class Restorer:
    """Restores the first host that looks compromised."""

    def reset(self, seeds):
        self.count = len(seeds)

    def act(self, observations):
        table = observations.reshape(-1, 13, 4)[:, :, 2:].any(axis=2)
        return np.where(table.any(axis=1), 132 + table.argmax(axis=1), 0)

made = Restorer()

def sleeper(observations):
    return np.zeros(len(observations), dtype=int)

def wild(observations):
    return np.full(len(observations), 145)

def shapeless(observations):
    return 3

class Agent:
    """As CybORG's BaseAgent."""

    def __init__(self):
        self.turn = 0

    def get_action(self, observation, action_space):
        assert observation.shape == (52,) and action_space == 145
        self.turn += 1
        return Restore("Op_Server0") if self.turn == 1 else 0

    def train(self, results): pass
    def end_episode(self): self.turn = 0
    def set_initial_values(self, action_space, observation): pass

class Restore:
    def __init__(self, hostname): self.hostname = hostname

class Raw(Agent):
    def get_action(self, observation, action_space):
        return observation.items()

number = 5

class Demanding:
    def __init__(self, argument): pass
    def act(self, observations): pass
'''


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_defenders.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))


def returns(name: str) -> list[int]:
    policy = find_policy(f"own_defenders:{name}")
    options = {"horizons": (30,), "num_episodes": 5, "seed": 1}
    return play_returns(policy, SimConfig(red="b_line", horizon=30), **options)[:, 0].tolist()  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["Restorer", "made"])
def test_a_class_or_an_object_that_acts_is_a_policy(name: str) -> None:
    policy = find_policy("react_restore")
    options = {"horizons": (30,), "num_episodes": 5, "seed": 1}
    scripted = play_returns(policy, SimConfig(red="b_line", horizon=30), **options)  # type: ignore[arg-type]
    assert np.mean(returns(name)) == pytest.approx(scripted.mean(), rel=0.5)


def test_a_function_of_the_observations_is_a_policy() -> None:
    assert returns("sleeper") == play_returns(
        find_policy("sleep"), SimConfig(red="b_line", horizon=30), horizons=(30,), num_episodes=5,
        seed=1,
    )[:, 0].tolist()  # fmt: skip


def test_an_agent_of_cyborg_plays_one_copy_for_each_environment() -> None:
    assert all(value <= -10 for value in returns("Agent"))  # one Restore each, at the start
    policy = find_policy("own_defenders:Agent")
    policy.reset(np.zeros(3, dtype=np.uint64))
    observations = np.zeros((3, 52), dtype=np.int8)
    assert policy.act(observations).tolist() == [139, 139, 139]
    assert policy.act(observations).tolist() == [0, 0, 0]
    policy.reset(np.zeros(2, dtype=np.uint64))
    assert policy.act(observations[:2]).tolist() == [139, 139]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("wild", "action 145 of environment 0"),
        ("shapeless", r"shape \(\): must be \(5,\)"),
        ("Raw", "52 bits of the challenge's wrapper"),
        ("number", "must have act"),
        ("nobody", "has no attribute 'nobody'"),
        ("Demanding", "argument"),
    ],
)
def test_what_is_no_policy_is_refused(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        returns(name)


def test_names_of_modules_are_told_from_paths() -> None:
    assert is_own("a.b:C.d")
    for name in ("a/b:c", "heuristic", "C:\\run", ":x", "x:"):
        assert not is_own(name)
    with pytest.raises(ConfigError, match="No module"):
        find_policy("no_such_module_here:x")
