"""The prior of a head start: as often as the game has it, kept on disk, and read back whole."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from standing_orders.belief import prior as priors
from standing_orders.belief.prior import make_prior
from standing_orders.cage2.batch import Cage2Batch
from standing_orders.config import SimConfig
from tests.belief.games import bits


@pytest.fixture(autouse=True)
def _forget() -> None:
    make_prior.cache_clear()


LATE = SimConfig(red="meander", head_start=7, red_tempo=2)


@pytest.mark.parametrize("config", [LATE, SimConfig(red="b_line", head_start=15)], ids=str)
def test_first_observations_are_as_frequent_as_it_says(config: SimConfig) -> None:
    prior = make_prior(config, (config.red,))
    assert prior.weights.sum() + prior.cut == pytest.approx(1)
    chances = dict(
        zip(prior.codes.tolist(), np.add.reduceat(prior.weights, prior.first[:-1]), strict=True)
    )
    num_envs = 20_000
    seen = Cage2Batch(num_envs, config).reset(seed=0).reshape(num_envs, 13, 4).astype(np.int64)
    host = 2 * np.arange(13)
    table = ((seen[:, :, 2] + 2 * seen[:, :, 3]) << host).sum(axis=1)
    activity = ((seen[:, :, 0] + seen[:, :, 1]) << host).sum(axis=1)
    counts = Counter((table | activity << 26).tolist())
    assert set(counts) <= set(chances)
    for code, chance in chances.items():
        spread = np.sqrt(num_envs * chance * (1 - chance))
        assert abs(counts[code] - num_envs * chance) <= 5 * spread + 1


def test_held_hosts_are_as_frequent_as_it_says() -> None:
    prior = make_prior(LATE, ("meander",))
    batch = Cage2Batch(20_000, LATE)
    batch.reset(seed=5)
    wanted = prior.weights @ bits(prior.words[:, 0])
    assert bits(batch.states["held"]).mean(axis=0) == pytest.approx(wanted, abs=0.015)


def test_a_mixture_holds_every_agent_with_its_share() -> None:
    prior = make_prior(SimConfig(head_start=4), ("b_line", "meander", "sleep"))
    agents = prior.words[:, 2] >> 26 & 3
    assert np.bincount(agents, prior.weights) == pytest.approx([1 / 3] * 3)


def test_a_long_prior_is_kept_and_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(priors, "_WORTH_KEEPING", 1)
    monkeypatch.setattr(priors, "cache_folder", lambda: tmp_path / "cache")
    first = make_prior(LATE, ("meander",))
    (path,) = (tmp_path / "cache").iterdir()
    monkeypatch.setattr(priors, "_play_head_start", None)
    make_prior.cache_clear()
    again = make_prior(LATE, ("meander",))
    for one, other in zip(first, again, strict=True):
        assert np.array_equal(one, other)
    make_prior.cache_clear()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(TypeError):  # it would have to be played again
        make_prior(LATE, ("meander",))
    path.write_bytes(b"PK")
    with pytest.raises(TypeError):
        make_prior(LATE, ("meander",))


def test_a_folder_that_cannot_be_written_to_costs_time_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(priors, "_WORTH_KEEPING", 1)
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(priors, "cache_folder", lambda: tmp_path / "file" / "cache")
    assert make_prior(LATE, ("meander",)).weights.sum() == pytest.approx(1)


def test_what_is_too_much_is_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priors, "MAX_STATES", 50)
    prior = make_prior(LATE, ("meander",))
    assert len(prior.weights) == 50
    assert 0 < prior.cut < 1
    assert prior.weights.sum() + prior.cut == pytest.approx(1)
