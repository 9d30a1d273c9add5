import numpy as np
import pytest
import torch

from standing_orders.detect.config import TeamConfig
from standing_orders.detect.data.events import Sessions
from standing_orders.detect.network import OPINION_SCALE, Actor, TeamNetwork, eyes_of
from standing_orders.detect.trees import Forest, best_rounds, boost, draw_folds, fit_line, held_out
from standing_orders.errors import DataError
from standing_orders.learn.snapshot import network_arrays, restore_network

COLUMNS = np.array([4, 0, 2])  # inputs of the agent that the model's features are


@pytest.fixture(scope="module")
def labelled():
    rng = np.random.default_rng(5)
    inputs = rng.normal(size=(600, 5)).astype(np.float32)
    inputs[:, 2] = np.round(inputs[:, 2])  # many values on a threshold
    is_threat = inputs[:, 4] * inputs[:, 0] + inputs[:, 2] + 0.3 * rng.normal(size=600) > 0.8
    return inputs, is_threat


@pytest.fixture(scope="module")
def model(labelled):
    inputs, is_threat = labelled
    return boost(inputs[:, COLUMNS], is_threat, rounds=12, seed=1)


def test_sums_are_those_of_scikit_learn(labelled, model):
    inputs, _ = labelled
    forest = Forest(2, 12)
    forest.put(1, model, columns=COLUMNS, rounds=12)
    wanted = model.decision_function(inputs[:, COLUMNS])
    assert np.ptp(wanted) > 1
    np.testing.assert_allclose(forest.trees_of(1).log_odds(inputs), wanted, rtol=0, atol=1e-6)


def test_first_trees_alone_are_a_stage_of_the_model(labelled, model):
    inputs, is_threat = labelled
    used, log_odds = best_rounds(model, inputs[:, COLUMNS], is_threat)
    forest = Forest(1, 12)
    forest.put(0, model, columns=COLUMNS, rounds=5)
    stage = list(model.staged_decision_function(inputs[:, COLUMNS]))[4].ravel()
    np.testing.assert_allclose(forest.trees_of(0).log_odds(inputs), stage, atol=1e-6)
    assert used == 12  # the events that it was fitted to
    np.testing.assert_allclose(log_odds, model.decision_function(inputs[:, COLUMNS]))


def test_an_agent_without_trees_has_no_opinion(labelled, model):
    forest = Forest(2, 12)
    forest.put(1, model, columns=COLUMNS, rounds=12)
    assert not forest.trees_of(0).log_odds(labelled[0]).any()


def test_line_calibrates_log_odds_that_are_too_sure():
    rng = np.random.default_rng(0)
    true = rng.normal(size=20_000)
    is_threat = rng.random(20_000) < 1 / (1 + np.exp(-true))
    slope, shift = fit_line(3 * true + 2, is_threat)
    assert slope == pytest.approx(1 / 3, abs=0.02)
    assert shift == pytest.approx(-2 / 3, abs=0.06)


def test_opinion_out_of_fold_is_of_trees_that_have_not_seen_the_event(labelled):
    inputs, is_threat = labelled
    noise = np.random.default_rng(2).permutation(is_threat)  # nothing can be known about it
    folds = draw_folds(is_threat, 2, seed=0)
    every = np.ones(len(noise), dtype=bool)
    told = held_out(inputs, noise, folds, every, rounds=40, seed=0, learning_rate=0.3)
    known = boost(inputs, noise, rounds=40, seed=0, learning_rate=0.3).decision_function(inputs)
    assert ((known > 0) == noise).mean() > 0.9
    assert ((told > 0) == noise).mean() < 0.65


def test_folds_hold_as_many_of_each_class():
    is_threat = np.arange(101) < 7
    folds = draw_folds(is_threat, 2, seed=3)
    assert np.bincount(folds[is_threat]).tolist() == [4, 3]
    assert np.bincount(folds[~is_threat]).tolist() == [47, 47]


def test_one_class_is_refused(labelled):
    with pytest.raises(DataError, match=r"one class only, .* is benign"):
        boost(labelled[0], np.zeros(600, dtype=bool), rounds=3, seed=0)


def _network(model, worths=None):
    views = (np.array([0, 1, 2, 3, 4]), np.array([0, 2, 4]))
    network = TeamNetwork(
        views, 5, TeamConfig(agents=2, trees=12, hidden=(8,), faults=0), rules=(), seed=3
    )
    network.forest.put(0, model, columns=COLUMNS, rounds=12)
    if worths is not None:
        network.worths.copy_(torch.tensor(worths))
    return network


def test_an_agent_alone_says_what_it_says_in_the_team(labelled, model):
    inputs = torch.from_numpy(labelled[0])
    network = _network(model, [[0.0, -3.0], [-2.0, 3.0], [-3.0, 2.0], [-3.0, 2.0]])
    sessions = Sessions(np.arange(601))
    together, _ = network.act(inputs, sessions)
    for agent, eyes in enumerate(eyes_of(network)):
        alone, _, _ = Actor(network, agent)(*eyes.see(labelled[0]))
        torch.testing.assert_close(alone[:600], together[agent])  # rows that fill up follow


def test_the_first_decision_is_the_one_with_the_highest_expected_worth(labelled, model):
    inputs = torch.from_numpy(labelled[0])
    worths = [[1.0, -10.0], [-8.0, 10.0], [-9.5, 8.5], [-9.5, 8.5]]
    network = _network(model, worths)
    for layer in (network.policy.weight, network.policy.bias):
        torch.nn.init.zeros_(layer)
    log_probs, _ = network.act(inputs, Sessions(np.arange(601)))
    threat = 1 / (1 + np.exp(-model.decision_function(labelled[0][:, COLUMNS])))
    flagged = log_probs[0].argmax(dim=1).numpy() != 0
    np.testing.assert_array_equal(flagged, threat > 9 / 29)
    assert 0 < flagged.mean() < 1


def test_older_teams_do_not_lean_on_their_trees(labelled, model):
    network, arrays = _network(model), network_arrays(_network(model))
    del arrays["network.lean"]
    network.lean.fill_(0.5)
    restore_network(network, arrays)
    assert network.lean == 0


def test_told_rows_are_taken_as_they_are(labelled, model):
    inputs, sessions = torch.from_numpy(labelled[0]), Sessions(np.arange(601))
    network = _network(model)
    told = network.tell(inputs)
    assert told.shape == (600, 7)
    expected = model.decision_function(labelled[0][:, COLUMNS]) * OPINION_SCALE
    np.testing.assert_allclose(told[:, 5].numpy(), expected, atol=1e-5)
    torch.testing.assert_close(network.act(told, sessions)[0], network.act(inputs, sessions)[0])
    told[:, 5] += 1
    assert not torch.allclose(
        network.act(told, sessions)[0][0], network.act(inputs, sessions)[0][0]
    )


def test_trees_travel_with_the_weights(labelled, model):
    network, other = _network(model), _network(model)
    for table in other.forest.buffers():
        table.zero_()
    restore_network(other, network_arrays(network))
    inputs = torch.from_numpy(labelled[0])
    torch.testing.assert_close(other.tell(inputs), network.tell(inputs), rtol=0, atol=0)
