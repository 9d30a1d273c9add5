"""The constraint heads: each agent foresees how far every rule will be kept.

A head predicts the smallest real margin that a rule will have at this event and the ten after it,
from the agent's hidden state and from what it knows of the windows of the rules: the team's
decisions and its own suspicion, never the truth. The heads learn from stretches of the validation
part in their own order, for margins depend on how the team does with events that it has not learned
from. Nothing of what the actors learn depends on the heads.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from standing_orders.detect.actions import ALLOW
from standing_orders.detect.data.events import Task
from standing_orders.detect.decisions import as_streams, suspicion_of
from standing_orders.detect.learn.game import Game
from standing_orders.detect.learn.stacked import StackedLinear
from standing_orders.detect.rules import Rule, RuleBook, RuleJudge, Streams, window_sum
from standing_orders.errors import NumericsError

_NUM_COUNTS = 8  # what a head is told about a window
_HIDDEN = 32
_PASSES, _MINIBATCHES = 2, 8
_NEWEST = 0.1  # least weight of a new batch in the mean and the spread of the margins
_MIN_SPREAD = 1e-3
_MIN_VARIANCE = 1e-9  # of margins that are not constant
_MAX_GRADIENT = 0.5


class Foresight(nn.Module):
    """One head for each agent.

    Args:
        num_agents: of the team.
        size: of the agents' hidden state.
        rules: what is foreseen.
        generator: of the initial weights.
    """

    mean: Tensor  # (num_rules,): of the margins, lately
    variance: Tensor  # (num_rules,)
    num_batches: Tensor

    def __init__(
        self, num_agents: int, size: int, rules: Sequence[Rule], generator: torch.Generator
    ) -> None:
        super().__init__()
        size += _NUM_COUNTS * len(windows_of(rules))
        self.first = StackedLinear(num_agents, size, _HIDDEN, math.sqrt(2), generator)
        self.last = StackedLinear(num_agents, _HIDDEN, len(rules), 0.01, generator)
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
    return list({(rule.config.scope, rule.config.window): rule for rule in rules}.values())


def recall(streams: Streams, rules: Sequence[Rule]) -> NDArray[np.float32]:
    """What the decider of each stream knows at each event of the windows that the rules look at.

    For each window, this event included: alerts, blocks, quarantines, changes of the decision,
    suspicion, suspicion of what was allowed and trust in what was not, as sums divided by the root
    of the window's length, so that they vary by about one; and how much of the window has passed.

    Returns:
        Shape (num_streams, steps, values).
    """
    judge = RuleJudge(streams)
    values = []
    for rule in windows_of(rules):
        traces, signals = judge.signals(rule)
        window = rule.config.window
        flagged, doubt = signals["flagged"], signals["suspicion"]
        names = ("alert", "block", "quarantine", "changed", "suspicion")
        counted = [*(signals[name] for name in names), doubt * (1 - flagged), (1 - doubt) * flagged]
        sums = [window_sum(one, traces, window) / math.sqrt(window) for one in counted]
        passed = np.minimum(traces.place + 1, window) / window
        values += [traces.put(row) for row in (*sums, passed)]
    return np.stack(values, axis=-1).transpose(1, 0, 2).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Lesson:
    """Events that happened, with what a head is told and what it should have foreseen."""

    rows: NDArray[np.int64]  # (n,): which events happened
    known: Tensor  # (agents, n, values): of the windows
    margins: Tensor  # (n, num_rules)

    def inputs(self, hidden: Tensor) -> Tensor:  # (agents, rows, size) -> (agents, n, in)
        """All that the heads are told, given the agents' hidden states at all events."""
        return torch.cat([hidden[:, torch.from_numpy(self.rows)], self.known], dim=-1)


def make_lesson(
    probs: NDArray[np.float64],  # (agents, rows, NUM_ACTIONS)
    actions: NDArray[np.int64],  # (rows,)
    game: Game,
    task: Task,
    book: RuleBook,
) -> Lesson:
    """What there was to foresee.

    Args:
        probs: what each agent thought.
        actions: what the team did.
        game: the events.
        task: records or sessions.
        book: the rules, at least one.
    """
    decided = actions[:, None]
    streams = as_streams(game, task, decided, suspicion_of(probs)[:, None])
    own = np.clip(1 - probs[:, :, ALLOW].T, 0, 1)  # (rows, agents)
    seen = as_streams(game, task, np.broadcast_to(decided, own.shape), own)
    rows = np.flatnonzero(streams.valid[:, 0])
    return Lesson(
        rows=rows,
        known=torch.from_numpy(recall(seen, book.rules)[:, rows]),
        margins=torch.from_numpy(book.margin_targets(streams)[:, rows, 0].T.astype(np.float32)),
    )


def learn_margins(
    heads: Foresight,
    optimiser: torch.optim.Optimizer,
    lesson: Lesson,
    hidden: Tensor,  # (agents, rows, size)
    *,
    seed: int,
) -> None:
    """Improve the heads on a lesson; only their own weights have a gradient.

    Raises:
        NumericsError: the loss is not finite.
    """
    inputs = lesson.inputs(hidden)
    heads.note(lesson.margins)
    goals = (lesson.margins - heads.mean) / heads.spread
    generator = torch.Generator().manual_seed(seed)
    for _ in range(_PASSES):
        for rows in torch.randperm(len(goals), generator=generator).chunk(_MINIBATCHES):
            loss = 0.5 * ((heads(inputs[:, rows]) - goals[rows]) ** 2).mean()
            if not torch.isfinite(loss):
                raise NumericsError(f"loss of the constraint heads is {float(loss)}")
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(heads.parameters(), _MAX_GRADIENT)
            optimiser.step()


def explained(foreseen: Tensor, margins: Tensor) -> list[float | None]:
    """Share of each rule's variance that was foreseen; None if there is none to foresee.

    1 is perfect, 0 no better than the mean of these very margins, below 0 worse.

    Example:
        >>> margins = torch.tensor([[0.0, 1.0], [1.0, 1.0]])
        >>> explained(torch.tensor([[0.0, 1.0], [0.5, 1.0]]), margins)
        [0.5, None]
    """
    errors = ((foreseen - margins) ** 2).mean(dim=0).tolist()
    variances = margins.var(dim=0, correction=0).tolist()
    return [
        1 - error / variance if variance > _MIN_VARIANCE else None
        for error, variance in zip(errors, variances, strict=True)
    ]
