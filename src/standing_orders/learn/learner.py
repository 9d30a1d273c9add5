"""What every trainer is: a network, its optimiser and counters that go to and from checkpoints."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Generic, TypeVar

import torch
from torch import nn

from standing_orders.errors import CheckpointError
from standing_orders.learn.snapshot import (
    Arrays,
    network_arrays,
    optimiser_arrays,
    restore_network,
    restore_optimiser,
)

ADAM_EPSILON = 1e-5
BUDGET_USED = "budget used"  # why most runs end


@dataclass
class Progress:
    """Counters of a run."""

    updates: int = 0
    stopped: str | None = None  # why, once it has


Network = TypeVar("Network", bound=nn.Module)
Counters = TypeVar("Counters", bound=Progress)


class Learner(Generic[Network, Counters]):
    """The part of a trainer that is the same for every PPO learner; see `runs.loop.Trainable`.

    Args:
        network: at the beginning.
        optimiser: of its weights.
        progress: at the beginning.
        checkpoint_every: updates between checkpoints.
    """

    def __init__(
        self,
        network: Network,
        optimiser: torch.optim.Optimizer,
        progress: Counters,
        *,
        checkpoint_every: int,
    ) -> None:
        self.network = network
        self.optimiser = optimiser
        self.progress = progress
        self.checkpoint_every = checkpoint_every

    @property
    def updates(self) -> int:
        """Updates so far."""
        return self.progress.updates

    @property
    def is_done(self) -> bool:
        """Whether the run has ended."""
        return self.progress.stopped is not None

    @property
    def has_budget(self) -> bool:
        """Whether the config allows more than has been done."""
        raise NotImplementedError

    def go_beyond(self) -> bool:
        """Go on beyond a budget that was used up, if there is more now; whether that can be."""
        if not self.has_budget or self.progress.stopped not in (None, BUDGET_USED):
            return False
        self.progress.stopped = None
        return True

    def to_arrays(self) -> Arrays:
        """Weights and optimiser for a checkpoint."""
        return network_arrays(self.network) | optimiser_arrays(self.optimiser)

    def to_json(self) -> dict[str, Any]:
        """Counters for a checkpoint."""
        return asdict(self.progress)

    def restore(self, arrays: Arrays, data: dict[str, Any]) -> None:
        """Go on from a checkpoint.

        Raises:
            CheckpointError: it is not one of such a trainer.
        """
        known = {one.name for one in fields(self.progress)}
        needed = {one.name for one in fields(Progress)}  # later ones an older run may lack
        if not needed <= set(data) <= known:
            raise CheckpointError(f"counters {sorted(data)}: must be {sorted(known)}")
        restore_network(self.network, arrays)
        restore_optimiser(self.optimiser, arrays)
        self.progress = type(self.progress)(**data)

    def close(self) -> None:
        """Let go of what it works with."""
