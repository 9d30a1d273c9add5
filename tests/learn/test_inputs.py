"""What a network is shown: sizes, order, belief, lawful types, memory; never the true state."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.config import RedAgent, SimConfig
from standing_orders.learn.inputs import InputEncoder, InputLayout
from standing_orders.rules.orders import ENCODINGS, Order

SLEEP, ENTERPRISE0, ENTERPRISE1, OP_SERVER0, USER0, USER1 = 0, 1, 2, 7, 8, 9
SCANS, EXPLOITS, DECOYS = slice(0, 13), slice(13, 26), slice(26, 39)
SCAN, EXPLOIT = (1, 0, 0, 0), (1, 1, 0, 0)


def table(**hosts: tuple[int, int, int, int]) -> np.ndarray:
    """One observation; a keyword such as `host9` gives a host its four bits."""
    observation = np.zeros((1, 52), dtype=np.int8)
    for name, bits in hosts.items():
        host = int(name.removeprefix("host"))
        observation[0, 4 * host : 4 * host + 4] = bits
    return observation


def encoder(order: int = 0, **layout: Any) -> InputEncoder:
    return InputEncoder(InputLayout(**layout), np.array([order]))


def encode(one: InputEncoder, observation: np.ndarray, action: int | None = None) -> np.ndarray:
    """Inputs of one step; `action` is what blue did before it."""
    if action is not None:
        one.note(np.array([action]))
    return one.encode(observation, np.zeros((1, one.layout.size), dtype=np.int8))[0].copy()


@pytest.mark.parametrize(
    ("options", "size"),
    [
        ({"has_order": False}, 52),
        ({}, 77),
        ({"certainty": 0.95}, 82),
        ({"has_memory": True}, 116),
        ({"has_memory": True, "has_clock": True}, 117),
        ({"certainty": 0.5, "has_memory": True, "has_clock": True}, 122),
        ({"has_memory": True, "has_belief": True, "has_clock": True}, 130),
        ({"has_memory": True, "has_foresight": True}, 196),
        ({"has_order": False, "has_memory": True}, 91),
        ({"has_order": False, "has_clock": True}, 53),
    ],
)
def test_the_number_of_inputs(options: dict[str, Any], size: int) -> None:
    layout = InputLayout(**options)
    assert layout.size == size
    assert layout.scale.shape == (size,)
    ends = [(block.start, block.stop) for block in layout.blocks.values()]
    assert ends[0] == (0, 52)
    assert all(left[1] == right[0] for left, right in pairwise(ends))


def test_the_default_is_77_inputs() -> None:
    assert InputLayout().size == 77


def test_inputs_are_the_observation_then_the_order() -> None:
    observation = np.random.default_rng(0).integers(0, 2, (3, 52)).astype(np.int8)
    orders = np.array([0, 63, 119])
    out = np.full((3, 77), 9, dtype=np.int8)
    InputEncoder(InputLayout(), orders).encode(observation, out)
    assert np.array_equal(out, np.hstack([observation, ENCODINGS[orders]]))


# ----------------------------------------------------------------------------------- belief
def play_half_at_random(encoder: InputEncoder, batch: Cage2Batch, seed: int) -> Iterator[Any]:
    """Inputs and what red holds, step by step, against useful random actions."""
    generator = np.random.Generator(np.random.Philox(seed))
    observations = batch.reset(seed)
    for _ in range(60):
        inputs = np.zeros((batch.num_envs, encoder.layout.size), dtype=np.int8)
        encoder.encode(observations, inputs)
        held = (batch.states["held"][:, None] >> np.arange(13) & 1) == 1
        yield inputs, held
        actions = generator.choice([0, 2 + USER1, 15 + USER1, 133, 139, 141], batch.num_envs)
        encoder.note(actions)
        observations, _ = batch.step(actions)


@pytest.mark.parametrize("red", ["b_line", "meander"])
def test_the_belief_is_shown_in_eighths_and_is_right_on_average(red: RedAgent) -> None:
    layout = InputLayout(has_belief=True, reds=(red,))
    game = SimConfig(red=red)
    one = InputEncoder(layout, np.zeros(100, dtype=np.int64), game)
    shown, truth = [], []
    for inputs, held in play_half_at_random(one, Cage2Batch(100, game), 5):
        block = inputs[:, layout.blocks["belief"]]
        assert block.min() >= 0
        assert block.max() <= 8
        shown.append(block / 8)
        truth.append(held)
    believed, really = np.concatenate(shown), np.concatenate(truth)
    assert abs(believed.mean() - really.mean()) < 0.01
    assert really[believed == 1].mean() > 0.97
    assert really[believed == 0].mean() < 0.03


def test_the_full_belief_tells_red_agents_apart_and_who_is_privileged() -> None:
    layout = InputLayout(has_order=False, has_full_belief=True)
    game = SimConfig(red="b_line")
    one = InputEncoder(layout, np.zeros(100, dtype=np.int64), game)
    batch, shown, truth = Cage2Batch(100, game), [], []
    for inputs, _ in play_half_at_random(one, batch, 5):
        shown.append(inputs[:, layout.blocks["privileged"]] / 8)
        truth.append((batch.states["privileged"][:, None] >> np.arange(13) & 1) == 1)
        agent = inputs[:, layout.blocks["agent"]]
    believed, really = np.concatenate(shown)[:, :8], np.concatenate(truth)[:, :8]
    assert really[believed == 1].mean() > 0.95
    assert really[believed == 0].mean() < 0.03
    assert (agent == [8, 0, 0]).all(axis=1).mean() > 0.95
    np.testing.assert_allclose(layout.scale[layout.blocks["agent"]], 1 / 8)


def test_lawful_types_are_inputs_and_follow_the_order_told() -> None:
    layout = InputLayout(certainty=0.95, reds=("b_line",))
    assert layout.size == 82
    game = SimConfig(red="b_line", head_start=20)
    told = {name: Order.parse(name).index for name in ("enterprise_focus", "user_priority")}
    lawful = {}
    for name, order in told.items():
        one = InputEncoder(layout, np.full(50, order), game)
        inputs, held = next(play_half_at_random(one, Cage2Batch(50, game), 5))
        bits = inputs[:, layout.blocks["lawful"]]
        is_both = held[:, 1:4].any(axis=1) & held[:, 8:].any(axis=1)
        assert is_both.sum() > 25
        lawful[name] = bits[is_both]
    assert lawful["enterprise_focus"][:, 4].mean() < 0.05  # user is not to be fixed before it
    assert lawful["user_priority"][:, 1].mean() < 0.05
    assert lawful["user_priority"][:, 4].mean() > 0.95


# ------------------------------------------------------------------------------------- memory
def memory_after(*steps: tuple[int, np.ndarray]) -> np.ndarray:
    """Memory inputs after a quiet start and these (action, observation)."""
    one = encoder(has_memory=True)
    inputs = encode(one, table())
    for action, observation in steps:
        inputs = encode(one, observation, action)
    return inputs[77:]


def test_memory_begins_empty() -> None:
    assert not memory_after().any()


def test_memory_keeps_scans_and_exploits_apart_by_host() -> None:
    memory = memory_after((SLEEP, table(host9=SCAN)), (SLEEP, table(host1=EXPLOIT)), (0, table()))
    assert np.flatnonzero(memory[SCANS]).tolist() == [9]
    assert np.flatnonzero(memory[EXPLOITS]).tolist() == [1]
    assert set(memory[:39].tolist()) == {0, 1}


def test_memory_of_activity_survives_a_restore() -> None:
    memory = memory_after((SLEEP, table(host9=EXPLOIT)), (132 + USER1, table()))
    assert memory[EXPLOITS][USER1] == 1


def test_memory_counts_decoys_by_host_up_to_four() -> None:
    steps = [(28 + 13 * kind + ENTERPRISE0, table()) for kind in range(8)]
    for placed in range(9):
        decoys = memory_after(*steps[:placed])[DECOYS]
        assert decoys[ENTERPRISE0] == min(placed, 4)
        assert decoys.sum() == decoys[ENTERPRISE0]


def test_every_kind_of_decoy_counts_and_nothing_else() -> None:
    for action in range(145):
        decoys = memory_after((action, table()))[DECOYS]
        is_decoy = 28 <= action < 132
        assert decoys.sum() == is_decoy
        if is_decoy:
            assert decoys[(action - 28) % 13] == 1


def test_restore_and_nothing_else_removes_the_decoys_of_its_host() -> None:
    placed = [(28 + ENTERPRISE0, table()), (28 + ENTERPRISE1, table())]
    kept = memory_after(*placed, (15 + ENTERPRISE0, table()), (2 + ENTERPRISE0, table()))[DECOYS]
    assert (kept[ENTERPRISE0], kept[ENTERPRISE1]) == (1, 1)
    gone = memory_after(*placed, (132 + ENTERPRISE0, table()))[DECOYS]
    assert (gone[ENTERPRISE0], gone[ENTERPRISE1]) == (0, 1)


@pytest.mark.parametrize("has_memory", [False, True])
def test_the_clock_counts_the_steps_and_is_scaled_to_a_fraction(has_memory: bool) -> None:
    one = encoder(has_memory=has_memory, has_clock=True)
    seen = [encode(one, table())[-1]]
    seen += [encode(one, table(), SLEEP)[-1] for _ in range(120)]
    assert seen == [min(step, 100) for step in range(121)]
    assert one.layout.scale[-1] == pytest.approx(0.01)


def test_counts_are_scaled_to_at_most_one() -> None:
    layout = InputLayout(certainty=0.95, has_memory=True, has_belief=True)
    memory = layout.scale[layout.blocks["memory"]]
    assert layout.scale[layout.blocks["belief"]] == pytest.approx(np.full(13, 1 / 8))
    assert (layout.scale[:82] == 1).all()
    assert memory[SCANS] == pytest.approx(np.full(13, 1 / 3))
    assert memory[EXPLOITS] == pytest.approx(np.ones(13))
    assert memory[DECOYS] == pytest.approx(np.full(13, 1 / 4))


def test_memory_counts_scans_up_to_three_and_a_restore_leaves_one() -> None:
    scan = (SLEEP, table(host9=SCAN))
    for count in range(6):
        assert memory_after(*[scan] * count)[SCANS][USER1] == min(count, 3)
    assert memory_after(scan, scan, scan, (132 + USER1, table()))[SCANS][USER1] == 1
    assert memory_after((132 + USER1, table()))[SCANS][USER1] == 0
    assert memory_after(scan, scan, (132 + ENTERPRISE0, table()))[SCANS][USER1] == 2


def test_an_exploit_is_not_a_scan() -> None:
    memory = memory_after((SLEEP, table(host9=EXPLOIT)))
    assert memory[SCANS][USER1] == 0


def test_memories_of_environments_are_apart() -> None:
    layout = InputLayout(has_memory=True)
    one = InputEncoder(layout, np.array([0, 0]))
    out = np.zeros((2, layout.size), dtype=np.int8)
    one.encode(np.vstack([table(), table()]), out)
    one.note(np.array([28 + USER1, SLEEP]))
    one.encode(np.vstack([table(), table(host1=SCAN)]), out)
    assert np.flatnonzero(out[0, 77:]).tolist() == [26 + USER1]
    assert np.flatnonzero(out[1, 77:]).tolist() == [ENTERPRISE0]


def test_what_blue_sees_before_its_first_action_is_remembered() -> None:
    """After a head start the very first observation shows activity."""
    layout = InputLayout(has_memory=True)
    batch = Cage2Batch(50, SimConfig(head_start=3))
    one = InputEncoder(layout, np.zeros(50, dtype=np.int64))
    shown = batch.reset(0).copy()
    assert shown[:, 1::4].any()
    assert (shown[:, 0::4] & ~shown[:, 1::4]).any()
    inputs = one.encode(shown, np.zeros((50, layout.size), dtype=np.int8))
    one.note(np.zeros(50, dtype=np.int64))
    quiet = np.zeros_like(shown)
    inputs = one.encode(quiet, np.zeros((50, layout.size), dtype=np.int8))
    assert np.array_equal(inputs[:, 77:][:, SCANS] > 0, (shown[:, 0::4] & ~shown[:, 1::4]) > 0)
    assert np.array_equal(inputs[:, 77:][:, EXPLOITS], shown[:, 1::4])


# --------------------------------------------------------------------------------- true state
@pytest.mark.parametrize("is_recalled", [False, True])
def test_equal_observations_and_actions_give_equal_inputs_whatever_the_true_state(
    is_recalled: bool,
) -> None:
    """Red is detected with probability 0.95 only, so equal histories hide different states."""
    layout = InputLayout(
        certainty=0.95, has_memory=is_recalled, has_belief=is_recalled, reds=("b_line",)
    )
    count = 600
    batch = Cage2Batch(count, SimConfig(red="b_line"))
    one = InputEncoder(layout, np.full(count, 17), batch.config)
    observations = batch.reset(11)
    histories: list[list[bytes]] = [[] for _ in range(count)]
    groups: dict[tuple[bytes, ...], tuple[bytes, set[Any]]] = {}
    for step in range(12):
        inputs = one.encode(observations, np.zeros((count, layout.size), dtype=np.int8))
        for i in range(count):
            histories[i].append(observations[i].tobytes())
            key = (inputs[i].tobytes(), set())
            known, truths = groups.setdefault(tuple(histories[i]), key)
            assert known == inputs[i].tobytes()
            truths.add((int(batch.states["held"][i]), int(batch.states["privileged"][i])))
        actions = np.full(count, (28 + ENTERPRISE0, SLEEP, 15 + USER1)[step % 3])
        one.note(actions)
        observations, _ = batch.step(actions)
    assert max(len(truths) for _, truths in groups.values()) > 1


def test_foresight_shows_what_red_may_do_next_and_which_decoys_stand() -> None:
    one, apache = encoder(has_foresight=True, reds=("b_line",)), 28 + USER1
    upcoming, decoys = one.layout.blocks["upcoming"], one.layout.blocks["decoys"]
    assert not encode(one, table())[upcoming].any()  # red looks for hosts, on none of them
    inputs = encode(one, table(), apache)
    assert inputs[upcoming].nonzero()[0].tolist() == [USER1, 10, 11, 12]  # it scans one of four
    assert (inputs[upcoming].max(), inputs[decoys].sum()) == (2, 1)  # in eighths
    inputs = encode(one, table(host9=SCAN), apache)
    assert inputs[upcoming].nonzero()[0].tolist() == [13 + USER1]  # then it exploits that one
    assert (inputs[upcoming].max(), inputs[decoys].sum()) == (8, 1)
