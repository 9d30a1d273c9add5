"""Events a second through the agents and their vote: in this process, and signed on Ray."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from standing_orders.detect.config import TeamConfig
from standing_orders.detect.engine import Agent, Batch, JudgeEngine, agents_of
from standing_orders.detect.network import TeamNetwork
from standing_orders.detect.remote import EVENTS_TOGETHER, EngineName, open_engine

NUM_FEATURES = 40
ENGINES: tuple[EngineName, ...] = ("local", "ray")


@dataclass(frozen=True)
class VoteSpeed:
    """How fast an engine judges."""

    engine: EngineName
    asked: int  # events handed over at a time
    together: int  # of them agreed on in one vote
    events: int
    seconds: float

    @property
    def events_per_second(self) -> float:
        """Throughput."""
        return self.events / self.seconds


def measure_votes(
    num_events: int = 20_000,
    *,
    address: str | None = None,
    report: Callable[[str], None],
) -> Iterator[VoteSpeed]:
    """Judge made-up events with a team of the default size, untrained: speed is the same.

    Args:
        num_events: for each measurement; at least 100.
        address: of an existing cluster; one on this machine is started without it.
        report: told who is suspect.

    Raises:
        ConfigError: Ray or `cryptography` is not installed.
    """
    config = TeamConfig()
    for name in ENGINES:
        where = address if name == "ray" else None
        with open_engine(name, _agents(config), config, address=where, report=report) as engine:
            _seconds(engine, EVENTS_TOGETHER, EVENTS_TOGETHER)  # compiled, connected, warm
            for asked in (EVENTS_TOGETHER, 100 * EVENTS_TOGETHER):
                size = min(asked, num_events)
                seconds = _seconds(engine, num_events, size)
                yield VoteSpeed(name, size, min(size, EVENTS_TOGETHER), num_events, seconds)


def _agents(config: TeamConfig) -> list[Agent]:
    views = [np.arange(NUM_FEATURES)] * config.agents
    return agents_of(TeamNetwork(views, NUM_FEATURES, config, rules=(), seed=0))


def _seconds(engine: JudgeEngine, num_events: int, size: int) -> float:
    rng = np.random.Generator(np.random.Philox(0))
    features = rng.standard_normal((size, NUM_FEATURES), dtype=np.float32)
    batch = Batch(features, np.arange(size), np.ones(size, dtype=np.bool_))
    begun = perf_counter()
    for _ in range(num_events // size):
        engine.judge(batch)
    return (perf_counter() - begun) * num_events / (num_events // size * size)
