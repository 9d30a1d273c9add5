"""Every figure about learning. Runs go to --folder and are resumed or re-used.

python benchmarks/learner.py any-order
python benchmarks/learner.py by-construction
python benchmarks/learner.py cost
python benchmarks/learner.py published
"""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal
from unittest.mock import patch

import numpy as np
import tyro
from numpy.typing import NDArray

import results
from standing_orders.api.settings import preset
from standing_orders.belief import Belief
from standing_orders.cage2.defenders import ScriptedDefender
from standing_orders.cage2.reward import TENTHS_PER_POINT
from standing_orders.cage2.scenario import RED_AGENTS, UNIT_TYPES
from standing_orders.config import GameConfig, RedAgent, SimConfig, TrainConfig
from standing_orders.evaluate.card import Score, evaluate
from standing_orders.evaluate.obedience import (
    Obedience,
    OrderFollower,
    measure_obedience,
    summarise,
)
from standing_orders.learn.build import make_network
from standing_orders.learn.policy import LearnedDefender
from standing_orders.learn.run import load_network, resume, train
from standing_orders.rules.lawful import LawfulPolicy
from standing_orders.rules.orders import NAMED_ORDERS, NUM_ORDERS, RANKS, Order
from standing_orders.runs.folder import RunFolder
from standing_orders.search.oracle import oracle_returns

EVALUATION_SEED = 1_000_003  # of no training run
ACTIONS = ("greedy", "sampled")
SCHEDULES = {
    "weight": "lambda stages",
    "num_episodes": "smaller updates",
    "learning_rate": "learning-rate steps",
    "epochs": "more epochs",
    "mask_factor": "soft mask",
}
ENDS = {"plateau": "plateau stop", "gate passed": "gate passed"}


@dataclass(frozen=True)
class Task:
    """What to measure, and where the runs are."""

    what: tyro.conf.Positional[Literal["any-order", "by-construction", "cost", "published"]]
    folder: Path = Path("runs/benchmark")
    seeds: tuple[int, ...] = (11, 12, 13, 14, 15)  # of no run that settings were chosen on
    quick: bool = False  # a handful of episodes: shows that it runs, writes no result
    results: Path = results.FOLDER  # where the result goes

    @property
    def orders(self) -> list[int]:
        """The orders to measure."""
        return list(range(2 if self.quick else NUM_ORDERS))

    def preset(self, name: str, **changes: Any) -> TrainConfig:
        """A preset with some values changed."""
        if self.quick:
            changes |= {"episodes": 20, "update_episodes": 20}
        config: TrainConfig = preset(name, **changes)
        return config

    @property
    def seeds_named(self) -> str:
        """The seeds, for people."""
        return f"seeds {' '.join(map(str, self.seeds))}"

    def count(self, num_episodes: int) -> int:
        """Episodes of a measurement."""
        return 2 if self.quick else num_episodes


def finished_run(path: Path, config: TrainConfig, start: Path | None = None) -> Path:
    """Train unless that was done before."""
    if (path / "run.json").exists():
        resume(path)
    else:
        train(config, path, start=start)
    return path


def table(task: Task, rests_on: str, name: str = "") -> AbstractContextManager[Callable[..., None]]:
    """The table of a measurement, with what it rests on."""
    source = f"python benchmarks/learner.py {task.what}; {rests_on}"
    folder = None if task.quick else task.results
    return results.table(f"{name or task.what}.csv", source=source, folder=folder)


def figures_of(name: str, score: Score) -> dict[str, str]:
    """Mean and standard error as cells."""
    return {name: f"{score.mean:.2f}", f"{name}_error": f"{score.std_error:.2f}"}


GAMES: dict[str, dict[str, Any]] = {
    "b_line": {"red": "b_line"},
    "meander": {"red": "meander"},
    "b_line-late": {"red": "b_line", "head_start": 20},
    "meander-late": {"red": "meander", "head_start": 30, "red_tempo": 2},
}
MORE_EPISODES = {"meander-late": 80_000}  # several types are held for most of an episode
ALONE = "user_priority"  # an order that is trained alone, too: blue has to wait most
ENTERPRISE, USER = UNIT_TYPES.index("enterprise"), UNIT_TYPES.index("user")
_SUMMARY = ("passed", "strict", "contested", "mean_return", "worst_return", "swap_gap")


def fast_run(task: Task, game: str, seed: int, order: str = "any") -> Path:
    """A policy that follows whichever order it is told, one order or none."""
    more = {"episodes": MORE_EPISODES[game]} if game in MORE_EPISODES else {}
    config = task.preset("fast", **(more | GAMES[game]), seed=seed, order=order)
    return finished_run(task.folder / f"fast-{order}-{game}-{seed}", config)


def any_order(task: Task) -> None:
    """One policy for all orders: 200 fresh episodes for each of the 120, actions drawn."""
    rests_on = f"n = 200 fresh episodes an order, {len(task.orders)} orders, {task.seeds_named}"
    with table(task, rests_on) as add:
        for game, seed in product(GAMES, task.seeds):
            network, config = load_network(fast_run(task, game, seed))
            measured = told_each_order(task, game, LearnedDefender(network, name="any"))
            first = RANKS[task.orders, ENTERPRISE] < RANKS[task.orders, USER]
            returns = np.array([one.measured.mean_return for one in measured])
            add(
                game=game, seed=seed, episodes=config.episodes, **summary(measured),
                enterprise_first=_mean(returns[first]), user_first=_mean(returns[~first]),
            )  # fmt: skip


def told_each_order(task: Task, game: str, policy: OrderFollower) -> list[Obedience]:
    """How a policy follows each order: 200 fresh episodes, the same attacks for all."""
    return measure_obedience(
        policy, SimConfig(**GAMES[game]), task.orders, num_episodes=task.count(200),
        seed=EVALUATION_SEED,
    )  # fmt: skip


class Unsure(Belief):
    """Holds all red agents possible, for a policy that was trained to expect some of them."""

    def __init__(self, config: SimConfig, num_envs: int, *, reds: Sequence[RedAgent]) -> None:
        super().__init__(config, num_envs, reds=RED_AGENTS)
        self._expected = [RED_AGENTS.index(red) for red in reds]

    @property
    def agent(self) -> NDArray[np.float64]:  # (num_envs, len(reds))
        """Probability of each of the red agents that are expected."""
        return super().agent[:, self._expected]


def by_construction(task: Task) -> None:
    """The same without training, without knowing who attacks, and of a script."""
    rests_on = (
        f"n = 200 fresh episodes an order, {len(task.orders)} orders, policies of seed "
        f"{task.seeds[0]}"
    )
    with table(task, rests_on) as add:
        for game, options in GAMES.items():
            network, config = load_network(fast_run(task, game, task.seeds[0]))
            script = LawfulPolicy(
                ScriptedDefender("react_restore"), task.orders, SimConfig(**options)
            )
            with patch("standing_orders.learn.inputs.Belief", Unsure):
                told = told_each_order(task, game, LearnedDefender(network, name="unsure"))
            add(game=game, policy="trained, any of three attackers possible", **summary(told))
            policies: dict[str, OrderFollower] = {
                "untrained network": LearnedDefender(make_network(config), name="untrained"),
                "script react_restore": script,
            }
            for name, policy in policies.items():
                add(game=game, policy=name, **summary(told_each_order(task, game, policy)))


def cost(task: Task) -> None:
    """What orders cost: each against no order at all, with the same budget and the same attacks.

    The restore oracle sees the true state and follows an order to the letter: what it loses to its
    best order, that order costs by nature.
    """
    rests_on = (
        f"n = 200 fresh episodes an order, 2000 without one or of one alone, {len(task.orders)} "
        f"orders, policies of seed {task.seeds[0]}; oracle: n = 500 episodes an order; standard "
        "errors"
    )
    with table(task, rests_on) as add:
        for game, options in GAMES.items():
            network, _ = load_network(fast_run(task, game, task.seeds[0]))
            told = told_each_order(task, game, LearnedDefender(network, name="any"))
            score, alone = (score_of(task, game, order) for order in ("none", ALONE))
            returns = np.array([one.measured.mean_return for one in told])
            by_order = dict(zip(task.orders, returns, strict=True))
            oracle = oracle_returns(SimConfig(**options), task.count(500), EVALUATION_SEED)
            truth = oracle.mean(axis=1)[task.orders] / TENTHS_PER_POINT
            is_free = truth >= 1.1 * truth.max()  # costs the oracle at most a tenth
            add(
                game=game, **figures_of("unconstrained", score), **figures_of("alone", alone),
                told=f"{by_order.get(Order.parse(ALONE).index, np.nan):.2f}",
                orders=f"{returns.mean():.2f}", best=f"{returns.max():.2f}",
                worst=f"{returns.min():.2f}",
                within_tenth=int((returns >= 1.1 * score.mean).sum()),
                free_by_nature=int(is_free.sum()), mean_of_free=f"{returns[is_free].mean():.2f}",
                oracle_best=f"{truth.max():.2f}", oracle_worst=f"{truth.min():.2f}",
                correlation="-" if np.ptp(truth) < 0.01  # all orders cost it the same
                else f"{np.corrcoef(returns, truth)[0, 1]:.2f}",
            )  # fmt: skip


def score_of(task: Task, game: str, order: str) -> Score:
    """What the policy of one order earns, or of none, trained with the same budget."""
    network, config = load_network(fast_run(task, game, task.seeds[0], order))
    told = () if order == "none" else (Order.parse(order).index,)
    card = evaluate(
        LearnedDefender(network, name=order, orders=told), config.part(GameConfig),
        reds=(GAMES[game]["red"],), num_episodes=task.count(2_000), seed=EVALUATION_SEED,
    )  # fmt: skip
    return card.score(GAMES[game]["red"], 100)


def _mean(returns: NDArray[np.float64]) -> str:
    return f"{returns.mean():.2f}" if len(returns) else "-"


def summary(measured: list[Obedience]) -> dict[str, str]:
    """Figures over all orders as cells."""
    figures = summarise(measured)
    worst = min(one.measured.contested.value or 0.0 for one in measured)
    cells = {name: f"{figures[name]:.4g}" for name in _SUMMARY}
    return cells | {"worst_contested": f"{worst:.4g}"}


def last_record(run: Path) -> dict[str, Any]:
    """What a run said at its end."""
    return RunFolder.open(run, kind="train").journal().read()[-1]


def published(task: Task) -> None:
    """The published baseline and all its proposals from scratch, beside ours, 3,000 episodes."""
    rests_on = (
        "summary over named orders against B_line, 3000 episodes at most, one seed, n = 200 fresh "
        "episodes each"
    )
    orders = list(NAMED_ORDERS)[: len(task.orders)]
    with table(task, rests_on) as add:
        for name in ("published", "published-all", "fast"):
            found: dict[str, list[float]] = {"strict": [], "contested": [], "response": []}
            returns, fired = [], Counter[str]()
            for order in orders:
                config = task.preset(name, order=order, episodes=3_000)
                run = finished_run(task.folder / f"{name}-{order}", config)
                (one,) = measure_obedience(
                    LearnedDefender(load_network(run)[0], name=name), SimConfig(red="b_line"),
                    [_index(run)], num_episodes=task.count(200), seed=EVALUATION_SEED,
                )  # fmt: skip
                kept = one.measured.kept
                for part, value in zip(
                    found.values(),
                    (kept.strict_compliance, kept.contested_compliance, kept.response_rate),
                    strict=True,
                ):
                    part.append(value or 0.0)
                returns.append(one.measured.mean_return)
                fired.update(_fired(run))
            add(
                preset=name,
                orders_at_95=sum(value >= 0.95 for value in found["strict"]),
                **_ranges(found),
                mean_return=f"{np.mean(returns):.0f}",
                fired=", ".join(f"{what} in {count}" for what, count in fired.most_common())
                or "nothing",
            )


def _ranges(found: dict[str, list[float]]) -> dict[str, str]:
    """Lowest and highest of each figure as cells."""
    cells: dict[str, str] = {}
    for name, values in found.items():
        cells |= {f"{name}_low": f"{min(values):.2f}", f"{name}_high": f"{max(values):.2f}"}
    return cells


def _index(run: Path) -> int:
    return int(last_record(run)["order_id"])


def _fired(run: Path) -> set[str]:
    """Which schedules changed anything, and what else than the budget ended the run."""
    records = RunFolder.open(run, kind="train").journal().read()
    first, stopped = records[0]["settings"], records[-1]["stopped"]
    found = {
        title
        for name, title in SCHEDULES.items()
        if any(record["settings"][name] != first[name] for record in records)
    }
    return found | ({ENDS[stopped]} if stopped in ENDS else set())


COMMANDS: dict[str, Callable[[Task], None]] = {
    "any-order": any_order,
    "by-construction": by_construction,
    "cost": cost,
    "published": published,
}


def main(task: Annotated[Task, tyro.conf.arg(name="")]) -> None:
    """Measure and print a table."""
    COMMANDS[task.what](task)


if __name__ == "__main__":
    results.launch(main, Task, __doc__)
