"""Imported once by the server that workers are forked from, so that they all share the kernels."""

import numpy as np

from standing_orders.collect.games import GameSpec
from standing_orders.collect.loop import Timing, play_episodes
from standing_orders.collect.plan import deal_reds, make_plan
from standing_orders.config import GameConfig
from standing_orders.learn.actor import make_actor
from standing_orders.learn.inputs import InputLayout


def load_kernels() -> None:
    """Play one step with a network, which loads what has been compiled."""
    actor = make_actor(InputLayout(), (1,), "tanh")
    plan = make_plan(np.zeros(1, dtype=np.int64), reds=deal_reds("b_line", 1), steps=1, seed=0)
    play_episodes(GameSpec(GameConfig()).make(1), actor, plan, Timing())


load_kernels()
