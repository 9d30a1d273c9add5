"""Speed on this machine, with CybORG and MiniCAGE beside ours if they can be imported.

python benchmarks/speed.py    # what `standing-orders bench sim` and `bench train` measure
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import results
from standing_orders.cage2.scenario import RED_AGENTS
from standing_orders.config import RedAgent
from standing_orders.evaluate import bench


@dataclass(frozen=True)
class Task:
    """How long to measure, and where the result goes."""

    seconds: float = 1.0  # for each measurement of the simulator
    episodes: int = 10_000  # played by the learner
    results: Path = results.FOLDER


def main(task: Task) -> None:
    """Measure, print and write."""
    source = "python benchmarks/speed.py; one core, random blue, best of several episodes"
    with results.table("speed.csv", source=source, folder=task.results) as add:
        ours = measure(add, "1,000 environments, one thread", _of_batch(1_000, task.seconds))
        measure(add, "10,000 environments, one thread", _of_batch(10_000, task.seconds))
        measure(
            add, "one environment, Gymnasium `Env.step`",
            lambda red: bench.measure_env(red, task.seconds).steps_per_second,
        )  # fmt: skip
        theirs = measure(add, "CybORG, same run", lambda red: _of_cyborg(red, task.seconds))
        measure(
            add, "MiniCAGE, its best batch size, same run",
            lambda red: _of_minicage(red, task.seconds),
        )  # fmt: skip
        if all(theirs.values()):
            add(what="times CybORG", **{red: round(ours[red] / theirs[red]) for red in ours})
    source = f"python benchmarks/speed.py; one order, {task.episodes} episodes, no opening"
    with results.table("speed-train.csv", source=source, folder=task.results) as add:
        for red in RED_AGENTS[:2]:
            speed = bench.measure_training(red, task.episodes)
            add(red=red, episodes_per_second=round(speed.episodes_per_second))


def measure(
    add: Callable[..., None], what: str, speed_of: Callable[[RedAgent], float]
) -> dict[str, float]:
    """One row: steps per second against each red agent, 0 where it cannot be measured."""
    speeds = {str(red): speed_of(red) for red in RED_AGENTS}
    if any(speeds.values()):
        add(what=what, **{red: round(speed) or "" for red, speed in speeds.items()})
    return speeds


def _of_batch(num_envs: int, seconds: float) -> Callable[[RedAgent], float]:
    return lambda red: bench.measure_batch(red, num_envs, 1, seconds).steps_per_second


def _of_cyborg(red: RedAgent, seconds: float) -> float:
    speed = bench.measure_cyborg(red, seconds)
    return speed.steps_per_second if speed else 0.0


def _of_minicage(red: RedAgent, seconds: float) -> float:
    speeds = [bench.measure_minicage(red, num_envs, seconds) for num_envs in bench.BATCH_SIZES]
    return max((speed.steps_per_second for speed in speeds if speed), default=0.0)


if __name__ == "__main__":
    results.launch(main, Task, __doc__)
