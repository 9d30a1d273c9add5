"""The training loop of a team: draw sessions, judge them, learn, record."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from standing_orders.detect.actions import ALLOW
from standing_orders.detect.config import DetectConfig, LearnConfig, check_together
from standing_orders.detect.costs import Game, play
from standing_orders.detect.data.events import DataSet
from standing_orders.detect.learn.batch import Rollout, build_batch, collect, total_loss
from standing_orders.detect.learn.boosting import fit_trees
from standing_orders.detect.learn.foresight import (
    foreseen_shares,
    learn_margins,
    stretches,
    validation_batch,
)
from standing_orders.detect.metrics import action_shares, count_decisions, sweep
from standing_orders.detect.network import TeamNetwork
from standing_orders.detect.standard import fit_standard
from standing_orders.detect.tamper import with_tampered_copies
from standing_orders.detect.team import Judged, Team, as_streams, make_book, make_network, prepare
from standing_orders.detect.views import sensors_of
from standing_orders.errors import ConfigError, NumericsError
from standing_orders.learn import learner, ppo
from standing_orders.learn.snapshot import Arrays, network_arrays, restore_network
from standing_orders.seeding import child_seed

PASSES, MIN_UPDATES = 10, 60  # of a budget that is left open
LOOK_EVERY = 10  # updates between looks at the validation part
HEAD_ROUNDS = 20  # in which the constraint heads learn to foresee the best team
NO_BETTER = "no better on validation"  # why a run ends before its budget is used
_BEST = "best."
_HEADS = 1  # group of the optimiser, see `_optimiser`
_MIN_ENTROPY = 0.02  # by which worths become logits
_LEAN = 2 / 3  # on trees that decide first, see `TeamNetwork`


@dataclass
class Progress(learner.Progress):
    """Counters of a run."""

    events: int = 0  # judged in training, each by the whole team
    best: float | None = None  # score on the validation part, see `Trainer.look`
    looks: int = 0  # since the best one


class Trainer(learner.Learner[TeamNetwork, Progress]):
    """Trains one team; `step` is one update.

    Raises:
        VotingError: too few agents for the faulty ones that the vote must tolerate.
        ConfigError: options that do not go together, or a rule that is wrong.
    """

    def __init__(self, config: DetectConfig, data: DataSet) -> None:
        config = config.settled(data.task)
        check_together(config)
        if config.device == "cuda" and not torch.cuda.is_available():
            raise ConfigError(
                "device = 'cuda': torch sees no such device here: install a build of torch for "
                "your GPU, or take --device cpu"
            )
        train, origins = data.train, np.arange(data.train.num_sessions)
        sensors = list(sensors_of(train, config.team).values())
        if config.learn.tamper and len(sensors) > 1:
            train, origins = with_tampered_copies(
                train, sensors, share=config.learn.tamper,
                seed=child_seed(config.seed, "detect", "tamper"),
            )  # fmt: skip
        self.config = config = config.with_part("learn", iterations=budget_of(config, data))
        self.book = make_book(config.rules, data.task)
        events, validation = prepare(train, config), prepare(data.validation, config)
        self.game = config.game_of(train, data.task)
        self._validation = config.game_of(data.validation, data.task)
        network = make_network(config, events, self.book)
        self._features = torch.from_numpy(events.features)
        if network.forest is not None:
            if data.task == "records":
                assert config.learn.entropy is not None  # settled
                scale = config.learn.reward_scale / max(config.learn.entropy, _MIN_ENTROPY)
                network.worths.copy_(torch.from_numpy(config.costs.rewards() * scale))
                network.lean.fill_(_LEAN)
            self._features = fit_trees(
                network, (events, self.game.has_begun), (validation, self._validation.has_begun),
                origins=origins, seed=config.seed,
            )  # fmt: skip
        self._validation_features = network.tell(torch.from_numpy(validation.features))
        super().__init__(
            network, _optimiser(network, config.learn), Progress(),
            checkpoint_every=config.checkpoint_every,
        )  # fmt: skip
        self.team = Team(network, config, data.task)
        self._data = data
        self._best = network_arrays(network)
        if self._keeps_best:  # the first decisions of the trees may be the best ones
            self.progress.best = self.validation_score()

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
            raise NumericsError(f"update {self.updates + 1}: {err}") from err

    def play(self) -> Rollout:
        """Let the team judge the batch of the next update."""
        sessions = self._draw_sessions()
        rows = self.game.sessions.rows(sessions)
        return collect(
            self.team,
            self._features[torch.from_numpy(rows)],
            self.game.take(sessions),
            self.book,
            seed=self._seed("actions"),
        )

    @property
    def has_budget(self) -> bool:
        """Whether the config allows more updates than have been done."""
        assert self.config.learn.iterations is not None  # settled
        return self.updates < self.config.learn.iterations

    def learn(self, rollout: Rollout) -> dict[str, Any]:
        """Learn from a batch; see `step`."""
        now, progress = self.settings(), self.progress
        rates = (now.learning_rate, now.foresight)
        for group, rate in zip(self.optimiser.param_groups, rates, strict=True):
            group["lr"] = rate
        stats = self._update(rollout, now)
        foreseen, prices = self._learn_from_validation()
        progress.updates += 1
        progress.events += rollout.game.sessions.num_events
        progress.stopped = None if self.has_budget else learner.BUDGET_USED
        if self._keeps_best:
            self._look()
        return self._record(rollout, stats, now) | {"prices": prices, "foresight": foreseen}

    def _update(self, rollout: Rollout, now: LearnConfig) -> ppo.UpdateStats:
        with on_device(self.network, self.optimiser, self.config.device) as device:
            batch = build_batch(rollout, now).to(device)
            found = ppo.fit(
                self.network,
                self.optimiser,
                lambda items: total_loss(self.network, batch.take(items), now),
                num_items=batch.sessions.num_sessions,
                epochs=now.epochs,
                minibatches=now.minibatches,
                max_gradient=now.max_gradient,
                max_kl=now.max_kl,
                seed=self._seed("update"),
            )
        return ppo.UpdateStats(
            num_epochs=found.num_epochs,
            explained_variance=rollout.explained_variance,
            **found.means,
        )

    @property
    def _keeps_best(self) -> bool:
        """Whether the best team counts and not the last: a price makes them two things."""
        return bool(self.config.learn.patience and not self.book.rules_of("fine", "lagrange"))

    def _look(self) -> None:
        """Judge the validation part now and then: keep the best weights, stop without progress."""
        progress = self.progress
        if progress.updates % LOOK_EVERY == 0 or progress.stopped:
            score = self.validation_score()
            progress.looks += 1
            assert progress.best is not None
            if score > progress.best:
                progress.best, progress.looks = score, 0
                self._best = network_arrays(self.network)
            elif progress.looks >= self.config.learn.patience:
                progress.stopped = NO_BETTER
        if progress.stopped:
            self._return_to_best()

    def _return_to_best(self) -> None:
        """Take the best weights again, with heads that have learned ever since and learn on."""
        heads = self.network.heads
        learned = {name: value.clone() for name, value in heads.state_dict().items()}
        restore_network(self.network, self._best)
        heads.load_state_dict(learned)
        if not self._has_heads:
            return
        heads.num_batches.zero_()  # mean and spread of the margins are those of this team alone
        count = HEAD_ROUNDS * self._sessions_an_update()
        judged, game = self._judge_validation(min(count, self._validation.sessions.num_sessions))
        batch = validation_batch(judged, game, self.team.task, self.book)
        for done in range(HEAD_ROUNDS):
            rate = self.config.learn.foresight * (1 - done / HEAD_ROUNDS)
            self.optimiser.param_groups[_HEADS]["lr"] = rate
            seed = child_seed(self._seed("foresight"), "best", done)
            learn_margins(heads, self.optimiser, batch, seed=seed)

    def validation_score(self) -> float:
        """Mean reward of the vote on the validation part; of records PR-AUC is added to it."""
        game = self._validation
        judged = self.team.judge_rows(self._validation_features, game.sessions)
        reward = float(play(game, judged.actions).rewards.sum() / game.sessions.num_sessions)
        if self.team.task == "sessions":
            return reward
        # Without what the trees say by themselves, which would be the same whatever is learned.
        own = 1 - judged.probs[:, :, ALLOW].mean(axis=0)
        return reward + sweep(own, game.is_threat).pr_auc

    def _learn_from_validation(self) -> tuple[dict[str, float | None], list[dict[str, Any]]]:
        """Let constraint heads and prices learn from events that the actors do not.

        Returns:
            How well the heads foresaw each rule before they learned, and records of the prices.
        """
        if not (self._has_heads or self.book.rules_of("lagrange")):
            return {}, []
        task = self.team.task
        judged, game = self._judge_validation(self._sessions_an_update())
        streams = as_streams(game, task, judged.actions, judged.scores)
        prices = self.book.learn_prices(self.book.judge(streams))
        if not self._has_heads:
            return {}, prices
        heads, batch = self.network.heads, validation_batch(judged, game, task, self.book)
        foreseen = foreseen_shares(heads, batch, self.book)
        learn_margins(heads, self.optimiser, batch, seed=self._seed("foresight"))
        return foreseen, prices

    @property
    def _has_heads(self) -> bool:
        """Whether there are constraint heads that learn."""
        return bool(self.book.rules and self.config.learn.foresight)

    def _judge_validation(self, count: int) -> tuple[Judged, Game]:
        """What the team does, shielded, in about so many sessions of the validation part."""
        every = self._validation.sessions
        sessions = stretches(every.num_sessions, count, self.updates)
        rows = torch.from_numpy(every.rows(sessions))
        game = self._validation.take(sessions)
        shielded = Team(self.network, self.config, self.team.task, self.book)
        return shielded.judge_rows(self._validation_features[rows], game.sessions), game

    def settings(self) -> LearnConfig:
        """What the next update uses: step sizes fall linearly, if asked for."""
        learn = self.config.learn
        assert learn.iterations is not None  # settled
        done = self.updates / learn.iterations
        falling = {
            "learning_rate": (learn.learning_rate, learn.final_learning_rate),
            "foresight": (learn.foresight, 0.0),
        }
        now = {
            name: first + done * (last - first)
            for name, (first, last) in falling.items()
            if first is not None and last is not None
        }
        return learn.model_copy(update=now)

    def _seed(self, name: str) -> int:
        return child_seed(self.config.seed, "detect", name, self.updates)

    def _draw_sessions(self) -> NDArray[np.int64]:
        """The next sessions of an endless row of shuffled passes over the training part."""
        num, count = self.game.sessions.num_sessions, self._sessions_an_update()
        begin = self.updates * count
        passes = range(begin // num, (begin + count - 1) // num + 1)
        seeds = (child_seed(self.config.seed, "detect", "pass", one) for one in passes)
        shuffled = [np.random.Generator(np.random.Philox(seed)).permutation(num) for seed in seeds]
        return np.concatenate(shuffled)[begin % num :][:count]

    def _sessions_an_update(self) -> int:
        mean_length = self.game.sessions.num_events / self.game.sessions.num_sessions
        return max(1, round(self.config.learn.steps / mean_length))

    def _record(self, rollout: Rollout, stats: ppo.UpdateStats, now: LearnConfig) -> dict[str, Any]:
        game, judged = rollout.game, rollout.judged
        sessions, played = game.sessions, play(game, judged.actions)
        is_open = played.is_open
        seen = count_decisions(judged.actions[is_open] != ALLOW, game.is_threat[is_open])
        agents = [play(game, own).rewards.sum() for own in rollout.actions]
        return {
            "update": self.updates,
            "events": sessions.num_events,
            "total_events": self.progress.events,
            "team": {
                "reward": _finite(played.rewards.sum() / sessions.num_sessions),
                "f1": _finite(seen.f1),
                "recall": _finite(seen.recall),
                "accuracy": _finite(seen.accuracy),
                "false_alarm_rate": _finite(seen.false_positive_rate),
                "no_quorum": float((~judged.has_quorum).mean()),
                "events_seen": float(is_open.sum() / sessions.num_sessions),
            },
            "decisions": asdict(seen),
            "actions": action_shares(judged.actions[is_open]),
            "values": rollout.value_range,
            "agents": {"reward": [float(one / sessions.num_sessions) for one in agents]},
            "loss": asdict(stats),
            "settings": {"learning_rate": now.learning_rate, "entropy": now.entropy},
            "rules": dict(rollout.rules),
            "validation": {"score": self.progress.best, "looks": self.progress.looks},
            "stopped": self.progress.stopped,
        }

    def to_arrays(self) -> Arrays:
        """Weights, optimiser and the best weights so far, for a checkpoint."""
        best = {f"{_BEST}{name}": value for name, value in self._best.items()}
        return super().to_arrays() | (best if self._keeps_best else {})

    def to_json(self) -> dict[str, Any]:
        """Counters, prices and what the team needs in service, for a checkpoint."""
        standard = fit_standard(self.team, self._data)
        return {
            "progress": super().to_json(),
            "prices": self.book.prices.to_json(),
            "standard": standard and standard.to_json(),
        }

    def restore(self, arrays: Arrays, data: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        super().restore(arrays, data["progress"])
        self.book.prices.load_json(data["prices"])
        best = {name: value for name, value in arrays.items() if name.startswith(_BEST)}
        self._best = {name.removeprefix(_BEST): value for name, value in best.items()}


def budget_of(config: DetectConfig, data: DataSet) -> int:
    """Updates at most: what the config says, or enough passes over the training part."""
    passes = math.ceil(PASSES * data.train.num_events / config.learn.steps)
    return config.learn.iterations or max(MIN_UPDATES, passes)


@contextmanager
def on_device(
    network: TeamNetwork, optimiser: torch.optim.Optimizer, name: str
) -> Iterator[torch.device]:
    """Have the weights and the optimiser's moments on a device for a while, then here again."""
    try:
        yield _move(network, optimiser, torch.device(name))
    finally:
        _move(network, optimiser, torch.device("cpu"))


def _move(
    network: TeamNetwork, optimiser: torch.optim.Optimizer, device: torch.device
) -> torch.device:
    network.to(device)
    for moments in optimiser.state.values():
        moments.update({name: one.to(device) for name, one in moments.items()})
    return device


def _optimiser(network: TeamNetwork, learn: LearnConfig) -> torch.optim.Optimizer:
    """Adam of actors and critics, and of the constraint heads with a step size of their own."""
    weights = dict(network.named_parameters())
    heads = [weights.pop(name) for name in list(weights) if name.startswith("heads.")]
    return torch.optim.Adam(
        [{"params": list(weights.values())}, {"params": heads}], lr=learn.learning_rate,
        eps=learner.ADAM_EPSILON, fused=True,
    )  # fmt: skip


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
