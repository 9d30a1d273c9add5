"""Small networks and rollouts, one torch thread."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.config import SimConfig
from standing_orders.learn.inputs import InputLayout
from standing_orders.learn.networks import ActorCritic
from standing_orders.learn.rollout import Rollout, collect


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def make_network(seed: int = 0, *, hidden: tuple[int, ...] = (16,), **layout: Any) -> ActorCritic:
    return ActorCritic(InputLayout(**layout), hidden=hidden, activation="tanh", seed=seed)


@pytest.fixture
def network() -> Callable[..., ActorCritic]:
    """Makes an untrained network."""
    return make_network


@pytest.fixture
def rollout() -> Callable[..., Rollout]:
    """Plays episodes of an untrained network, sharper than at the start so that rows repeat."""

    def play(net: ActorCritic, num_envs: int = 16, seed: int = 3, **options: Any) -> Rollout:
        order = options.pop("order", 117)
        game = {name: options.pop(name) for name in ("red", "horizon") if name in options}
        batch = Cage2Batch(num_envs, SimConfig(**game))
        return collect(batch, net, np.full(num_envs, order), seed=seed, **options)

    return play
