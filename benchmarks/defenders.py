"""Mean return of the scripted defenders, rules `head`, 100 steps.

python benchmarks/defenders.py
"""

from dataclasses import dataclass
from pathlib import Path

import results
from standing_orders.cage2.defenders import ScriptedDefender
from standing_orders.cage2.policy import NAMES
from standing_orders.config import GameConfig
from standing_orders.evaluate.card import evaluate


@dataclass(frozen=True)
class Task:
    """How exactly to measure, and where the result goes."""

    episodes: int = 1_000
    seed: int = 0
    results: Path = results.FOLDER


def main(task: Task) -> None:
    """Measure, print and write."""
    source = (
        f"python benchmarks/defenders.py; rules head, 100 steps, n = {task.episodes} episodes "
        f"each, seed {task.seed}; standard errors"
    )
    with results.table("defenders.csv", source=source, folder=task.results) as add:
        for name in NAMES:
            card = evaluate(
                ScriptedDefender(name), GameConfig(), reds=("b_line", "meander"),
                num_episodes=task.episodes, seed=task.seed,
            )  # fmt: skip
            cells = {"defender": name}
            for red in ("b_line", "meander"):
                score = card.score(red, 100)
                cells |= {red: f"{score.mean:.1f}", f"{red}_error": f"{score.std_error:.1f}"}
            add(**cells)


if __name__ == "__main__":
    results.launch(main, Task, __doc__)
