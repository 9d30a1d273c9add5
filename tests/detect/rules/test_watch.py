"""The rules online: the same penalties, at the same events, as judged afterwards."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from standing_orders.detect.rules import RuleBook, Streams, Watch, default_rules
from standing_orders.errors import ConfigError
from tests.detect.rules.test_rulebook import FORMULAS
from tests.detect.rules.toys import random_streams, rule_of


def watched(book: RuleBook, streams: Streams, watch: Watch | None = None) -> np.ndarray:
    """Penalties of streams that are over with their last event."""
    watch = watch or Watch(book, streams.shape[1])
    steps = np.arange(streams.shape[0])[:, None]
    is_over = streams.valid & (steps == np.where(streams.valid, steps, -1).max(axis=0))
    return np.stack([
        watch.step(
            streams.actions[t], streams.is_threat[t], suspicion=streams.suspicion[t],
            is_valid=streams.is_valid[t] if streams.is_valid is not None else None,
            is_last=streams.is_last[t], is_over=is_over[t],
        )
        for t in range(len(steps))
    ])  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    chosen=st.lists(st.sampled_from(FORMULAS), min_size=1, max_size=3, unique=True),
    scope=st.sampled_from(["session", "stream"]),
)
def test_online_equals_offline(seed: int, chosen: list[str], scope: str) -> None:
    # A gap ends a session in a batch; online only `is_last` does.
    options = {"is_valid": None} if scope == "session" else {}
    streams = random_streams(seed, steps=40, num_streams=3, **options)
    book = RuleBook(
        [
            rule_of(formula, name=f"r{i}", scope=scope, mode="fine", price=1.0 + i)
            for i, formula in enumerate(chosen)
        ],
        check=False,
    )
    watch = Watch(book, streams.shape[1])
    expected = book.judge(streams)
    np.testing.assert_allclose(watched(book, streams, watch), expected.penalty, atol=1e-12)
    assert watch.num_violations == {
        name: verdicts.num_violations for name, verdicts in expected.verdicts.items()
    }


@pytest.mark.parametrize("task", ["records", "sessions"])
def test_the_default_rules_online_equal_offline(task: str) -> None:
    streams = random_streams(5, steps=300, num_streams=6, is_valid=None)
    book = RuleBook(default_rules(task, mode="fine", window=40))
    penalty = watched(book, streams)
    assert np.unique(penalty).size > 3
    np.testing.assert_allclose(penalty, book.judge(streams).penalty)


def test_a_stream_that_is_over_begins_anew() -> None:
    streams = random_streams(1, steps=30, is_valid=None)
    book = RuleBook([rule_of(FORMULAS[1], mode="fine", scope="stream")])
    watch = Watch(book, streams.shape[1])
    first, second = watched(book, streams, watch), watched(book, streams, watch)
    assert first.any()
    assert first.tolist() == second.tolist()


def test_streams_that_rest_do_not_age() -> None:
    book = RuleBook([rule_of("threat -> eventually[0,1] flagged", mode="fine", scope="stream")])
    watch = Watch(book, 2)
    allow, threat, quiet = np.zeros(2, int), np.ones(2, bool), np.zeros(2, bool)
    assert watch.step(allow, threat).tolist() == [0, 0]
    only_first = np.array([True, False])
    assert watch.step(np.array([0, 99]), quiet, is_valid=only_first).tolist() == [-1, 0]
    assert watch.step(allow, quiet, is_valid=only_first).tolist() == [0, 0]
    assert watch.step(np.array([0, 1]), quiet).tolist() == [0, 0]


def test_the_price_of_the_moment_is_charged() -> None:
    book = RuleBook([rule_of("flagged", mode="lagrange", price=2.0)])
    watch = Watch(book, 1)
    allow, quiet = np.zeros(1, int), np.zeros(1, bool)
    assert watch.step(allow, quiet).tolist() == [-2]
    book.learn_prices(book.judge(Streams(allow[None], quiet[None])))
    assert watch.step(allow, quiet) == pytest.approx([-2.95])


def test_traces_of_one_age_share_a_monitor_and_left_ones_are_dropped() -> None:
    book = RuleBook([rule_of("threat -> eventually[0,2] flagged")])
    watch = Watch(book, 4)
    allow, quiet = np.zeros(4, int), np.zeros(4, bool)
    for t in range(50):
        watch.step(allow, quiet, is_last=np.array([t % 5 == 4, t % 5 == 4, t % 7 == 6, False]))
        assert len(watch._banks[0]._groups) <= 3


def test_bad_samples_are_refused() -> None:
    watch = Watch(RuleBook([rule_of("suspected -> flagged")]), 1)
    quiet = np.zeros(1, bool)
    with pytest.raises(ConfigError, match="actions: 4"):
        watch.step(np.array([4]), quiet)
    with pytest.raises(ConfigError, match="needs the team's suspicion"):
        watch.step(np.array([1]), quiet)
    with pytest.raises(ConfigError, match="suspicion: 7"):
        watch.step(np.array([1]), quiet, suspicion=np.array([7.0]))
