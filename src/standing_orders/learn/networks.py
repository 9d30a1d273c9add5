"""Actor and critic: two separate multi-layer perceptrons."""

import math
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from standing_orders.cage2.actions import (
    HOST_OF_ACTION,
    KIND_OF_ACTION,
    KINDS,
    NUM_ACTIONS,
    REMOVE,
    RESTORE,
)
from standing_orders.cage2.defenders import useful_actions
from standing_orders.cage2.scenario import NUM_HOSTS, UNIT_TYPE_OF_HOST, UNIT_TYPES
from standing_orders.learn.inputs import InputLayout
from standing_orders.rules.temporal import GROUP_OF_ACTION

FIXES = torch.nonzero(torch.tensor((KIND_OF_ACTION == REMOVE) | (KIND_OF_ACTION == RESTORE)))[:, 0]
FIX_TYPES = torch.tensor(UNIT_TYPE_OF_HOST)[torch.tensor(HOST_OF_ACTION)[FIXES]]  # (26,)
_FORBIDDEN = -1e9  # a logit of probability zero that is still finite
_FORBIDDEN_FIXES = torch.zeros(len(UNIT_TYPES), NUM_ACTIONS)  # what an unlawful type lowers
_FORBIDDEN_FIXES[FIX_TYPES, FIXES] = _FORBIDDEN
_FREE_ACTIONS = int((HOST_OF_ACTION < 0).sum())  # the first ones, of no host
_GROUPS = torch.tensor(GROUP_OF_ACTION)
ACTIVATIONS: dict[str, type[nn.Module]] = {"tanh": nn.Tanh, "relu": nn.ReLU}


def _layers(
    sizes: list[int], activation: str, last_gain: float, generator: torch.Generator
) -> list[nn.Module]:
    """Orthogonal layers, zero bias: hidden gain sqrt(2), the last one as given."""
    layers: list[nn.Module] = []
    for i, (size_in, size_out) in enumerate(pairwise(sizes)):
        is_last = i == len(sizes) - 2
        layer = nn.Linear(size_in, size_out)
        nn.init.orthogonal_(layer.weight, last_gain if is_last else math.sqrt(2), generator)
        nn.init.zeros_(layer.bias)
        layers += [layer] if is_last else [layer, ACTIVATIONS[activation]()]
    return layers


def _leaning(sizes: dict[str, int], lean: float) -> Tensor:  # (11, features)
    """Weights from what is known of a host, features by block, to the kinds of action there."""
    weights = {name: torch.zeros(len(KINDS) - _FREE_ACTIONS, size) for name, size in sizes.items()}
    if "belief" in weights:
        weights["belief"][REMOVE - _FREE_ACTIONS] = lean
    if "privileged" in weights:
        weights["privileged"][REMOVE - _FREE_ACTIONS] = -lean
        weights["privileged"][RESTORE - _FREE_ACTIONS] = lean
    return torch.cat(list(weights.values()), dim=1)


class Actor(nn.Sequential):
    """From scaled inputs to 145 logits; with `host_weights`, what hosts share is added.

    A host's actions then also depend on what is known of that host, by weights that are the same
    for all hosts.

    Args:
        layers: of the perceptron.
        layout: the inputs.
        lean: what these weights are at first; see `PpoConfig`.
    """

    def __init__(self, layers: list[nn.Module], layout: InputLayout, lean: float) -> None:
        super().__init__(*layers)
        self._places: Tensor | None = None
        if layout.has_host_weights:
            places = layout.host_inputs
            self._places = torch.from_numpy(np.concatenate(list(places.values()), axis=1).ravel())
            self.host_weights = nn.Parameter(
                _leaning({n: p.shape[1] for n, p in places.items()}, lean)
            )

    def forward(self, prepared: Tensor) -> Tensor:  # (rows, size) -> (rows, 145)
        """Logits."""
        logits: Tensor = super().forward(prepared)  # type: ignore[no-untyped-call]
        if self._places is None:
            return logits
        known = prepared[:, self._places].view(len(prepared) * NUM_HOSTS, -1)
        shared = (known @ self.host_weights.T).view(len(prepared), NUM_HOSTS, -1)
        by_kind = shared.transpose(1, 2).flatten(1)  # as actions are numbered
        return logits + nn.functional.pad(by_kind, (_FREE_ACTIONS, 0))


def forbid_fixes(logits: Tensor, lawful: Tensor) -> Tensor:  # (rows, 145), (rows, 5)
    """Take all probability from the fixes of hosts whose type is not lawful (1: it is, 0: not)."""
    return torch.addmm(logits, 1 - lawful, _FORBIDDEN_FIXES)


def forbid_kinds(logits: Tensor, ruled: Tensor) -> Tensor:  # (rows, 145), (rows, 5)
    """Take all probability from the kinds of action that break a rule (1: keeps all, 0: not).

    Where nothing else is left, an unlawful fix is worse: the order goes before the rule.
    """
    return logits + _FORBIDDEN / 2 * (1 - ruled[:, _GROUPS])


class ActorCritic(nn.Module):
    """A policy over the 145 actions and a value, both of the scaled inputs of a layout.

    Args:
        layout: the inputs.
        hidden: sizes of the hidden layers, the same for both networks.
        activation: "tanh" or "relu".
        seed: of the initial weights.
        lean: of the weights that hosts share, where the layout has them.
    """

    def __init__(
        self,
        layout: InputLayout,
        *,
        hidden: tuple[int, ...],
        activation: str,
        seed: int,
        lean: float = 0.0,
    ) -> None:
        super().__init__()
        self.layout = layout
        self.hidden = hidden
        self.activation = activation
        generator = torch.Generator().manual_seed(seed)
        sizes = [layout.size, *hidden]
        layers = _layers([*sizes, NUM_ACTIONS], activation, 0.01, generator)
        self.actor = Actor(layers, layout, lean)
        self.critic = nn.Sequential(*_layers([*sizes, 1], activation, 1.0, generator))
        self._useless = torch.full((NUM_ACTIONS,), _FORBIDDEN if layout.is_useful else 0.0)
        self._useless[useful_actions()] = 0.0
        self._useless[FIXES] = 0.0  # on User0 and Defender too: an order may ask for them first
        self._scale = torch.from_numpy(layout.scale)
        self._blocks = layout.blocks

    def prepare(self, inputs: np.ndarray) -> Tensor:  # (rows, size) int8
        """Inputs as the networks take them."""
        return torch.from_numpy(inputs).to(torch.float32) * self._scale

    def logits(self, prepared: Tensor) -> Tensor:  # (rows, size) -> (rows, 145)
        """Unnormalised log-probabilities of the actions; unlawful fixes have no probability."""
        logits: Tensor = self.actor(prepared)
        if self.layout.is_useful:
            logits = logits + self._useless
        if self.layout.rules:
            logits = forbid_kinds(logits, prepared[:, self._blocks["ruled"]])
        if self.layout.certainty is None:
            return logits
        return forbid_fixes(logits, prepared[:, self._blocks["lawful"]])

    def value(self, prepared: Tensor) -> Tensor:  # (rows, size) -> (rows,)
        """Expected discounted sum of the rewards to come."""
        return self.critic(prepared).squeeze(-1)
