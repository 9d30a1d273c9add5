"""Whole episodes, asynchronously: workers play with their own copy of the policy, no barrier."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Protocol

from standing_orders.collect.crew import Crew, Event, Report
from standing_orders.collect.games import GameSpec
from standing_orders.collect.loop import Actor, Timing, Weights
from standing_orders.collect.plan import Plan
from standing_orders.collect.rollout import Rollout, empty_rollout
from standing_orders.collect.worker import EpisodeWorker

_TASK_SECONDS = 0.05  # a task should take at least that long, or sending it costs too much
_LONGEST_SECONDS = 5.0  # so much is played again when a worker is lost
_SHARES = 2  # a task is at most this part of what is left for each worker: the last ones even out
_SLOW_SECONDS = 1.25  # of an episode, until it is known: first bundles are small


class Players(Protocol):
    """Workers that play whole episodes, wherever they are: see `EpisodeCollector`."""

    def __len__(self) -> int: ...

    def update(self, weights: Weights) -> None:
        """Give all workers new weights before their next task."""
        ...

    def call(self, index: int, plan: Plan) -> None:
        """Have a worker play some episodes."""
        ...

    def hear(self, indices: list[int]) -> list[Event]:
        """Wait for at least one of some workers; an event without a value: its task is lost."""
        ...

    def close(self) -> None:
        """End the workers."""
        ...


class EpisodeCollector:
    """Hands bundles of episodes to workers and takes them as they complete.

    Args:
        spec: the game.
        open_players: starts the workers, given what makes the policy and the module that it needs.
    """

    def __init__(
        self, spec: GameSpec, open_players: Callable[[Callable[[], Actor], str], Players]
    ) -> None:
        self.spec = spec
        self.timing = Timing()
        self._open_players = open_players
        self._players: Players | None = None
        self._seconds = _SLOW_SECONDS  # that an episode takes in a bundle, as last seen

    def play(self, actor: Actor, plan: Plan) -> Rollout:
        """Play the episodes of a plan."""
        if self._players is None:
            self._players = self._open_players(actor.recipe(), actor.preload)
        players, began = self._players, perf_counter()
        players.update(actor.weights())
        rollout = empty_rollout(plan.steps, plan.num_episodes, actor.input_size)
        tasks = _Tasks(plan.num_episodes, len(players))
        running: dict[int, _Running] = {}

        def give(index: int, rows: slice | None) -> None:
            if rows is not None:
                running[index] = _Running(rows, perf_counter())
                players.call(index, plan.part(rows))

        for i in range(len(players)):
            give(i, tasks.next(self._seconds))
        busy = 0.0
        while running:
            for event in players.hear(list(running)):
                done = running.pop(event.index)
                taken = perf_counter() - done.since
                busy += taken
                if event.value is None:
                    give(event.index, done.rows)
                    continue
                part, timing = event.value
                rollout.put(done.rows, part)
                self._note(timing, taken, done.rows.stop - done.rows.start)
                give(event.index, tasks.next(self._seconds))
        everyone = len(players) * (perf_counter() - began)
        self.timing.add(Timing(waiting=everyone - busy))
        return rollout

    def _note(self, timing: Timing, taken: float, num_episodes: int) -> None:
        """Where the time of a task went, and how long an episode takes."""
        played = timing.environment + timing.inference
        self._seconds = played / num_episodes
        self.timing.add(timing)
        self.timing.add(Timing(transport=taken - played))

    def close(self) -> None:
        """End the workers."""
        if self._players is not None:
            self._players.close()
            self._players = None


@dataclass(frozen=True)
class _Running:
    """A task that a worker has."""

    rows: slice
    since: float


class _Tasks:
    """Deals the episodes of a plan out in bundles, which become smaller towards its end."""

    def __init__(self, num_episodes: int, num_workers: int) -> None:
        self._next = 0
        self._end = num_episodes
        self._parts = _SHARES * num_workers

    def next(self, seconds: float) -> slice | None:
        """The next bundle, given the seconds that an episode takes; None if all are dealt."""
        if self._next == self._end:
            return None
        wanted = math.ceil((self._end - self._next) / self._parts)
        wanted = min(wanted, max(1, int(_LONGEST_SECONDS / seconds)))
        wanted = max(wanted, round(_TASK_SECONDS / seconds))
        first, self._next = self._next, min(self._next + wanted, self._end)
        return slice(first, self._next)


class ProcessPlayers:
    """Players that are processes of this machine.

    Args:
        spec: the game.
        recipe: what makes the policy.
        preload: module that it needs.
        num_workers: processes.
        timeout: seconds after which a worker counts as hung.
        report: told of every worker that is lost.
    """

    def __init__(
        self,
        spec: GameSpec,
        recipe: Callable[[], Actor],
        preload: str,
        *,
        num_workers: int,
        timeout: float,
        report: Report,
    ) -> None:
        builds = [partial(EpisodeWorker, spec, recipe)] * num_workers
        self._crew = Crew(builds, timeout=timeout, report=report, preload=preload)
        self._weights: Weights = {}
        self._is_current = [False] * num_workers

    def __len__(self) -> int:
        return len(self._crew)

    def update(self, weights: Weights) -> None:
        """Give all workers new weights before their next task."""
        self._weights = weights
        self._is_current = [False] * len(self._crew)

    def call(self, index: int, plan: Plan) -> None:
        """Have a worker play some episodes."""
        weights = None if self._is_current[index] else self._weights
        self._is_current[index] = True
        self._crew.call(index, "play", plan, weights)

    def hear(self, indices: list[int]) -> list[Event]:
        """Wait for at least one of some workers."""
        events = self._crew.hear(indices)
        for event in events:
            if event.is_new:
                self._is_current[event.index] = False
            else:
                self._crew.finished(event.index)
        return events

    def close(self) -> None:
        """End the workers."""
        self._crew.close()
