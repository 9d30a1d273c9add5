"""The score of a defender without orders, on every seed. Runs go to --folder and are re-used.

python benchmarks/record.py leaderboard
python benchmarks/record.py cyborg --cyborg-path CHECKOUT    # of commit 606813b
python benchmarks/record.py unconstrained
python benchmarks/record.py aids
python benchmarks/record.py means
python benchmarks/record.py defence
"""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

import defence as watching
import results
from collect import cell_row
from learner import ACTIONS, EVALUATION_SEED, figures_of, finished_run
from standing_orders.api.settings import preset
from standing_orders.cage2.scenario import RED_AGENTS
from standing_orders.config import (
    CollectConfig,
    GameConfig,
    RedAgent,
    SimulatorConfig,
    TrainConfig,
)
from standing_orders.evaluate.both import EquivalenceTask, compare_simulators
from standing_orders.evaluate.card import ScoreCard, evaluate
from standing_orders.learn.policy import LearnedDefender
from standing_orders.learn.run import load_network
from standing_orders.presets import find_preset

HORIZONS = (30, 50, 100)
FEWER = {"b_line": 60_000}  # episodes of the preset `unconstrained` that are enough
# Each means of the preset `leaderboard`, and what the learner does without it.
MEANS: dict[str, dict[str, Any]] = {
    "the belief": {"belief": False, "full_belief": False},
    "the full belief": {"full_belief": False},
    "useful actions alone": {"useful_actions": False},
    "the lean": {"lean": 0.0},
    "weights shared by hosts": {"lean": None},
    "falling entropy": {"entropy": 0.002, "final_entropy": None},
    "a nearer horizon": {"gamma": 0.99, "gae_lambda": 0.95},
}
# What helps the preset `unconstrained` to learn, and how it is switched off.
AIDS: dict[str, dict[str, Any]] = {
    "foresight": {"ppo": {"foresight": False}},
    "tried decoys": {"try_decoys": False},
    "a planned opening": {"opening": 0},
    "several starts": {"starts": 1},
}


@dataclass(frozen=True)
class Task:
    """What to measure, and where the runs are."""

    what: tyro.conf.Positional[
        Literal["leaderboard", "cyborg", "unconstrained", "aids", "means", "defence"]
    ]
    folder: Path = Path("runs/benchmark")
    reds: tuple[Literal["b_line", "meander"], ...] = ("b_line", "meander")
    seeds: tuple[int, ...] = (11, 12, 13, 14, 15)  # none of them was used for choosing settings
    cyborg_path: str | None = None  # cyborg: a checkout at the leaderboard's commit
    means_episodes: int = 15_000  # aids, means, defence: budget of each run, also with all of them
    quick: bool = False  # a handful of episodes: shows that it runs, writes no result
    results: Path = results.FOLDER  # where the result goes

    def preset(self, name: str, **changes: Any) -> TrainConfig:
        """A preset with some values changed."""
        if self.quick:
            changes |= {"episodes": 20, "update_episodes": 10, "validation_episodes": 2}
        config: TrainConfig = preset(name, **changes)
        return config

    def count(self, num_episodes: int) -> int:
        """Episodes of a measurement."""
        return 2 if self.quick else num_episodes

    def table(self, rests_on: str, name: str = "") -> AbstractContextManager[Callable[..., None]]:
        """The table of a measurement, with what it rests on."""
        seeds = " ".join(map(str, self.seeds))
        where = " --cyborg-path CHECKOUT" if self.what == "cyborg" else ""
        source = f"python benchmarks/record.py {self.what}{where}; {rests_on}, seeds {seeds}"
        folder = None if self.quick else self.results
        return results.table(f"{name or self.what}.csv", source=source, folder=folder)


def trained(task: Task, name: str, config: TrainConfig) -> tuple[Path, str]:
    """The finished run, and the CPU seconds it took in one go, noted beside it."""
    path, began = task.folder / name, time.process_time()
    noted, is_new = path.with_name(f"{name}.seconds"), not path.exists()
    finished_run(path, config)
    if is_new:
        noted.write_text(f"{time.process_time() - began:.0f}", encoding="utf-8")
    return path, noted.read_text(encoding="utf-8") if noted.exists() else ""


def card_of(
    task: Task, run: Path, reds: tuple[RedAgent, ...], *, is_greedy: bool = True
) -> ScoreCard:
    """Score card of a run's policy in the game it was trained for."""
    network, config = load_network(run)
    policy = LearnedDefender(network, name=run.name, is_greedy=is_greedy)
    return evaluate(
        policy, config.part(GameConfig), reds=reds, num_episodes=task.count(1_000),
        seed=EVALUATION_SEED,
    )  # fmt: skip


def leaderboard(task: Task) -> None:
    """One network against all red agents on the leaderboard's rules: every cell and the total."""
    rests_on = (
        "n = 1000 fresh episodes for each red agent, rules leaderboard-2022, observation stock; "
        "standard errors; CPU seconds of training, validation included"
    )
    with task.table(rests_on) as add:
        for seed in task.seeds:
            config = task.preset("leaderboard", seed=seed)
            run, seconds = trained(task, f"leaderboard-{seed}", config)
            for name in ACTIONS:
                card = card_of(task, run, RED_AGENTS, is_greedy=name == "greedy")
                for red in (*RED_AGENTS, "total"):
                    cells: dict[str, str] = {}
                    for horizon in HORIZONS:
                        cells |= figures_of(f"steps_{horizon}", card.score(red, horizon))
                    cells |= figures_of("all", card.score(red, None))
                    add(seed=seed, actions=name, red=red, **cells, seconds=seconds)


def cyborg(task: Task) -> None:
    """The best of the seeds, by its own total, in the real CybORG beside our simulator."""
    runs = [
        trained(task, f"leaderboard-{seed}", task.preset("leaderboard", seed=seed))[0]
        for seed in task.seeds
    ]
    best = max(runs, key=lambda run: card_of(task, run, RED_AGENTS).score("total", None).mean)
    played = task.count(150)
    result = compare_simulators(
        EquivalenceTask(
            str(best), load_network(best)[1].part(GameConfig),
            SimulatorConfig(sim="cyborg", cyborg_path=task.cyborg_path),
            CollectConfig(collect="sequential"),
            reds=task.reds, num_episodes=played, own_episodes=10 * played, seed=EVALUATION_SEED,
            is_greedy=True,
        ),
        advance=lambda _: None,
        report=print,
    )  # fmt: skip
    rests_on = (
        f"the best run, {best.name}, greedy; n = 150 episodes in CybORG and 1500 in ours for each "
        "red agent; difference with its 90 % interval"
    )
    with task.table(rests_on, "leaderboard-cyborg") as add:
        for cell in result.cells:
            add(**cell_row(cell))


def unconstrained(task: Task) -> None:
    """Return of 100 steps against each red agent on the rules of today."""
    rests_on = "n = 1000 fresh episodes, rules head, 100 steps; standard errors; CPU seconds"
    with task.table(rests_on) as add:
        for red, seed in product(task.reds, task.seeds):
            budget = {"episodes": FEWER[red]} if red in FEWER else {}
            config = task.preset("unconstrained", **budget, red=red, seed=seed)
            run, seconds = trained(task, f"none-{red}-{seed}", config)
            cells: dict[str, str] = {}
            for name in ACTIONS:
                card = card_of(task, run, (red,), is_greedy=name == "greedy")
                cells |= figures_of(name, card.score(red, 100))
            add(red=red, seed=seed, episodes=config.episodes, **cells, seconds=seconds)


def aids(task: Task) -> None:
    """What each aid contributes: the return without it, on the first three seeds."""
    rests_on = (
        f"{task.means_episodes} training episodes, n = 1000 fresh episodes, rules head, 100 steps, "
        "actions drawn; standard errors"
    )
    ppo = find_preset("unconstrained").values["ppo"]
    with task.table(rests_on) as add:
        for red, name in product(task.reds, ("nothing", *AIDS)):
            cells: dict[str, str] = {}
            for number, seed in enumerate(task.seeds[:3], start=1):
                values = AIDS.get(name, {})
                config = task.preset(
                    "unconstrained", red=red, seed=seed, episodes=task.means_episodes,
                    **values | {"ppo": ppo | values.get("ppo", {})},
                )  # fmt: skip
                path = f"aids-{red}-{name.replace(' ', '-')}-{task.means_episodes}-{seed}"
                card = card_of(task, trained(task, path, config)[0], (red,), is_greedy=False)
                cells |= figures_of(f"seed_{number}", card.score(red, 100))
            add(red=red, without=name, **cells)


def without(task: Task, means: str, seed: int, num_episodes: int) -> Path:
    """A run of the preset without one of its means; `nothing`: with all of them."""
    ppo = find_preset("leaderboard").values["ppo"] | MEANS.get(means, {})
    name = f"without-{means.replace(' ', '-')}-{num_episodes}-{seed}"
    config = task.preset("leaderboard", seed=seed, episodes=num_episodes, ppo=ppo)
    return trained(task, name, config)[0]


def means(task: Task) -> None:
    """What each means contributes: the total without it, on the first three seeds."""
    rests_on = (
        f"{task.means_episodes} training episodes, n = 1000 fresh episodes for each red agent, "
        "greedy; standard errors"
    )
    with task.table(rests_on) as add:
        for name in ("nothing", *MEANS):
            cells: dict[str, str] = {}
            for number, seed in enumerate(task.seeds[:3], start=1):
                run = without(task, name, seed, task.means_episodes)
                card = card_of(task, run, RED_AGENTS)
                cells |= figures_of(f"seed_{number}", card.score("total", None))
            add(without=name, **cells)


def defence(task: Task) -> None:
    """What the policies of the first seed do, with all means and without the belief."""
    host, count = "User3", task.count(1_000)
    rests_on = f"n = 1000 episodes for each red agent, the same attacks for all; host: {host}"
    runs = {
        name: without(task, name, task.seeds[0], task.means_episodes)
        for name in ("nothing", "the belief")
    }
    with task.table(rests_on) as add:
        for red, (name, run) in product(task.reds, runs.items()):
            played = watching.play(run, red, count)
            for first, last in (*watching.PHASES, (0, 100)):
                cells = watching.describe(played, slice(first, last), host)
                add(without=name, red=red, steps=f"{first + 1}-{last}", **cells)


COMMANDS: dict[str, Callable[[Task], None]] = {
    "leaderboard": leaderboard,
    "cyborg": cyborg,
    "unconstrained": unconstrained,
    "aids": aids,
    "means": means,
    "defence": defence,
}


def main(task: Annotated[Task, tyro.conf.arg(name="")]) -> None:
    """Measure and print a table."""
    COMMANDS[task.what](task)


if __name__ == "__main__":
    results.launch(main, Task, __doc__)
