"""Actor and critic: two separate multi-layer perceptrons."""

import math
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from standing_orders.cage2.actions import NUM_ACTIONS
from standing_orders.learn.inputs import InputLayout

ACTIVATIONS: dict[str, type[nn.Module]] = {"tanh": nn.Tanh, "relu": nn.ReLU}


def _mlp(
    sizes: list[int], activation: str, last_gain: float, generator: torch.Generator
) -> nn.Sequential:
    """Orthogonal layers, zero bias: hidden gain sqrt(2), the last one as given."""
    layers: list[nn.Module] = []
    for i, (size_in, size_out) in enumerate(pairwise(sizes)):
        is_last = i == len(sizes) - 2
        layer = nn.Linear(size_in, size_out)
        nn.init.orthogonal_(layer.weight, last_gain if is_last else math.sqrt(2), generator)
        nn.init.zeros_(layer.bias)
        layers += [layer] if is_last else [layer, ACTIVATIONS[activation]()]
    return nn.Sequential(*layers)


class ActorCritic(nn.Module):
    """A policy over the 145 actions and a value, both of the scaled inputs of a layout.

    Args:
        layout: the inputs.
        hidden: sizes of the hidden layers, the same for both networks.
        activation: "tanh" or "relu".
        seed: of the initial weights.
    """

    def __init__(
        self, layout: InputLayout, *, hidden: tuple[int, ...], activation: str, seed: int
    ) -> None:
        super().__init__()
        self.layout = layout
        self.hidden = hidden
        self.activation = activation
        generator = torch.Generator().manual_seed(seed)
        self.actor = _mlp([layout.size, *hidden, NUM_ACTIONS], activation, 0.01, generator)
        self.critic = _mlp([layout.size, *hidden, 1], activation, 1.0, generator)
        self._scale = torch.from_numpy(layout.scale)

    def prepare(self, inputs: np.ndarray) -> Tensor:  # (rows, size) int8
        """Inputs as the networks take them."""
        return torch.from_numpy(inputs).to(torch.float32) * self._scale

    def logits(self, prepared: Tensor) -> Tensor:  # (rows, size) -> (rows, 145)
        """Unnormalised log-probabilities of the actions."""
        return self.actor(prepared)

    def value(self, prepared: Tensor) -> Tensor:  # (rows, size) -> (rows,)
        """Expected discounted sum of the rewards to come."""
        return self.critic(prepared).squeeze(-1)
