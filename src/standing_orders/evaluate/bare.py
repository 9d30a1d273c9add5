"""Bare CybORG loops, the yardstick: random blue, no network, no true state, no compliance."""

import random
from collections.abc import Callable
from functools import partial
from time import perf_counter, process_time
from typing import Any, NamedTuple

from standing_orders.cage2.actions import NUM_ACTIONS
from standing_orders.cage2.cyborg.batch import CyborgEnv
from standing_orders.cage2.cyborg.install import CyborgSource, import_quietly
from standing_orders.collect.crew import Crew
from standing_orders.config import SimConfig

_STEPS = 100
_TIMEOUT = 600.0
_PRELOAD = "standing_orders.collect.worker"


class Played(NamedTuple):
    """What loops have played, and the time it took."""

    episodes: int
    seconds: float
    cpu_seconds: float


class BareLoop:
    """The loop of the challenge's own evaluation.

    Args:
        source: which CybORG.
        config: the game.
        is_wrapped: with the challenge's wrapper, which makes the 52 bits of an observation;
            without it nothing is seen at all.
    """

    def __init__(self, source: CyborgSource, config: SimConfig, *, is_wrapped: bool) -> None:
        env = CyborgEnv(config, source)
        self._reset: Callable[[], Any] = partial(env.simulation.reset, "Blue")
        self._step: Callable[[int], Any] = lambda action: env.simulation.step(
            "Blue", env.blue_action(action)
        )
        if is_wrapped:
            wrappers = import_quietly("CybORG.Agents.Wrappers")
            wrapped = wrappers.ChallengeWrapper(env=env.simulation, agent_name="Blue")
            self._reset, self._step = wrapped.reset, wrapped.step
        self._generator = random.Random(0)

    def play(self, seconds: float) -> Played:
        """Play whole episodes until the time is over."""
        began, cpu_began, episodes = perf_counter(), process_time(), 0
        while perf_counter() - began < seconds or episodes == 0:
            self._reset()
            for _ in range(_STEPS):
                self._step(self._generator.randrange(NUM_ACTIONS))
            episodes += 1
        return Played(episodes, perf_counter() - began, process_time() - cpu_began)


def play_bare(
    source: CyborgSource,
    config: SimConfig,
    num_loops: int,
    *,
    seconds: float,
    is_wrapped: bool = True,
) -> Played:
    """Play in some processes at once, after each has played an episode to warm up.

    Args:
        source: which CybORG.
        config: the game.
        num_loops: processes.
        seconds: to play for.
        is_wrapped: see `BareLoop`.

    Returns:
        Episodes and processor time of all, and the mean seconds that a process played for them.
    """
    builds = [partial(BareLoop, source, config, is_wrapped=is_wrapped)] * num_loops
    crew = Crew(builds, timeout=_TIMEOUT, report=print, preload=_PRELOAD)
    try:
        for duration in (0.0, seconds):
            for i in range(num_loops):
                crew.call(i, "play", duration)
            results: list[Played] = []
            waiting = set(range(num_loops))
            while waiting:
                for event in crew.hear(waiting):
                    results.append(event.value)
                    waiting.discard(event.index)
    finally:
        crew.close()
    episodes, seconds, cpu_seconds = (sum(values) for values in zip(*results, strict=True))
    return Played(int(episodes), seconds / num_loops, cpu_seconds)
