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
from torch import Tensor

from standing_orders.detect.actions import ALLOW
from standing_orders.detect.costs import Game
from standing_orders.detect.data.events import Task
from standing_orders.detect.network import ConstraintHeads, windows_of
from standing_orders.detect.rules import Rule, RuleBook, RuleJudge, Streams, window_sum
from standing_orders.detect.team import Judged, as_streams
from standing_orders.learn import ppo

NUM_STRETCHES = 8  # of an update; one alone would be too much of a kind
_MIN_VARIANCE = 1e-9  # of margins that are not constant
_SIGNALS = ("alert", "block", "quarantine", "changed", "suspicion")


def window_features(streams: Streams, rules: Sequence[Rule]) -> NDArray[np.float32]:
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
        window = rule.window
        flagged, doubt = signals["flagged"], signals["suspicion"]
        counted = [signals[name] for name in _SIGNALS]
        counted += [doubt * (1 - flagged), (1 - doubt) * flagged]
        sums = [window_sum(one, traces, window) / math.sqrt(window) for one in counted]
        passed = np.minimum(traces.place + 1, window) / window
        values += [traces.put(row) for row in (*sums, passed)]
    return np.stack(values, axis=-1).transpose(1, 0, 2).astype(np.float32)


def stretches(num_sessions: int, count: int, update: int) -> NDArray[np.int64]:
    """Validation sessions of an update: as they follow each other, from places that move on.

    Example:
        >>> stretches(80, 16, update=1).tolist()[:4]
        [2, 3, 12, 13]
    """
    length = max(1, count // NUM_STRETCHES)
    begins = np.arange(NUM_STRETCHES)[:, None] * num_sessions // NUM_STRETCHES
    places = begins + update * length + np.arange(length)
    chosen: NDArray[np.int64] = (places % num_sessions).ravel()
    return chosen


@dataclass(frozen=True, eq=False)
class ValidationBatch:
    """Events that happened, with what the heads are told and what they should have foreseen."""

    inputs: Tensor  # (agents, n, in): hidden states, and what is known of the windows
    margins: Tensor  # (n, num_rules)


def validation_batch(judged: Judged, game: Game, task: Task, book: RuleBook) -> ValidationBatch:
    """What there was to foresee."""
    streams = as_streams(game, task, judged.actions, judged.scores)
    own = np.clip(1 - judged.probs[:, :, ALLOW].T, 0, 1)  # (rows, agents)
    decided = np.broadcast_to(judged.actions[:, None], own.shape)
    known = window_features(as_streams(game, task, decided, own), book.rules)
    rows = np.flatnonzero(streams.valid[:, 0])
    told = torch.from_numpy(known[:, rows])
    margins = book.margin_targets(streams)[:, rows, 0].T.astype(np.float32)
    return ValidationBatch(
        inputs=torch.cat([judged.hidden[:, torch.from_numpy(rows)], told], dim=-1),
        margins=torch.from_numpy(margins),
    )


def learn_margins(
    heads: ConstraintHeads, optimiser: torch.optim.Optimizer, batch: ValidationBatch, *, seed: int
) -> None:
    """Improve the heads; only their own weights have a gradient."""
    heads.note(batch.margins)
    goals = (batch.margins - heads.mean) / heads.spread

    def loss(items: Tensor) -> tuple[Tensor, ppo.Figures]:
        error = 0.5 * ((heads(batch.inputs[:, items]) - goals[items]) ** 2).mean()
        return error, {"loss of the constraint heads": error}

    ppo.fit(
        heads, optimiser, loss, num_items=len(goals), epochs=2, minibatches=8, max_gradient=0.5,
        seed=seed,
    )  # fmt: skip


def foreseen_shares(
    heads: ConstraintHeads, batch: ValidationBatch, book: RuleBook
) -> dict[str, float | None]:
    """Share of each rule's variance that the heads foresee; None if there is none to foresee.

    1 is perfect, 0 no better than the mean of these very margins, below 0 worse.
    """
    with torch.no_grad():
        foreseen = heads.margins(batch.inputs)
    errors = ((foreseen - batch.margins) ** 2).mean(dim=0).tolist()
    variances = batch.margins.var(dim=0, correction=0).tolist()
    return {
        rule.name: 1 - error / variance if variance > _MIN_VARIANCE else None
        for rule, error, variance in zip(book.rules, errors, variances, strict=True)
    }
