"""The belief is right: by brute force, by calibration, and on what CybORG itself recorded."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from standing_orders.belief import Belief
from standing_orders.cage2.actions import encode
from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.scenario import RED_AGENTS
from standing_orders.cage2.traces import read_recording
from standing_orders.config import SimConfig
from standing_orders.errors import ConfigError, SimulationError
from tests.belief.games import bits, brute_force, next_actions, watch
from tests.conftest import REFERENCE

USER2 = 10
ZERO = np.zeros((1, 52), np.int8)
TYPE_HOSTS = (1, 14, 128, 112, 7936)  # of defender, enterprise, op_server, op_host, user


def types_of(held: int) -> int:
    return sum(1 << t for t, hosts in enumerate(TYPE_HOSTS) if held & hosts)


SHORT = [
    (SimConfig(red="b_line"), ("b_line",), "useful-random", 16),
    (SimConfig(red="b_line", head_start=6), ("b_line",), "heuristic", 20),
    (SimConfig(red="meander"), ("meander",), "heuristic", 24),
    (SimConfig(red="meander", head_start=3), ("b_line", "meander", "sleep"), "react_remove", 16),
    (SimConfig(red="meander", rules="leaderboard-2022"), ("meander",), "react_restore", 24),
    (SimConfig(red="meander", red_tempo=2, observation="stock"), ("meander",), "useful-random", 12),
    (SimConfig(red="b_line", red_tempo=3), ("b_line", "sleep"), "heuristic", 5),
]


@pytest.mark.parametrize(("config", "reds", "defender", "steps"), SHORT, ids=str)
def test_it_equals_brute_force(
    config: SimConfig, reds: tuple[Any, ...], defender: str, steps: int
) -> None:
    game = [
        (None if actions is None else int(actions[0]), seen[0].copy())
        for actions, seen, _ in watch(config, defender, 1, seed=8, steps=steps)
    ]
    actions = [action for action, _ in game if action is not None]
    observations = [seen for _, seen in game]
    belief = Belief(config, 1, reds=reds, least=0.0)
    for step, paths in enumerate(brute_force(config, reds, actions, observations)):
        if step == 0:
            belief.reset(observations[0][None])
        else:
            belief.update([actions[step - 1]], observations[step][None])
        weights = np.array([weight for _, weight in paths])
        held = np.array([int(states["held"][0]) for states, _ in paths])
        privileged = np.array([int(states["privileged"][0]) for states, _ in paths])
        malware = np.array([int(states["malware"][0]) for states, _ in paths])
        agents = np.array([int(states["red"][0]) for states, _ in paths])
        sets = np.bincount([types_of(mask) for mask in held], weights, 32)
        assert belief.held[0] == pytest.approx(weights @ bits(held), abs=1e-9)
        assert belief.malware[0] == pytest.approx(weights @ bits(malware), abs=1e-9)
        user0_apart = np.arange(13) != 8
        wanted = weights @ bits(privileged)
        assert belief.privileged[0][user0_apart] == pytest.approx(wanted[user0_apart], abs=1e-9)
        assert belief.held_types[0] == pytest.approx(sets, abs=1e-9)
        shares = [weights[agents == RED_AGENTS.index(red)].sum() for red in reds]
        assert belief.agent[0] == pytest.approx(shares, abs=1e-9)
        upcoming = sum(weight * next_actions(states[0]) for states, weight in paths)
        assert belief.foresee()[0] == pytest.approx(upcoming, abs=1e-9)
        assert not belief.is_lost[0]


def test_the_likelihood_is_that_of_the_observation() -> None:
    belief = Belief(SimConfig(red="meander"), 1)
    belief.reset(ZERO)
    belief.update([0], ZERO)  # Meander looks for hosts, which nobody can see
    assert belief.likelihood[0] == pytest.approx(1.0)
    scan = ZERO.copy()
    scan[0, 4 * 9] = 1  # then it scans one of five user hosts
    belief.update([0], scan)
    assert belief.likelihood[0] == pytest.approx(0.2)
    assert belief.surprise[0] == pytest.approx(np.log(5))


def test_decoys_are_those_that_stand() -> None:
    belief = Belief(SimConfig(), 2)
    belief.reset(np.zeros((2, 52), np.int8))
    apache, restore = encode("DecoyApache", "User2"), encode("Restore", "User2")
    belief.update([apache, apache], np.zeros((2, 52), np.int8))
    assert belief.decoys[:, USER2].tolist() == [1, 1]
    belief.update([apache, restore], np.zeros((2, 52), np.int8))
    assert belief.decoys[:, USER2].tolist() == [1, 0]
    assert belief.decoys.sum() == 1


def test_what_nothing_explains_foresees_nothing() -> None:
    belief = Belief(SimConfig(), 1)
    belief.reset(np.ones((1, 52), np.int8))
    assert belief.is_lost[0]
    assert belief.foresee().sum() == 0


def test_equal_histories_give_equal_beliefs_whatever_the_true_state() -> None:
    num_envs = 400
    histories: dict[bytes, list[int]] = defaultdict(list)
    belief = Belief(SimConfig(red="meander"), num_envs)
    past = [b""] * num_envs
    num_pairs = 0
    config = SimConfig(red="meander")
    for actions, seen, states in watch(config, "react_restore", num_envs, steps=30):
        belief.reset(seen) if actions is None else belief.update(actions, seen)
        histories.clear()
        for i in range(num_envs):
            past[i] += seen[i].tobytes() + (b"" if actions is None else actions[i].tobytes())
            histories[past[i]].append(i)
        for first, *others in histories.values():
            for other in others:
                assert (belief.held[first] == belief.held[other]).all()
                assert (belief.held_types[first] == belief.held_types[other]).all()
                num_pairs += states["privileged"][first] != states["privileged"][other]
    assert num_pairs > 10


@pytest.mark.parametrize(
    ("config", "defender"),
    [
        (SimConfig(red="b_line", head_start=20), "react_remove"),
        (SimConfig(red="meander"), "heuristic"),
        (SimConfig(red="meander", head_start=9, red_tempo=2), "useful-random"),
        (SimConfig(red="meander", head_start=8, rules="leaderboard-2022"), "react_remove"),
    ],
    ids=str,
)
def test_what_it_says_happens_as_often_as_it_says(config: SimConfig, defender: str) -> None:
    num_envs = 300
    belief = Belief(config, num_envs)
    said, truth = [], []
    for actions, seen, states in watch(config, defender, num_envs, seed=40):
        if actions is None:
            belief.reset(seen)
        else:
            belief.update(actions, seen)
        said.append(belief.held.copy())
        truth.append(bits(states["held"]))
    p, y = np.array(said), np.array(truth)  # (steps, num_envs, 13)
    assert belief.num_lost == 0
    assert ((p > 0) | (y == 0)).all()
    for low, high in [(1e-9, 0.1), (0.1, 0.5), (0.5, 0.9), (0.9, 1 - 1e-9)]:
        within = (p > low) & (p <= high)
        # Steps of one episode belong together: the spread is that of the episodes' sums.
        gaps = np.where(within, y - p, 0).sum(axis=(0, 2))
        assert abs(gaps.sum()) <= 4 * np.sqrt((gaps**2).sum()) + 1e-6


def test_it_knows_the_red_agent_soon() -> None:
    reds = ("b_line", "meander", "sleep")
    for number, red in enumerate(reds):
        config = SimConfig(red=red)
        belief = Belief(config, 50, reds=reds)
        for step, (actions, seen, _) in enumerate(watch(config, "useful-random", 50, steps=6)):
            if actions is None:
                belief.reset(seen)
                assert belief.agent[0].tolist() == pytest.approx([1 / 3] * 3)
            else:
                belief.update(actions, seen)
            assert belief.agent.sum(axis=1) == pytest.approx(1)
            if step >= 4:
                assert belief.agent[:, number] == pytest.approx(1)


def test_types_are_the_margins_of_the_sets() -> None:
    config = SimConfig(red="meander")
    belief = Belief(config, 30)
    for actions, seen, _ in watch(config, "heuristic", 30, steps=40):
        belief.reset(seen) if actions is None else belief.update(actions, seen)
    for unit_type in range(5):
        wanted = belief.held_types[:, [s for s in range(32) if s >> unit_type & 1]].sum(axis=1)
        assert belief.types[:, unit_type] == pytest.approx(wanted)


RECORDINGS = [
    (rules, path)
    for rules in ("head", "leaderboard-2022")
    for path in sorted((REFERENCE / rules).glob("*.npz"))
    if path.stem.endswith(("bline", "meander", "sleep"))
]


@pytest.mark.parametrize("style", ["stock", "corrected"])
@pytest.mark.parametrize(
    ("rules", "path"), RECORDINGS, ids=[f"{rules}-{path.stem}" for rules, path in RECORDINGS]
)
def test_it_explains_every_step_that_cyborg_recorded(rules: Any, path: Path, style: Any) -> None:
    recording = read_recording(path)
    seen = recording.arrays["obs_stock" if style == "stock" else "obs_cardiff"]
    config = SimConfig(rules=rules, observation=style, red=RED_AGENTS[recording.red])
    belief = Belief(config, recording.num_episodes, reds=("b_line", "meander", "sleep"))
    belief.reset(seen[:, 0])
    for step in range(recording.num_steps):
        belief.update(recording.arrays["blue_action"][:, step], seen[:, step + 1])
        has_session = recording.arrays["n_sessions"][:, step + 1] > (np.arange(13) == 8)
        assert ((belief.held > 0) | ~has_session).all()
        assert ((belief.held < 1 - 1e-9) | has_session).all()
    assert belief.num_lost == 0


def test_what_nothing_explains_is_said_and_counted_and_blues_table_stands_in() -> None:
    belief = Belief(SimConfig(red="sleep"), 2)
    belief.reset(np.zeros((2, 52), np.int8))
    seen = np.zeros((2, 52), np.int8)
    seen[1, 4 * 2 : 4 * 2 + 4] = (1, 1, 0, 1)  # Enterprise1: Exploit, User
    belief.update([0, 0], seen)
    assert belief.is_lost.tolist() == [False, True]
    assert (belief.num_lost, belief.likelihood.tolist()) == (1, [1.0, 0.0])
    assert belief.held[1].tolist() == [0, 0, 1] + [0] * 10
    assert belief.held_types[1, 0b10] == 1
    seen[1, 4 * 2 : 4 * 2 + 4] = (0, 0, 1, 0)  # Unknown after a Remove
    belief.update([0, 17], seen)
    assert belief.held[1, 2] == 0.5
    assert belief.num_lost == 2
    belief.reset(np.zeros((2, 52), np.int8))
    assert not belief.is_lost.any()
    assert belief.num_states.tolist() == [1, 1]


def test_a_first_observation_that_no_head_start_gives_is_not_explained() -> None:
    belief = Belief(SimConfig(red="b_line"), 1)
    seen = ZERO.copy()
    seen[0, 0] = 1
    belief.reset(seen)
    assert belief.is_lost.all()
    assert belief.num_lost == 1


def test_a_cap_keeps_the_likeliest_and_says_what_it_cut() -> None:
    config = SimConfig(red="meander", head_start=9, red_tempo=2)
    free, capped = Belief(config, 200), Belief(config, 200, cap=3)
    first = Cage2Batch(200, config).reset(seed=2)
    free.reset(first)
    capped.reset(first)
    assert ((capped.num_states >= 1) & (capped.num_states <= 3)).all()
    assert ((capped.cut > 0) == (free.num_states > 3)).all()
    assert capped.cut.max() > 0.01
    assert free.cut.max() < 1e-6


def test_only_the_chosen_environments_are_touched() -> None:
    config = SimConfig(red="meander", horizon=50)
    batch, belief = Cage2Batch(4, config), Belief(config, 4)
    belief.reset(batch.reset(seed=1))
    actions = np.zeros(4, np.int64)
    for _ in range(20):
        belief.update(actions, batch.step(actions)[0])
    before = belief.held.copy()
    chosen = np.array([True, False, True, False])
    belief.reset(batch.reset(chosen=chosen), chosen=chosen)
    assert (belief.held[~chosen] == before[~chosen]).all()
    assert (belief.held[chosen] == 0).all()


def test_a_belief_does_not_depend_on_its_place_in_the_batch() -> None:
    config = SimConfig(red="meander", head_start=5)
    together = Belief(config, 8)
    alone = Belief(config, 1)
    for actions, seen, _ in watch(config, "heuristic", 8, steps=30):
        if actions is None:
            together.reset(seen)
            alone.reset(seen[5:6])
        else:
            together.update(actions, seen)
            alone.update(actions[5:6], seen[5:6])
        assert (together.held_types[5] == alone.held_types[0]).all()


def test_a_copied_belief_goes_on_as_the_original_does() -> None:
    config = SimConfig(red="meander")
    original, copy = Belief(config, 6), Belief(config, 2)
    rows, into = np.array([4, 1]), np.array([0, 1])
    for step, (actions, seen, _) in enumerate(watch(config, "heuristic", 6, steps=40)):
        original.reset(seen) if actions is None else original.update(actions, seen)
        if step == 20:
            copy.copy_from(original, rows, into)
        elif step > 20 and actions is not None:
            copy.update(actions[rows], seen[rows])
        if step >= 20:
            assert (copy.held_types == original.held_types[rows]).all()
            assert (copy.malware == original.malware[rows]).all()
    with pytest.raises(ConfigError, match="same game"):
        copy.copy_from(Belief(SimConfig(red="b_line"), 6), rows, into)


@pytest.mark.parametrize("options", [{"reds": ()}, {"reds": ("green",)}, {"cap": 0}])
def test_bad_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        Belief(SimConfig(), 1, **options)


def test_misuse_is_refused() -> None:
    belief = Belief(SimConfig(), 2)
    with pytest.raises(SimulationError, match="reset"):
        belief.update([0, 0], np.zeros((2, 52), np.int8))
    with pytest.raises(ConfigError, match="shape"):
        belief.reset(ZERO)
    belief.reset(np.zeros((2, 52), np.int8))
    with pytest.raises(ConfigError, match="145"):
        belief.update([0, 145], np.zeros((2, 52), np.int8))
    with pytest.raises(ConfigError, match="chosen"):
        belief.reset(np.zeros((2, 52), np.int8), chosen=np.array([True]))
