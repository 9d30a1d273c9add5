"""Bare CybORG loops, the yardstick: random blue, no network, no true state, no compliance."""

import random
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from standing_orders.cage2.actions import NUM_ACTIONS
from standing_orders.cage2.cyborg.install import CyborgSource, import_cyborg, import_quietly
from standing_orders.collect.crew import Crew

_STEPS = 100
_TIMEOUT = 600.0
_PRELOAD = "standing_orders.collect.worker"
_SCENARIO = "Shared/Scenarios/Scenario2.yaml"


class BareLoop:
    """The loop of the challenge's own evaluation, with its own wrapper.

    Args:
        source: which CybORG.
    """

    def __init__(self, source: CyborgSource) -> None:
        module = import_cyborg(source.path)
        agents = import_quietly("CybORG.Agents")
        wrappers = import_quietly("CybORG.Agents.Wrappers")
        scenario = str(Path(str(module.__file__)).parent / _SCENARIO)
        simulation: Any = module.CybORG(scenario, "sim", agents={"Red": agents.B_lineAgent})
        self._env = wrappers.ChallengeWrapper(env=simulation, agent_name="Blue")
        self._generator = random.Random(0)

    def play(self, seconds: float) -> tuple[int, float]:
        """Play whole episodes until the time is over; how many, and the time they took."""
        began, episodes = perf_counter(), 0
        while perf_counter() - began < seconds or episodes == 0:
            self._env.reset()
            for _ in range(_STEPS):
                self._env.step(self._generator.randrange(NUM_ACTIONS))
            episodes += 1
        return episodes, perf_counter() - began


def play_bare(source: CyborgSource, num_loops: int, seconds: float) -> tuple[int, float]:
    """Play in some processes at once, after each has played an episode to warm up.

    Returns:
        Episodes of all, and the mean seconds that a process played for them.
    """
    builds = [partial(BareLoop, source)] * num_loops
    crew = Crew(builds, timeout=_TIMEOUT, report=print, preload=_PRELOAD)
    try:
        for duration in (0.0, seconds):
            for i in range(num_loops):
                crew.call(i, "play", duration)
            results, waiting = [], set(range(num_loops))
            while waiting:
                for event in crew.hear(waiting):
                    results.append(event.value)
                    waiting.discard(event.index)
    finally:
        crew.close()
    return sum(episodes for episodes, _ in results), sum(s for _, s in results) / num_loops
