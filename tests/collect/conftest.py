"""A network with opinions, and episodes of it."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch

from standing_orders.collect.games import GameSpec
from standing_orders.collect.plan import Plan, deal_reds, make_plan
from standing_orders.config import GameConfig
from standing_orders.learn.actor import NetworkActor
from standing_orders.learn.inputs import InputLayout
from standing_orders.learn.networks import ActorCritic

SPEC = GameSpec(GameConfig(), "mixed", horizon=30)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def make_actor(seed: int = 0) -> NetworkActor:
    """Sharper than at the start, so that the last bits of its logits decide now and then."""
    layout = InputLayout(has_belief=True, has_memory=True, certainty=0.95)
    network = ActorCritic(layout, hidden=(32, 32), activation="tanh", seed=seed)
    with torch.no_grad():
        network.actor[-1].weight.mul_(100)
    return NetworkActor(network)


@pytest.fixture
def actor() -> NetworkActor:
    """A policy that no process but this one has."""
    return make_actor()


@pytest.fixture
def plan() -> Callable[..., Plan]:
    """Plans some episodes of all orders against all red agents."""

    def make(count: int = 12, seed: int = 5, **options: object) -> Plan:
        orders = np.arange(count) * 7 % 120
        reds = deal_reds("mixed", count)
        return make_plan(orders, reds=reds, steps=SPEC.horizon, seed=seed, **options)  # type: ignore[arg-type]

    return make
