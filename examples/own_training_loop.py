"""A learner of your own on the batch interface: REINFORCE with a linear policy, in 40 lines.

Run: python examples/own_training_loop.py     (--updates 2 --num-envs 20 only shows that it works)
"""

import numpy as np
import torch
import tyro

from standing_orders import SimConfig
from standing_orders.cage2.batch import Cage2Batch

NUM_ACTIONS, NUM_INPUTS, HORIZON = 145, 52, 100


def main(updates: int = 200, num_envs: int = 200, seed: int = 0) -> None:
    """Learn from whole episodes, all environments at once."""
    torch.manual_seed(seed)
    policy = torch.nn.Linear(NUM_INPUTS, NUM_ACTIONS)
    optimiser = torch.optim.Adam(policy.parameters(), lr=0.02)
    batch = Cage2Batch(num_envs, SimConfig(red="b_line", horizon=HORIZON))
    observations = np.zeros((HORIZON + 1, num_envs, NUM_INPUTS), dtype=np.int8)
    actions = np.zeros((HORIZON, num_envs), dtype=np.int64)
    rewards = np.zeros((HORIZON, num_envs))
    for update in range(updates):
        observations[0] = batch.reset(seed=seed + update)
        for step in range(HORIZON):
            with torch.inference_mode():
                logits = policy(torch.from_numpy(observations[step]).float())
                actions[step] = torch.distributions.Categorical(logits=logits).sample().numpy()
            _, tenths = batch.step(actions[step], out=observations[step + 1])
            rewards[step] = tenths / 10
        to_go = np.cumsum(rewards[::-1], axis=0)[::-1]
        advantages = torch.from_numpy((to_go - to_go.mean(axis=1, keepdims=True)).copy()).float()
        logits = policy(torch.from_numpy(observations[:-1]).float())
        chosen = torch.distributions.Categorical(logits=logits).log_prob(torch.from_numpy(actions))
        loss = -(chosen * advantages).mean() / 100
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if update % 10 == 0 or update == updates - 1:
            print(f"update {update}: return {rewards.sum(axis=0).mean():.1f}")


if __name__ == "__main__":
    tyro.cli(main)
