"""Worker processes in lock step: they simulate, this process chooses all actions at once."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.state import allocate
from standing_orders.collect.crew import Crew, Report
from standing_orders.collect.games import GameSpec
from standing_orders.collect.loop import Actor, Timing, play_episodes
from standing_orders.collect.plan import Plan
from standing_orders.collect.rollout import Rollout
from standing_orders.collect.shared import SharedBatch
from standing_orders.collect.worker import SliceWorker
from standing_orders.config import SimConfig

Call = tuple[Any, ...]  # a method and its arguments


class LockstepCollector:
    """All episodes at once, simulated by worker processes with one barrier a step.

    Args:
        spec: the game.
        num_workers: processes.
        timeout: seconds after which a worker counts as hung.
        report: told of every worker that is lost.
    """

    def __init__(self, spec: GameSpec, *, num_workers: int, timeout: float, report: Report) -> None:
        self.spec = spec
        self.timing = Timing()
        self.num_workers = num_workers
        self._timeout = timeout
        self._report = report
        self._game: SharedGame | None = None

    def play(self, actor: Actor, plan: Plan) -> Rollout:
        """Play the episodes of a plan."""
        if self._game is None or len(self._game.states) != plan.num_episodes:
            self.close()
            self._game = SharedGame(
                self.spec, plan.num_episodes, num_workers=self.num_workers, timeout=self._timeout,
                report=self._report, preload=actor.preload,
            )  # fmt: skip
        game = self._game
        game.timing = Timing()
        whole = Timing()
        rollout = play_episodes(game, actor, plan, whole)
        game.finished()
        # The loop's time for the environment is simulation, waiting and transport.
        self.timing.add(Timing(inference=whole.inference))
        self.timing.add(game.timing)
        return rollout

    def close(self) -> None:
        """End the workers and free the shared memory."""
        if self._game is not None:
            self._game.close()
            self._game = None


class SharedGame:
    """A batch whose environments are simulated by worker processes; see `collect.loop.Game`.

    A lost worker's successor begins the same episodes and plays the same actions up to the present
    step, so that nothing is different.

    Args:
        spec: the game.
        num_envs: environments.
        num_workers: processes, at most one for each environment is used.
        timeout: seconds after which a worker counts as hung.
        report: told of every worker that is lost.
        preload: module to import once for all workers.
    """

    def __init__(
        self,
        spec: GameSpec,
        num_envs: int,
        *,
        num_workers: int,
        timeout: float,
        report: Report,
        preload: str,
    ) -> None:
        num_workers = min(num_workers, num_envs)
        self.config = SimConfig(**spec.game.model_dump(), horizon=spec.horizon)
        self.states = allocate(num_envs)
        self.timing = Timing()
        bounds = np.linspace(0, num_envs, num_workers + 1).astype(int).tolist()
        self._rows = [slice(first, last) for first, last in pairwise(bounds)]
        self._shared = SharedBatch(num_envs, num_workers)
        self._played: list[NDArray[np.int64]] = []  # actions since the reset
        builds = [
            partial(SliceWorker, spec, self._shared.handle, num_envs, rows, i, num_workers)
            for i, rows in enumerate(self._rows)
        ]
        try:
            self._crew = Crew(builds, timeout=timeout, report=report, preload=preload)
        except BaseException:
            self._shared.close()
            raise

    def reset(
        self, seed: NDArray[np.uint64], *, reds: NDArray[np.int8]
    ) -> NDArray[np.int8]:  # (num_envs, 52)
        """Begin an episode in every environment."""
        self._seeds, self._reds, self._played = seed, reds, []
        self._do(self._begin)
        return self._shared.observations

    def step(self, actions: NDArray[np.int64]) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
        """Play one step in every environment."""
        began = perf_counter()
        self._shared.actions[:] = actions
        self._do(lambda _: [("step",)])
        self._played.append(actions.copy())
        seconds = self._shared.seconds
        slowest, mean = float(seconds.max()), float(seconds.mean())
        self.timing.environment += mean
        self.timing.waiting += slowest - mean
        self.timing.transport += perf_counter() - began - slowest
        return self._shared.observations, self._shared.rewards

    def finished(self) -> None:
        """Note that all episodes are played."""
        for i in range(len(self._crew)):
            self._crew.finished(i)

    def close(self) -> None:
        """End the workers and free the shared memory."""
        self._crew.close()
        self._shared.close()

    def _begin(self, index: int) -> list[Call]:
        """Calls that bring a worker from nothing to the present step."""
        rows = self._rows[index]
        calls: list[Call] = [("reset", self._seeds[rows], self._reds[rows])]
        if self._played:
            calls.append(("replay", np.stack(self._played)[:, rows]))
        return calls

    def _do(self, calls_of: Callable[[int], list[Call]]) -> None:
        """Have every worker do its calls, one after the other, and wait for the last of them."""
        queues = {i: calls_of(i) for i in range(len(self._crew))}
        for i, calls in queues.items():
            self._crew.call(i, *calls.pop(0))
        while queues:
            for event in self._crew.hear(queues):
                i = event.index
                if event.is_new:
                    calls = calls_of(i)
                    queues[i] = calls if calls[0][0] == "reset" else self._begin(i) + calls
                if queues[i]:
                    self._crew.call(i, *queues[i].pop(0))
                else:
                    del queues[i]
        self.states["held"] = self._shared.held
