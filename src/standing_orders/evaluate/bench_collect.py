"""How fast each collector plays, where its time goes, and what published claims are worth here."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from multiprocessing import Pipe
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from standing_orders.cage2.cyborg.install import CyborgSource, import_cyborg, installed_rules
from standing_orders.cage2.scenario import OBSERVATION_SIZE
from standing_orders.collect.choose import open_collector
from standing_orders.collect.games import GameSpec
from standing_orders.collect.local import Collector
from standing_orders.collect.loop import Timing
from standing_orders.collect.plan import deal_reds, make_plan
from standing_orders.config import (
    CollectConfig,
    CollectorName,
    GameConfig,
    SimConfig,
    SimulatorConfig,
    TrainConfig,
)
from standing_orders.errors import ConfigError, StandingOrdersError
from standing_orders.evaluate.bare import play_bare
from standing_orders.learn.actor import NetworkActor
from standing_orders.learn.build import make_network
from standing_orders.memory import free_bytes

WORKERS = (1, 2, 4, 8, 25, 100)
BARE, RAW = "bare loops", "bare loops, no wrapper"  # no network, true state or compliance
_ALONE: tuple[CollectorName, ...] = ("batch", "sequential")  # they have no workers
_PARALLEL: tuple[CollectorName, ...] = ("lockstep", "episodes", "ray")
_MEMORY_SHARE = 0.7  # of what is free that a cell may be expected to take
_OWN_EPISODES = 200  # of a plan: an update's worth, for our simulator
_CYBORG_EPISODES = 40  # the same for CybORG, or 2 for each worker if that is more
_PIPE_TRIES = 2_000


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
    cpu_seconds: float = 0.0  # of processor time of all processes, while playing
    memory_mb: float | None = None  # of this process and its workers, shared pages counted once
    note: str = ""  # why there is no figure

    @property
    def title(self) -> str:
        """What it is."""
        return f"{self.simulator}, {self.collector}, {self.workers} workers"

    @property
    def rate(self) -> float | None:
        """Episodes a second."""
        return self.episodes / self.seconds if self.seconds else None

    @property
    def cpu_rate(self) -> float | None:
        """Episodes a second of processor time: what other work on the machine hardly touches."""
        return self.episodes / self.cpu_seconds if self.cpu_seconds else None

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
    known: Sequence[Cell] = (),
    announce: Callable[[str], None] = lambda _: None,
) -> Iterator[Cell]:
    """Measure every collector, a cell at a time.

    Args:
        spec: the game; with a CybORG bare loops of it are measured too.
        workers: numbers of workers.
        collectors: which.
        seconds: to play for in each cell, at least one plan.
        limit: seconds after which a cell is given up.
        known: cells that are measured already; they are not measured again.
        announce: told what is measured next.
    """
    per_worker: dict[str, float] = {}
    done = {cell.title: cell for cell in known}
    for name, count in _places(spec, collectors, workers):
        blank = Cell("cyborg" if spec.cyborg else "own", name, count)
        cell = done.get(blank.title)
        if cell is None:
            announce(f"{blank.title}: at most {limit:.0f} s")
            cell = _try_cell(blank, spec, seconds, limit, per_worker.get(name, 0.0) * count)
            yield cell
        if cell.memory_mb is not None:
            per_worker[name] = cell.memory_mb / count


def _try_cell(blank: Cell, spec: GameSpec, seconds: float, limit: float, needed: float) -> Cell:
    """A cell; where memory (in MB) or time do not suffice, one that says so."""
    free = free_bytes()
    if free is not None and needed > _MEMORY_SHARE * free / 1e6:
        return replace(blank, note=f"would take {needed / 1000:.1f} GB")
    try:
        with _time_limit(limit):
            return _measure_cell(blank, spec, seconds)
    except _LateError:
        return replace(blank, note=f"not done in {limit:.0f} s")
    except StandingOrdersError as err:
        return replace(blank, note=str(err).splitlines()[0])


def _places(
    spec: GameSpec, collectors: Sequence[CollectorName], workers: Sequence[int]
) -> list[tuple[str, int]]:
    """Names and numbers of workers of all cells."""
    alone = [name for name in collectors if name in _ALONE]
    parallel: list[str] = [name for name in collectors if name in _PARALLEL]
    if spec.cyborg is not None:
        parallel = [RAW, BARE, *parallel]
    return [(name, 1) for name in alone] + [(name, n) for name in parallel for n in workers]


def _measure_cell(blank: Cell, spec: GameSpec, seconds: float) -> Cell:
    if blank.collector in (BARE, RAW):
        assert spec.cyborg is not None
        config = SimConfig(**spec.game.model_dump())
        played = play_bare(
            spec.cyborg, config, blank.workers, seconds=seconds, is_wrapped=blank.collector == BARE
        )
        return replace(blank, environment=1.0, **played._asdict())
    name: Any = blank.collector
    crew = CollectConfig(collect=name, workers=blank.workers)
    with open_collector(spec, crew, report=_ignore) as collector:
        return _fill(blank, collector, seconds)


def _fill(blank: Cell, collector: Collector, seconds: float) -> Cell:
    actor = NetworkActor(make_network(TrainConfig()))  # as `train` begins: belief, lawful actions
    is_cyborg = collector.spec.cyborg is not None
    per_plan = max(_CYBORG_EPISODES, 2 * blank.workers) if is_cyborg else _OWN_EPISODES

    def play(seed: int, count: int) -> None:
        orders = np.zeros(count, dtype=np.int64)
        reds = deal_reds(collector.spec.red, count)
        steps = collector.spec.horizon
        collector.play(actor, make_plan(orders, reds=reds, steps=steps, seed=seed))

    began = perf_counter()
    play(0, per_plan)
    start = perf_counter() - began
    collector.timing = Timing()
    began, plans, cpu_before = perf_counter(), 0, _cpu_seconds()
    while perf_counter() - began < seconds or plans == 0:
        plans += 1
        play(plans, per_plan)
    taken, cpu_taken = perf_counter() - began, _cpu_seconds() - cpu_before
    timing = collector.timing
    total = sum(vars(timing).values()) or 1.0
    shares = {name: value / total for name, value in vars(timing).items()}
    return replace(
        blank, episodes=plans * per_plan, seconds=taken, start_seconds=start,
        cpu_seconds=cpu_taken, memory_mb=_memory_mb(), **shares,
    )  # fmt: skip


def pipe_seconds() -> float:
    """What sending one environment's step takes: an action there, what was seen back."""
    here, there = Pipe()
    seen = (np.zeros(OBSERVATION_SIZE, dtype=np.int8), np.int32(0), np.int16(0))
    began = perf_counter()
    for _ in range(_PIPE_TRIES):
        for sender, receiver, message in ((here, there, np.int64(0)), (there, here, seen)):
            sender.send(message)
            receiver.recv()
    taken = perf_counter() - began
    here.close()
    there.close()
    return taken / _PIPE_TRIES


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
    """Memory of this process and all that it started; None where the system does not say."""
    total = 0
    for pid in _family():
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
        except ProcessLookupError:  # it has just ended
            continue
        except OSError:
            return None
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1000


def _cpu_seconds() -> float:
    """Processor time of this process and all that it started; 0 where the system does not say."""
    ticks = 0
    for pid in _family():
        with suppress(OSError):
            words = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            ticks += int(words[11]) + int(words[12])  # in user mode and in the kernel
    return ticks / os.sysconf("SC_CLK_TCK")


def _family() -> list[int]:
    """This process, its children, their children and so on: Ray's workers are not our children."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = int(path.read_text(encoding="utf-8").rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(path.parent.name))
    found = [os.getpid()]
    for pid in found:
        found += children.get(pid, [])
    return found


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
