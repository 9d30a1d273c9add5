"""Players that are Ray actors, on this machine or on a cluster."""

from collections.abc import Callable
from contextlib import ExitStack
from time import monotonic
from typing import Any

from standing_orders.collect.cluster import open_cluster
from standing_orders.collect.crew import MAX_RESTARTS, START_SECONDS, Event, Report
from standing_orders.collect.games import GameSpec
from standing_orders.collect.loop import Actor, Weights
from standing_orders.collect.plan import Plan
from standing_orders.collect.worker import EpisodeWorker
from standing_orders.errors import StandingOrdersError, WorkerError

_LOOK_SECONDS = 1.0  # between looks at who is late


class RayPlayers:
    """Whole-episode workers as Ray actors; see `episodes.Players`.

    Weights go to the cluster's object store once an update; every actor takes them from there.

    Args:
        spec: the game.
        recipe: what makes the policy.
        num_workers: actors.
        address: of an existing cluster; one on this machine is started without it.
        timeout: seconds after which an actor counts as hung.
        report: told of every actor that is lost.

    Raises:
        ConfigError: Ray is not installed.
        WorkerError: the cluster does not answer.
    """

    def __init__(
        self,
        spec: GameSpec,
        recipe: Callable[[], Actor],
        *,
        num_workers: int,
        address: str | None,
        timeout: float,
        report: Report,
    ) -> None:
        self._stack = ExitStack()
        self._ray = self._stack.enter_context(open_cluster(address, num_workers))
        self._spec, self._recipe = spec, recipe
        self._timeout = timeout
        self._report = report
        self._actors = [self._make(num_cpus=1) for _ in range(num_workers)]
        self._restarts = [0] * num_workers
        self._running: dict[int, tuple[Any, float]] = {}  # result to come, and when it is late
        self._weights: Any = None
        self._is_current = [False] * num_workers
        self._is_started = [False] * num_workers  # it has answered before

    def __len__(self) -> int:
        return len(self._actors)

    def update(self, weights: Weights) -> None:
        """Give all actors new weights before their next task."""
        self._weights = self._ray.put(weights)
        self._is_current = [False] * len(self._actors)

    def call(self, index: int, plan: Plan) -> None:
        """Have an actor play some episodes."""
        weights = None if self._is_current[index] else self._weights
        self._is_current[index] = True
        result = self._actors[index].play.remote(plan, weights)
        start = 0.0 if self._is_started[index] else START_SECONDS
        self._running[index] = (result, monotonic() + start + self._timeout)

    def hear(self, indices: list[int]) -> list[Event]:
        """Wait for at least one of some actors.

        Raises:
            StandingOrdersError: what an actor refused with.
            WorkerError: an actor failed, or was lost too often.
        """
        while True:
            results = {self._running[i][0]: i for i in indices}
            ready, _ = self._ray.wait(list(results), num_returns=1, timeout=_LOOK_SECONDS)
            events = [self._take(results[result], result) for result in ready]
            now = monotonic()
            late = [i for i in indices if self._running.get(i, (None, now))[1] < now]
            events += [self._replace(i, "gave no answer in time") for i in late]
            if events:
                return events

    def close(self) -> None:
        """End the actors, and the cluster if it was started."""
        for actor in self._actors:
            self._ray.kill(actor)
        self._stack.close()

    def _make(self, *, num_cpus: int) -> Any:
        remote = self._ray.remote(num_cpus=num_cpus)(EpisodeWorker)
        return remote.remote(self._spec, self._recipe)

    def _take(self, index: int, result: Any) -> Event:
        del self._running[index]
        exceptions = self._ray.exceptions
        try:
            value = self._ray.get(result)
        except exceptions.RayActorError as err:
            return self._replace(index, f"is lost ({type(err).__name__})")
        except exceptions.RayTaskError as err:
            if isinstance(err.cause, StandingOrdersError):
                raise err.cause from err
            raise WorkerError(f"Ray actor {index} failed: {err}") from err
        except exceptions.RayError as err:
            return self._replace(index, f"is lost ({type(err).__name__})")
        self._restarts[index] = 0
        self._is_started[index] = True
        return Event(index, value)

    def _replace(self, index: int, reason: str) -> Event:
        self._running.pop(index, None)
        self._restarts[index] += 1
        if self._restarts[index] > MAX_RESTARTS:
            raise WorkerError(
                f"Ray actor {index} {reason}: lost {self._restarts[index]} times without a "
                "finished episode; go on with --resume"
            )
        self._report(f"Ray actor {index} {reason}; another one takes its place")
        self._ray.kill(self._actors[index])
        # It asks for no core of its own: with a machine lost there may be none to spare.
        self._actors[index] = self._make(num_cpus=0)
        self._is_current[index] = self._is_started[index] = False
        return Event(index, is_new=True)
