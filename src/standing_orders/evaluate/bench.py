"""Speed on this machine: our simulator, and CybORG and MiniCAGE if they can be imported."""

import inspect
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from standing_orders import CAGE2_ID
from standing_orders.cage2.actions import NUM_ACTIONS
from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.defenders import ScriptedDefender
from standing_orders.cage2.scenario import RED_AGENTS
from standing_orders.cage2.state import STATE_DTYPE
from standing_orders.config import RedAgent, SimConfig, TrainConfig
from standing_orders.seeding import environment_seeds

BATCH_SIZES = (1, 100, 1_000, 10_000)
HORIZON = 100
MINICAGE_ACTIONS = 53  # it has one decoy action a host


@dataclass(frozen=True)
class Speed:
    """One measurement."""

    system: str  # "standing-orders", "gymnasium Env.step", "CybORG", "MiniCAGE"
    red: str
    num_envs: int
    num_threads: int
    steps_per_second: float

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return asdict(self)


@dataclass(frozen=True)
class TrainingSpeed:
    """Speed of the learner, end to end."""

    red: str
    num_episodes: int
    episodes_per_second: float
    collect_seconds: float
    update_seconds: float
    last_return: float  # of the environment, in the last update

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return asdict(self)


def measure_training(red: RedAgent, num_episodes: int) -> TrainingSpeed:
    """Train one order from scratch with the defaults but no planned opening, in one thread."""
    import torch  # noqa: PLC0415 (heavy)

    from standing_orders.learn.trainer import Trainer  # noqa: PLC0415

    torch.set_num_threads(1)
    config = TrainConfig(order="critical_first", red=red, episodes=num_episodes, opening=0)
    Trainer(config).step()  # compile
    trainer = Trainer(config)
    collecting = updating = 0.0
    while not trainer.is_done:
        began = time.perf_counter()
        now = trainer.settings()
        rollout = trainer.play(now)
        played = time.perf_counter()
        record = trainer.learn(rollout, now)
        collecting += played - began
        updating += time.perf_counter() - played
    speed = num_episodes / (collecting + updating)
    last = record["reward"]["environment"]
    return TrainingSpeed(red, num_episodes, speed, collecting, updating, last)


def bytes_per_environment() -> int:
    """Memory of one environment's state."""
    return STATE_DTYPE.itemsize


def _fastest(play_episode: Callable[[], int], seconds: float) -> float:
    """Steps per second of the fastest of the episodes that fit into `seconds`, at least three.

    The fastest, because on a shared machine everything else measures the neighbours.
    """
    best, count, start = 0.0, 0, time.perf_counter()
    while count < 3 or time.perf_counter() - start < seconds:
        began = time.perf_counter()
        steps = play_episode()
        best = max(best, steps / (time.perf_counter() - began))
        count += 1
    return best


def measure_batch(red: RedAgent, num_envs: int, num_threads: int, seconds: float) -> Speed:
    """Our batch interface with uniformly random blue actions, which are drawn in the loop."""
    batch = Cage2Batch(num_envs, SimConfig(red=red, horizon=HORIZON), num_threads=num_threads)
    blue = ScriptedDefender("random")
    blue.reset(environment_seeds(1, num_envs))
    batch.step(blue.act(batch.reset(0)))  # compile

    def play_episode() -> int:
        observations = batch.reset()
        for _ in range(HORIZON):
            observations, _ = batch.step(blue.act(observations))
        return HORIZON * num_envs

    speed = _fastest(play_episode, seconds)
    batch.close()
    return Speed("standing-orders", red, num_envs, num_threads, speed)


def measure_env(red: RedAgent, seconds: float) -> Speed:
    """The Gymnasium path: `gymnasium.make(...)` and one `step` at a time."""
    env = gymnasium.make(CAGE2_ID, red=red, horizon=HORIZON)
    choices = np.random.default_rng(0).integers(NUM_ACTIONS, size=HORIZON)
    env.reset(seed=0)
    env.step(choices[0])  # compile

    def play_episode() -> int:
        env.reset()
        for action in choices:
            env.step(action)
        return HORIZON

    return Speed("gymnasium Env.step", red, 1, 1, _fastest(play_episode, seconds))


def measure_cyborg(red: RedAgent, seconds: float) -> Speed | None:
    """CybORG behind its challenge wrapper; None if it is not installed."""
    try:
        from CybORG import CybORG  # noqa: PLC0415 (optional, heavy)
        from CybORG.Agents import (  # noqa: PLC0415
            B_lineAgent,
            RedMeanderAgent,
            SleepAgent,
        )
        from CybORG.Agents.Wrappers import ChallengeWrapper  # noqa: PLC0415
    except ImportError:
        return None
    agent = {"b_line": B_lineAgent, "meander": RedMeanderAgent, "sleep": SleepAgent}[red]
    scenario = Path(inspect.getfile(CybORG)).parent / "Shared/Scenarios/Scenario2.yaml"
    env = ChallengeWrapper(
        env=CybORG(str(scenario), "sim", agents={"Red": agent}), agent_name="Blue"
    )
    choices = np.random.default_rng(0).integers(NUM_ACTIONS, size=HORIZON).tolist()

    def play_episode() -> int:
        env.reset()
        for action in choices:
            env.step(action)
        return HORIZON

    return Speed("CybORG", red, 1, 1, _fastest(play_episode, seconds))


def measure_minicage(red: RedAgent, num_envs: int, seconds: float) -> Speed | None:
    """MiniCAGE with its own red agents; None if it is not installed or lacks the agent."""
    try:
        from mini_CAGE import (  # noqa: PLC0415 (optional)
            B_line_minimal,
            Meander_minimal,
            SimplifiedCAGE,
        )
    except ImportError:
        return None
    agents = {"b_line": B_line_minimal, "meander": Meander_minimal}
    if red not in agents:
        return None
    env = SimplifiedCAGE(num_envs=num_envs)
    choices = np.random.default_rng(0)

    def play_episode() -> int:
        state, _ = env.reset()
        agent = agents[red]()
        for _ in range(HORIZON):
            blue = choices.integers(MINICAGE_ACTIONS, size=(num_envs, 1))
            attack = agent.get_action(observation=state["Red"]).astype(int)
            state, *_ = env.step(blue_action=blue, red_action=attack)
        return HORIZON * num_envs

    return Speed("MiniCAGE", red, num_envs, 1, _fastest(play_episode, seconds))


def measure_all(seconds: float) -> Iterator[Speed]:
    """Every measurement of `bench sim`, one at a time."""
    all_threads = os.cpu_count() or 1
    for red in RED_AGENTS:
        for num_threads in sorted({1, all_threads}):
            for num_envs in BATCH_SIZES:
                if num_threads <= num_envs:
                    yield measure_batch(red, num_envs, num_threads, seconds)
        yield measure_env(red, seconds)
        others = [measure_cyborg(red, seconds)]
        others += [measure_minicage(red, num_envs, seconds) for num_envs in BATCH_SIZES]
        yield from (speed for speed in others if speed is not None)
