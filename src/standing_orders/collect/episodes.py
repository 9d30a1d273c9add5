"""Whole episodes, asynchronously: workers play with their own copy of the policy, no barrier."""

from collections.abc import Callable
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
_SHARES = 3  # tasks that a worker gets of a plan, at least: the last ones even out


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
        self._seconds = _TASK_SECONDS  # that an episode takes in a bundle, as last seen

    def play(self, actor: Actor, plan: Plan) -> Rollout:
        """Play the episodes of a plan."""
        if self._players is None:
            self._players = self._open_players(actor.recipe(), actor.preload)
        players, began = self._players, perf_counter()
        players.update(actor.weights())
        rollout = empty_rollout(plan.steps, plan.num_episodes, actor.input_size)
        worked = Timing()
        tasks = _Tasks(plan.num_episodes, len(players))
        running = {i: rows for i in range(len(players)) if (rows := tasks.next(self._seconds))}
        for i, rows in running.items():
            players.call(i, plan.part(rows))
        while running:
            for event in players.hear(list(running)):
                rows = running.pop(event.index)
                if event.value is None:
                    running[event.index] = rows
                else:
                    part, timing = event.value
                    rollout.put(rows, part)
                    worked.add(timing)
                    self._learn_speed(timing, rows)
                    if following := tasks.next(self._seconds):
                        running[event.index] = following
                if event.index in running:
                    players.call(event.index, plan.part(running[event.index]))
        everyone = len(players) * (perf_counter() - began)
        self.timing.add(worked)
        self.timing.add(Timing(waiting=everyone - worked.environment - worked.inference))
        return rollout

    def _learn_speed(self, timing: Timing, rows: slice) -> None:
        self._seconds = (timing.environment + timing.inference) / (rows.stop - rows.start)

    def close(self) -> None:
        """End the workers."""
        if self._players is not None:
            self._players.close()
            self._players = None


class _Tasks:
    """Deals the episodes of a plan out in bundles."""

    def __init__(self, num_episodes: int, num_workers: int) -> None:
        self._next = 0
        self._end = num_episodes
        self._largest = max(1, num_episodes // (_SHARES * num_workers))

    def next(self, seconds: float) -> slice | None:
        """The next bundle, given the seconds that an episode takes; None if all are dealt."""
        if self._next == self._end:
            return None
        wanted = max(self._largest, round(_TASK_SECONDS / seconds))
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
