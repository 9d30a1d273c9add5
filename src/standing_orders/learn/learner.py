"""What every trainer is: a network, its optimiser and counters that go to and from checkpoints."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Generic, TypeVar, get_type_hints

import torch
from pydantic import TypeAdapter, ValidationError
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
_MAX_COUNT = 2**63 - 1
LATER = {"is_later": True}  # marks a counter that older checkpoints lack
BUDGET_USED = "budget used"  # why most runs end


@dataclass
class Progress:
    """Counters of a run."""

    updates: int = 0
    stopped: str | None = None  # why, once it has


Network = TypeVar("Network", bound=nn.Module)
Counters = TypeVar("Counters", bound=Progress)


def read_counters(kind: type[Counters], data: Any) -> Counters:
    """Counters of a checkpoint; an older one may lack those that came later (`LATER`).

    Raises:
        CheckpointError: one is missing, of another type, negative or beyond all measure.
    """
    hints = get_type_hints(kind)
    needed = {one.name for one in fields(kind) if one.metadata != LATER}
    if not isinstance(data, dict) or not needed <= set(data) <= set(hints):
        seen = sorted(data) if isinstance(data, dict) else data
        raise CheckpointError(f"counters {seen!r:.200}: must be {sorted(hints)}")
    for name, value in data.items():
        try:
            TypeAdapter(hints[name]).validate_python(value, strict=True)
        except ValidationError as err:
            raise CheckpointError(f"counter {name} = {value!r:.60}: not of its type") from err
        if isinstance(value, int) and not 0 <= value <= _MAX_COUNT:
            raise CheckpointError(f"counter {name} = {value!r:.60}: cannot be")
    return kind(**data)


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
        progress = read_counters(type(self.progress), data)
        restore_network(self.network, arrays)
        restore_optimiser(self.optimiser, arrays)
        self.progress = progress

    def close(self) -> None:
        """Let go of what it works with."""
