"""How fast each collector plays, where its time goes, and what published claims are worth here."""

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from multiprocessing import active_children
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from standing_orders.cage2.cyborg.install import CyborgSource, import_cyborg, installed_rules
from standing_orders.collect.choose import open_collector
from standing_orders.collect.games import GameSpec
from standing_orders.collect.local import Collector
from standing_orders.collect.loop import Timing
from standing_orders.collect.plan import deal_reds, make_plan
from standing_orders.config import CollectConfig, CollectorName, GameConfig, SimulatorConfig
from standing_orders.errors import ConfigError, StandingOrdersError
from standing_orders.evaluate.bare import play_bare
from standing_orders.learn.actor import NetworkActor
from standing_orders.learn.inputs import InputLayout
from standing_orders.learn.networks import ActorCritic
from standing_orders.memory import free_bytes

WORKERS = (1, 2, 4, 8, 25, 100)
BARE: Any = "bare"  # loops without network, true state or compliance
_ALONE: tuple[CollectorName, ...] = ("batch", "sequential")  # they have no workers
_PARALLEL: tuple[CollectorName, ...] = ("lockstep", "episodes", "ray")
_MEMORY_SHARE = 0.7  # of what is free that a cell may be expected to take
_OWN_EPISODES = 200  # an update's worth, for our simulator


@dataclass(frozen=True)
class Cell:
    """One collector with one number of workers."""

    simulator: str
    collector: str
    workers: int
    episodes: int = 0
    seconds: float = 0.0  # of playing
    start_seconds: float = 0.0  # until the first episodes were there
    environment: float = 0.0  # shares of the time of all that play
    inference: float = 0.0
    waiting: float = 0.0
    transport: float = 0.0
    memory_mb: float | None = None  # of this process and its workers, shared pages counted once
    note: str = ""  # why there is no figure

    @property
    def rate(self) -> float | None:
        """Episodes a second."""
        return self.episodes / self.seconds if self.seconds else None

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return {**asdict(self), "episodes_per_second": self.rate}


class _LateError(Exception):
    """A cell takes too long."""


def measure_cells(
    spec: GameSpec,
    *,
    workers: Sequence[int] = WORKERS,
    collectors: Sequence[CollectorName] = (*_ALONE, *_PARALLEL),
    seconds: float = 3.0,
    limit: float = 120.0,
) -> Iterator[Cell]:
    """Measure every collector, a cell at a time.

    Args:
        spec: the game; with a CybORG bare loops of it are measured too.
        workers: numbers of workers.
        collectors: which.
        seconds: to play for in each cell, at least one plan.
        limit: seconds after which a cell is given up.
    """
    per_worker: dict[str, float] = {}
    names: list[Any] = [name for name in collectors if name in _ALONE]
    cells = [(name, 1) for name in names]
    parallel = [name for name in collectors if name in _PARALLEL]
    if spec.cyborg is not None:
        parallel = [BARE, *parallel]
    cells += [(name, count) for name in parallel for count in workers]
    for name, count in cells:
        blank = Cell("cyborg" if spec.cyborg else "own", name, count)
        needed = per_worker.get(name, 0.0) * count
        free = free_bytes()
        if free is not None and needed > _MEMORY_SHARE * free / 1e6:
            yield replace(blank, note=f"would take {needed / 1000:.1f} GB")
            continue
        try:
            with _time_limit(limit):
                cell = _measure_cell(blank, spec, seconds)
        except _LateError:
            yield replace(blank, note=f"not done in {limit:.0f} s")
            continue
        except StandingOrdersError as err:
            yield replace(blank, note=str(err).splitlines()[0])
            continue
        if cell.memory_mb is not None:
            per_worker[name] = cell.memory_mb / count
        yield cell


def _measure_cell(blank: Cell, spec: GameSpec, seconds: float) -> Cell:
    if blank.collector == BARE:
        assert spec.cyborg is not None
        episodes, taken = play_bare(spec.cyborg, blank.workers, seconds)
        return replace(blank, episodes=episodes, seconds=taken, environment=1.0)
    config = CollectConfig(collect=blank.collector, workers=blank.workers)
    with open_collector(spec, config, report=_ignore) as collector:
        return _fill(blank, collector, seconds)


def _fill(blank: Cell, collector: Collector, seconds: float) -> Cell:
    layout = InputLayout()
    actor = NetworkActor(ActorCritic(layout, hidden=(64, 64), activation="tanh", seed=0))
    per_plan = max(2, blank.workers) if collector.spec.cyborg else _OWN_EPISODES

    def play(seed: int, count: int) -> None:
        orders = np.zeros(count, dtype=np.int64)
        reds = deal_reds(collector.spec.red, count)
        steps = collector.spec.horizon
        collector.play(actor, make_plan(orders, reds=reds, steps=steps, seed=seed))

    began = perf_counter()
    play(0, per_plan)
    start = perf_counter() - began
    collector.timing = Timing()
    began, plans = perf_counter(), 0
    while perf_counter() - began < seconds or plans == 0:
        plans += 1
        play(plans, per_plan)
    taken = perf_counter() - began
    timing = collector.timing
    total = sum(vars(timing).values()) or 1.0
    shares = {name: value / total for name, value in vars(timing).items()}
    return replace(
        blank, episodes=plans * per_plan, seconds=taken, start_seconds=start,
        memory_mb=_memory_mb(), **shares,
    )  # fmt: skip


def _ignore(_: str) -> None:
    """Nobody is told."""


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise _LateError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _memory_mb() -> float | None:
    """Memory of this process and its workers; None where the system does not say."""
    total = 0
    for pid in (os.getpid(), *(child.pid for child in active_children())):
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
        except OSError:
            return None
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1000


def games(simulator: SimulatorConfig) -> list[GameSpec]:
    """The standard game in our simulator and, where it can be imported, in CybORG.

    Raises:
        ConfigError: CybORG was asked for but cannot be imported.
    """
    found = [GameSpec(GameConfig())]
    is_wanted = simulator.sim == "cyborg" or simulator.cyborg_path is not None
    try:
        import_cyborg(simulator.cyborg_path)
    except ConfigError:
        if is_wanted:
            raise
        return found
    game = GameConfig(rules=installed_rules())
    source = CyborgSource(simulator.cyborg_path, simulator.scenario)
    return [*found, GameSpec(game, cyborg=source)]
