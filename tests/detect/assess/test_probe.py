"""The probe: noise is called noise, a label in the inputs is found, tiny sets are no accident."""

from dataclasses import replace

import numpy as np
import pytest

from standing_orders.detect.assess.probe import Probe, probe
from standing_orders.detect.data.events import DataSet, Events
from standing_orders.detect.data.synthetic import make_sessions
from tests.effort import effort


def make_events(
    rng: np.random.Generator, num_sessions: int, strength: float, length: int = 1
) -> Events:
    """Sessions whose first feature shows the label with some strength."""
    is_threat = np.repeat(rng.random(num_sessions) < 0.2, length)
    is_threat[:length], is_threat[-length:] = True, False
    features = rng.standard_normal((num_sessions * length, 4)).astype(np.float32)
    features[:, 0] += strength * is_threat
    names = tuple("abcd")
    attacks = np.where(is_threat, 0, -1)
    starts = np.arange(num_sessions + 1) * length
    return Events(features, names, names, attacks, ("threat",), starts)


def make_dataset(
    seed: int, strength: float, *, num_sessions: int = 400, length: int = 1
) -> DataSet:
    rng = np.random.default_rng(seed)
    parts = [
        make_events(rng, max(num_sessions // share, 2), strength, length) for share in (1, 2, 2)
    ]
    task = "records" if length == 1 else "sessions"
    return DataSet("made", task, *parts, dropped={})  # type: ignore[arg-type, misc]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("length", [1, 5])
def test_noise_is_not_learnable(seed: int, length: int) -> None:
    # A published defect: the label depended on columns that were not among the inputs.
    result = probe(make_dataset(seed, 0.0, length=length), seed)
    assert not result.is_learnable
    assert result.explain().startswith("The label cannot be learned from these inputs")
    assert f"PR-AUC {result.pr_auc:.3f}" in result.explain()


@pytest.mark.parametrize("length", [1, 5])
def test_a_label_that_shows_in_the_inputs_is_learnable(length: int) -> None:
    result = probe(make_dataset(0, 2.0, length=length))
    assert result.is_learnable
    assert result.explain().startswith("The label can be learned")
    assert result.pr_auc > 0.5 > result.prevalence


def test_a_label_that_depends_on_a_dropped_column_is_not_learnable() -> None:
    dataset = make_dataset(0, 3.0)

    def blind(events: Events) -> Events:
        return replace(
            events, features=events.features[:, 1:], columns=tuple("bcd"), sources=tuple("bcd")
        )

    assert probe(dataset).is_learnable
    hidden = replace(
        dataset,
        train=blind(dataset.train),
        validation=blind(dataset.validation),
        test=blind(dataset.test),
    )
    assert not probe(hidden).is_learnable


def test_noise_passes_as_rarely_as_it_should() -> None:
    passed = sum(
        probe(make_dataset(seed, 0.0, num_sessions=60), seed).is_learnable
        for seed in range(effort(6, 3))
    )
    assert passed <= effort(1, 0)


def test_sessions_say_what_single_events_would_give() -> None:
    result = probe(make_sessions(0, num_sessions=1700, pieces=0), 0)
    assert result.is_learnable
    assert result.pr_auc_event < 0.7 * result.pr_auc
    assert "from single events alone only" in result.explain()


def test_small_sets_are_cross_validated() -> None:
    result = probe(make_dataset(0, 4.0, num_sessions=60))
    assert result.is_cross_validated
    assert result.is_learnable
    assert result.num_events == 90


@pytest.mark.parametrize("num_sessions", [2, 6, 12])
def test_too_few_sessions_are_said_to_be_too_few(num_sessions: int) -> None:
    result = probe(make_dataset(1, 9.0, num_sessions=num_sessions))
    assert not result.is_learnable
    assert result.explain().startswith("Too few sessions to tell")


def test_the_test_part_is_never_looked_at() -> None:
    dataset = make_dataset(0, 1.0)
    other = replace(dataset, test=make_dataset(5, 9.0).test)
    assert probe(dataset) == probe(other)


def test_a_lift_too_small_to_use_is_not_called_learnable() -> None:
    shown = Probe(0.11, 0.10, 0.11, 0.001, 10**6, 10**5, 9 * 10**5, False)
    assert shown.lift == pytest.approx(0.0111, abs=1e-4)
    assert not shown.is_learnable
