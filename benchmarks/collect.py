"""Figures about collecting episodes, as CSV files in benchmarks/results. Run alone on the machine.

python benchmarks/collect.py speed --cyborg-path CHECKOUT
python benchmarks/collect.py bar --cyborg-path CHECKOUT
python benchmarks/collect.py learn --cyborg-path CHECKOUT
python benchmarks/collect.py transfer --cyborg-path CHECKOUT --policy zoo/any-b_line

`speed` goes on where it was stopped: cells in its file are measured again with --again alone.
"""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import asdict, dataclass
from math import inf, sqrt
from pathlib import Path
from time import monotonic
from typing import Annotated, Any, Literal, get_args

import numpy as np
import tyro

import results
from standing_orders.cage2.reward import TENTHS_PER_POINT
from standing_orders.collect.choose import open_collector
from standing_orders.collect.games import GameSpec
from standing_orders.collect.policies import PolicyActor
from standing_orders.config import (
    CollectConfig,
    GameConfig,
    RedAgent,
    Simulator,
    SimulatorConfig,
    TrainConfig,
)
from standing_orders.evaluate.bench_collect import (
    BARE,
    RAW,
    WORKERS,
    Cell,
    games,
    measure_cells,
    pipe_seconds,
)
from standing_orders.evaluate.both import EquivalenceTask, compare_simulators
from standing_orders.evaluate.claims import judge_claims
from standing_orders.evaluate.elsewhere import play_sample
from standing_orders.evaluate.equivalence import Comparison
from standing_orders.learn.policy import LearnedDefender
from standing_orders.learn.ppo import use_one_thread
from standing_orders.learn.run import load_network
from standing_orders.learn.trainer import Trainer
from standing_orders.rules.orders import NUM_ORDERS

SPEED = "collect-speed.csv"
CORES = os.cpu_count() or 1
SCORED = 1_200  # learn: episodes of a score
_BAR = {RAW: "bare", BARE: "wrapped", "episodes": "episodes"}  # columns
SCORE_SEED = 1_000_003  # no run is trained with it


@dataclass(frozen=True)
class Task:
    """What to measure."""

    what: tyro.conf.Positional[Literal["speed", "bar", "learn", "transfer"]]
    cyborg_path: str | None = None  # a checkout of CAGE Challenge 2
    workers: tuple[int, ...] = WORKERS  # speed
    seconds: float = 5.0  # for each cell, at least
    limit: float = 240.0  # speed: for each cell, starting included
    part: float = inf  # speed: seconds after which no further cell is begun; call it again
    again: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False  # speed: all cells anew
    rounds: int = 6  # bar: short turns, since the speed of a machine moves
    episodes: int = 200  # learn: of each run
    played: int = 150  # transfer: in CybORG, for each red agent
    update_episodes: int = 10  # learn
    seeds: tuple[int, ...] = (0, 1)  # learn
    policy: str = "zoo/any-b_line"  # transfer
    results: Path = results.FOLDER  # where the result goes

    @property
    def command(self) -> str:
        """What makes the result, without where things are on a machine."""
        more = f" --policy {self.policy}" if self.what == "transfer" else ""
        return f"python benchmarks/collect.py {self.what} --cyborg-path CHECKOUT{more}"

    def table(self, name: str, note: str) -> AbstractContextManager[Callable[..., None]]:
        """A table of a measurement, with what it rests on."""
        return results.table(
            f"collect-{name}.csv", source=f"{self.command}; {note}", folder=self.results
        )


def speed(task: Task) -> None:
    """Episodes a second of every collector; when all are there, the claims beside them."""
    began = monotonic()
    cells = [] if task.again else read_cells(task.results / SPEED)
    note = (
        f"{CORES} cores; at least {task.seconds:g} s a cell; shares are of the time of all; "
        f"{_busy()}"
    )
    for spec in games(SimulatorConfig(cyborg_path=task.cyborg_path)):
        found = measure_cells(
            spec, workers=task.workers, seconds=task.seconds, limit=task.limit, known=cells,
            announce=lambda text: print(text, flush=True),
        )  # fmt: skip
        for cell in found:
            cells = [*cells, cell]
            rows = [_to_row(one) for one in cells]
            results.write(SPEED, rows, source=f"{task.command}; {note}", folder=task.results)
            print(f"  {cell.note or f'{cell.rate:.2f} episodes/s'}", flush=True)
            if monotonic() - began > task.part:
                print("time is over: the same command goes on")
                return
    with task.table("claims", f"{CORES} cores; from the table of speeds") as add:
        for claim in judge_claims(cells, CORES, pipe_seconds()):
            add(**claim.to_json())


def _busy() -> str:
    """Whether the machine had other work: speeds are those of an idle one or of none."""
    return f"load of the machine before it {os.getloadavg()[0]:.1f}"


def _to_row(cell: Cell) -> dict[str, object]:
    row = {
        name: f"{value:.3f}" if isinstance(value, float) else value
        for name, value in asdict(cell).items()
    }
    rate = "" if cell.rate is None else f"{cell.rate:.{0 if cell.rate > 50 else 2}f}"
    memory = "" if cell.memory_mb is None else f"{cell.memory_mb:.0f}"
    cpu_rate = (
        "" if cell.cpu_rate is None else f"{cell.cpu_rate:.{0 if cell.cpu_rate > 50 else 2}f}"
    )
    return {**row, "memory_mb": memory, "rate": rate, "cpu_rate": cpu_rate}


def read_cells(path: Path) -> list[Cell]:
    """Cells of an earlier measurement."""
    if not path.exists():
        return []
    kinds: dict[str, Callable[[str], Any]] = dict.fromkeys(
        ("seconds", "start_seconds", "environment", "inference", "waiting", "transport",
         "cpu_seconds"), float,
    )  # fmt: skip
    kinds |= {"simulator": str, "collector": str, "note": str, "workers": int, "episodes": int}
    kinds["memory_mb"] = lambda text: float(text) if text else None
    rows = results.read(path.name, path.parent)
    return [Cell(**{name: kind(row[name]) for name, kind in kinds.items()}) for row in rows]


def bar(task: Task) -> None:
    """`episodes` with a worker for each core beside as many bare loops, by turns."""
    spec = games(SimulatorConfig(sim="cyborg", cyborg_path=task.cyborg_path))[1]
    note = (
        f"{CORES} cores and workers; at least {task.seconds:g} s each, one after the other; "
        f"episodes a second, and a second of processor time of all processes; {_busy()}"
    )
    shares: dict[str, list[float]] = {}
    with task.table("bar", note) as add:
        for number in range(task.rounds):
            cells = measure_cells(
                spec, workers=(CORES,), collectors=("episodes",), seconds=task.seconds
            )
            found = {cell.collector: cell for cell in cells}
            for clock in ("rate", "cpu_rate"):
                rates = {name: getattr(cell, clock) for name, cell in found.items()}
                for name in (RAW, BARE):
                    shares.setdefault(f"{clock} {name}", []).append(rates["episodes"] / rates[name])
                add(
                    round=number + 1, clock="wall" if clock == "rate" else "processor",
                    **{_BAR[name]: f"{rate:.2f}" for name, rate in rates.items()},
                    share=f"{shares[f'{clock} {RAW}'][-1]:.1%}",
                    share_wrapped=f"{shares[f'{clock} {BARE}'][-1]:.1%}",
                )  # fmt: skip
        for clock in ("rate", "cpu_rate"):
            means = ["{:.1%} ± {:.1%}".format(*_mean(shares[f"{clock} {n}"])) for n in (RAW, BARE)]
            add(
                round="mean", clock="wall" if clock == "rate" else "processor",
                **dict.fromkeys(_BAR.values(), ""), share=means[0], share_wrapped=means[1],
            )  # fmt: skip


def learn(task: Task) -> None:
    """The same training in both simulators; every policy is scored in ours."""
    note = (
        f"{task.episodes} episodes, {task.update_episodes} an update, order any, b_line; first and "
        "last: mean return of the first and the last quarter of the updates, where it was trained; "
        f"score: {SCORED} fresh episodes of all orders by turns in our simulator"
    )
    with task.table("learn", note) as add:
        for sim in get_args(Simulator):
            scores = []
            for seed in task.seeds:
                config = TrainConfig(
                    episodes=task.episodes, update_episodes=task.update_episodes, seed=seed,
                    collect="batch" if sim == "own" else "episodes", workers=CORES,
                    **_simulator(sim, task).model_dump(),
                )  # fmt: skip
                returns = []
                with closing(Trainer(config)) as trainer:
                    while not trainer.is_done:
                        returns.append(trainer.step()["reward"]["environment"])
                quarter = max(1, len(returns) // 4)
                mean, error = _score(trainer)
                scores.append(mean)
                add(
                    trained_in=sim, seed=seed, first=f"{np.mean(returns[:quarter]):.0f}",
                    last=f"{np.mean(returns[-quarter:]):.0f}", score=f"{mean:.0f}",
                    error=f"{error:.0f}",
                )  # fmt: skip
            mean, error = _mean(scores)
            add(
                trained_in=sim, seed="mean", first="", last="", score=f"{mean:.0f}",
                error=f"{error:.0f}",
            )  # fmt: skip


def _simulator(sim: Simulator, task: Task) -> SimulatorConfig:
    return SimulatorConfig(sim=sim, cyborg_path=task.cyborg_path if sim == "cyborg" else None)


def _score(trainer: Trainer) -> tuple[float, float]:
    """Mean return of a policy in our simulator, and its standard error."""
    orders = range(NUM_ORDERS)
    actor = PolicyActor(lambda: LearnedDefender(trainer.network, name="", orders=orders), "")
    spec = GameSpec(GameConfig())
    with open_collector(spec, CollectConfig()) as collector:
        sample = play_sample(
            collector, actor, "b_line", horizons=(spec.horizon,), orders=orders,
            num_episodes=SCORED, seed=SCORE_SEED,
        )  # fmt: skip
    return _mean(sample.returns[:, 0] / TENTHS_PER_POINT)


def _mean(values: "list[float] | np.ndarray") -> tuple[float, float]:
    """Mean and its standard error."""
    error = np.std(values, ddof=1) / sqrt(len(values)) if len(values) > 1 else float("nan")
    return float(np.mean(values)), float(error)


def transfer(task: Task) -> None:
    """One policy in both simulators."""
    reds: tuple[RedAgent, ...] = get_args(RedAgent)
    result = compare_simulators(
        EquivalenceTask(
            task.policy, GameConfig(), _simulator("cyborg", task),
            CollectConfig(collect="episodes", workers=CORES), reds=reds,
            num_episodes=task.played, own_episodes=10 * task.played, seed=SCORE_SEED,
        ),
        advance=lambda _: None,
        report=print,
    )  # fmt: skip
    note = (
        f"{_how_trained(task.policy)}, n = {task.played} episodes in CybORG and "
        f"{10 * task.played} in ours for each red"
    )
    with task.table("transfer", f"{note}; difference with its 90 % interval") as add:
        for cell in result.cells:
            add(**cell_row(cell))
    with task.table("transfer-compliance", note) as add:
        for one in result.obeying:
            add(
                red=one.red, figure=one.figure, own=_share(one.own.value),
                cyborg=_share(one.other.value), difference=_share(one.difference),
            )  # fmt: skip


def cell_row(cell: Comparison) -> dict[str, Any]:
    """A red agent and horizon of an equivalence as cells of a table."""
    return {
        "red": cell.red, "steps": cell.horizon, "own": f"{cell.own_mean:.2f}",
        "cyborg": f"{cell.other_mean:.2f}", "difference": f"{cell.difference:+.2f}",
        "low": f"{cell.low:+.2f}", "high": f"{cell.high:+.2f}",
        "z": "" if cell.z is None else f"{cell.z:+.1f}",
        "margin": f"{cell.margin:.2f}", "verdict": cell.verdict, "ks": f"{cell.ks_distance:.3f}",
    }  # fmt: skip


def _how_trained(policy: str) -> str:
    """What a policy is, without where it is."""
    config = load_network(Path(policy))[1]
    return (
        f"a policy of `train --order {config.order} --red {config.red} --episodes "
        f"{config.episodes} --seed {config.seed}`"
    )


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


COMMANDS = {"speed": speed, "bar": bar, "learn": learn, "transfer": transfer}


def main(task: Task) -> None:
    """Measure and write tables."""
    use_one_thread()
    COMMANDS[task.what](task)


if __name__ == "__main__":
    results.launch(main, Task, __doc__)
