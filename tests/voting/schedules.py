"""Many agreements under networks and liars drawn at random: the search for one that breaks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from standing_orders.seeding import child_seed
from standing_orders.voting import LIARS, Agreement, Conditions, Patience, agree

NUM_CHOICES = 4


@dataclass(frozen=True)
class Schedule:
    """Everything that decides how an agreement goes; running it again gives the same."""

    votes: NDArray[np.int8]  # (num_slots, n)
    f: int
    liars: dict[int, str]
    conditions: Conditions
    patience: Patience
    seed: int

    def run(self) -> Agreement:
        """Play it until every honest agent has decided."""
        return agree(
            self.votes,
            self.f,
            num_choices=NUM_CHOICES,
            liars=self.liars,
            conditions=self.conditions,
            patience=self.patience,
            seed=self.seed,
        )


@dataclass(frozen=True)
class ScheduleReport:
    """What many schedules came to."""

    num_schedules: int
    num_view_changes: int  # schedules with a decision after view 0
    num_messages: int
    num_undecided: int  # honest agents without a decision, over all schedules
    out_of_range: tuple[int, ...]  # seeds of schedules with a decision no honest vote supports
    violations: tuple[int, ...]  # seeds of schedules in which honest agents decided differently


def draw_schedule(
    seed: int,
    *,
    n: int,
    f: int,
    kinds: Sequence[str] = tuple(LIARS),
    num_liars: int | None = None,
    num_slots: int = 1,
) -> Schedule:
    """Draw votes, liars, network and waiting times.

    Args:
        seed: the same seed gives the same schedule.
        n: number of agents.
        f: number of liars that the agreement must bear.
        kinds: of liars; each liar is one of them.
        num_liars: number of liars that there are; f if left out.
        num_slots: number of agreements in the same network.
    """
    num_liars = f if num_liars is None else num_liars
    rng = np.random.Generator(np.random.Philox(child_seed(seed, "schedule")))
    where = rng.permutation(n)[:num_liars]
    early_delay = float(rng.choice([1.0, 2.0, 10.0, 40.0]))
    return Schedule(
        votes=rng.integers(NUM_CHOICES, size=(num_slots, n), dtype=np.int8),
        f=f,
        liars={int(agent): str(rng.choice(list(kinds))) for agent in where},
        conditions=Conditions(
            settle_time=float(rng.choice([0.0, 10.0, 30.0, 100.0])),
            early_delay=early_delay,
            loss_prob=float(rng.choice([0.0, 0.0, 0.1, 0.5])),
            slow_prob=float(rng.choice([0.0, 0.0, 0.3])),
            deaf_prob=float(rng.choice([0.0, 0.4, 0.6, 0.8])),
        ),
        # Too short for the settled network at times: views then change for no reason.
        patience=Patience(collect=2.0, view=float(rng.choice([2.0, 4.0, 8.0]))),
        seed=seed,
    )


def run_schedules(
    num_schedules: int,
    *,
    n: int,
    f: int,
    seed: int,
    kinds: Sequence[str] = tuple(LIARS),
    num_liars: int | None = None,
    num_slots: int = 1,
) -> ScheduleReport:
    """Run many drawn schedules; see `draw_schedule`."""
    results = {}
    for index in range(num_schedules):
        own_seed = child_seed(seed, "schedules", index)
        schedule = draw_schedule(
            own_seed, n=n, f=f, kinds=kinds, num_liars=num_liars, num_slots=num_slots
        )
        results[own_seed] = schedule.run()
    return ScheduleReport(
        num_schedules=num_schedules,
        num_view_changes=sum(bool((result.views > 0).any()) for result in results.values()),
        num_messages=sum(result.num_messages for result in results.values()),
        num_undecided=sum(result.num_undecided for result in results.values()),
        out_of_range=tuple(s for s, result in results.items() if not result.is_valid.all()),
        violations=tuple(s for s, result in results.items() if not result.has_agreement.all()),
    )
