"""Which episodes a page shows: best, median, worst or by number, and the forks of each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from standing_orders.belief import Belief
from standing_orders.cage2.attacks import AttackFile
from standing_orders.cage2.policy import Policy
from standing_orders.cage2.scenario import UNIT_TYPE_HOSTS
from standing_orders.config import SimConfig
from standing_orders.errors import ConfigError
from standing_orders.report.episodes import Episode, Fork
from standing_orders.report.record import Recording, Takeover, notable, record
from standing_orders.rules.orders import Order

# Makes a policy that is told an order; None: its own, or one that takes none.
PolicyMaker = Callable[[int | None], Policy]


@dataclass(frozen=True)
class OtherFuture:
    """A fork that is wanted: who takes over, and by which order it is judged."""

    label: str
    make: Callable[[], Policy]
    order: int | None


def told_otherwise(make: PolicyMaker, order: int) -> OtherFuture:
    """The same policy, told another order."""
    return OtherFuture(f"told {Order(order)}", lambda: make(order), order)


def first_contested(recording: Recording, place: int) -> int | None:
    """The first step before which two or more unit types are held: where orders begin to differ."""
    from_types = recording.states["held"][:-1, place]
    counts = np.array([_num_types(int(mask)) for mask in from_types])
    found = np.flatnonzero(counts >= 2)
    return int(found[0]) if len(found) else None


def _num_types(hosts: int) -> int:
    return sum(bool(hosts & int(mask)) for mask in UNIT_TYPE_HOSTS)


def find_episodes(
    make: PolicyMaker,
    config: SimConfig,
    *,
    order: int | None,
    num_episodes: int,
    numbers: Sequence[int] = (),
    fork_at: int | None = None,
    others: Sequence[OtherFuture] = (),
    attack: AttackFile | None = None,
) -> list[Episode]:
    """Record the notable episodes among some, or the given ones, with forks.

    Args:
        make: makes the policy.
        config: the game.
        order: that the policy is told and judged by.
        num_episodes: the notable ones are found among attacks 0 to this, if no numbers are given.
        numbers: which attacks to show.
        fork_at: the step from which the forks differ; the first contested one if left out.
        others: the forks of each episode.
        attack: the only one to show, instead of all these.

    Raises:
        ConfigError: the step is beyond the end of the episode.
    """
    if fork_at is not None and not 0 <= fork_at < config.horizon:
        raise ConfigError(f"fork-at = {fork_at}: must be between 0 and {config.horizon - 1}")
    if attack is not None:
        wanted = {"attack of a file": 0}
    elif numbers:
        wanted = {f"episode {number}": number for number in numbers}
    else:
        # An episode is the same in any company, so that the belief need only watch the chosen.
        wanted = notable(record(make(order), config, range(num_episodes)))
    recording = record(
        make(order), config, list(wanted.values()), make_believer=Belief, attack=attack
    )
    return [
        Episode(
            label=label,
            recording=recording,
            place=place,
            order=order,
            forks=tuple(_forks(make, recording, place, order, fork_at, others)),
        )
        for place, label in enumerate(wanted)
    ]


def _forks(
    make: PolicyMaker,
    recording: Recording,
    place: int,
    order: int | None,
    fork_at: int | None,
    others: Sequence[OtherFuture],
) -> list[Fork]:
    step = first_contested(recording, place) if fork_at is None else fork_at
    if step is None:
        return []
    return [
        Fork(
            step,
            other.label,
            record(
                Takeover(make(order), other.make(), step),
                recording.config,
                [recording.numbers[place]],
                make_believer=Belief,
                attack=recording.attack,
            ),
            0,
            other.order,
        )
        for other in others
    ]
