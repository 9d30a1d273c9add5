"""The networks of a team: one actor for each agent, critics, and heads that foresee margins.

The weights of all agents are stacked, and no number flows from one agent to another. An actor sees
its agent's view only. So does its critic (IPPO), unless one critic sees everything (MAPPO), which
is for training only. Boosted trees on the view of an agent may tell it their opinion first: an
input, and where the worth of actions is known the decision that the actor corrects.
"""

import copy
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from standing_orders.detect.actions import ALLOW, NUM_ACTIONS
from standing_orders.detect.config import TeamConfig
from standing_orders.detect.data.events import Sessions
from standing_orders.detect.rules import Rule
from standing_orders.detect.trees import Forest, Trees
from standing_orders.learn.networks import ACTIVATIONS

NUM_WINDOW_FEATURES = 8  # what a constraint head is told about each window
_HEAD_SIZE = 32
_NEWEST = 0.1  # least weight of a new batch in the mean and the spread of the margins
_MIN_SPREAD = 1e-3
# Rows go through a network in multiples of this: fewer take another way through the linear
# algebra, whose sums differ in the last bit.
ROWS_TOGETHER = 32
Seen = tuple[Tensor, Tensor | None]  # inputs (rows, size), and logits to start from (rows, actions)
OPINION_SCALE = 0.25  # of log-odds as an input, which are then about -2 to 2


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

    def only(self, agent: int) -> tuple[Tensor, Tensor]:
        """Bias and weights of one agent's layer."""
        one = slice(agent, agent + 1)
        return self.bias[one].detach().clone(), self.weight[one].detach().clone()


class ConstraintHeads(nn.Module):
    """One head for each agent that foresees the rules' margins; see `learn.foresight`."""

    mean: Tensor  # (num_rules,): of the margins, lately
    variance: Tensor  # (num_rules,)
    num_batches: Tensor

    def __init__(
        self, num_agents: int, size: int, rules: Sequence[Rule], generator: torch.Generator
    ) -> None:
        super().__init__()
        size += NUM_WINDOW_FEATURES * len(windows_of(rules))
        self.first = StackedLinear(num_agents, size, _HEAD_SIZE, math.sqrt(2), generator)
        self.last = StackedLinear(num_agents, _HEAD_SIZE, len(rules), 0.01, generator)
        self.register_buffer("mean", torch.zeros(len(rules)))
        self.register_buffer("variance", torch.ones(len(rules)))
        self.register_buffer("num_batches", torch.zeros(()))

    @property
    def spread(self) -> Tensor:  # (num_rules,)
        """Standard deviation of the margins, lately."""
        return self.variance.sqrt().clamp(min=_MIN_SPREAD)

    def forward(self, inputs: Tensor) -> Tensor:  # (agents, rows, in) -> (agents, rows, num_rules)
        """The margins, in units of their spread from their mean."""
        return self.last(torch.relu(self.first(inputs)))

    def margins(self, inputs: Tensor) -> Tensor:  # (agents, rows, in) -> (rows, num_rules)
        """The margins that the agents foresee on average."""
        return self(inputs).mean(dim=0) * self.spread + self.mean

    def note(self, margins: Tensor) -> None:  # (rows, num_rules)
        """Let mean and spread follow the margins, which change as the team learns."""
        self.num_batches += 1
        weight = max(_NEWEST, 1 / float(self.num_batches))
        self.mean += weight * (margins.mean(dim=0) - self.mean)
        self.variance += weight * (margins.var(dim=0, correction=0) - self.variance)


def windows_of(rules: Sequence[Rule]) -> list[Rule]:
    """One rule for each window that rules look at: those of a scope and a length."""
    return list({(rule.scope, rule.window): rule for rule in rules}.values())


class _Memory(nn.Module):
    """One LSTM for each agent; its state begins at zero with each session, whoever asks."""

    def __init__(
        self, num_agents: int, size_in: int, size_out: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.cells = nn.ModuleList(nn.LSTM(size_in, size_out) for _ in range(num_agents))
        for name, weight in self.named_parameters():
            if "weight" in name:
                nn.init.orthogonal_(weight, 1.0, generator)
            else:
                nn.init.zeros_(weight)

    def forward(self, inputs: Tensor, sessions: Sessions) -> Tensor:
        """Outputs (agents, rows, out) of sessions that lie one after the other in the rows."""
        grid, is_event = lay_side_by_side(sessions)
        rows = torch.from_numpy(grid)
        places = torch.from_numpy(np.nonzero(is_event.T.ravel())[0])  # session by session
        outputs = []
        for cell, one in zip(self.cells, inputs, strict=True):
            known, _ = cell(one[rows])  # (steps, sessions, out); padding comes last
            outputs.append(known.transpose(0, 1).flatten(0, 1)[places])
        return torch.stack(outputs)

    def only(self, agent: int, size_in: int) -> nn.LSTM:
        """One agent's memory, for its first `size_in` inputs."""
        cell = copy.deepcopy(self.cells[agent])
        assert isinstance(cell, nn.LSTM)
        weight = cell.weight_ih_l0
        assert isinstance(weight, Tensor)
        cell.input_size = size_in
        cell.weight_ih_l0 = nn.Parameter(weight[:, :size_in].detach().clone())
        return cell


def lay_side_by_side(
    sessions: Sessions,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:  # each (steps, num_sessions)
    """Row of each step of each session, and whether there is one; 0 where not.

    Example:
        >>> grid, is_event = lay_side_by_side(Sessions.of_lengths([2, 1]))
        >>> grid.tolist(), is_event.tolist()
        ([[0, 2], [1, 0]], [[True, True], [True, False]])
    """
    steps = np.arange(sessions.lengths.max())[:, None]
    is_event = steps < sessions.lengths
    return np.where(is_event, sessions.starts[:-1] + steps, 0), is_event


class _Trunk(nn.Module):
    """Hidden layers; with a memory the first of them is an LSTM."""

    def __init__(
        self, num_agents: int, size_in: int, config: TeamConfig, generator: torch.Generator
    ) -> None:
        super().__init__()
        sizes = [size_in, *config.hidden]
        self.memory: _Memory | None = None
        if config.network == "lstm":
            self.memory = _Memory(num_agents, size_in, sizes[1], generator)
            sizes = sizes[1:]
        self.layers = nn.ModuleList(
            StackedLinear(num_agents, a, b, math.sqrt(2), generator) for a, b in pairwise(sizes)
        )
        self.activation = ACTIVATIONS[config.activation]()

    def forward(self, inputs: Tensor, sessions: Sessions) -> Tensor:
        hidden = inputs if self.memory is None else self.memory(inputs, sessions)
        for layer in self.layers:
            hidden = self.activation(layer(hidden))
        return hidden


class Eyes:
    """What agents with the same view and the same trees get to see of events.

    The trees, if there are any, tell their opinion first; for the worths see `first_logits`.
    """

    def __init__(self, view: NDArray[np.int64], trees: Trees | None, worths: Tensor) -> None:
        self.view, self.trees, self._worths = view, trees, worths

    def see(self, features: NDArray[np.float32]) -> Seen:
        """Inputs of an `Actor`, of all features of events, (rows, num_features).

        Rows of zeros follow, up to a multiple of `ROWS_TOGETHER`.
        """
        num_rows, has_opinion = len(features), int(self.trees is not None)
        filled = num_rows + -num_rows % ROWS_TOGETHER
        inputs = np.zeros((filled, has_opinion + len(self.view)), dtype=np.float32)
        inputs[:num_rows, has_opinion:] = seen = self._look(features)
        if self.trees is None:
            return torch.from_numpy(inputs), None
        inputs[:num_rows, 0] = self.trees.log_odds(seen) * np.float32(OPINION_SCALE)
        told = torch.from_numpy(inputs)
        return told, first_logits(told[:, 0], self._worths)

    def doubt(self, seen: Seen) -> Tensor:  # (rows,)
        """Log-odds of a threat by what the trees say; 0 without trees."""
        inputs = seen[0]
        return torch.zeros(len(inputs)) if self.trees is None else inputs[:, 0] / OPINION_SCALE

    def opinion(self, features: NDArray[np.float32]) -> Tensor:  # (rows, 1)
        """What the trees say of events, scaled."""
        assert self.trees is not None
        return torch.from_numpy(self.trees.log_odds(self._look(features)))[:, None] * OPINION_SCALE

    def _look(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        is_all = np.array_equal(self.view, np.arange(features.shape[1]))
        return features if is_all else features[:, self.view]


def eyes_of(network: "TeamNetwork") -> list[Eyes]:
    """The eyes of each agent; those that see alike are the same, so that they look once."""
    found: list[Eyes] = []
    for agent, view in enumerate(network.views):
        trees = None if network.forest is None else network.forest.trees_of(agent)
        same = (one for one in found if np.array_equal(one.view, view) and one.trees == trees)
        found.append(next(same, Eyes(view, trees, network.worths)))
    return found


class Actor:
    """One agent's own network, cut out of the team's: it needs nothing of the other agents.

    Plain tensors: for one event the calls of modules would take longer than the sums.
    """

    def __init__(self, network: "TeamNetwork", agent: int) -> None:
        trunk, size = network.actor, len(network.views[agent]) + network.has_opinions
        self.memory = None if trunk.memory is None else trunk.memory.only(agent, size)
        self.memory_size = 0 if self.memory is None else self.memory.hidden_size
        layers = [layer for layer in trunk.layers if isinstance(layer, StackedLinear)]
        *hidden, self.policy = (layer.only(agent) for layer in (*layers, network.policy))
        if self.memory is None:  # what inputs that fill up shorter views would say is 0
            hidden[0] = (hidden[0][0], hidden[0][1][:, :size].contiguous())
        self._hidden = hidden
        self._activate = trunk.activation.forward

    def __call__(
        self,
        inputs: Tensor,  # (rows, size of the view): behind what its trees say, if there are any
        first: Tensor | None,  # (rows, NUM_ACTIONS): what its trees add to the logits
        memory: Tensor | None = None,  # (2, rows, memory_size): zeros where a session begins
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Log-probabilities (rows, NUM_ACTIONS), hidden states, and the memory after the events."""
        hidden = inputs[None]
        if self.memory is not None and memory is not None:
            hidden, (short, long) = self.memory(hidden, (memory[:1], memory[1:]))
            memory = torch.cat([short, long])
        for bias, weight in self._hidden:
            hidden = self._activate(torch.baddbmm(bias, hidden, weight))
        bias, weight = self.policy
        logits = torch.baddbmm(bias, hidden, weight)[0]
        if first is not None:
            logits = logits + first
        return torch.log_softmax(logits, dim=-1), hidden[0], memory


def first_logits(
    opinion: Tensor,  # (...): log-odds of a threat, scaled
    worths: Tensor,  # (NUM_ACTIONS, 2): on benign events and threats, over the entropy's weight
) -> Tensor:  # (..., NUM_ACTIONS)
    """Logits by what the trees say alone: the expected worth of each action; 0 if not known."""
    threat = torch.sigmoid(opinion / OPINION_SCALE)[..., None]
    return (1 - threat) * worths[:, 0] + threat * worths[:, 1]


class TeamNetwork(nn.Module):
    """Actors, critics, trees and constraint heads of a team.

    Rows of features may be *told*: what the agents' trees say about them, scaled, stands behind the
    features, a column for each agent. Where it does not, the trees are asked. The constraint heads
    foresee the margins of the rules.

    An agent's suspicion *leans* on its trees where its first decision is theirs: the worth of an
    action is linear in P(threat), so of events that they are sure about the policy hardly says
    which is the more suspicious, and what little it says is noise in attacks that are new to it.
    """

    worths: Tensor  # (NUM_ACTIONS, 2): see `first_logits`; the learner puts them here
    lean: Tensor  # (): share of the trees in an agent's log-odds of a threat; so, too

    def __init__(
        self,
        views: Sequence[NDArray[np.int64]],
        num_features: int,
        config: TeamConfig,
        *,
        rules: Sequence[Rule],
        seed: int,
    ) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        num_agents, width = len(views), max(map(len, views))
        self.num_agents, self.num_features = num_agents, num_features
        self.forest = Forest(num_agents, config.trees) if config.trees else None
        self.has_opinions = int(self.forest is not None)
        self.register_buffer("worths", torch.zeros(NUM_ACTIONS, 2))
        self.register_buffer("lean", torch.zeros(()))
        self.views = tuple(views)
        self.sees_all = all(len(view) == num_features for view in views)
        # Shorter views are filled up with a column of zeros behind the features.
        filled = np.full((num_agents, width), num_features)
        for row, view in zip(filled, views, strict=True):
            row[: len(view)] = view
        self._columns = torch.from_numpy(filled)
        self.is_shared = config.critic == "shared"
        size = config.hidden[-1]
        self.actor = _Trunk(num_agents, width + self.has_opinions, config, generator)
        self.policy = StackedLinear(num_agents, size, NUM_ACTIONS, 0.01, generator)
        with torch.no_grad():
            self.policy.bias[:, :, ALLOW] = config.initial_allow_bias or 0.0
        if self.is_shared:
            self.critic = _Trunk(1, num_features, config, generator)
            self.worth = StackedLinear(1, size, num_agents, 1.0, generator)
        else:
            self.critic = _Trunk(num_agents, width + self.has_opinions, config, generator)
            self.worth = StackedLinear(num_agents, size, 1, 1.0, generator)
        self.heads = ConstraintHeads(num_agents, size, rules, generator)

    def _load_from_state_dict(self, state: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Take weights back; older teams do not lean on their trees."""
        state.setdefault(f"{prefix}lean", torch.zeros(()))
        super()._load_from_state_dict(state, prefix, *rest)

    def tell(self, features: Tensor) -> Tensor:  # (rows, num_features [+ agents])
        """Rows with what the agents' trees say about them; see the class."""
        if self.forest is None or features.shape[1] > self.num_features:
            return features
        eyes = eyes_of(self)
        told = {one: one.opinion(features.numpy()) for one in set(eyes)}
        return torch.cat([features, *(told[one] for one in eyes)], dim=1)

    def doubts(self, told: Tensor) -> Tensor:  # (agents, rows)
        """Log-odds of a threat by what each agent's trees say, of rows that are told."""
        if not self.has_opinions:
            return torch.zeros(self.num_agents, len(told))
        return told[:, self.num_features :].T / OPINION_SCALE

    def _look(self, rows: Tensor) -> Tensor:  # (rows, features [+ agents]) -> (agents, rows, width)
        features, told = rows[:, : self.num_features], rows[:, self.num_features :]
        if self.sees_all:
            seen = features.expand(self.num_agents, *features.shape)
        else:
            padded = nn.functional.pad(features, (0, 1))
            seen = padded[:, self._columns].transpose(0, 1)
        return torch.cat([told.T[:, :, None], seen], dim=2) if self.has_opinions else seen

    def act(self, features: Tensor, sessions: Sessions) -> tuple[Tensor, Tensor]:
        """Log-probabilities (agents, rows, NUM_ACTIONS) of whole sessions, and hidden states."""
        seen = self._look(self.tell(features))
        hidden = self.actor(seen, sessions)
        logits = self.policy(hidden)
        if self.has_opinions:
            logits = logits + first_logits(seen[:, :, 0], self.worths)
        return torch.log_softmax(logits, dim=-1), hidden

    def value(self, features: Tensor, sessions: Sessions) -> Tensor:  # (agents, rows)
        """What the critics expect of the rest of the session, normalised if the learner does so."""
        if self.is_shared:
            hidden = self.critic(features[None, :, : self.num_features], sessions)
            return self.worth(hidden)[0].T
        return self.worth(self.critic(self._look(self.tell(features)), sessions)).squeeze(-1)
