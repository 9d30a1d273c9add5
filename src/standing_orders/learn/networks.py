"""Actor and critic: two separate multi-layer perceptrons."""

import math
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from standing_orders.cage2.actions import (
    HOST_OF_ACTION,
    KIND_OF_ACTION,
    NUM_ACTIONS,
    REMOVE,
    RESTORE,
)
from standing_orders.cage2.scenario import UNIT_TYPE_OF_HOST
from standing_orders.learn.inputs import InputLayout

FIXES = torch.nonzero(torch.tensor((KIND_OF_ACTION == REMOVE) | (KIND_OF_ACTION == RESTORE)))[:, 0]
FIX_TYPES = torch.tensor(UNIT_TYPE_OF_HOST)[torch.tensor(HOST_OF_ACTION)[FIXES]]  # (26,)
_FORBIDDEN = -1e9  # a logit of probability zero that is still finite
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


def forbid_fixes(logits: Tensor, lawful: Tensor) -> Tensor:  # (rows, 145), (rows, 5)
    """Take all probability from the fixes of hosts whose type is not lawful (1: it is, 0: not)."""
    lowered = torch.zeros_like(logits)
    lowered[:, FIXES] = _FORBIDDEN * (1 - lawful[:, FIX_TYPES])
    return logits + lowered


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
        """Unnormalised log-probabilities of the actions; unlawful fixes have no probability."""
        logits: Tensor = self.actor(prepared)
        if self.layout.certainty is None:
            return logits
        return forbid_fixes(logits, prepared[:, self.layout.blocks["lawful"]])

    def value(self, prepared: Tensor) -> Tensor:  # (rows, size) -> (rows,)
        """Expected discounted sum of the rewards to come."""
        return self.critic(prepared).squeeze(-1)
