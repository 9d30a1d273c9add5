"""Same seed, same bits: whatever the batch, the threads, the process or the order."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.defenders import ScriptedDefender
from standing_orders.cage2.scenario import OBSERVATION_STYLES, RED_AGENTS, RULE_SETS
from standing_orders.cage2.state import digest
from standing_orders.config import SimConfig

GOLDEN = Path(__file__).parents[1] / "golden" / "trajectories.json"
SEEDS = np.arange(1_000, 1_256, dtype=np.uint64)
HORIZON = 30


def trajectory_digests(
    seeds: np.ndarray, config: SimConfig, *, policy: str = "useful-random", num_threads: int = 1
) -> list[str]:
    """One digest for each environment: all its states, observations and rewards."""
    batch = Cage2Batch(len(seeds), config, num_threads=num_threads)
    blue = ScriptedDefender(policy)
    blue.reset(seeds)
    digests = [hashlib.sha256() for _ in seeds]
    observations = batch.reset(seeds)
    for step in range(config.horizon + 1):
        for i, total in enumerate(digests):
            total.update(digest(batch.states[i : i + 1]).encode())
            total.update(observations[i].tobytes() + batch.rewards[i].tobytes())
        if step < config.horizon:
            observations, _ = batch.step(blue.act(observations))
    batch.close()
    return [total.hexdigest() for total in digests]


@pytest.fixture(scope="module", params=["b_line", "meander"])
def config(request: pytest.FixtureRequest) -> SimConfig:
    return SimConfig(red=request.param, horizon=HORIZON, red_tempo=2, head_start=3)


@pytest.fixture(scope="module")
def expected(config: SimConfig) -> list[str]:
    return trajectory_digests(SEEDS, config)


@pytest.mark.parametrize("batch_size", [1, 7])
def test_batch_size_does_not_matter(
    config: SimConfig, expected: list[str], batch_size: int
) -> None:
    seeds = SEEDS[:21]
    parts = [seeds[i : i + batch_size] for i in range(0, len(seeds), batch_size)]
    assert [d for part in parts for d in trajectory_digests(part, config)] == expected[:21]


def test_threads_do_not_matter(config: SimConfig, expected: list[str]) -> None:
    assert trajectory_digests(SEEDS, config, num_threads=2) == expected


def test_the_order_of_environments_does_not_matter(config: SimConfig, expected: list[str]) -> None:
    order = np.random.default_rng(0).permutation(len(SEEDS))
    assert trajectory_digests(SEEDS[order], config) == [expected[i] for i in order]


def test_another_process_with_another_hash_seed_gives_the_same_bits(
    config: SimConfig, expected: list[str]
) -> None:
    code = (
        "import sys, json, numpy as np\n"
        "from tests.cage2.test_determinism import trajectory_digests\n"
        "from standing_orders.config import SimConfig\n"
        "config = SimConfig(**json.loads(sys.argv[1]))\n"
        "print(json.dumps(trajectory_digests(np.arange(1000, 1010, dtype=np.uint64), config)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, json.dumps(config.model_dump())],
        env=os.environ | {"PYTHONHASHSEED": "4711"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(result.stdout) == expected[:10]


def test_every_environment_plays_an_episode_of_its_own(expected: list[str]) -> None:
    assert len(set(expected)) == len(expected)


def play(batch: Cage2Batch) -> bytes:
    for _ in range(20):
        batch.step(np.zeros(batch.num_envs, dtype=np.int64))
    names = ("meander_scanned", "meander_exploited", "num_sessions", "scan_ports")
    return b"".join(batch.states[name].tobytes() for name in names)


def test_the_next_episode_differs_and_is_repeatable() -> None:
    batch = Cage2Batch(64, SimConfig(red="meander"))
    batch.reset(5)
    first = play(batch)
    batch.reset()
    second = play(batch)
    batch.reset(5)
    assert play(batch) == first != second
    batch.reset()
    assert play(batch) == second


def golden_games() -> dict[str, tuple[SimConfig, str]]:
    """Fifty games: every option, every scripted defender that acts."""
    games = {}
    policies = ("random", "useful-random", "react_restore", "react_remove", "heuristic")
    for i in range(50):
        settings = {
            "red": RED_AGENTS[(0, 1, 0, 1, 2)[i % 5]],
            "rules": RULE_SETS[i // 5 % 2],
            "observation": OBSERVATION_STYLES[i // 10 % 2],
            "head_start": (0, 0, 5, 20)[i % 4],
            "red_tempo": (1, 1, 1, 2, 3)[i // 3 % 5],
            "horizon": (100, 50, 30)[i % 3],
        }
        policy = policies[i // 2 % 5]
        name = f"{i:02d} {policy} " + " ".join(f"{k}={v}" for k, v in settings.items())
        games[name] = (SimConfig(**settings), policy)
    return games


def golden_digests() -> dict[str, str]:
    seeds = np.arange(8, dtype=np.uint64)
    return {
        name: hashlib.sha256(
            "".join(trajectory_digests(seeds, config, policy=policy)).encode()
        ).hexdigest()
        for name, (config, policy) in golden_games().items()
    }


def test_trajectories_are_those_of_this_version_of_the_environment() -> None:
    """A change here means that `standing_orders/Cage2-v1` must get a new version."""
    assert golden_digests() == json.loads(GOLDEN.read_text())
