import numpy as np
import pytest

from standing_orders.cage2.actions import encode
from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.state import STATE_DTYPE, digest
from standing_orders.config import SimConfig
from standing_orders.errors import ConfigError, SimulationError


@pytest.fixture
def batch() -> Cage2Batch:
    batch = Cage2Batch(4, SimConfig(red="meander", horizon=10))
    batch.reset(0)
    batch.step(np.zeros(4, dtype=np.int64))
    return batch


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0, 1, 145, 3], "action 145 of environment 2: must be between 0 and 144"),
        ([0, -1, 2, 3], "action -1 of environment 1"),
        ([0, 1, 2], r"shape \(3,\): must be \(4,\)"),
        ([0.0, 1.0, 2.0, 3.0], "type float64: must be whole numbers"),
        ([True, False, True, False], "type bool: must be whole numbers"),
        (["a", "b", "c", "d"], "must be whole numbers"),
    ],
)
def test_a_bad_action_is_named_and_nothing_is_played(
    batch: Cage2Batch, actions: list[object], message: str
) -> None:
    before = digest(batch.states)
    with pytest.raises(ConfigError, match=message):
        batch.step(actions)
    assert digest(batch.states) == before


def test_step_before_reset_is_refused() -> None:
    with pytest.raises(SimulationError, match="step before reset"):
        Cage2Batch(2).step(np.zeros(2, dtype=np.int64))


def test_step_is_refused_while_an_environment_was_never_reset() -> None:
    batch = Cage2Batch(2)
    batch.reset(0, chosen=np.array([True, False]))
    with pytest.raises(SimulationError, match="step before reset"):
        batch.step(np.zeros(2, dtype=np.int64))


def test_step_after_the_horizon_is_refused(batch: Cage2Batch) -> None:
    for _ in range(9):
        assert not batch.truncated.any()
        batch.step(np.zeros(4, dtype=np.int64))
    assert batch.truncated.all()
    before = digest(batch.states)
    with pytest.raises(SimulationError, match="environment 0 has played all 10 steps"):
        batch.step(np.zeros(4, dtype=np.int64))
    assert digest(batch.states) == before


@pytest.mark.parametrize("seed", [-1, 2**63, True, 1.5, [1, 2, 3], [1, 2, 3, -4], "7"])
def test_a_bad_seed_is_refused_and_nothing_changes(batch: Cage2Batch, seed: object) -> None:
    before = digest(batch.states)
    with pytest.raises(ConfigError, match="seed"):
        batch.reset(seed)
    assert digest(batch.states) == before


@pytest.mark.parametrize(("num_envs", "num_threads"), [(0, 1), (-1, 1), (1, 0)])
def test_a_batch_needs_environments_and_threads(num_envs: int, num_threads: int) -> None:
    with pytest.raises(ConfigError, match="must be at least 1"):
        Cage2Batch(num_envs, num_threads=num_threads)


def test_observations_are_written_where_asked_and_not_copied(batch: Cage2Batch) -> None:
    rollout = np.full((3, 4, 52), 9, dtype=np.int8)
    observations, _ = batch.step(np.zeros(4, dtype=np.int64), out=rollout[1])
    assert observations.base is rollout
    assert set(np.unique(rollout[1])) <= {0, 1}
    assert (rollout[[0, 2]] == 9).all()


@pytest.mark.parametrize(
    "out",
    [
        np.zeros((4, 51), dtype=np.int8),
        np.zeros((4, 52), dtype=np.float32),
        np.zeros((8, 52), dtype=np.int8)[::2],
    ],
)
def test_an_unfit_place_for_observations_is_refused(batch: Cage2Batch, out: np.ndarray) -> None:
    with pytest.raises(ConfigError, match="contiguous int8 array"):
        batch.step(np.zeros(4, dtype=np.int64), out=out)


def test_without_out_the_batch_hands_out_its_own_arrays(batch: Cage2Batch) -> None:
    observations, rewards = batch.step(np.zeros(4, dtype=np.int64))
    assert observations is batch.observations
    assert rewards is batch.rewards


def test_only_the_chosen_environments_step(batch: Cage2Batch) -> None:
    chosen = np.array([True, False, True, False])
    before = batch.states.copy()
    batch.step(np.full(4, encode("Restore", "User1")), chosen=chosen)
    assert batch.states["step"].tolist() == [2, 1, 2, 1]
    assert digest(batch.states[~chosen]) == digest(before[~chosen])


def test_only_the_chosen_environments_are_reset(batch: Cage2Batch) -> None:
    before = batch.states.copy()
    batch.reset(chosen=np.array([False, True, False, False]))
    assert batch.states["step"].tolist() == [1, 0, 1, 1]
    assert batch.states["episode"].tolist() == [0, 1, 0, 0]
    assert digest(batch.states[[0, 2, 3]]) == digest(before[[0, 2, 3]])


@pytest.mark.parametrize("chosen", [np.ones(3, dtype=np.bool_), np.ones(4, dtype=np.int64)])
def test_chosen_must_be_one_boolean_each(batch: Cage2Batch, chosen: np.ndarray) -> None:
    with pytest.raises(ConfigError, match="4 booleans"):
        batch.reset(chosen=chosen)


def test_one_seed_gives_consecutive_seeds(batch: Cage2Batch) -> None:
    batch.reset(7)
    assert batch.states["seed"].tolist() == [7, 8, 9, 10]


def test_first_reset_without_a_seed_draws_fresh_ones() -> None:
    first, second = Cage2Batch(1), Cage2Batch(1)
    first.reset()
    second.reset()
    assert first.states["seed"][0] != second.states["seed"][0]


def test_head_start_is_played_before_the_episode() -> None:
    late, early = (Cage2Batch(16, SimConfig(head_start=k, horizon=30)) for k in (12, 0))
    late.reset(3)
    early.reset(3)
    for _ in range(12):
        early.step(np.zeros(16, dtype=np.int64))
    assert late.states["step"].tolist() == [0] * 16
    late.states["step"] = early.states["step"]
    assert digest(late.states) == digest(early.states)
    assert (late.observations == early.observations).all()


def test_red_tempo_is_the_number_of_red_actions_per_step() -> None:
    fast, slow = (Cage2Batch(16, SimConfig(red="b_line", red_tempo=k)) for k in (3, 1))
    fast.reset(3)
    slow.reset(3)
    for _ in range(4):
        fast.step(np.zeros(16, dtype=np.int64))
    for _ in range(12):
        slow.step(np.zeros(16, dtype=np.int64))
    assert fast.states["turn"].tolist() == [12] * 16
    for name in ("num_sessions", "scan_ports", "bline_index", "known_ip"):
        assert (fast.states[name] == slow.states[name]).all()


def test_an_environment_takes_less_than_a_kilobyte() -> None:
    observation, reward, flags = 52, 4, 2
    assert STATE_DTYPE.itemsize + observation + reward + flags < 1_000


def test_each_environment_may_have_a_red_agent_of_its_own() -> None:
    reds = ("b_line", "meander", "sleep")
    mixed = Cage2Batch(3, reds=reds)
    mixed.reset(5)
    for _ in range(30):
        mixed.step(np.zeros(3, dtype=np.int64))
    for i, red in enumerate(reds):
        single = Cage2Batch(1, SimConfig(red=red))
        single.reset(5 + i)
        for _ in range(30):
            single.step(np.zeros(1, dtype=np.int64))
        assert digest(single.states) == digest(mixed.states[i : i + 1])


@pytest.mark.parametrize(
    ("reds", "message"),
    [(["b_line"], "1 red agents for 2"), (["b_line", "blue"], "red = 'blue': must be 'b_line'")],
)
def test_bad_red_agents_are_named(reds: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Cage2Batch(2, reds=reds)
