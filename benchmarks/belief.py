"""The belief and the lawful actions, measured: size, time, calibration, compliance, return.

python benchmarks/belief.py belief    what blue knows -> results/belief.csv
python benchmarks/belief.py lawful    defenders made to keep orders -> results/lawful.csv
python benchmarks/belief.py training  what both cost a learner -> results/belief-training.csv
Add --policy RUN for trained defenders (GAME=RUN for one game alone), --games to choose games.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tyro
from numpy.typing import NDArray

import results
from standing_orders.belief import Belief
from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.policy import Policy
from standing_orders.cage2.scenario import NUM_HOSTS
from standing_orders.config import (
    GameConfig,
    GateConfig,
    PpoConfig,
    RedAgent,
    SimConfig,
    TrainConfig,
)
from standing_orders.evaluate.find import find_policy
from standing_orders.evaluate.measure import play, summarise_episodes
from standing_orders.learn.ppo import use_one_thread
from standing_orders.learn.trainer import Trainer
from standing_orders.rules.lawful import LawfulPolicy
from standing_orders.rules.orders import NUM_ORDERS
from standing_orders.seeding import environment_seeds

Game = Literal["b_line", "meander", "b_line-late", "meander-late"]
GAMES: dict[Game, SimConfig] = {
    "b_line": SimConfig(red="b_line"),
    "meander": SimConfig(red="meander"),
    "b_line-late": SimConfig(red="b_line", head_start=20),
    "meander-late": SimConfig(red="meander", head_start=30, red_tempo=2),
}
SCRIPTED = ("useful-random", "react_restore", "react_remove", "heuristic")
SEED = 2_000_003  # of no training run
NUM_BINS = 20


@dataclass(frozen=True)
class Task:
    """What to measure."""

    what: tyro.conf.Positional[Literal["belief", "lawful", "training"]]
    games: tuple[Game, ...] = tuple(GAMES)
    policy: tuple[str, ...] = SCRIPTED  # names or run folders; GAME=RUN for one game alone
    episodes: int = 1_000  # of each game and policy; lawful: of each order
    num_envs: int = 500
    orders: int = 12  # lawful: so many of the 120, evenly
    certainties: tuple[float, ...] = (0.0, 0.5, 0.8, 0.9, 0.95, 0.99, 1.0)  # lawful
    reds: tuple[RedAgent, ...] = ()  # agents held possible; the one that plays if left out
    cap: int = 1024
    updates: int = 30  # training: with and without by turns, after as many that are not timed
    results: Path = results.FOLDER  # where the result goes

    def pairs(self) -> Iterator[tuple[Game, str, Policy]]:
        """Games and policies that belong together."""
        for game in self.games:
            for name in self.policy:
                where, _, run = name.rpartition("=")
                if where in ("", game):
                    yield game, Path(run).name, find_policy(run)


class Calibration:
    """How far what is said is from what happens, by bins of what is said, for each host."""

    def __init__(self) -> None:
        self.said = np.zeros((NUM_HOSTS, NUM_BINS))
        self.happened = np.zeros((NUM_HOSTS, NUM_BINS))
        self.count = 0
        self.squares = 0.0

    def add(self, said: NDArray[np.float64], truth: NDArray[Any]) -> None:  # both (num_envs, 13)
        """Take in one step."""
        bins = np.minimum((said * NUM_BINS).astype(np.int64), NUM_BINS - 1)
        for host in range(NUM_HOSTS):
            self.said[host] += np.bincount(bins[:, host], said[:, host], NUM_BINS)
            self.happened[host] += np.bincount(bins[:, host], truth[:, host], NUM_BINS)
        self.count += len(said)
        self.squares += float(((said - truth) ** 2).sum())

    @property
    def worst_error(self) -> float:
        """Expected calibration error of the worst host."""
        return float(np.abs(self.said - self.happened).sum(axis=1).max() / self.count)

    @property
    def brier(self) -> float:
        """Mean squared error of P(held)."""
        return self.squares / (self.count * NUM_HOSTS)


def measure_belief(task: Task, game: Game, name: str, policy: Policy) -> dict[str, Any]:
    """Play episodes and let the belief watch."""
    config, num_envs = GAMES[game], min(task.num_envs, task.episodes)
    belief = Belief(config, num_envs, reds=task.reds or None, cap=task.cap)
    batch, calibration = Cage2Batch(num_envs, config), Calibration()
    seconds = cut = largest = states = steps = 0.0
    belief.reset(batch.reset(SEED))  # compiles
    belief.update(np.zeros(num_envs, np.int64), batch.observations)
    belief.num_lost, branches = 0, belief.num_branches
    for first in range(0, task.episodes, num_envs):
        seeds = environment_seeds(SEED + first, num_envs)
        policy.reset(seeds)
        belief.reset(batch.reset(seeds))
        for _ in range(config.horizon):
            actions = policy.act(batch.observations).copy()
            batch.step(actions)
            began = time.process_time()
            belief.update(actions, batch.observations)
            seconds += time.process_time() - began
            calibration.add(belief.held, batch.states["held"][:, None] >> np.arange(13) & 1)
            cut += float(belief.cut.sum())
            states += float(belief.num_states.sum())
            largest = max(largest, float(belief.num_states.max()))
            steps += num_envs
    return {
        "game": game,
        "policy": name,
        "reds": " ".join(belief.reds),
        "steps": int(steps),
        "states": round(states / steps, 2),
        "most_states": int(largest),
        "branches": round((belief.num_branches - branches) / steps, 1),
        "us_per_step": round(1e6 * seconds / steps, 2),
        "unexplained": belief.num_lost,
        "cut": f"{cut / steps:.1e}",
        "brier": round(calibration.brier, 6),
        "worst_host_calibration_error": round(calibration.worst_error, 6),
    }


def measure_lawful(
    task: Task, game: Game, name: str, policy: Policy, certainty: float
) -> dict[str, Any]:
    """Let a defender keep some orders, each on the same fresh episodes."""
    config, seeds = GAMES[game], environment_seeds(SEED, task.episodes)
    measured, contested, replaced, fixes = [], [], 0, 0
    for order in range(0, NUM_ORDERS, NUM_ORDERS // task.orders):
        lawful = LawfulPolicy(policy, [order], config, certainty=certainty, reds=task.reds or None)
        played = play(lawful, lambda n: Cage2Batch(n, config), seeds, judged_by=[order])
        one = summarise_episodes(played, GateConfig())
        measured.append(one)
        if one.kept.contested_compliance is not None:
            contested.append(one.kept.contested_compliance)
        replaced, fixes = replaced + lawful.num_replaced, fixes + lawful.num_fixes
    total = sum((one.kept for one in measured[1:]), measured[0].kept)
    return {
        "game": game,
        "policy": name,
        "certainty": certainty,
        "orders": len(measured),
        "episodes": task.episodes,
        "strict": total.strict_compliance,
        "contested": total.contested_compliance,
        "worst_contested": min(contested, default=None),
        "judged": total.judged,
        "contested_fixes": total.contested_compliant + total.contested_violations,
        "replaced_share": replaced / max(fixes, 1),
        "mean_return": float(np.mean([one.mean_return for one in measured])),
    }


def measure_training(task: Task, game: Game) -> dict[str, Any]:
    """Train any order with belief and lawful actions and without both, update by update in turn."""
    rules = GAMES[game].model_dump(include={*GameConfig.model_fields})
    config = TrainConfig(**rules)
    plain = TrainConfig(**rules, certainty="none", ppo=PpoConfig(belief=False))
    trainers = [Trainer(one) for one in (config, plain)]
    seconds = np.zeros((2 * task.updates, 2))
    for row in seconds:
        for which, trainer in enumerate(trainers):
            began = time.process_time()
            trainer.step()
            row[which] = time.process_time() - began
    believing, without = seconds[task.updates :].sum(axis=0)
    return {"game": game, "updates": task.updates, "with": f"{believing:.1f}",
            "without": f"{without:.1f}", "ratio": f"{believing / without:.2f}"}  # fmt: skip


def main(task: Task) -> None:
    """Measure, print, and write the table."""
    if task.what == "training":
        use_one_thread()
        source = "python benchmarks/belief.py training; CPU seconds"
        with results.table("belief-training.csv", source=source, folder=task.results) as add:
            for game in task.games:
                add(**measure_training(task, game))
        return
    words = ["python benchmarks/belief.py", task.what, "--games", *task.games]
    words += ["--policy", *task.policy, "--episodes", str(task.episodes)]
    if task.what == "lawful":
        words += ["--orders", str(task.orders), "--certainties", *map(str, task.certainties)]
    source = f"{' '.join(words)}; fresh episodes of seed {SEED}"
    with results.table(f"{task.what}.csv", source=source, folder=task.results) as add:
        for game, name, policy in task.pairs():
            if task.what == "belief":
                add(**measure_belief(task, game, name, policy))
                continue
            for certainty in task.certainties:
                row = measure_lawful(task, game, name, policy, certainty)
                add(**{k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()})


if __name__ == "__main__":
    results.launch(main, Task, __doc__)
