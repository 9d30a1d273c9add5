"""Collectors by name."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from standing_orders.collect.actors import RayPlayers
from standing_orders.collect.crew import Report
from standing_orders.collect.episodes import EpisodeCollector, ProcessPlayers
from standing_orders.collect.games import GameSpec
from standing_orders.collect.local import BatchCollector, Collector
from standing_orders.collect.lockstep import LockstepCollector
from standing_orders.collect.loop import Actor
from standing_orders.config import CollectConfig
from standing_orders.errors import ConfigError

Make = Callable[[GameSpec, CollectConfig, Report], Collector]


def _batch(spec: GameSpec, _: CollectConfig, __: Report) -> Collector:
    return BatchCollector(spec, at_once=spec.at_once)


def _sequential(spec: GameSpec, _: CollectConfig, __: Report) -> Collector:
    return BatchCollector(spec, at_once=1)


def _lockstep(spec: GameSpec, config: CollectConfig, report: Report) -> Collector:
    return LockstepCollector(
        spec, num_workers=config.workers, timeout=config.worker_timeout, report=report
    )


def _episodes(spec: GameSpec, config: CollectConfig, report: Report) -> Collector:
    options: dict[str, Any] = {"timeout": config.worker_timeout, "report": report}
    players = partial(ProcessPlayers, spec, num_workers=config.workers, **options)
    return EpisodeCollector(spec, players)


def _ray(spec: GameSpec, config: CollectConfig, report: Report) -> Collector:
    def open_players(recipe: Callable[[], Actor], _: str) -> RayPlayers:
        return RayPlayers(
            spec, recipe, num_workers=config.workers, address=config.address,
            timeout=config.worker_timeout, report=report,
        )  # fmt: skip

    return EpisodeCollector(spec, open_players)


COLLECTORS: dict[str, Make] = {
    "batch": _batch,
    "sequential": _sequential,
    "lockstep": _lockstep,
    "episodes": _episodes,
    "ray": _ray,
}


def make_collector(spec: GameSpec, config: CollectConfig, report: Report) -> Collector:
    """A collector, which starts workers when it first plays; it must be closed.

    Args:
        spec: the game.
        config: which collector, and how many workers.
        report: told what a user should know.

    Raises:
        ConfigError: an address for a collector that has none.
    """
    if config.address is not None and config.collect != "ray":
        raise ConfigError(f"address = {config.address!r}: only collect = 'ray' has one")
    return COLLECTORS[config.collect](spec, config, report)


@contextmanager
def open_collector(
    spec: GameSpec, config: CollectConfig, report: Report = print
) -> Iterator[Collector]:
    """A collector whose workers end with the block, however it is left; see `make_collector`."""
    collector = make_collector(spec, config, report)
    try:
        yield collector
    finally:
        collector.close()
