"""A team judges events: from features to probabilities, ballots, decisions and rule streams."""

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from standing_orders.detect.actions import BLOCK
from standing_orders.detect.config import DetectConfig, Mode, RulesConfig
from standing_orders.detect.costs import Game, play
from standing_orders.detect.data.events import Events, Sessions, Task
from standing_orders.detect.engine import (
    Batch,
    Outcome,
    Votes,
    agents_of,
    ask,
    count_votes,
    opinion_of,
    suspicion_of,
)
from standing_orders.detect.network import TeamNetwork
from standing_orders.detect.rules import Rule, RuleBook, Shield, Streams, default_rules
from standing_orders.detect.rules.lookup import fits_a_table, shield_by_tables
from standing_orders.detect.views import split_views, with_end_mark, with_summary
from standing_orders.errors import ConfigError
from standing_orders.memory import require_memory
from standing_orders.seeding import child_seed

EVENTS_AT_ONCE = 50_000  # of whole sessions, through the network
MODES: tuple[Mode, ...] = ("watch", "fine", "lagrange", "shield")


@dataclass(frozen=True, eq=False)
class Decisions:
    """What somebody thinks of events, by what was seen up to each of them, and does about them."""

    scores: NDArray[np.float64]  # (num_events,): how much of a threat each is
    actions: NDArray[np.int64]  # (num_events,)


@dataclass(frozen=True, eq=False)
class Judged(Decisions):
    """What a team thinks of events and does about them; the score is its mean suspicion."""

    log_probs: Tensor  # (agents, num_events, NUM_ACTIONS)
    hidden: Tensor  # (agents, num_events, size): what the constraint heads look at
    probs: NDArray[np.float64]  # (agents, num_events, NUM_ACTIONS)
    votes: Votes  # each agent's likeliest action
    has_quorum: NDArray[np.bool_]  # (num_events,)
    shielded: dict[str, Any] | None  # what the shield did; None without one


class Team:
    """Agents that judge whole sessions together, trained or not, by a settled config.

    Rules of mode `shield` replace decisions; without a book nothing is replaced.
    """

    def __init__(
        self, network: TeamNetwork, config: DetectConfig, task: Task, book: RuleBook | None = None
    ) -> None:
        self.network, self.config, self.task, self._book = network, config, task, book

    def judge(self, events: Events) -> Judged:
        """Judge all events of a part of the data, as the team does in service: bit for bit."""
        agents, told = agents_of(self.network), []
        for chunk in _chunks(events):
            part = prepare(events.take_sessions(chunk), self.config)
            batch = Batch(part.features, part.sessions.index, part.sessions.place == 0)
            told.append([torch.stack(one) for one in zip(*ask(agents, batch), strict=True)])
        log_probs, hidden, doubts = (torch.cat(one, dim=1) for one in zip(*told, strict=True))
        return self._judge(log_probs, hidden, doubts, events.sessions)

    def judge_rows(self, features: Tensor, sessions: Sessions) -> Judged:
        """Judge events that are prepared already, (num_events, num_features), for learning.

        All at once, so its last bits may differ from those of `judge`.
        """
        with torch.no_grad():
            told = self.network.tell(features)
            log_probs, hidden = self.network.act(told, sessions)
        return self._judge(log_probs, hidden, self.network.doubts(told), sessions)

    def _judge(
        self, log_probs: Tensor, hidden: Tensor, doubts: Tensor, sessions: Sessions
    ) -> Judged:
        probs, likeliest = opinion_of(log_probs)
        votes, lean = likeliest.T, float(self.network.lean)
        scores = suspicion_of(probs, doubts.numpy(), lean)
        outcomes, shielded = self.outcomes([votes], probs, scores, sessions)
        outcome = next(outcomes)
        return Judged(
            scores=scores,
            actions=outcome.actions,
            log_probs=log_probs,
            hidden=hidden,
            probs=probs,
            votes=votes,
            has_quorum=outcome.has_quorum,
            shielded=shielded,
        )

    def outcomes(
        self,
        ballots: Iterable[Votes],
        probs: NDArray[np.float64],  # (agents, num_events, NUM_ACTIONS)
        scores: NDArray[np.float64],  # (num_events,)
        sessions: Sessions,
    ) -> tuple[Iterator[Outcome], dict[str, Any] | None]:
        """Outcomes of several votes on the same events, after the shield, and what that did.

        Liars change neither the probabilities, which `average` goes by, nor the score.
        """
        proposed = (count_votes(votes, probs, self.config.team) for votes in ballots)
        if self._book is None or not self._book.rules_of("shield"):
            return proposed, None
        counted = list(proposed)
        actions = np.stack([one.actions for one in counted], axis=1)
        actions, counts = apply_shield(self._book, actions, scores, sessions, self.task)
        pairs = zip(counted, actions.T, strict=True)
        return (Outcome(column, one.has_quorum) for one, column in pairs), counts


def prepare(events: Events, config: DetectConfig) -> Events:
    """Events as the networks of a settled config take them."""
    return with_end_mark(events if config.team.network == "lstm" else with_summary(events))


def make_network(config: DetectConfig, events: Events, book: RuleBook) -> TeamNetwork:
    """The untrained network of a settled config; `events` are prepared ones.

    Raises:
        ResourceError: it, or one of its updates, does not fit into memory.
    """
    team, learn = config.team, config.learn
    sizes = [float(events.num_features), *map(float, team.hidden)]
    weights = 2 * team.agents * sum(a * b for a, b in itertools.pairwise(sizes))
    # Weights, gradients, Adam's two moments, and copies for a checkpoint and a start.
    require_memory(24 * weights * (8 if team.network == "lstm" else 1), f"team.hidden = "
                   f"{team.hidden}")  # fmt: skip
    rows = float(learn.steps)
    require_memory(8 * rows * (sizes[0] + team.agents * sum(sizes[1:]) / learn.minibatches),
                   f"learn.steps = {learn.steps}")  # fmt: skip
    return TeamNetwork(
        split_views(events, config.team),
        events.num_features,
        config.team,
        rules=book.rules,
        seed=child_seed(config.seed, "detect", "network"),
    )


def make_book(config: RulesConfig, task: Task) -> RuleBook:
    """The rules that a config names.

    Raises:
        ConfigError: a rule is wrong or has no proper name, or `enforce` names no rule or no mode.
    """
    rules = default_rules(task, mode=config.mode, window=config.window) * config.defaults
    own = [_read_rule(text) for text in config.own]
    modes: dict[str, Any] = {rule.name: rule.mode for rule in rules}
    modes |= {name: config.mode for name, _ in own}
    if config.enforce:
        modes = _enforced(config, list(modes))
    shared = ("price", "target", "price_rate", "max_price")
    values: dict[str, Any] = {name: getattr(config, name) for name in shared}
    known = [replace(one, mode=modes.get(one.name, "watch"), **values) for one in rules]
    values |= {"scope": config.scope, "window": config.window}
    named = [Rule(name, text, mode=modes.get(name, "watch"), **values) for name, text in own]
    return RuleBook([*known, *named])


def _read_rule(text: str) -> tuple[str, str]:
    """Name and formula of a rule of the user's own."""
    name, colon, formula = (part.strip() for part in text.partition(":"))
    if not colon:
        raise ConfigError(f"rules.own = {text!r}: must be NAME: FORMULA")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,39}", name):
        wanted = "a name is a letter and up to 39 more letters, digits, _ or -"
        raise ConfigError(f"rules.own = {text!r}: name = {name!r}: {wanted}")
    return name, formula


def _enforced(config: RulesConfig, names: list[str]) -> dict[str, str]:
    """Modes of the rules that `enforce` names."""
    modes = {}
    for text in config.enforce:
        name, equals, mode = text.partition("=")
        if name not in names:
            raise ConfigError(f"rules.enforce = {text!r}: there is no such rule; there are: "
                              f"{', '.join(names) or 'none'}")  # fmt: skip
        modes[name] = mode if equals else config.mode
        if modes[name] not in MODES:
            raise ConfigError(
                f"rules.enforce = {text!r}: {mode!r}: must be one of {', '.join(MODES)}"
            )
    return modes


def as_streams(
    game: Game,
    task: Task,
    actions: NDArray[np.int64],  # (rows,), or (rows, num_streams)
    suspicion: NDArray[np.float64],  # the same shape
) -> Streams:
    """Decisions as rules see them: one stream of events for each decider.

    A stream of records is one long session; events after the end of a session did not happen.
    """
    actions = actions.reshape(len(actions), -1)
    suspicion = suspicion.reshape(actions.shape)
    threat = np.broadcast_to(game.is_threat[:, None], actions.shape)
    if task == "records":
        return Streams(actions, threat, suspicion=suspicion)
    is_open = np.stack([play(game, column).is_open for column in actions.T], axis=1)
    is_last = np.broadcast_to(game.sessions.is_last[:, None], actions.shape)
    return Streams(actions, threat, is_valid=is_open, is_last=is_last, suspicion=suspicion)


def apply_shield(
    book: RuleBook,
    proposed: NDArray[np.int64],  # (rows, num_deciders)
    suspicion: NDArray[np.float64],  # (rows,)
    sessions: Sessions,
    task: Task,
) -> tuple[NDArray[np.int64], dict[str, Any]]:
    """Replace decisions that would break a shield's rule, one event after the other.

    Many deciders side by side take little longer than one.

    Returns:
        The decisions, and what the shield did; events after the end of a session are left out.
    """
    if all(map(fits_a_table, book.rules_of("shield"))):
        return shield_by_tables(book, proposed, sessions, task)
    actions = proposed.copy()
    every = np.ones(actions.shape[1], dtype=np.bool_)
    shield = Shield(book, num_streams=len(every))
    for first, end in itertools.pairwise(sessions.starts):
        is_open = every
        for index in range(first, end):
            doubt = suspicion[index] * every
            taken = shield.apply(actions[index], doubt, is_valid=is_open).actions
            actions[index] = taken
            is_open = is_open & (taken < BLOCK)
            if task == "sessions" and not is_open.any():  # every session has ended
                break
        if task == "sessions":
            shield.end(is_last=every)
    return actions, shield.to_json()


def _chunks(events: Events) -> Iterable[NDArray[np.int64]]:
    """Numbers of the sessions that are judged together."""
    part = events.starts[1:] // EVENTS_AT_ONCE
    return np.split(np.arange(events.num_sessions), np.flatnonzero(np.diff(part)) + 1)
