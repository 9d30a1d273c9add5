"""What runs inside a worker process: whole episodes, or one slice of a batch in lock step."""

import gc
import os
import signal
import threading
import traceback
from collections.abc import Callable
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.collect.games import GameSpec
from standing_orders.collect.local import BatchCollector
from standing_orders.collect.loop import Actor, Timing, Weights
from standing_orders.collect.plan import Plan
from standing_orders.collect.rollout import Rollout
from standing_orders.collect.shared import SharedBatch, SharedHandle
from standing_orders.errors import StandingOrdersError

_LOOK_AFTER = 100_000  # objects; a step of CybORG makes thousands and leaves no cycle behind
READY, DONE, REFUSED, FAILED = "ready", "done", "refused", "failed"
Reply = tuple[str, Any]


class EpisodeWorker:
    """Plays whole episodes with a copy of the policy; in a process or as a Ray actor.

    Args:
        spec: the game.
        recipe: what makes the policy, without its weights.
    """

    def __init__(self, spec: GameSpec, recipe: Callable[[], Actor]) -> None:
        gc.set_threshold(_LOOK_AFTER)
        self._actor = recipe()
        self._collector = BatchCollector(spec, at_once=spec.at_once)

    def play(self, plan: Plan, weights: Weights | None) -> tuple[Rollout, Timing]:
        """Play some episodes, and say where the time went.

        Args:
            plan: which episodes.
            weights: to take over first; as before if left out.
        """
        if weights is not None:
            self._actor.load(weights)
        self._collector.timing = Timing()
        return self._collector.play(self._actor, plan), self._collector.timing


class SliceWorker:
    """Plays a slice of a batch whose arrays are shared; the policy is elsewhere.

    Args:
        spec: the game.
        shared: the shared memory.
        num_envs: environments of the whole batch.
        rows: which of them are played here.
        index: of this worker.
        num_workers: of the whole batch.
    """

    def __init__(
        self,
        spec: GameSpec,
        shared: SharedHandle,
        num_envs: int,
        rows: slice,
        index: int,
        num_workers: int,
    ) -> None:
        gc.set_threshold(_LOOK_AFTER)
        self._rows = rows
        self._index = index
        self._shared = SharedBatch(num_envs, num_workers, handle=shared)
        self._game = spec.make(rows.stop - rows.start)

    def reset(self, seeds: NDArray[np.uint64], reds: NDArray[np.int8]) -> None:
        """Begin the episodes of the slice."""
        self._publish(self._game.reset(seeds, reds=reds), np.int32(0))

    def step(self) -> None:
        """Play the step whose actions are in the shared memory."""
        began = perf_counter()
        self._publish(*self._game.step(self._shared.actions[self._rows]))
        self._shared.seconds[self._index] = perf_counter() - began

    def replay(self, actions: NDArray[np.int64]) -> None:  # (steps, rows)
        """Play the steps that a lost predecessor had played since the reset."""
        for row in actions:
            self._publish(*self._game.step(row))

    def _publish(self, observations: NDArray[np.int8], rewards: Any) -> None:
        self._shared.observations[self._rows] = observations
        self._shared.rewards[self._rows] = rewards
        self._shared.held[self._rows] = self._game.states["held"]


def serve(connection: Connection, build: Callable[[], Any]) -> None:
    """Answer calls until the connection is closed.

    Args:
        connection: carries (method, arguments) in and (outcome, value) out.
        build: makes the object whose methods are called.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    _end_with_parent()
    gc.freeze()  # what was imported before the fork stays: looking through it takes time and memory
    try:
        server = build()
        connection.send((READY, None))
        while True:
            method, arguments = connection.recv()
            connection.send((DONE, getattr(server, method)(*arguments)))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
    except StandingOrdersError as err:
        connection.send((REFUSED, err))
    except Exception:
        connection.send((FAILED, traceback.format_exc()))


def _end_with_parent() -> None:
    """End this process at once when its parent is gone, also amid an episode."""
    parent = parent_process()
    if parent is None:
        return
    sentinel = parent.sentinel

    def watch() -> None:
        wait([sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
