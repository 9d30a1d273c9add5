"""Complete episodes of a policy, with all that training needs of them."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.reward import TENTHS_PER_POINT
from standing_orders.learn.inputs import InputEncoder
from standing_orders.learn.networks import ActorCritic
from standing_orders.learn.order_losses import mask_violations
from standing_orders.learn.sampling import sample_actions
from standing_orders.rules.compliance import (
    NUM_TALLIES,
    OrderCompliance,
    count_episodes,
    judge_all,
    look_all,
)
from standing_orders.seeding import environment_seeds


@dataclass(frozen=True)
class Rollout:
    """`num_envs` episodes of `steps` steps. True state is for training only."""

    inputs: NDArray[np.int8]  # (steps + 1, num_envs, size)
    actions: NDArray[np.int64]  # (steps, num_envs)
    rewards: NDArray[np.float64]  # (steps, num_envs): the environment's, in points
    verdicts: NDArray[np.int8]  # (steps, num_envs)
    top: NDArray[np.int8]  # (steps, num_envs): highest-ranked type held before the step, -1 none
    num_held: NDArray[np.int8]  # (steps, num_envs): number of types held before the step
    held_hosts: NDArray[np.int16]  # (steps, num_envs): mask of hosts held before the step
    tallies: NDArray[np.int64]  # (num_envs, NUM_TALLIES)

    @property
    def counts(self) -> OrderCompliance:
        """Verdicts of all episodes together."""
        return count_episodes(self.tallies)

    @property
    def mean_return(self) -> float:
        """Mean return of the environment's reward."""
        return float(self.rewards.sum(axis=0).mean())


def collect(
    batch: Cage2Batch,
    network: ActorCritic,
    orders: NDArray[np.int64],  # (num_envs,)
    *,
    seed: int,
    repeats: int = 1,
    judged_by: NDArray[np.int64] | None = None,  # (num_envs,)
    is_greedy: bool = False,
    count_foothold: bool = False,
    mask_factor: float | None = None,
) -> Rollout:
    """Play one episode in every environment of the batch.

    Args:
        batch: the environments; they are reset.
        network: whose actor plays.
        orders: what each episode's defender is told.
        judged_by: the orders it is judged by; those it is told if left out.
        seed: of environments and actions alike.
        repeats: the batch is that many times the same environments, meeting the same attacks.
        is_greedy: take the likeliest action instead of drawing one.
        count_foothold: see `AlignmentConfig`.
        mask_factor: times the probability of violations, by the true state; training only.
    """
    judged_by = orders if judged_by is None else judged_by
    steps, num_envs = batch.config.horizon, batch.num_envs
    encoder = InputEncoder(network.layout, orders)
    inputs = np.zeros((steps + 1, num_envs, network.layout.size), dtype=np.int8)
    actions = np.zeros((steps, num_envs), dtype=np.int64)
    rewards = np.zeros((steps, num_envs))
    verdicts = np.zeros((steps, num_envs), dtype=np.int8)
    top = np.zeros((steps, num_envs), dtype=np.int8)
    num_held = np.zeros((steps, num_envs), dtype=np.int8)
    held_hosts = np.zeros((steps, num_envs), dtype=np.int16)
    tallies = np.zeros((num_envs, NUM_TALLIES), dtype=np.int64)
    uniforms = np.random.Generator(np.random.Philox(seed)).random((steps, num_envs // repeats))
    uniforms = np.tile(uniforms, repeats)
    observations = batch.reset(np.tile(environment_seeds(seed, num_envs // repeats), repeats))
    with torch.inference_mode():
        for step in range(steps):
            now = (top[step], num_held[step], held_hosts[step])
            look_all(batch.states, judged_by, count_foothold, *now)
            row = encoder.encode(observations, inputs[step])
            logits = network.logits(network.prepare(row))
            if mask_factor is not None:
                logits = mask_violations(logits, torch.from_numpy(top[step]), mask_factor)
            if is_greedy:
                actions[step] = logits.numpy().argmax(axis=1)
            else:
                sample_actions(logits.numpy(), uniforms[step], actions[step])
            judge_all(actions[step], *now, verdicts[step], tallies)
            encoder.note(actions[step])
            observations, tenths = batch.step(actions[step])
            rewards[step] = tenths / TENTHS_PER_POINT
    encoder.encode(observations, inputs[steps])
    return Rollout(inputs, actions, rewards, verdicts, top, num_held, held_hosts, tallies)
