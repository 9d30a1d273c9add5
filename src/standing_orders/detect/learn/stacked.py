"""Layers of a whole team: the weights of all agents stacked, one matrix product for everybody."""

import torch
from torch import Tensor, nn


class StackedLinear(nn.Module):
    """One linear layer for each agent."""

    def __init__(
        self, num_agents: int, size_in: int, size_out: int, gain: float, generator: torch.Generator
    ) -> None:
        super().__init__()
        weight = torch.empty(num_agents, size_in, size_out)
        for one in weight:
            nn.init.orthogonal_(one, gain, generator)
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(torch.zeros(num_agents, 1, size_out))

    def forward(self, inputs: Tensor) -> Tensor:  # (agents, rows, in) -> (agents, rows, out)
        """Apply each agent's layer to its own rows."""
        return torch.baddbmm(self.bias, inputs, self.weight)
