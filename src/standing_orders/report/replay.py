"""What `replay` does: a page with episodes of one policy, and the fork that was asked for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from standing_orders.cage2.attacks import AttackFile
from standing_orders.cage2.policy import Policy
from standing_orders.config import SimConfig
from standing_orders.errors import ConfigError
from standing_orders.report import document as doc
from standing_orders.report.build import game_of, order_of, policy_maker
from standing_orders.report.episodes import Episode
from standing_orders.report.parts import REPLAY_NOTE
from standing_orders.report.reading import kind_of, read_run
from standing_orders.report.replays import (
    OtherFuture,
    PolicyMaker,
    find_episodes,
    told_otherwise,
)
from standing_orders.rules.orders import Order
from standing_orders.runs.folder import is_run
from standing_orders.runs.loop import best_of_search


@dataclass(frozen=True)
class ReplayTask:
    """Which episodes to show."""

    policy: str  # a scripted defender or a run folder; of a search, its best policy
    game: SimConfig | None = None  # None: the one that the policy was trained for
    numbers: Sequence[int] = ()  # which attacks; the best, median and worst if there are none
    num_episodes: int = 100  # among which those are found
    order: str | None = None  # that the policy is told; with a fork, that the fork is told
    fork_at: int | None = None  # step from which the fork differs
    fork_policy: str | None = None  # who takes over; the same policy if left out
    attack: AttackFile | None = None  # the only one to show


@dataclass(frozen=True)
class Source:
    """A policy that can be replayed."""

    make: PolicyMaker
    order: int | None  # its own
    takes_order: bool
    game: SimConfig


def source_of(name: str, *, is_greedy: bool = False) -> Source:
    """A scripted defender by name, or the policy of a run.

    Raises:
        ConfigError: there is no such policy.
        CheckpointError: the run folder is damaged.
    """
    path = Path(name)
    if not is_run(path):
        make = policy_maker(path, is_greedy=is_greedy)
        make(None)  # an unknown name is refused before anything is played
        return Source(make, None, takes_order=False, game=SimConfig())
    if kind_of(path) == "search":
        path = best_of_search(path)
    run = read_run(path)
    order = order_of(run)
    make = policy_maker(path, is_greedy=is_greedy)
    return Source(make, order, takes_order=order is not None, game=game_of(run))


def find_replay(task: ReplayTask) -> list[Episode]:
    """Record what a task asks for.

    Raises:
        ConfigError: there is no such policy, an order for a policy that takes none, or a step
            beyond the end.
        CheckpointError: the run folder is damaged.
    """
    attack = task.attack
    source = source_of(task.policy, is_greedy=attack is not None and attack.greedy)
    if attack is not None and attack.order is not None:
        source = replace(source, order=Order.parse(attack.order).index)
    wanted = None if task.order is None else Order.parse(task.order).index
    is_fork = task.fork_at is not None
    if not is_fork and task.fork_policy is not None:
        raise ConfigError(f"policy = {task.fork_policy!r}: name the step of the fork too (fork-at)")
    others = [_other(task, source, wanted)] if is_fork else []
    if wanted is not None and not source.takes_order:
        # A scripted defender is not told anything, but may be judged by an order.
        source = Source(_untold(source.make), wanted, takes_order=False, game=source.game)
    order = wanted if wanted is not None and not is_fork else source.order
    return find_episodes(
        source.make if source.takes_order else _untold(source.make),
        task.game or source.game,
        order=order,
        num_episodes=task.num_episodes,
        numbers=task.numbers,
        fork_at=task.fork_at,
        others=others,
        attack=attack,
    )


def _untold(make: PolicyMaker) -> PolicyMaker:
    """A policy that is judged by an order but not told it."""

    def untold(_: int | None) -> Policy:
        return make(None)

    return untold


def _other(task: ReplayTask, source: Source, wanted: int | None) -> OtherFuture:
    if task.fork_policy is None:
        if wanted is None:
            raise ConfigError("fork-at: name an order or a policy that takes over")
        if not source.takes_order:
            raise ConfigError(f"order = {task.order!r}: {task.policy} takes no order")
        return told_otherwise(source.make, wanted)
    successor = source_of(task.fork_policy)
    judged = source.order if wanted is None else wanted
    told = judged if successor.takes_order else None
    return OtherFuture(task.fork_policy, lambda: successor.make(told), judged)


def replay_document(task: ReplayTask) -> dict[str, Any]:
    """A page with the episodes that a task asks for; see `find_replay`."""
    episodes = find_replay(task)
    config = episodes[0].recording.config
    game = f"red {config.red}, {config.horizon} steps, rules {config.rules}"
    if config.head_start:
        game += f", red {config.head_start} steps ahead"
    return doc.document(
        f"Replay: {Path(task.policy).name}",
        game,
        [doc.section("Replay", doc.text(REPLAY_NOTE), doc.replay(episodes))],
    )
