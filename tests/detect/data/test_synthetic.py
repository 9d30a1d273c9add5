"""The synthetic stream: seeded, mostly benign, and beyond a classifier of single events."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import average_precision_score

from standing_orders.detect.data.events import Events
from standing_orders.detect.data.synthetic import CHAINS, UNSEEN, make_sessions


def test_the_same_seed_gives_the_same_events() -> None:
    first, again, other = (make_sessions(seed, num_sessions=60) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.train.features, again.train.features)
    np.testing.assert_array_equal(first.test.starts, again.test.starts)
    assert not np.array_equal(first.train.starts, other.train.starts)


def test_ninety_one_sessions_in_a_hundred_are_benign_in_every_part() -> None:
    dataset = make_sessions(0, num_sessions=1000)
    for part, size in ((dataset.train, 600), (dataset.validation, 200), (dataset.test, 200)):
        assert part.num_sessions == size
        assert 1 - part.session_is_threat.mean() == pytest.approx(0.91)
        assert len(np.unique(part.sessions.lengths)) > 10


def test_an_attack_lasts_from_its_onset_to_the_end_of_its_session() -> None:
    events = make_sessions(0, num_sessions=1000).train
    onsets = []
    for session in np.flatnonzero(events.session_is_threat):
        start, end = events.starts[session : session + 2]
        attacks = events.attacks[start:end]
        onsets.append(int(np.argmax(attacks >= 0)))
        assert np.all(attacks[onsets[-1] :] == attacks[-1])
    assert min(onsets) == 0
    assert np.mean(onsets) > 3


def test_attacks_do_not_show_in_the_length_of_sessions_alone() -> None:
    events = make_sessions(0, num_sessions=2000).train
    benign, threat = (
        events.sessions.lengths[events.session_is_threat == value] for value in (False, True)
    )
    assert threat.mean() / benign.mean() < 1.5


def test_one_attack_occurs_in_the_test_part_only() -> None:
    dataset = make_sessions(0, num_sessions=1000)
    known = np.union1d(dataset.train.attacks, dataset.validation.attacks)
    unseen = np.setdiff1d(dataset.test.attacks, known)
    assert [dataset.test.attack_names[index] for index in unseen] == [UNSEEN]
    assert set(np.unique(dataset.test.attacks)) == set(range(-1, len(CHAINS)))


def test_there_is_something_to_see_for_many_agents() -> None:
    assert len(set(make_sessions(0, num_sessions=60).train.sources)) >= 12


@pytest.mark.parametrize("num_sessions", [1, 5, 20])
def test_tiny_streams_can_be_made(num_sessions: int) -> None:
    dataset = make_sessions(0, num_sessions=num_sessions)
    for part in (dataset.train, dataset.validation, dataset.test):
        assert part.session_is_threat.any()


def test_single_events_are_not_enough_but_the_history_of_the_session_is() -> None:
    dataset = make_sessions(0, num_sessions=2500, pieces=0)

    def score(describe: object) -> float:
        assert callable(describe)
        model = HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=15, random_state=0)
        model.fit(describe(dataset.train), dataset.train.is_threat)
        probs = model.predict_proba(describe(dataset.validation))[:, 1]
        return float(average_precision_score(dataset.validation.is_threat, probs))

    def alone(events: Events) -> object:
        return events.features

    event, history = score(alone), score(Events.with_history)
    prevalence = dataset.validation.prevalence
    print(f"PR-AUC: event {event:.3f}, history {history:.3f}, prevalence {prevalence:.3f}")
    assert event < 0.3
    assert history > 2 * event
    assert event > 1.5 * prevalence
