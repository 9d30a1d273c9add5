"""Events: sessions taken whole, shapes and finiteness checked."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from standing_orders.detect.actions import ACTION_NAMES, NUM_ACTIONS, QUARANTINE
from standing_orders.detect.data.events import Events, Sessions
from standing_orders.errors import DataError, NumericsError


def make_events() -> Events:
    attacks = np.array([-1, -1, 0, 0, -1, 1], dtype=np.int64)
    return Events(
        features=np.arange(12, dtype=np.float32).reshape(6, 2),
        columns=("a", "b=x"),
        sources=("a", "b"),
        attacks=attacks,
        attack_names=("first", "second"),
        starts=np.array([0, 1, 4, 6]),
    )


def test_every_action_has_a_name() -> None:
    assert len(ACTION_NAMES) == NUM_ACTIONS == QUARANTINE + 1


def test_counts_and_shares_are_those_of_the_arrays() -> None:
    events = make_events()
    assert (events.num_events, events.num_features, events.num_sessions) == (6, 2, 3)
    assert events.session_is_threat.tolist() == [False, True, True]
    assert events.sessions.lengths.tolist() == [1, 3, 2]
    assert events.sessions.index.tolist() == [0, 1, 1, 1, 2, 2]
    assert events.prevalence == 0.5


def test_sessions_are_taken_whole_in_the_order_given_and_more_than_once() -> None:
    taken = make_events().take_sessions([2, 0, 2])
    assert taken.starts.tolist() == [0, 2, 3, 5]
    assert taken.features[:, 0].tolist() == [8, 10, 0, 8, 10]
    assert taken.attacks.tolist() == [-1, 1, -1, -1, 1]
    assert taken.is_threat.tolist() == [False, True, False, False, True]


def test_no_sessions_can_be_taken() -> None:
    assert make_events().take_sessions([]).num_events == 0


@pytest.mark.parametrize("starts", [[0, 6, 6], [0, 5], [1, 6], [0, 4, 2, 6]])
def test_sessions_must_cover_the_events_and_have_one_each(starts: list[int]) -> None:
    with pytest.raises(DataError, match="session starts"):
        replace(make_events(), starts=np.array(starts))


@pytest.mark.parametrize(
    "change",
    [
        {"columns": ("a",)},
        {"attack_names": ("first",)},
        {"attacks": np.zeros(5, dtype=np.int64)},
    ],
)
def test_arrays_that_do_not_fit_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(DataError, match="do not fit"):
        replace(make_events(), **change)  # type: ignore[arg-type]


def test_a_feature_that_is_not_finite_is_named() -> None:
    features = make_events().features.copy()
    features[3, 1] = np.nan
    with pytest.raises(NumericsError, match="'b=x' is not finite"):
        replace(make_events(), features=features)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("ufunc", [np.add, np.maximum, np.minimum])
def test_folds_equal_numpy_on_each_session(kind: type, ufunc: np.ufunc) -> None:
    sessions = Sessions(np.array([0, 3, 4, 10, 12, 13]))
    values = (9 * np.random.default_rng(0).normal(size=(13, 2))).astype(kind)
    running, folded = sessions.running(ufunc, values), sessions.fold(ufunc, values)
    assert running.dtype == kind
    for index, (first, end) in enumerate(pairwise(sessions.starts)):
        expected = ufunc.accumulate(values[first:end], axis=0)
        assert running[first:end] == pytest.approx(expected)
        assert folded[index] == pytest.approx(expected[-1])


def test_a_record_is_a_session_of_one_event() -> None:
    records = Sessions.of_lengths([1, 1, 1])
    assert records.index.tolist() == [0, 1, 2]
    assert records.is_last.all()
    values = np.array([4.0, -1.0, 2.0])
    assert records.running(np.add, values).tolist() == values.tolist()
    assert records.rows(np.array([2, 2, 0])).tolist() == [2, 2, 0]


def test_history_by_hand() -> None:
    events = replace(
        make_events(),
        features=np.array([[1, 0], [3, 0], [-4, 2], [5, 4], [5, 1], [6, 0]], dtype=np.float32),
    )
    assert events.with_history()[:, [0, 2, 4, 6]].tolist() == [
        [1, 1, 1, 1],
        [3, 3, 3, 1],
        [-4, -0.5, 3, 2],
        [5, pytest.approx(4 / 3), 5, 3],
        [5, 5, 5, 1],
        [6, 5.5, 6, 2],
    ]
    assert events.sessions.place.tolist() == [0, 0, 1, 2, 0, 1]


def test_history_is_mean_and_maximum_of_the_session_so_far() -> None:
    events = make_events()
    history = events.with_history()
    assert history.shape == (6, 7)
    np.testing.assert_array_equal(history[:, :2], events.features)
    for session in range(events.num_sessions):
        start, end = events.starts[session : session + 2]
        for at in range(start, end):
            so_far = events.features[start : at + 1]
            np.testing.assert_allclose(history[at, 2:4], so_far.mean(axis=0))
            np.testing.assert_allclose(history[at, 4:6], so_far.max(axis=0))
            assert history[at, 6] == at + 1 - start
