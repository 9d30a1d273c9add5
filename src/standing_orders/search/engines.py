"""Where visits run: in this process, one after the other, or on a Ray cluster, all at once.

The result of a visit depends on its task alone, so both engines give the same ones.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from standing_orders.collect.cluster import open_cluster
from standing_orders.errors import ConfigError, StandingOrdersError, WorkerError
from standing_orders.learn.trainer import Trainer
from standing_orders.search.store import PolicyStore
from standing_orders.search.visit import VisitResult, VisitTask, play_visit

OnUpdate = Callable[[dict[str, Any]], None]
Job = tuple[str, VisitTask]  # name of the policy, what to do with it
_RETRIES = 5  # of a visit whose worker or machine is lost


class Engine(Protocol):
    """Runs visits and keeps what came of them in the store."""

    def run(
        self, jobs: Sequence[Job], store: PolicyStore, on_update: OnUpdate
    ) -> Iterator[VisitResult]:
        """Give the results in the order of the jobs, each as soon as that allows."""


class LocalEngine:
    """This process; every update is kept at once."""

    def run(
        self, jobs: Sequence[Job], store: PolicyStore, on_update: OnUpdate
    ) -> Iterator[VisitResult]:
        """Run the jobs one after the other."""
        for name, task in jobs:
            with store.keeping(name) as keep:

                def kept(trainer: Trainer, record: dict[str, Any], keep: Any = keep) -> None:
                    keep(trainer, record)
                    on_update(record)

                result = play_visit(task, kept)
            yield result


class RayEngine:
    """A Ray cluster; a visit whose worker is lost begins again elsewhere.

    Args:
        ray: the module, connected to a cluster; see `open_engine`.
    """

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._play = ray.remote(num_cpus=1, max_retries=_RETRIES)(_play_remotely)

    def run(
        self, jobs: Sequence[Job], store: PolicyStore, on_update: OnUpdate
    ) -> Iterator[VisitResult]:
        """Run all jobs at once."""
        running = {self._play.remote(task): index for index, (_, task) in enumerate(jobs)}
        finished: dict[int, VisitResult] = {}
        for index in range(len(jobs)):
            while index not in finished:
                (reference, *_), _ = self._ray.wait(list(running), num_returns=1)
                done = running.pop(reference)
                name = jobs[done][0]
                finished[done] = self._result(name, reference)
                store.keep_result(name, finished[done])
                for record in finished[done].records:
                    on_update(record)
            yield finished[index]

    def _result(self, name: str, reference: Any) -> VisitResult:
        try:
            result: VisitResult = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as err:
            if isinstance(err.cause, StandingOrdersError):
                raise err.cause from err
            raise WorkerError(f"policy {name}: the worker failed: {err}") from err
        except self._ray.exceptions.RayError as err:
            raise WorkerError(
                f"policy {name}: lost {_RETRIES + 1} workers in a row, go on with --resume: {err}"
            ) from err
        return result


def _play_remotely(task: VisitTask) -> VisitResult:
    return play_visit(task)


@contextmanager
def open_engine(name: str, address: str | None, num_workers: int) -> Iterator[Engine]:
    """Where visits run, by name: `local`, or `ray` for a cluster.

    Args:
        name: of the engine.
        address: of an existing cluster, such as 127.0.0.1:6379; without it a local one is started
            and stopped.
        num_workers: of a cluster that is started.

    Raises:
        ConfigError: Ray is not installed, or an address is given to the local engine.
        WorkerError: the cluster does not answer.
    """
    if name == "local":
        if address is not None:
            raise ConfigError(f"address = {address!r}: only engine = 'ray' has one")
        yield LocalEngine()
        return
    with open_cluster(address, num_workers) as ray:
        yield RayEngine(ray)
