import numpy as np
import pytest

from standing_orders.detect.config import TeamConfig
from standing_orders.detect.data.synthetic import make_sessions
from standing_orders.detect.tamper import (
    BENIGN_SHARE,
    KINDS,
    tamper,
    tampered_rows,
    with_tampered_copies,
)
from standing_orders.detect.views import sensors_of


@pytest.fixture(scope="module")
def data():
    return make_sessions(3, num_sessions=300)


def _rng():
    return np.random.default_rng(1)


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_sensor_lies_and_only_about_the_events_it_lies_about(data, kind):
    sensors = sensors_of(data.test, TeamConfig())
    features = sensors["sensor 1"]
    rows = tampered_rows(data.test, "threats")
    benign = data.train.features[~data.train.is_threat]
    found = tamper(data.test, features, kind, rows, benign=benign, rng=_rng())
    changed = found.features != data.test.features
    others = np.setdiff1d(np.arange(data.test.num_features), features)
    assert changed[np.ix_(rows, features)].any()
    assert not changed[~rows].any()
    assert not changed[:, others].any()


def test_benign_values_are_those_of_benign_events(data):
    features = sensors_of(data.test, TeamConfig())["sensor 0"]
    benign = data.train.features[~data.train.is_threat]
    rows = tampered_rows(data.test, "always")
    found = tamper(data.test, features, "benign", rows, benign=benign, rng=_rng())
    known = {row.tobytes() for row in benign[:, features]}
    assert all(row.tobytes() in known for row in found.features[:, features])


def test_replayed_values_keep_their_order(data):
    features = sensors_of(data.test, TeamConfig())["sensor 0"]
    benign = data.train.features[~data.train.is_threat]
    rows = tampered_rows(data.test, "always")
    found = tamper(data.test, features, "replayed", rows, benign=benign, rng=_rng())
    start = int(_rng().integers(len(benign)))
    recorded = np.roll(benign, -start, axis=0)[: data.test.num_events, features]
    np.testing.assert_array_equal(found.features[: len(recorded), features], recorded)


def test_a_frozen_sensor_shows_the_first_event_of_the_session(data):
    features = sensors_of(data.test, TeamConfig())["sensor 2"]
    rows = tampered_rows(data.test, "always")
    found = tamper(data.test, features, "frozen", rows, benign=data.train.features, rng=_rng())
    firsts = data.test.starts[data.test.sessions.index]
    np.testing.assert_array_equal(
        found.features[:, features], data.test.features[np.ix_(firsts, features)]
    )


def test_shifted_numbers_move_and_words_stay(data):
    events, benign = data.test, data.train.features[~data.train.is_threat]
    features = np.arange(events.num_features)
    rows = tampered_rows(events, "always")
    found = tamper(events, features, "shifted", rows, benign=benign, rng=_rng())
    moved = np.abs(found.features - events.features).mean(axis=0)
    numbers = np.array([c == s for c, s in zip(events.columns, events.sources, strict=True)])
    assert (moved[numbers] < 2).all()
    assert (moved[numbers] > 0.2).mean() >= 0.5  # a lowest value cannot go lower
    assert not moved[["=" in column for column in events.columns]].any()


def test_copies_are_of_attacks_above_all_and_know_their_origin(data):
    sensors = list(sensors_of(data.train, TeamConfig()).values())
    num = data.train.num_sessions
    found, origins = with_tampered_copies(data.train, sensors, share=1.0, seed=4)
    assert origins[:num].tolist() == list(range(num))
    assert len(origins) == found.num_sessions
    copies = found.take_sessions(np.arange(num, found.num_sessions))
    attacks = int(data.train.session_is_threat.sum())
    copied = int(copies.session_is_threat.sum())
    assert 0.5 * attacks < copied < 1.5 * attacks
    benign = copies.num_sessions - copied
    assert 0.3 * BENIGN_SHARE * (num - attacks) < benign < 2 * BENIGN_SHARE * (num - attacks)
    same = data.train.take_sessions(origins[num:])
    np.testing.assert_array_equal(copies.attacks, same.attacks)
    differs = (copies.features != same.features).any(axis=1)
    is_lie = copies.is_threat | ~copies.session_is_threat[copies.sessions.index]
    assert differs[is_lie].mean() > 0.9
    assert not differs[~is_lie].any()
