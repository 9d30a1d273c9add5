"""All collectors give the same episodes for the same seeds, bit for bit."""

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from standing_orders.collect.choose import COLLECTORS, make_collector, open_collector
from standing_orders.collect.crew import Crew
from standing_orders.collect.episodes import _Tasks
from standing_orders.collect.local import BatchCollector
from standing_orders.collect.plan import Plan, Switches, Trials
from standing_orders.collect.rollout import Rollout
from standing_orders.config import CollectConfig, TrainConfig
from standing_orders.errors import ConfigError
from standing_orders.learn.actor import NetworkActor, least_rows
from standing_orders.learn.inputs import InputLayout
from standing_orders.learn.trainer import Trainer
from tests.collect.conftest import SPEC, make_actor

MakePlan = Callable[..., Plan]
OTHERS = [name for name in COLLECTORS if name not in ("batch", "ray")]


def differences(first: Rollout, second: Rollout) -> list[str]:
    return [
        name
        for name in vars(first)
        if not np.array_equal(getattr(first, name), getattr(second, name))
    ]


@pytest.fixture(scope="module", params=OTHERS)
def collector(request: pytest.FixtureRequest) -> Iterator[Any]:
    config = CollectConfig(collect=request.param, workers=2)
    with open_collector(SPEC, config, report=pytest.fail) as opened:
        yield opened


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"is_greedy": True},
        {"mask_factor": 0.1, "count_foothold": True},
        {"switches": Switches(np.arange(1, 13) * 5, np.arange(12) * 11 % 120)},
        {"opening": (43, 28), "trials": Trials(np.arange(12) * 3, np.arange(28, 40))},
    ],
)
def test_every_collector_plays_the_episodes_of_the_batch(
    collector: Any, actor: NetworkActor, plan: MakePlan, options: dict[str, Any]
) -> None:
    wanted = BatchCollector(SPEC).play(actor, plan(**options))
    assert differences(collector.play(actor, plan(**options)), wanted) == []


@pytest.mark.parametrize("count", [1, 2, 3, 7, 25])
def test_the_number_of_episodes_makes_no_difference(
    collector: Any, actor: NetworkActor, plan: MakePlan, count: int
) -> None:
    wanted = BatchCollector(SPEC).play(actor, plan(count))
    assert differences(collector.play(actor, plan(count)), wanted) == []


def test_workers_play_with_the_weights_of_the_moment(collector: Any, plan: MakePlan) -> None:
    for seed in (1, 2):
        actor = make_actor(seed)
        wanted = BatchCollector(SPEC).play(actor, plan())
        assert differences(collector.play(actor, plan()), wanted) == []


def test_an_episode_is_the_same_in_any_company(actor: NetworkActor, plan: MakePlan) -> None:
    whole = BatchCollector(SPEC).play(actor, plan(9))
    for rows in (slice(0, 1), slice(2, 5), slice(4, 9)):
        part = BatchCollector(SPEC).play(actor, plan(9).part(rows))
        assert np.array_equal(part.inputs, whole.inputs[:, rows])
        assert np.array_equal(part.actions, whole.actions[:, rows])
        assert np.array_equal(part.tallies, whole.tallies[rows])


def test_some_at_once_are_the_same_as_all_at_once(actor: NetworkActor, plan: MakePlan) -> None:
    whole = BatchCollector(SPEC).play(actor, plan(9))
    for at_once in (1, 4, 9, 20):
        found = BatchCollector(SPEC, at_once=at_once).play(actor, plan(9))
        assert differences(found, whole) == []


@pytest.mark.parametrize("num_workers", [1, 2, 8])
@pytest.mark.parametrize("seconds", [1e-4, 1e-2, 0.3, 60.0])
def test_tasks_take_50_ms_and_become_smaller_towards_the_end(
    num_workers: int, seconds: float
) -> None:
    tasks = _Tasks(100, num_workers)
    sizes, last = [], 0
    while (rows := tasks.next(seconds)) is not None:
        assert rows.start == last
        last = rows.stop
        sizes.append(rows.stop - rows.start)
    assert last == 100
    assert sizes == sorted(sizes, reverse=True)
    assert all(size * seconds >= 0.05 for size in sizes[:-1])
    assert max(sizes) * seconds <= max(5.0, seconds)
    if seconds == 0.3:
        assert sizes[-1] == 1  # nobody waits for longer than an episode


def test_workers_do_not_search_what_was_imported_before_the_fork() -> None:
    serve_gc = partial(import_module, "gc")
    crew = Crew([serve_gc], timeout=60, report=pytest.fail, preload=NetworkActor.preload)
    try:
        crew.call(0, "get_freeze_count")
        (event,) = crew.hear([0])
    finally:
        crew.close()
    assert event.value > 50_000


def test_few_rows_may_need_padding_and_many_never_do() -> None:
    layout = InputLayout(has_belief=True, has_memory=True, certainty=0.95)
    assert 1 <= least_rows(layout, (64, 64), "tanh", 100) <= 100
    assert least_rows(layout, (64, 64), "tanh", 1) == 1


@pytest.mark.parametrize("name", OTHERS)
def test_training_ends_in_the_same_weights(name: str) -> None:
    def weights(collect: Any) -> dict[str, Any]:
        options: dict[str, Any] = {"order": "any", "red": "mixed", "seed": 3}
        options |= {"episodes": 24, "update_episodes": 12, "collect": collect}
        trainer = Trainer(TrainConfig(**options), report=pytest.fail)
        while not trainer.is_done:
            trainer.step()
        trainer.close()
        return trainer.to_arrays()

    wanted, found = weights("batch"), weights(name)
    assert wanted.keys() == found.keys()
    assert all(np.array_equal(wanted[key], found[key]) for key in wanted)


def test_where_the_time_went_adds_up(collector: Any, actor: NetworkActor, plan: MakePlan) -> None:
    collector.play(actor, plan())
    timing = collector.timing
    assert timing.environment > 0
    assert timing.inference > 0
    assert min(vars(timing).values()) >= 0


def test_only_a_cluster_has_an_address() -> None:
    with pytest.raises(ConfigError, match="only collect = 'ray'"):
        make_collector(SPEC, CollectConfig(collect="episodes", address="127.0.0.1:1"), print)
