"""The training loop: choose settings, play, reward, update, record, and check the gate."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from standing_orders.cage2.actions import describe
from standing_orders.collect.choose import make_collector
from standing_orders.collect.crew import Report
from standing_orders.collect.plan import Switches, Trials
from standing_orders.config import ANY_ORDER, NO_ORDER, CollectConfig, TrainConfig
from standing_orders.errors import ConfigError, NumericsError
from standing_orders.evaluate.measure import Measured
from standing_orders.learn import learner, schedules
from standing_orders.learn.build import game_of, make_network, measure_network
from standing_orders.learn.networks import ActorCritic
from standing_orders.learn.opening import PLANNED_AT, find_opening, is_plannable, useful_decoys
from standing_orders.learn.rollout import Rollout, collect
from standing_orders.learn.snapshot import Arrays, restore_network, restore_optimiser
from standing_orders.learn.update import LossTerms, UpdateStats, build_rows, update
from standing_orders.rules.alignment import alignment_bonus
from standing_orders.rules.compliance import OrderCompliance
from standing_orders.rules.gate import is_worth_checking
from standing_orders.rules.orders import NUM_ORDERS, Order
from standing_orders.rules.prices import Prices
from standing_orders.rules.temporal import (
    Judged,
    PricedRule,
    TemporalRule,
    Trace,
    read_rules,
    rule_costs,
)
from standing_orders.seeding import child_seed, environment_seeds

_BEST = "best."
_TRIED_UNTIL = 0.7  # of training: what has not become likely by then is left alone


@dataclass
class Progress(learner.Progress):
    """Counters of a run."""

    episodes: int = 0  # training episodes played
    gate_episodes: int = 0  # played for the gate, counted apart
    # Played to choose between starts, counted apart; starts that have ended; the best one's return;
    # training episodes of other policies than the one that is trained.
    validation_episodes: int = field(default=0, metadata=learner.LATER)
    start: int = field(default=0, metadata=learner.LATER)
    best_return: float | None = field(default=None, metadata=learner.LATER)
    aside: int = field(default=0, metadata=learner.LATER)
    # Times that the opening was planned, what is imitated, episodes played for it.
    planned: int = field(default=0, metadata=learner.LATER)
    opening: list[int] = field(default_factory=list, metadata=learner.LATER)
    opening_episodes: int = field(default=0, metadata=learner.LATER)
    compliance: float | None = None  # of the last update
    history: list[float] = field(default_factory=list)  # of `compliance`
    # Played to learn the prices of rules, counted apart, and these prices.
    price_episodes: int = field(default=0, metadata=learner.LATER)
    prices: dict[str, Any] = field(default_factory=dict, metadata=learner.LATER)
    limit: int | None = None  # of `episodes` and `gate_episodes` together; see `Trainer.go_on`


class Trainer(learner.Learner[ActorCritic, Progress]):
    """Trains one network; `step` is one update.

    Args:
        config: everything about the run.
        report: told of workers that are lost, and of what is planned.

    Raises:
        ConfigError: there is no such order, or none although parts of the loss need one.
    """

    def __init__(self, config: TrainConfig, report: Report = print) -> None:
        _check_terms(config)
        self.config = config
        has_one = config.order not in (ANY_ORDER, NO_ORDER)
        self.order = Order.parse(config.order) if has_one else None
        self.rules = read_rules(config.rule)
        self._prices = Prices(
            [_priced(rule.name, config) for rule in self.rules if not rule.is_own]
        )
        self._report = report
        self._best: Arrays = {}  # of the best start so far
        network = make_network(config)
        super().__init__(
            network, _adam(network, config), Progress(), checkpoint_every=config.checkpoint_every
        )
        self.collector = make_collector(game_of(config), config.part(CollectConfig), report)

    def step(self) -> dict[str, Any]:
        """Play, learn, and check whether to stop.

        Returns:
            The record of the update: plain data without any times.

        Raises:
            NumericsError: a number is not finite.
        """
        now = self.settings()
        return self.learn(self.play(now), now)

    def settings(self) -> schedules.Settings:
        """What the next update uses."""
        progress = self.progress
        return schedules.settings(
            self.config, progress.episodes - progress.aside, progress.compliance, self.remaining
        )

    @property
    def remaining(self) -> int:
        """Episodes that may still be played, in this start."""
        progress = self.progress
        if self._is_starting:
            return progress.aside + self.config.start_episodes - progress.episodes
        if progress.limit is None:
            return self.config.episodes - progress.episodes
        return progress.limit - progress.episodes - progress.gate_episodes

    @property
    def _is_starting(self) -> bool:
        """Whether it is one of several starts that is trained."""
        return self.config.starts > max(1, self.progress.start)

    @property
    def _done(self) -> float:
        """Share of the training of this policy that is done."""
        return (self.progress.episodes - self.progress.aside) / self.config.kept_episodes

    @property
    def has_budget(self) -> bool:
        """Whether the config allows more episodes than have been played."""
        return self.remaining > 0

    def go_on(self, limit: int) -> None:
        """Train beyond a stop, until this many episodes, those of the gate included, are played.

        This replaces the config's budget, which is of training episodes alone.
        """
        self.progress.limit = limit
        self.progress.stopped = None

    def play(self, now: schedules.Settings) -> Rollout:
        """Play the episodes of the next update."""
        seed = self._update_seed()
        orders = self._orders(now.num_episodes)
        return collect(
            self.collector,
            self.network,
            orders,
            seed=seed,
            count_foothold=self.config.alignment.count_foothold,
            mask_factor=now.mask_factor,
            switches=self._switches(orders),
            opening=tuple(self.progress.opening),
            trials=self._trials(len(orders)),
        )

    def learn(self, rollout: Rollout, now: schedules.Settings) -> dict[str, Any]:
        """Learn from the episodes, and check whether to stop; see `step`."""
        config, progress = self.config, self.progress
        bonus = self._bonus(rollout, now.weight)
        judged = judge_rules(self.rules, rollout)
        costs = self._rule_costs(judged)
        rows = build_rows(
            self.network, rollout, bonus - costs, config.ppo, mask_factor=now.mask_factor,
            num_given=len(progress.opening), trials=self._trials(now.num_episodes),
        )  # fmt: skip
        terms = LossTerms(
            now.learning_rate,
            now.epochs,
            now.entropy,
            config.schedules.compliance_loss,
            mask_factor=now.mask_factor,
        )
        seed = self._update_seed()
        try:
            stats = update(self.network, self.optimiser, rows, config.ppo, terms, seed=seed)
        except NumericsError as err:
            raise NumericsError(f"update {progress.updates + 1}: {err}") from err
        progress.updates += 1
        progress.episodes += now.num_episodes
        progress.compliance = rollout.counts.compliance
        progress.history.append(progress.compliance or 0.0)
        measured = self._check_gate(rollout.counts)
        self._decide(measured)
        record = self._record(rollout, bonus, stats, now, measured)
        if self.rules:
            record["rules"] = self._learn_prices(judged)
            record["reward"]["rules"] = -float(np.sum(costs)) / rollout.rewards.shape[1]
        return record | {"opening": self._plan_opening(), "validation": self._end_start()}

    def _update_seed(self) -> int:
        return child_seed(self.config.seed, "update", self.progress.updates)

    def _orders(self, count: int) -> NDArray[np.int64]:
        if self.order is not None or self.config.order == NO_ORDER:
            return np.full(count, self.order.index if self.order is not None else 0)
        seed = child_seed(self.config.seed, "orders", self.progress.updates)
        generator = np.random.Generator(np.random.Philox(seed))
        chosen = generator.choice(NUM_ORDERS, size=self.config.orders_per_update, replace=False)
        return np.resize(chosen, count)

    def _every_order(self, count: int) -> NDArray[np.int64]:
        """For a comparison: all orders that are trained, each against all red agents."""
        if self.config.order != ANY_ORDER:
            return self._orders(count)
        return np.resize(np.repeat(np.arange(NUM_ORDERS), self.collector.spec.num_reds), count)

    def _switches(self, orders: NDArray[np.int64]) -> Switches | None:
        """Another order for some of the episodes, each from a random step on."""
        rate, horizon = self.config.order_switch_rate, self.collector.spec.horizon
        if not rate:
            return None
        seed = child_seed(self.config.seed, "switches", self.progress.updates)
        generator = np.random.Generator(np.random.Philox(seed))
        steps = generator.integers(1, horizon, len(orders))
        steps[generator.random(len(orders)) >= rate] = horizon + 1  # beyond the last input
        return Switches(steps, generator.permutation(orders))

    def _trials(self, count: int) -> Trials | None:
        """A decoy at a random step of each episode."""
        is_on = self.config.try_decoys and not self.network.layout.rules
        if not is_on or self._done >= _TRIED_UNTIL:
            return None
        seed = child_seed(self.config.seed, "trials", self.progress.updates)
        generator = np.random.Generator(np.random.Philox(seed))
        steps = generator.integers(0, self.collector.spec.horizon, count)
        return Trials(steps, generator.choice(useful_decoys(), count))

    def _bonus(self, rollout: Rollout, weight: float) -> NDArray[np.float64]:
        if self.config.order == NO_ORDER:
            return np.zeros_like(rollout.rewards)
        return alignment_bonus(
            rollout.verdicts, rollout.num_held, self.config.alignment, weight=weight
        )

    def _rule_costs(self, judged: dict[str, Judged]) -> NDArray[np.float64]:
        """What broken rules cost at each step, (steps, num_envs); no cost without a price."""
        priced = [rule for rule in self.rules if not rule.is_own]
        return rule_costs(judged, priced, {rule.name: self._prices[rule.name] for rule in priced})

    def _learn_prices(self, judged: dict[str, Judged]) -> dict[str, Any]:
        """Learn from fresh episodes what broken rules must cost; the record of the rules."""
        records: dict[str, dict[str, Any]] = {
            rule.name: {"broken": judged[rule.name].broken.value} for rule in self.rules
        }
        priced = [rule for rule in self.rules if not rule.is_own]
        if not priced:
            return records
        count, progress = self.config.prices.episodes, self.progress
        seed = child_seed(self.config.seed, "prices", progress.updates)
        fresh = judge_rules(
            priced, collect(self.collector, self.network, self._orders(count), seed=seed)
        )
        rates = {name: found.broken.value for name, found in fresh.items()}
        for one in self._prices.learn(rates):
            records[one["rule"]] |= one
        progress.price_episodes += count
        progress.prices = self._prices.to_json()
        return records

    def _check_gate(self, kept: OrderCompliance) -> Measured | None:
        """Measure on fresh episodes, if the batch gives reason to hope."""
        config = self.config
        if self.order is None or not config.stop_at_gate:
            return None
        if not is_worth_checking(kept, config.gate):
            return None
        if self.progress.limit is not None and self.remaining < config.gate.episodes:
            return None
        seed = child_seed(config.seed, "gate", self.progress.updates)
        self.progress.gate_episodes += config.gate.episodes
        seeds = environment_seeds(seed, config.gate.episodes)
        return measure_network(self.network, config, seeds, self.collector)

    def _decide(self, measured: Measured | None) -> None:
        progress = self.progress
        if measured is not None and measured.gate.has_passed:
            progress.stopped = "gate passed"
        elif self.remaining <= 0 and not self._is_starting:
            progress.stopped = learner.BUDGET_USED
        elif self.config.schedules.plateau_stop and schedules.is_plateau(progress.history):
            progress.stopped = "plateau"

    def _plan_opening(self) -> dict[str, Any] | None:
        """At its times in a start: plan what is to be played first from then on."""
        config, progress = self.config, self.progress
        is_due = progress.planned < len(PLANNED_AT) and self._done >= PLANNED_AT[progress.planned]
        if not (is_due and is_plannable(config)):
            return None

        def play(opening: tuple[int, ...], count: int, seed: int) -> NDArray[np.float64]:
            reds = self.collector.spec.num_reds
            orders = self._every_order(count * reds)
            progress.opening_episodes += len(orders)
            rollout = collect(self.collector, self.network, orders, seed=seed, opening=opening)
            return rollout.rewards.sum(axis=0).reshape(count, reds).T

        found = find_opening(
            play,
            num_steps=config.opening,
            seed=child_seed(config.seed, "opening", progress.updates),
            report=self._report,
        )
        progress.planned += 1
        # The network plays by itself what it has imitated: nothing better leaves it at that.
        progress.opening = list(found) or progress.opening
        actions = [describe(action) for action in progress.opening]
        return {"actions": actions, "episodes": progress.opening_episodes}

    def _end_start(self) -> dict[str, Any] | None:
        """At the end of one of several starts: begin the next one, or go on with the best."""
        config, progress = self.config, self.progress
        if not self._is_starting or self.remaining > 0:
            return None
        count = config.validation_episodes
        seed = child_seed(config.seed, "validation")
        orders = self._every_order(count)
        found = collect(self.collector, self.network, orders, seed=seed).mean_return
        progress.validation_episodes += count
        ended = {"start": progress.start, "return": found, "episodes": progress.validation_episodes}
        if progress.best_return is None or found > progress.best_return:
            progress.best_return = found
            self._best = super().to_arrays()
        progress.start += 1
        if self._is_starting:
            progress.aside = progress.episodes
            self.network = make_network(config, progress.start)
            self.optimiser = _adam(self.network, config)
        else:
            progress.aside = progress.episodes - config.start_episodes
            restore_network(self.network, self._best)
            restore_optimiser(self.optimiser, self._best)
            self._best = {}
        return ended

    def to_arrays(self) -> Arrays:
        """Weights and optimiser, and those of the best start so far."""
        return super().to_arrays() | {f"{_BEST}{name}": value for name, value in self._best.items()}

    def restore(self, arrays: Arrays, data: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        own = {name: value for name, value in arrays.items() if not name.startswith(_BEST)}
        super().restore(own, data)
        if self.progress.prices:
            self._prices.load_json(self.progress.prices)
        self._best = {
            name.removeprefix(_BEST): value for name, value in arrays.items() if name not in own
        }

    def _record(
        self,
        rollout: Rollout,
        bonus: NDArray[np.float64],
        stats: UpdateStats,
        now: schedules.Settings,
        measured: Measured | None,
    ) -> dict[str, Any]:
        environment, alignment = rollout.mean_return, float(bonus.sum(axis=0).mean())
        return {
            "update": self.progress.updates,
            "order_id": None if self.order is None else self.order.index,
            "order": self.config.order if self.order is None else str(self.order),
            "episodes": now.num_episodes,
            "total_episodes": self.progress.episodes,
            "gate_episodes": self.progress.gate_episodes,
            "reward": {
                "environment": environment,
                "alignment": alignment,
                "total": environment + alignment,
            },
            "compliance": rollout.counts.to_json() | {"strict_spread": rollout.spread},
            "loss": asdict(stats),
            "settings": asdict(now),
            "gate": None if measured is None else measured.to_json(),
            "stopped": self.progress.stopped,
        }

    def close(self) -> None:
        """End the workers, if there are any."""
        self.collector.close()


def _adam(network: ActorCritic, config: TrainConfig) -> torch.optim.Optimizer:
    rate = config.ppo.learning_rate
    return torch.optim.Adam(network.parameters(), lr=rate, eps=learner.ADAM_EPSILON, fused=True)


def judge_rules(rules: Sequence[TemporalRule], rollout: Rollout) -> dict[str, Judged]:
    """What each rule says about the episodes of a rollout."""
    trace = Trace(rollout.held_hosts, rollout.actions, rollout.rewards)
    return {rule.name: rule.judge(trace) for rule in rules}


def _priced(name: str, config: TrainConfig) -> PricedRule:
    how = config.prices
    return PricedRule(name, how.price, how.target, how.price_rate, how.max_price)


def _check_terms(config: TrainConfig) -> None:
    """Without an order nothing can be a violation, one alone cannot change, and so on."""
    terms = {
        "schedules.compliance_loss": config.schedules.compliance_loss,
        "schedules.soft_mask": config.schedules.soft_mask,
    }
    for name, value in terms.items():
        if config.order == NO_ORDER and value:
            raise ConfigError(f"{name} = {value}: needs an order, but order = {NO_ORDER!r}")
    if config.starts > 1 and not config.start_episodes:
        raise ConfigError(
            f"starts = {config.starts}: leave each of them no episode of episodes = "
            f"{config.episodes}"
        )
    if config.order_switch_rate and config.order != ANY_ORDER:
        raise ConfigError(
            f"order_switch_rate = {config.order_switch_rate}: needs order = {ANY_ORDER!r}, "
            f"but order = {config.order!r}"
        )
