"""CybORG's own agents in our simulator, as they are; skipped where CybORG is not installed."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.cyborg import CyborgBatch, CyborgSource
from standing_orders.cage2.own import load_policy
from standing_orders.cage2.policy import Policy
from standing_orders.config import RuleSet, SimConfig
from standing_orders.errors import ConfigError
from standing_orders.learn.sb3 import Cage2VecEnv

pytestmark = [pytest.mark.cyborg, pytest.mark.filterwarnings("ignore")]  # of its dependencies
AGENTS = "CybORG.Agents.SimpleAgents"
SEEDS = np.arange(2, dtype=np.uint64)


def play(batch: Cage2Batch | CyborgBatch, policy: Policy, steps: int = 15) -> list[list[int]]:
    """What a policy does."""
    policy.reset(SEEDS)
    observations, actions = batch.reset(SEEDS), []
    for _ in range(steps):
        chosen = policy.act(observations)
        actions.append(chosen.tolist())
        observations, _ = batch.step(chosen)
    return actions


@pytest.mark.parametrize(
    ("name", "action"), [("SleepAgent:SleepAgent", 0), ("BlueMonitorAgent:BlueMonitorAgent", 1)]
)
def test_an_agent_that_answers_with_actions_of_cyborg(
    source: CyborgSource, name: str, action: int
) -> None:
    policy = load_policy(f"{AGENTS}.{name}")
    assert play(Cage2Batch(2, SimConfig()), policy) == [[action] * 2] * 15


def test_an_agent_that_sees_the_bits_of_the_wrapper_plays_in_both(
    source: CyborgSource, rules: RuleSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CybORG's own agent that loads a model of Stable-Baselines3, given as an object."""
    ppo = pytest.importorskip("stable_baselines3").PPO
    model = ppo("MlpPolicy", Cage2VecEnv(2), n_steps=8, batch_size=16, n_epochs=1, seed=3)
    model.save(tmp_path / "model.zip")
    (tmp_path / "loaded_agent.py").write_text(
        f"from {AGENTS}.BlueLoadAgent import BlueLoadAgent\n"
        f"agent = BlueLoadAgent({str(tmp_path / 'model.zip')!r})\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    policy = load_policy("loaded_agent:agent")
    config = SimConfig(rules=rules, observation="stock")
    for batch in (Cage2Batch(2, config), CyborgBatch(2, config, source=source)):
        actions = np.array(play(batch, policy))
        assert actions.shape == (15, 2)
        assert len(np.unique(actions)) > 5  # it draws its actions
    sys.modules.pop("loaded_agent")


def test_an_agent_that_wants_raw_observations_is_refused(source: CyborgSource) -> None:
    policy = load_policy(f"{AGENTS}.BlueReactAgent:BlueReactRemoveAgent")
    with pytest.raises(ConfigError, match="52 bits of the challenge's wrapper, not raw"):
        play(Cage2Batch(2, SimConfig()), policy)


@pytest.mark.parametrize("more", [[], ["--collect", "episodes"], ["--sim", "cyborg"]])
def test_an_agent_whose_module_imports_cyborg_needs_only_its_path(
    source: CyborgSource, rules: RuleSet, tmp_path: Path, more: list[str]
) -> None:
    """As a published agent is: in a process that has not seen CybORG before."""
    (tmp_path / "published.py").write_text(
        "from CybORG.Agents import BaseAgent\n"
        "class Agent(BaseAgent):\n"
        "    def train(self, results): pass\n"
        "    def end_episode(self): pass\n"
        "    def set_initial_values(self, action_space, observation): pass\n"
        "    def get_action(self, observation, action_space): return 132 + 7\n"
    )
    words = ["evaluate", "--policy", "published:Agent", "--red", "b_line", "--episodes", "2"]
    words += ["--rules", rules, *more]
    path = [] if source.path is None else ["--cyborg-path", source.path]
    command = [sys.executable, "-m", "standing_orders", *words]
    done = subprocess.run(
        [*command, *path], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "published:Agent" in done.stdout
    if path and not more:
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert "give the folder of your CybORG with --cyborg-path" in done.stderr
