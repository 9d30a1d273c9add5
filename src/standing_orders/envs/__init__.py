"""Gymnasium environments: one game or many, with an order to keep, a belief and a picture."""

from standing_orders.envs.single import Cage2Env
from standing_orders.envs.vector import Cage2VectorEnv

__all__ = ["Cage2Env", "Cage2VectorEnv"]
