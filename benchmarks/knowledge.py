"""What it costs a defender not to know what red holds: a yardstick like the oracle, never a score.

python benchmarks/knowledge.py

In each late game one policy for all orders is trained as `learner.py any-order` does, but told the
true state where others have their belief, and measured so. What lies between the two is the price
of missing knowledge; the rest is the game's and the learner's. Runs go to --folder and are re-used.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import ArrayLike, NDArray

import learner
import results
from standing_orders.belief import Belief
from standing_orders.belief.hypothesis import pack
from standing_orders.belief.update import Memory, Picture, describe
from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.opponents import settle
from standing_orders.compiled import jit
from standing_orders.learn.policy import LearnedDefender
from standing_orders.learn.run import load_network


@dataclass(frozen=True)
class Task:
    """What to measure, and where the runs are."""

    folder: Path = Path("runs/benchmark")
    games: tuple[str, ...] = ("b_line-late", "meander-late")  # where knowledge is the limit
    seeds: tuple[int, ...] = (11,)
    quick: bool = False  # a handful of episodes: shows that it runs, writes no result
    results: Path = results.FOLDER  # where the result goes


@jit
def _tell(
    states: NDArray[np.void],  # (num_envs,)
    observations: NDArray[np.uint32],  # (num_envs, 13)
    memory: Memory,
    picture: Picture,
) -> None:
    """Make each true state the only possible one."""
    for i in range(len(states)):
        memory.frames[i] = states[i]
        settle(memory.frames[i])
        pack(memory.frames[i], memory.words[i, 0])
        memory.weights[i, 0] = 1.0
        memory.sizes[i] = 1
        describe(memory, observations[i], picture, i)


@contextmanager
def told_the_truth() -> Iterator[None]:
    """Meanwhile every belief is the true state of the batch that was reset last."""
    batches: list[Cage2Batch] = []
    reset = Cage2Batch.reset

    def note(batch: Cage2Batch, *args: Any, **options: Any) -> NDArray[np.int8]:
        batches[:] = [batch]
        return reset(batch, *args, **options)

    class Knowledge(Belief):
        """A belief without a doubt."""

        def reset(self, observations: NDArray[Any], *, chosen: Any = None) -> None:
            del chosen  # all: benchmarks begin and play all environments together
            _tell(batches[0].states, self._read(observations), self._memory, self._picture)

        def update(
            self, actions: ArrayLike, observations: NDArray[Any], *, chosen: Any = None
        ) -> None:
            del actions  # the truth says what they led to
            self.reset(observations, chosen=chosen)

    with (
        patch.object(Cage2Batch, "reset", note),
        patch("standing_orders.learn.inputs.Belief", Knowledge),
    ):
        yield


def main(task: Task) -> None:
    """A row for each game, seed and kind of knowledge."""
    own = learner.Task("any-order", task.folder, task.seeds, task.quick)
    knowing = learner.Task("any-order", task.folder / "knowing", task.seeds, task.quick)
    source = (
        "python benchmarks/knowledge.py; n = 200 fresh episodes an order, "
        f"{len(own.orders)} orders, {own.seeds_named}"
    )
    folder = None if task.quick else task.results
    with results.table("knowledge.csv", source=source, folder=folder) as add:
        for game in task.games:
            for seed in task.seeds:
                add(game=game, seed=seed, knows="its belief", **measure(own, game, seed))
                with told_the_truth():
                    add(game=game, seed=seed, knows="what is true", **measure(knowing, game, seed))


def measure(task: learner.Task, game: str, seed: int) -> dict[str, str]:
    """Figures over all orders of the policy of a seed."""
    network, _ = load_network(learner.fast_run(task, game, seed))
    policy = LearnedDefender(network, name="any")
    return learner.summary(learner.told_each_order(task, game, policy))


if __name__ == "__main__":
    results.launch(main, Task, __doc__)
