"""What a defender does in its steps and where it loses points; see `record.py defence`."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.actions import (
    ANALYSE,
    FIRST_DECOY,
    HOST_OF_ACTION,
    KIND_OF_ACTION,
    LAST_DECOY,
    REMOVE,
    RESTORE,
)
from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.reward import TENTHS_PER_POINT
from standing_orders.cage2.scenario import (
    HOST_VALUE_TENTHS,
    HOSTS,
    NUM_HOSTS,
    SERVICE_DOWN_TENTHS,
    SUBNET_OF_HOST,
    SUBNETS,
)
from standing_orders.config import GameConfig, RedAgent, SimConfig
from standing_orders.learn.policy import LearnedDefender
from standing_orders.learn.run import load_network
from standing_orders.seeding import child_seed, environment_seeds

SEED = 2_000_003  # of no training run, and of no score
PHASES = ((0, 10), (10, 30), (30, 100))
PARTS = {
    "restore": (RESTORE,),
    "remove": (REMOVE,),
    "analyse": (ANALYSE,),
    "decoy": range(FIRST_DECOY, LAST_DECOY + 1),
}


@dataclass(frozen=True)
class Played:
    """Some episodes, step by step."""

    actions: NDArray[np.int64]  # (steps, episodes)
    lost: dict[str, NDArray[np.int64]]  # each (steps, episodes), tenths of a point


def play(run: Path, red: RedAgent, num_episodes: int) -> Played:
    """Play the greedy policy of a run, noting what every step costs and why."""
    network, trained = load_network(run)
    config = SimConfig(**trained.part(GameConfig).model_dump(), red=red)
    policy = LearnedDefender(network, name=run.name, game=config, is_greedy=True)
    seeds = environment_seeds(child_seed(SEED, red), num_episodes)
    batch = Cage2Batch(num_episodes, config)
    policy.reset(seeds)
    batch.reset(seeds)
    actions: list[NDArray[np.int64]] = []
    lost: dict[str, list[NDArray[np.int64]]] = {name: [] for name in (*SUBNETS, "service")}
    for _ in range(config.horizon):
        actions.append(policy.act(batch.observations).copy())
        batch.step(actions[-1])
        taken = batch.states["privileged"][:, None] >> np.arange(NUM_HOSTS) & 1
        for number, name in enumerate(SUBNETS):
            lost[name].append(taken @ (HOST_VALUE_TENTHS * (SUBNET_OF_HOST == number)))
        lost["service"].append(SERVICE_DOWN_TENTHS * (batch.states["ot_up"] == 0))
    return Played(np.stack(actions), {name: np.stack(parts) for name, parts in lost.items()})


def describe(played: Played, phase: slice, host: str) -> dict[str, str]:
    """Points lost and actions taken in some steps, mean of an episode."""
    actions = played.actions[phase]
    kinds, hosts = KIND_OF_ACTION[actions], HOST_OF_ACTION[actions]
    cells = {
        f"lost_{name.lower()}": -part[phase].sum(axis=0).mean() / TENTHS_PER_POINT
        for name, part in played.lost.items()
    }
    for name, wanted in PARTS.items():
        cells[name] = np.isin(kinds, wanted).sum(axis=0).mean()
    at_host = hosts == HOSTS.index(host)
    for name in ("restore", "remove"):
        cells[f"{name}_host"] = (at_host & np.isin(kinds, PARTS[name])).sum(axis=0).mean()
    return {name: f"{value:.2f}" for name, value in cells.items()}
