"""What each agent sees, and what an agent without memory is told of its session."""

from pathlib import Path

import numpy as np
import pytest

from standing_orders.detect.config import DetectConfig, TeamConfig, sensors_from
from standing_orders.detect.data.synthetic import make_sessions
from standing_orders.detect.team import prepare
from standing_orders.detect.views import (
    EVERYBODY,
    is_for_trees,
    sensors_of,
    split_views,
    with_summary,
)
from standing_orders.errors import ConfigError


def test_split_views_keep_one_hot_groups_together_and_cover_everything() -> None:
    events = with_summary(make_sessions(0, num_sessions=60).train)
    views = split_views(events, TeamConfig(views="split"))
    shared = {i for i, source in enumerate(events.sources) if source == EVERYBODY}
    sources = [{events.sources[i] for i in view if i not in shared} for view in views]
    assert set().union(*sources) == set(events.sources) - {EVERYBODY}
    assert sum(map(len, sources)) == len(set().union(*sources))
    assert all(shared <= set(view.tolist()) for view in views)
    assert set(np.concatenate(views).tolist()) == set(range(events.num_features))


def test_history_is_for_networks_without_memory() -> None:
    events = make_sessions(0, num_sessions=60).train
    told = prepare(events, DetectConfig())
    assert told.num_features == 3 * events.num_features + 1
    assert prepare(events, DetectConfig(team=TeamConfig(network="lstm"))) is events
    first = events.starts[:-1]
    mean = told.features[:, events.num_features : 2 * events.num_features]
    assert np.allclose(mean[first], events.features[first])
    assert np.allclose(mean[first[0] + 1], events.features[first[0] : first[0] + 2].mean(axis=0))


def test_overlapping_views_lack_one_sensor_each() -> None:
    events = with_summary(make_sessions(0, num_sessions=60).train)
    split = split_views(events, TeamConfig(views="split"))
    shared = np.array([source == EVERYBODY for source in events.sources])
    for own, rest in zip(split, split_views(events, TeamConfig(views="overlap")), strict=True):
        assert set(own.tolist()) & set(rest.tolist()) == set(np.flatnonzero(shared).tolist())
        assert len(own) + len(rest) == events.num_features + shared.sum()


def test_declared_sensors_are_taken_at_their_word() -> None:
    events = make_sessions(0, num_sessions=60).train
    sensors = {"host": ("cpu_seconds", "process"), "network": ("bytes_out", "port")}
    told = tuple(f"{name}={','.join(columns)}" for name, columns in sensors.items())
    config = TeamConfig(agents=2, faults=0, views="split", sensors=told)
    found = sensors_of(events, config)
    assert {events.sources[i] for i in found["host"]} == {"cpu_seconds", "process"}
    host, network = split_views(events, config)
    named = {name for columns in sensors.values() for name in columns}
    trusted = {i for i, source in enumerate(events.sources) if source not in named}
    assert set(host.tolist()) & set(network.tolist()) == trusted
    assert set(host.tolist()) == trusted | set(found["host"].tolist())


@pytest.mark.parametrize(
    ("sensors", "message"),
    [
        (("a=colour",), "'colour' is no input"),
        (("a=port", "b=port"), "'port' is of a and b"),
        (("a=port",), "1 sensors for 4 agents"),
        (("port",), "must be NAME=COLUMN,COLUMN"),
        (("a=port", "a=process"), "each name once"),
    ],
)
def test_sensors_that_make_no_sense_are_refused(
    sensors: dict[str, tuple[str]], message: str
) -> None:
    events = make_sessions(0, num_sessions=60).train
    with pytest.raises(ConfigError, match=message):
        split_views(events, TeamConfig(views="split", sensors=sensors))


def test_trees_are_spared_the_pieces_of_numbers() -> None:
    events = make_sessions(0, num_sessions=60).train
    told = with_summary(events)
    is_piece = ["[" in name for name in events.columns]
    assert is_for_trees(events).tolist() == [not one for one in is_piece]
    assert is_for_trees(told).sum() == 3 * is_piece.count(False) + 1


def test_the_end_of_a_session_is_an_event_and_marked() -> None:
    events = make_sessions(0, num_sessions=60).train
    ended = events.with_ends()
    assert ended.num_events == events.num_events + events.num_sessions
    assert ended.sessions.lengths.tolist() == (events.sessions.lengths + 1).tolist()
    lasts = ended.starts[1:] - 1
    assert np.array_equal(ended.features[lasts], events.features[events.starts[1:] - 1])
    assert np.array_equal(ended.session_is_threat, events.session_is_threat)
    for network in ("mlp", "lstm"):
        told = prepare(ended, DetectConfig(team=TeamConfig(network=network)))
        assert told.columns[-1] == "session has ended"
        assert np.flatnonzero(told.features[:, -1]).tolist() == lasts.tolist()
    some = ended.take_sessions([3, 1])
    assert np.flatnonzero(some.is_end).tolist() == (some.starts[1:] - 1).tolist()


def test_columns_are_dealt_to_several_sensors_even_if_one_agent_sees_them_all() -> None:
    events = make_sessions(0, num_sessions=60).train
    assert len(sensors_of(events, TeamConfig(agents=1, faults=0, vote="none"))) == 4
    assert len(sensors_of(events, TeamConfig(agents=64))) == len(set(events.sources))


def test_a_file_declares_sensors(tmp_path: Path) -> None:
    file = tmp_path / "views.toml"
    file.write_text('host = ["cpu_seconds", "process"]\nnetwork = ["port"]\n')
    assert sensors_from(file) == ("host=cpu_seconds,process", "network=port")
    for text in ("host = 3", 'host = ["a,b"]', "host = []", '"a=b" = ["c"]'):
        file.write_text(text)
        with pytest.raises(ConfigError, match="must be a list of columns"):
            sensors_from(file)
