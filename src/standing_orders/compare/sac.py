"""Soft actor-critic for discrete actions (Christodoulou 2019), a baseline without any order.

| symbol | meaning |
|---|---|
| pi | policy over the 145 actions |
| Q1, Q2 | soft action values; their targets follow them slowly |
| V(s) | sum over a of pi(a) (min(Q1, Q2)(s, a) - alpha log pi(a)) |
| y | r + gamma V'(s'): an episode never terminates, it is cut off, so every step bootstraps |
| alpha | temperature, learned so that the entropy of pi nears its target |
"""

import copy
import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from standing_orders.cage2.actions import NUM_ACTIONS
from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.reward import TENTHS_PER_POINT
from standing_orders.config import SimConfig
from standing_orders.errors import NumericsError
from standing_orders.learn.inputs import InputEncoder, InputLayout
from standing_orders.learn.networks import ActorCritic
from standing_orders.learn.sampling import sample_actions
from standing_orders.seeding import child_seed


@dataclass(frozen=True)
class SacSettings:
    """Numbers of the learner."""

    num_envs: int = 50
    hidden: tuple[int, ...] = (64, 64)
    capacity: int = 200_000  # transitions that are kept
    rows: int = 256  # of a gradient step
    gradient_steps: int = 2  # for each step of all environments
    warm_up: int = 5_000  # transitions before the first gradient step
    learning_rate: float = 1e-3
    gamma: float = 0.99
    follow: float = 0.005  # how fast targets follow
    entropy: float = 0.25  # target, as a share of the largest possible one
    reward_scale: float = 0.1


class Replay:
    """The last transitions, drawn at random.

    Args:
        capacity: how many are kept.
        size: of the inputs.
    """

    def __init__(self, capacity: int, size: int) -> None:
        self.before = np.zeros((capacity, size), dtype=np.int8)
        self.after = np.zeros((capacity, size), dtype=np.int8)
        self.actions = np.zeros(capacity, dtype=np.int64)
        self.rewards = np.zeros(capacity, dtype=np.float32)
        self.num_added = 0

    def __len__(self) -> int:
        return min(self.num_added, len(self.actions))

    def add(
        self,
        before: NDArray[np.int8],  # (n, size)
        actions: NDArray[np.int64],  # (n,)
        rewards: NDArray[np.float32],  # (n,)
        after: NDArray[np.int8],  # (n, size)
    ) -> None:
        """Keep some transitions instead of the oldest."""
        places = (self.num_added + np.arange(len(actions))) % len(self.actions)
        self.before[places], self.after[places] = before, after
        self.actions[places], self.rewards[places] = actions, rewards
        self.num_added += len(actions)


def soft_value(logits: Tensor, values: Tensor, alpha: Tensor) -> Tensor:  # 2 x (n, 145) -> (n,)
    """V(s) of the table above."""
    log_pi = torch.log_softmax(logits, dim=1)
    return (log_pi.exp() * (values - alpha * log_pi)).sum(dim=1)


def _critic(sizes: list[int], generator: torch.Generator) -> nn.Sequential:
    layers: list[nn.Module] = []
    for size_in, size_out in pairwise(sizes):
        layer = nn.Linear(size_in, size_out)
        nn.init.orthogonal_(layer.weight, math.sqrt(2), generator)
        nn.init.zeros_(layer.bias)
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class Sac:
    """The learner; `train` plays and learns for some episodes.

    Args:
        config: the game.
        seed: of everything random.
        settings: its numbers.
    """

    def __init__(
        self, config: SimConfig, *, seed: int, settings: SacSettings | None = None
    ) -> None:
        self._settings = settings or SacSettings()
        self._config, self._seed = config, seed
        layout = InputLayout(has_order=False, has_memory=True)
        self.network = ActorCritic(
            layout, hidden=self._settings.hidden, activation="relu",
            seed=child_seed(seed, "sac", "network"),
        )  # fmt: skip
        generator = torch.Generator().manual_seed(child_seed(seed, "sac", "critics"))
        sizes = [layout.size, *self._settings.hidden, NUM_ACTIONS]
        self._critics = nn.ModuleList([_critic(sizes, generator) for _ in range(2)])
        self._targets = copy.deepcopy(self._critics)
        self._log_alpha = torch.zeros((), requires_grad=True)
        rate = self._settings.learning_rate
        self._actor_adam = torch.optim.Adam(self.network.actor.parameters(), lr=rate)
        self._critic_adam = torch.optim.Adam(self._critics.parameters(), lr=rate)
        self._alpha_adam = torch.optim.Adam([self._log_alpha], lr=rate)
        self._replay = Replay(self._settings.capacity, layout.size)
        self._rng = np.random.Generator(np.random.Philox(child_seed(seed, "sac", "draws")))

    def train(self, num_episodes: int) -> int:
        """Play at least this many episodes while learning, and give how many it was."""
        played = 0
        while played < num_episodes:
            count = min(self._settings.num_envs, num_episodes - played)
            self._play(count, child_seed(self._seed, "sac", "episodes", played))
            played += count
        return played

    def _play(self, num_envs: int, seed: int) -> None:
        batch = Cage2Batch(num_envs, self._config)
        layout = self.network.layout
        encoder = InputEncoder(layout, np.zeros(num_envs, dtype=np.int64))
        now = encoder.encode(batch.reset(seed), np.zeros((num_envs, layout.size), dtype=np.int8))
        actions = np.zeros(num_envs, dtype=np.int64)
        for _ in range(self._config.horizon):
            with torch.inference_mode():
                logits = self.network.logits(self.network.prepare(now)).numpy()
            sample_actions(logits, self._rng.random(num_envs), actions)
            encoder.note(actions)
            observations, rewards = batch.step(actions)
            after = encoder.encode(observations, np.zeros_like(now))
            scaled = rewards * (self._settings.reward_scale / TENTHS_PER_POINT)
            self._replay.add(now, actions, scaled.astype(np.float32), after)
            now = after
            if len(self._replay) >= self._settings.warm_up:
                for _ in range(self._settings.gradient_steps):
                    self._learn()

    def _learn(self) -> None:
        """One gradient step of critics, actor and temperature."""
        settings, replay = self._settings, self._replay
        rows = self._rng.integers(len(replay), size=settings.rows)
        before, after = (self.network.prepare(x[rows]) for x in (replay.before, replay.after))
        actions = torch.from_numpy(replay.actions[rows])[:, None]
        alpha = self._log_alpha.exp().detach()
        with torch.no_grad():
            least = torch.minimum(*(target(after) for target in self._targets))
            wanted = torch.from_numpy(replay.rewards[rows])
            wanted = wanted + settings.gamma * soft_value(self.network.logits(after), least, alpha)
        values = [critic(before) for critic in self._critics]
        loss = sum(((q.gather(1, actions)[:, 0] - wanted) ** 2).mean() for q in values)
        _step(self._critic_adam, torch.as_tensor(loss))
        logits = self.network.logits(before)
        least = torch.minimum(*(value.detach() for value in values))
        _step(self._actor_adam, -soft_value(logits, least, alpha).mean())
        log_pi = torch.log_softmax(logits.detach(), dim=1)
        entropy = -(log_pi.exp() * log_pi).sum(dim=1).mean()
        surplus = entropy - settings.entropy * math.log(NUM_ACTIONS)
        _step(self._alpha_adam, self._log_alpha * surplus)
        with torch.no_grad():
            for target, critic in zip(
                self._targets.parameters(), self._critics.parameters(), strict=True
            ):
                target.lerp_(critic, settings.follow)


def _step(optimiser: torch.optim.Optimizer, loss: Tensor) -> None:
    if not torch.isfinite(loss):
        raise NumericsError(f"soft actor-critic: a loss is {loss.item()}: lower the learning rate")
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
