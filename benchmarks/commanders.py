"""Commanders, measured: the worst attack that is found, orders that change, temporal rules.

python benchmarks/commanders.py falsify   the falsifier beside random attacks -> results/falsify.csv
python benchmarks/commanders.py switch    orders that change -> results/order_switch.csv
python benchmarks/commanders.py rules     temporal rules -> results/temporal_rules.csv
Add --policies (rules: --only) to measure some of them alone; the rows of the others stay.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tyro
from numpy.typing import NDArray

import results
from standing_orders.api.policies import TrainedPolicy, keep_rules, load_policy
from standing_orders.api.settings import preset
from standing_orders.cage2.actions import encode
from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.policy import Policy
from standing_orders.cage2.scenario import HOSTS, NUM_HOSTS, UNIT_TYPE_HOSTS
from standing_orders.config import SimConfig, TrainConfig
from standing_orders.evaluate.falsify import Falsified, Target, falsify
from standing_orders.evaluate.measure import play
from standing_orders.evaluate.satisfaction import Satisfaction, measure_rules
from standing_orders.evaluate.switching import Switched, measure_switch
from standing_orders.learn.policy import LearnedDefender
from standing_orders.learn.ppo import use_one_thread
from standing_orders.learn.run import start_from
from standing_orders.learn.trainer import Trainer
from standing_orders.rules.compliance import look_all
from standing_orders.rules.orders import Order
from standing_orders.rules.temporal import TemporalRule
from standing_orders.runs.shipped import ZOO as ZOO_FOLDER
from standing_orders.seeding import child_seed, environment_seeds
from standing_orders.stats import pooled_ratio, seed_interval, standard_error

ZOO = ("any-b_line", "any-meander", "any-b_line-late", "any-meander-late")
SEEDS = (11, 12, 13, 14, 15)  # no setting was chosen on them
ORDER = "critical_first"
SWITCHED = ("critical_first", "user_priority")
STEP = 30  # of the switch


@dataclass(frozen=True)
class Case:
    """A rule, and the policy of the zoo that is to keep it, or in whose game it is learned."""

    policy: str
    rule: str
    order: str = ORDER
    goes_on: bool = False  # for a price: from that policy, instead of from scratch


CASES = {
    "calm": Case("any-b_line-late", "restore -> not once[1,1] restore"),
    "ration": Case("any-b_line-late", "restores_10 <= 2"),
    "answer": Case("any-b_line", "user -> eventually[0,5] not user"),
    "answer-zoo": Case("any-b_line", "user -> eventually[0,5] not user", goes_on=True),
    "settle": Case("any-meander", "user -> eventually[0,8] not user"),
    # The shortest time that the oracle keeps (seed 501): told to repair the server second ...
    "server-second": Case("any-meander-late", "op_server -> eventually[0,4] not op_server",
                          "enterprise_focus"),
    # ... and last ...
    "server": Case("any-meander-late", "op_server -> eventually[0,9] not op_server",
                   "least_critical_first"),
    # ... and one that the order rules out.
    "against": Case("any-b_line-late", "op_server -> eventually[0,3] not op_server",
                    "least_critical_first"),
}  # fmt: skip


@dataclass(frozen=True)
class Task:
    """What to measure."""

    what: tyro.conf.Positional[Literal["falsify", "switch", "rules"]]
    policies: tuple[str, ...] = ZOO  # of the zoo
    seeds: tuple[int, ...] = SEEDS
    budget: int = 20_000  # falsify: episodes of the search, and of random attacks
    episodes: int = 100  # switch: of each seed and pair of orders
    only: tuple[str, ...] = tuple(CASES)  # rules: which
    train_episodes: int = 3_000  # rules: for each seed, with a price and without
    judged_episodes: int = 200  # rules: fresh, of each seed
    results: Path = results.FOLDER  # where the result goes


def policy_of(name: str, **options: Any) -> TrainedPolicy:
    """A policy of the zoo."""
    policy = load_policy(f"zoo/{name}", **options)
    assert isinstance(policy, TrainedPolicy)
    return policy


def write(
    name: str,
    rows: list[dict[str, object]],
    task: Task,
    *,
    source: str,
    key: str = "policy",
    order: Iterable[str] = ZOO,
) -> None:
    """Write rows, between those that others have already."""
    path = task.results / name
    kept = results.read(name) if path.exists() and task.results == results.FOLDER else []
    alike = [row for row in kept if not rows or row.keys() == rows[0].keys()]
    all_rows: list[results.Row] = [*alike, *rows]
    found = {row[key]: row for row in all_rows}
    ordered = [found[one] for one in order if one in found]
    results.write(name, ordered, source=source, folder=task.results)
    for row in rows:
        print(row, flush=True)


def measure_falsifier(task: Task) -> None:
    """The worst attack that is found, by return, beside as many random ones; once for each seed."""
    for name in task.policies:
        began = time.process_time()
        policy = policy_of(name, order=ORDER, greedy=True)
        target = Target(policy, policy.home(), "return", policy.orders[0])
        found: list[Falsified] = []
        for seed in task.seeds:
            found.append(falsify(target, budget=task.budget, seed=seed))
            row: dict[str, object] = {"policy": name, "seeds": len(found), "budget": task.budget}
            row |= _falsifier_row(found)
            row["seconds"] = f"{(time.process_time() - began) / len(found):.0f}"
            write("falsify.csv", [row], task, source="python benchmarks/commanders.py falsify; "
                  f"{task.budget} episodes, order {ORDER}, greedy, seeds from {SEEDS[0]} on, CPU "
                  "seconds of a seed")  # fmt: skip


def _falsifier_row(found: list[Falsified]) -> dict[str, object]:
    """Worst episodes of each seed: the searches are clear of chance if none is as mild as the
    worst of all random sets together."""
    means = np.array([one.mean.reward for one in found])
    random = np.array([one.worst_random.reward for one in found])
    worst = np.array([one.worst.reward for one in found])
    return {
        "mean": f"{means.mean():.2f}",
        "random": f"{random.mean():.1f}",
        "random_worst": f"{random.min():.1f}",
        "random_mildest": f"{random.max():.1f}",
        "found": f"{worst.mean():.1f}",
        "found_worst": f"{worst.min():.1f}",
        "found_mildest": f"{worst.max():.1f}",
        "clear": "yes" if worst.max() < random.min() else "no",
    }


def measure_switches(task: Task) -> None:
    """An order, told backwards from a step on."""
    orders = [Order.parse(name) for name in SWITCHED]
    for name in task.policies:
        began = time.perf_counter()
        policy = policy_of(name)
        found: list[Switched] = [
            measure_switch(
                policy, policy.home(), orders=(order.index, order.backwards().index),
                step=STEP, num_episodes=task.episodes, seed=seed,
            )
            for seed in task.seeds
            for order in orders
        ]  # fmt: skip
        write("order_switch.csv", [{"policy": name} | _switch_row(found) | {
              "seconds": f"{time.perf_counter() - began:.0f}"}], task,
              source=f"python benchmarks/commanders.py switch; {len(orders)} orders, backwards "
              f"from step {STEP} on, {task.episodes} episodes each, {len(task.seeds)} seeds"
              )  # fmt: skip


def _switch_row(found: list[Switched]) -> dict[str, object]:
    compliant = np.concatenate([one.compliant for one in found])
    judged = np.concatenate([one.judged for one in found])
    ratio = pooled_ratio(compliant, judged)
    returns = {
        name: np.concatenate([one.returns[name] for one in found]) for name in found[0].returns
    }
    throughout = (returns["first"] + returns["second"]) / 2
    cost = throughout - returns["switched"]
    return {
        "contested": f"{ratio.value or 0:.4f}",
        "low": f"{ratio.low or 0:.4f}",
        "high": f"{ratio.high or 0:.4f}",
        "fixes": int(judged.sum()),
        "switched": f"{returns['switched'].mean():.2f}",
        "throughout": f"{throughout.mean():.2f}",
        "cost": f"{cost.mean():.2f}",
        "cost_error": f"{standard_error(cost) or 0:.2f}",
    }


def measure_rules_of(task: Task) -> None:
    """Broken episodes without and with: kept by construction, or for a price, trained alike."""
    for name in task.only:
        case, began = CASES[name], time.process_time()
        rule = TemporalRule(name, case.rule)
        policy = policy_of(case.policy, order=case.order)
        oracle = "-" if rule.is_own else f"{oracle_broken(policy, rule, task):.1f} %"
        pairs = []
        for seed in task.seeds:
            pairs.append(with_and_without(policy, rule, case, seed, task))
            free, kept, prices = zip(*pairs, strict=True)
            row: dict[str, object] = {"rule": name, "formula": case.rule, "policy": case.policy,
                                      "order": case.order, "seeds": len(pairs)}  # fmt: skip
            row["oracle"] = oracle
            row |= {f"free_{key}": value for key, value in _rule_row(free, name).items()}
            row |= {f"kept_{key}": value for key, value in _rule_row(kept, name).items()}
            row["price"] = "by construction" if rule.is_own else f"{np.mean(prices):.1f}"
            row["seconds"] = f"{time.process_time() - began:.0f}"
            write("temporal_rules.csv", [row], task, key="rule", order=CASES,
                  source=f"python benchmarks/commanders.py rules; seeds from {SEEDS[0]} on, "
                  f"{task.judged_episodes} fresh episodes each, {task.train_episodes} of "
                  "training for a price; CPU seconds")  # fmt: skip


def with_and_without(
    policy: TrainedPolicy, rule: TemporalRule, case: Case, seed: int, task: Task
) -> tuple[Satisfaction, Satisfaction, float]:
    """Fresh episodes without a rule, with it, and its price."""
    text, home, price = f"{rule.name} = {rule.formula}", policy.home(), 0.0
    pair: list[Policy] = [policy]
    if rule.is_own:
        pair.append(keep_rules(policy, [text]))
    else:
        trainers = [train(case, rules, seed, task) for rules in ((), (text,))[case.goes_on :]]
        price = trainers[-1].progress.prices[rule.name]["price"]
        pair = [policy] * case.goes_on + [
            LearnedDefender(one.network, name=rule.name, game=home, orders=policy.orders)
            for one in trainers
        ]
    free, kept = (
        measure_rules(one, home, [rule], num_episodes=task.judged_episodes, seed=seed)
        for one in pair
    )
    return free, kept, price


class Oracle:
    """Sees the true state and restores a held host of the highest-ranked held type at once.

    What it breaks no defender that keeps the order can be asked to keep.
    """

    name = "oracle"

    def __init__(self, game: SimConfig, order: int) -> None:
        self._game, self._order = game, order

    def batch(self, num_envs: int) -> Cage2Batch:
        """The game, whose state it looks into."""
        self._batch = Cage2Batch(num_envs, self._game)
        return self._batch

    def reset(self, seeds: NDArray[np.uint64]) -> None:
        """Begin one episode in each environment."""
        self._orders = np.full(len(seeds), self._order)

    def act(self, observations: NDArray[np.int8]) -> NDArray[np.int64]:
        """Restore, or sleep where nothing is held."""
        top, num_held = (np.zeros(len(observations), dtype=np.int8) for _ in range(2))
        held = np.zeros(len(observations), dtype=np.int16)
        look_all(self._batch.states, self._orders, False, top, num_held, held)
        of_type = held & np.where(top >= 0, UNIT_TYPE_HOSTS[top], 0)
        hosts = (of_type[:, None] >> np.arange(NUM_HOSTS) & 1).argmax(axis=1)
        return np.where(of_type != 0, encode("Restore", HOSTS[0]) + hosts, encode("Sleep"))


def oracle_broken(policy: TrainedPolicy, rule: TemporalRule, task: Task) -> float:
    """Percentage of episodes in which the oracle breaks a rule."""
    oracle = Oracle(policy.home(), policy.orders[0])
    seeds = environment_seeds(child_seed(task.seeds[0], "oracle"), task.judged_episodes)
    trace = play(oracle, oracle.batch, seeds, is_watched=True).trace
    assert trace is not None
    return 100 * (rule.judge(trace).broken.value or 0.0)


def train(case: Case, rules: tuple[str, ...], seed: int, task: Task) -> Trainer:
    """Train for one order, with priced rules or with none; settings chosen on seed 501."""
    config: TrainConfig = preset(
        "fast-order" if case.goes_on else "ruled", order=case.order, rule=rules,
        **policy_of(case.policy).home().model_dump(exclude={"horizon"}),
        episodes=task.train_episodes, seed=seed, prices=preset("ruled").prices,
    )  # fmt: skip
    use_one_thread()
    trainer = Trainer(config)
    if case.goes_on:
        start_from(trainer, ZOO_FOLDER / case.policy)
    while not trainer.is_done:
        trainer.step()
    return trainer


def _rule_row(found: Sequence[Satisfaction], name: str) -> dict[str, object]:
    broken = np.concatenate([one.judged[name].is_broken for one in found]).astype(np.int64)
    ratio = pooled_ratio(broken, np.ones_like(broken))
    interval = seed_interval([one.mean_return for one in found])
    return {
        "broken": f"{100 * (ratio.value or 0):.1f}",
        "low": f"{100 * (ratio.low or 0):.1f}",
        "high": f"{100 * (ratio.high or 0):.1f}",
        "return": f"{np.mean([one.mean_return for one in found]):.2f}",
        "return_low": f"{interval.low:.2f}" if len(found) > 1 else "-",
        "return_high": f"{interval.high:.2f}" if len(found) > 1 else "-",
    }


def main(task: Task) -> None:
    """Measure, and write the result."""
    jobs = {"falsify": measure_falsifier, "switch": measure_switches, "rules": measure_rules_of}
    jobs[task.what](task)


if __name__ == "__main__":
    results.launch(main, Task, __doc__)
