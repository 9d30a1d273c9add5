"""The training loop of a team: draw sessions, judge them, learn, record."""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from standing_orders.detect.assess.metrics import count_decisions
from standing_orders.detect.config import DetectConfig, LearnConfig, check_together
from standing_orders.detect.data.events import DataSet, Events
from standing_orders.detect.learn.foresight import explained, learn_margins, make_lesson
from standing_orders.detect.learn.game import Game, make_game, play
from standing_orders.detect.learn.rollout import Rollout, collect
from standing_orders.detect.learn.team import TeamNetwork
from standing_orders.detect.learn.unseen import Glimpse, look, stretches
from standing_orders.detect.learn.update import UpdateStats, build_batch, update
from standing_orders.detect.learn.views import remember, split_views
from standing_orders.detect.rules import RuleBook
from standing_orders.errors import NumericsError
from standing_orders.learn.snapshot import (
    Arrays,
    network_arrays,
    optimiser_arrays,
    restore_network,
    restore_optimiser,
)
from standing_orders.seeding import child_seed

_ADAM_EPSILON = 1e-5
_MIN_SPREAD = 1e-3


@dataclass(frozen=True)
class Moments:
    """Running mean and spread of the critics' targets (Chan et al. 1979)."""

    count: float = 0.0
    mean: float = 0.0
    square: float = 0.0  # sum of squared deviations

    def add(self, values: NDArray[np.float64], weights: NDArray[np.float64]) -> "Moments":
        """With more values, of any shape, each with a weight."""
        more = float(weights.sum())
        if not more:
            return self
        mean = float((weights * values).sum()) / more
        square = float((weights * (values - mean) ** 2).sum())
        count, step = self.count + more, mean - self.mean
        return Moments(
            count,
            self.mean + step * more / count,
            self.square + square + step**2 * self.count * more / count,
        )

    @property
    def scale(self) -> tuple[float, float]:
        """Mean and spread; 0 and 1 before anything is known."""
        if not self.count:
            return 0.0, 1.0
        return self.mean, max(math.sqrt(self.square / self.count), _MIN_SPREAD)


@dataclass(frozen=True)
class Progress:
    """Counters of a run."""

    updates: int = 0
    events: int = 0  # judged in training, each by the whole team
    stopped: str | None = None  # why, once it has


def prepare(events: Events, config: DetectConfig) -> Events:
    """Events as the networks of a settled config take them."""
    return events if config.team.network == "lstm" else remember(events)


def make_network(config: DetectConfig, events: Events, book: RuleBook) -> TeamNetwork:
    """The untrained team of a settled config; `events` are prepared ones."""
    return TeamNetwork(
        split_views(events, config.team.agents, config.team.views),
        events.num_features,
        config.team,
        rules=book.rules,
        seed=child_seed(config.seed, "detect", "network"),
    )


class Trainer:
    """Trains one team; `step` is one update.

    Args:
        config: everything about the run.
        data: the events.

    Raises:
        VotingError: too few agents for the liars that the vote must bear.
        ConfigError: options that do not go together, or a rule that is wrong.
    """

    def __init__(self, config: DetectConfig, data: DataSet) -> None:
        config = config.settled(data.task)
        check_together(config)
        self.config = config
        self.task = data.task
        self.table = config.costs.table()
        self.book = RuleBook(config.rules.rules(data.task))
        events = prepare(data.train, config)
        self.network = make_network(config, events, self.book)
        weights = dict(self.network.named_parameters())
        heads = [weights.pop(name) for name in list(weights) if name.startswith("heads.")]
        self.optimiser = torch.optim.AdamW(
            [{"params": list(weights.values())}, {"params": heads}], lr=config.learn.learning_rate,
            eps=_ADAM_EPSILON, weight_decay=config.learn.weight_decay, fused=True,
        )  # fmt: skip
        self.game = make_game(data.train, data.task, self.table, config.session_costs)
        self._features = torch.from_numpy(events.features)
        self._unseen = make_game(data.validation, data.task, self.table, config.session_costs)
        self._unseen_features = torch.from_numpy(prepare(data.validation, config).features)
        self.progress = Progress()
        self.moments = Moments()

    @property
    def updates(self) -> int:
        """Updates so far."""
        return self.progress.updates

    @property
    def is_done(self) -> bool:
        """Whether the run has ended."""
        return self.progress.stopped is not None

    def step(self) -> dict[str, Any]:
        """Judge a batch and learn from it.

        Returns:
            The record of the update: plain data without any times.

        Raises:
            NumericsError: a number is not finite.
        """
        try:
            return self.learn(self.play())
        except NumericsError as err:
            raise NumericsError(f"update {self.progress.updates + 1}: {err}") from err

    def play(self) -> Rollout:
        """Let the team judge the batch of the next update."""
        sessions = self._draw_sessions()
        rows = self.game.rows_of(sessions)
        return collect(
            self.network,
            self._features[torch.from_numpy(rows)],
            self.game.take(sessions),
            task=self.task,
            config=self.config,
            table=self.table,
            book=self.book,
            value_scale=self._value_scale(),
            seed=self._seed("actions"),
        )

    def learn(self, rollout: Rollout) -> dict[str, Any]:
        """Learn from a batch; see `step`."""
        config, progress = self.config, self.progress
        if config.learn.returns == "running":
            self.moments = self.moments.add(rollout.credit.targets, rollout.credit.weights)
        batch = build_batch(rollout, config.learn, self._value_scale())
        now = self.settings()
        for group, rate in zip(
            self.optimiser.param_groups, (now.learning_rate, now.foresight), strict=True
        ):
            group["lr"] = rate
        stats = update(self.network, self.optimiser, batch, now, seed=self._seed("update"))
        foreseen, prices = self._learn_from_unseen()
        is_last = progress.updates + 1 >= config.learn.iterations
        self.progress = replace(
            progress,
            updates=progress.updates + 1,
            events=progress.events + rollout.game.num_events,
            stopped="budget used" if is_last else None,
        )
        return self._record(rollout, stats, now, prices) | {"foresight": foreseen}

    def _learn_from_unseen(self) -> tuple[dict[str, float | None], list[dict[str, Any]]]:
        """Let constraint heads and prices learn from events that the actors do not.

        Returns:
            How well the heads foresaw each rule before they learned, and records of the prices.
        """
        has_heads = bool(self.book.rules and self.config.learn.foresight)
        if not (has_heads or self.book.rules_of("lagrange")):
            return {}, []
        count = self._sessions_an_update()
        sessions = stretches(self._unseen.num_sessions, count, self.progress.updates)
        seen = look(
            self.network,
            self._unseen_features[torch.from_numpy(self._unseen.rows_of(sessions))],
            self._unseen.take(sessions),
            task=self.task,
            config=self.config.team,
            book=self.book,
        )
        prices = self.book.learn_prices(self.book.judge(seen.streams(self.task)))
        return (self._learn_margins(seen) if has_heads else {}), prices

    def _learn_margins(self, seen: Glimpse) -> dict[str, float | None]:
        """Let the constraint heads learn; how well they foresaw each rule before they did."""
        heads, hidden = self.network.heads, seen.judged.hidden
        lesson = make_lesson(seen.probs, seen.actions, seen.game, self.task, self.book)
        with torch.no_grad():
            foreseen = explained(heads.margins(lesson.inputs(hidden)), lesson.margins)
        learn_margins(heads, self.optimiser, lesson, hidden, seed=self._seed("foresight"))
        return dict(zip([rule.name for rule in self.book.rules], foreseen, strict=True))

    def settings(self) -> LearnConfig:
        """What the next update uses: step sizes and entropy fall linearly, if asked for."""
        learn = self.config.learn
        done = self.progress.updates / learn.iterations
        falling = {
            "learning_rate": (learn.learning_rate, learn.final_learning_rate),
            "entropy": (learn.entropy, learn.final_entropy),
            "foresight": (learn.foresight, 0.0),
        }
        now = {
            name: first + done * (last - first)
            for name, (first, last) in falling.items()
            if first is not None and last is not None
        }
        return learn.model_copy(update=now)

    def _value_scale(self) -> tuple[float, float]:
        return self.moments.scale if self.config.learn.returns == "running" else (0.0, 1.0)

    def _seed(self, name: str) -> int:
        return child_seed(self.config.seed, "detect", name, self.progress.updates)

    def _draw_sessions(self) -> NDArray[np.int64]:
        """The next sessions of an endless row of shuffled passes over the training part."""
        num, count = self.game.num_sessions, self._sessions_an_update()
        begin = self.progress.updates * count
        passes = range(begin // num, (begin + count - 1) // num + 1)
        shuffled = np.concatenate([self._shuffled(one) for one in passes])
        return shuffled[begin % num :][:count]

    def _sessions_an_update(self) -> int:
        mean_length = self.game.num_events / self.game.num_sessions
        return max(1, round(self.config.learn.steps / mean_length))

    def _shuffled(self, one: int) -> NDArray[np.int64]:
        seed = child_seed(self.config.seed, "detect", "pass", one)
        return np.random.Generator(np.random.Philox(seed)).permutation(self.game.num_sessions)

    def _record(
        self, rollout: Rollout, stats: UpdateStats, now: LearnConfig, prices: list[dict[str, Any]]
    ) -> dict[str, Any]:
        game, progress = rollout.game, self.progress
        played = play(game, rollout.decisions)
        seen = count_decisions(
            rollout.decisions[played.is_open] != 0, game.is_threat[played.is_open]
        )
        return {
            "update": progress.updates,
            "events": game.num_events,
            "total_events": progress.events,
            "team": {
                "reward": _finite(played.rewards.sum() / game.num_sessions),
                "f1": _finite(seen.f1),
                "recall": _finite(seen.recall),
                "false_alarm_rate": _finite(seen.false_positive_rate),
                "no_quorum": float((~rollout.has_quorum).mean()),
                "events_seen": float(played.is_open.sum() / game.num_sessions),
            },
            "agents": {"reward": _agent_rewards(game, rollout.actions)},
            "loss": asdict(stats),
            "settings": {"learning_rate": now.learning_rate, "entropy": now.entropy},
            "rules": dict(rollout.judgement.metrics),
            "prices": prices,
            "stopped": progress.stopped,
        }

    def to_arrays(self) -> Arrays:
        """Weights and optimiser for a checkpoint."""
        return network_arrays(self.network) | optimiser_arrays(self.optimiser)

    def to_json(self) -> dict[str, Any]:
        """Counters, prices and moments for a checkpoint."""
        return {
            "progress": asdict(self.progress),
            "prices": self.book.to_json(),
            "moments": asdict(self.moments),
        }

    def restore(self, arrays: Arrays, data: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        restore_network(self.network, arrays)
        restore_optimiser(self.optimiser, arrays)
        self.book.load_json(data["prices"])
        self.moments = Moments(**data["moments"])
        self.progress = Progress(**data["progress"])


def _agent_rewards(game: Game, actions: NDArray[np.int64]) -> list[float]:
    """Mean reward a session of each agent's own actions, as drawn."""
    return [float(play(game, own).rewards.sum() / game.num_sessions) for own in actions]


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
