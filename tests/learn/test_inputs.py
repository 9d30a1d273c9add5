"""What a network is shown: sizes, order, focus, memory, suspects; never the true state."""

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
BELIEVED = {"unknown": (0, 0, 1, 0), "user": (0, 0, 0, 1), "privileged": (0, 0, 1, 1)}


def table(**hosts: tuple[int, int, int, int]) -> np.ndarray:
    """One observation; a keyword such as `host9` gives a host its four bits."""
    observation = np.zeros((1, 52), dtype=np.int8)
    for name, bits in hosts.items():
        host = int(name.removeprefix("host"))
        observation[0, 4 * host : 4 * host + 4] = bits
    return observation


def encoder(order: int = 0, **layout: bool) -> InputEncoder:
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
        ({"has_focus": True}, 82),
        ({"has_memory": True}, 116),
        ({"has_memory": True, "has_clock": True}, 117),
        ({"has_focus": True, "has_memory": True, "has_clock": True}, 122),
        ({"has_memory": True, "has_suspects": True, "has_clock": True}, 130),
        ({"has_order": False, "has_memory": True}, 91),
        ({"has_order": False, "has_clock": True}, 53),
    ],
)
def test_the_number_of_inputs(options: dict[str, bool], size: int) -> None:
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


# -------------------------------------------------------------------------------------- focus
@pytest.mark.parametrize("belief", sorted(BELIEVED))
@pytest.mark.parametrize(
    ("order", "focus"), [("critical_first", 2), ("reverse", 4), ("enterprise_focus", 1)]
)
def test_focus_is_the_highest_ranked_type_that_the_table_shows_compromised(
    belief: str, order: str, focus: int
) -> None:
    bits = BELIEVED[belief]
    observation = table(host1=bits, host7=bits, host12=bits)
    inputs = encode(encoder(Order.parse(order).index, has_focus=True), observation)
    assert inputs[77:82].tolist() == [int(i == focus) for i in range(5)]


def test_focus_ignores_scans_exploits_and_defender() -> None:
    observation = table(host0=(1, 1, 1, 1), host1=SCAN, host9=EXPLOIT)
    inputs = encode(encoder(Order.parse("critical_first").index, has_focus=True), observation)
    assert not inputs[77:82].any()


def test_focus_leaves_nothing_of_the_step_before() -> None:
    one = encoder(has_focus=True)
    out = np.zeros((1, 82), dtype=np.int8)
    one.encode(table(host9=BELIEVED["user"]), out)
    one.encode(table(host1=BELIEVED["user"]), out)
    assert out[0, 77:82].tolist() == [0, 1, 0, 0, 0]


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
    layout = InputLayout(has_focus=True, has_memory=True, has_suspects=True)
    memory = layout.scale[82:121]
    assert layout.scale[121:] == pytest.approx(np.full(13, 1 / 2))
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


# ------------------------------------------------------------------------- focus and suspects
APACHE = 28  # port 80 is free on Enterprise0


def focus_after(*steps: tuple[int, np.ndarray], has_suspects: bool = True) -> list[int]:
    order = Order.parse("enterprise_focus").index
    one = encoder(order, has_focus=True, has_memory=True, has_suspects=has_suspects)
    inputs = encode(one, table())
    for action, observation in steps:
        inputs = encode(one, observation, action)
    return np.flatnonzero(inputs[77:82]).tolist()


def test_the_focus_counts_a_host_scanned_twice_if_there_are_suspects() -> None:
    scan = (SLEEP, table(host9=SCAN))
    assert focus_after(scan) == []
    assert focus_after(scan, (SLEEP, table())) == []
    assert focus_after(scan, scan) == focus_after(scan, scan, (SLEEP, table())) == [4]
    assert focus_after(scan, scan, has_suspects=False) == []
    assert focus_after(scan, scan, (132 + USER1, table())) == []
    assert focus_after(scan, scan, (15 + USER1, table())) == [4]


def test_a_second_scan_where_red_knows_of_a_standing_decoy_is_no_suspicion() -> None:
    place, scan = (APACHE + ENTERPRISE0, table()), (SLEEP, table(host1=SCAN))
    assert focus_after(place, scan, scan) == []
    # Placed after the scan: red cannot know of it, so the second scan is an exploit unseen.
    assert focus_after(scan, place, (SLEEP, table())) == []
    assert focus_after(scan, scan, place) == [1]


def test_a_decoy_that_does_not_fit_is_no_excuse_for_a_second_scan() -> None:
    """Port 80 of Enterprise1 is taken by its own service."""
    scan = (SLEEP, table(host2=SCAN))
    assert focus_after((APACHE + ENTERPRISE1, table()), scan, scan) == [1]


def test_after_a_restore_the_decoy_that_red_knows_of_is_gone() -> None:
    place, scan = (APACHE + ENTERPRISE0, table()), (SLEEP, table(host1=SCAN))
    restored = (132 + ENTERPRISE0, table())
    assert focus_after(place, scan, scan, restored) == []
    assert focus_after(place, scan, scan, restored, scan) == [1]


def test_the_order_ranks_what_the_table_shows_and_what_is_suspected_alike() -> None:
    user, enterprise = (SLEEP, table(host9=SCAN)), (SLEEP, table(host1=BELIEVED["user"]))
    assert focus_after(user, user) == [4]
    assert focus_after(user, user, enterprise) == [1]


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


# ----------------------------------------------------------------------------------- suspects
ANALYSE, REMOVE, RESTORE = 2, 15, 132
QUIET = (SLEEP, table())
SCAN_ENTERPRISE0, SCAN_USER1 = (SLEEP, table(host1=SCAN)), (SLEEP, table(host9=SCAN))
PLACE = (APACHE + ENTERPRISE0, table())
WANDERING = tuple((SLEEP, table(**{f"host{host}": SCAN})) for host in range(USER0, 13))


def suspects_after(*steps: tuple[int, np.ndarray]) -> dict[int, int]:
    """Suspected hosts after a quiet start and these (action, observation): 1 maybe, 2 surely."""
    one = encoder(has_memory=True, has_suspects=True)
    inputs = encode(one, table())
    for action, observation in steps:
        inputs = encode(one, observation, action)
    return {int(host): int(inputs[116 + host]) for host in np.flatnonzero(inputs[116:])}


def test_a_host_scanned_twice_is_suspect_until_it_is_restored() -> None:
    scan = SCAN_USER1
    assert suspects_after(scan) == suspects_after(scan, QUIET) == {}
    assert suspects_after(scan, scan) == suspects_after(scan, scan, QUIET) == {USER1: 2}
    for action in (REMOVE + USER1, ANALYSE + USER1, RESTORE + ENTERPRISE0):
        assert suspects_after(scan, scan, (action, table())) == {USER1: 2}
    assert suspects_after(scan, scan, (RESTORE + USER1, table())) == {}


def test_a_decoy_that_red_cannot_know_of_is_no_excuse_for_a_second_scan() -> None:
    """Placed after the first scan, even in the very step of the second: an exploit unseen."""
    scan = SCAN_ENTERPRISE0
    assert suspects_after(scan, PLACE) == {}
    assert suspects_after(scan, PLACE, scan) == {ENTERPRISE0: 2}
    assert suspects_after(scan, (PLACE[0], scan[1])) == {ENTERPRISE0: 2}
    assert suspects_after(scan, PLACE, scan, PLACE, scan, scan) == {ENTERPRISE0: 2}


def test_a_decoy_that_does_not_fit_is_no_excuse_either() -> None:
    """Port 80 of Enterprise1 is taken by its own service."""
    scan = (SLEEP, table(host2=SCAN))
    assert suspects_after((APACHE + ENTERPRISE1, table()), scan, scan) == {ENTERPRISE1: 2}


def test_a_decoy_that_a_restore_has_removed_is_no_excuse_either() -> None:
    scan, restored = SCAN_ENTERPRISE0, (RESTORE + ENTERPRISE0, table())
    assert suspects_after(PLACE, scan, restored) == {}
    assert suspects_after(PLACE, scan, restored, scan) == {ENTERPRISE0: 2}


def test_where_red_knows_of_a_decoy_silence_after_a_second_scan_tells_that_it_may_be_in() -> None:
    attack = (*WANDERING, PLACE, SCAN_ENTERPRISE0, SCAN_ENTERPRISE0)
    assert suspects_after(*attack) == {}
    assert suspects_after(*attack, QUIET) == {ENTERPRISE0: 1}
    assert suspects_after(*attack, QUIET, SCAN_USER1)[ENTERPRISE0] == 1
    assert suspects_after(*attack, (SLEEP, table(host3=SCAN)), QUIET) == {}
    assert suspects_after(*attack, QUIET, (RESTORE + ENTERPRISE0, table())) == {}
    assert suspects_after(*attack, (RESTORE + ENTERPRISE0, table()), QUIET) == {}


@pytest.mark.parametrize("seen", [SCAN, EXPLOIT])
def test_red_would_not_try_again_where_it_got_in(seen: tuple[int, int, int, int]) -> None:
    attack = (*WANDERING, PLACE, SCAN_ENTERPRISE0, SCAN_ENTERPRISE0)
    assert suspects_after(*attack, QUIET, (SLEEP, table(host1=seen))) == {}


def test_the_silence_of_a_red_agent_that_has_scanned_four_hosts_tells_nothing() -> None:
    attack = (PLACE, SCAN_ENTERPRISE0, SCAN_ENTERPRISE0, QUIET)
    assert suspects_after(*WANDERING[:3], *attack) == {}
    assert suspects_after(*WANDERING[:4], *attack) == {ENTERPRISE0: 1}


def test_the_focus_ranks_what_the_table_shows_and_the_suspects_alike() -> None:
    order = Order.parse("enterprise_focus").index
    plain, weighing = (encoder(order, has_focus=True, has_suspects=has) for has in (False, True))
    seen = []
    for shown in (table(host9=SCAN), table(host9=SCAN), table(host1=BELIEVED["user"])):
        inputs = [encode(one, shown, SLEEP)[77:82] for one in (plain, weighing)]
        seen.append([np.flatnonzero(focus).tolist() for focus in inputs])
    assert seen == [[[], []], [[], [4]], [[1], [1]]]


@pytest.mark.parametrize("red", ["b_line", "meander"])
def test_suspects_are_what_red_holds_and_the_sensors_miss(red: RedAgent) -> None:
    """Of user hosts, with a blue that restores what its table shows, or places random decoys."""
    count, layout = 200, InputLayout(has_suspects=True)
    batch = Cage2Batch(count, SimConfig(red=red))
    one = InputEncoder(layout, np.zeros(count, dtype=np.int64))
    generator = np.random.Generator(np.random.Philox(0))
    observations, found, missed, wrong = batch.reset(0), 0, 0, 0
    for _ in range(100):
        inputs = one.encode(observations, np.zeros((count, layout.size), dtype=np.int8))
        is_shown = observations.reshape(count, 13, 4)[:, :, 2:].any(axis=2)
        is_suspect = inputs[:, 77:] > 0
        is_held = (batch.states["held"][:, None] >> np.arange(13) & 1) == 1
        unseen, users = ~is_shown[:, USER0:], slice(USER0, 13)
        found += int((unseen & is_held[:, users] & is_suspect[:, users]).sum())
        missed += int((unseen & is_held[:, users] & ~is_suspect[:, users]).sum())
        wrong += int((unseen & ~is_held[:, users] & is_suspect[:, users]).sum())
        is_shown[:, 0] = False
        decoys = generator.integers(28, 132, size=count)
        actions = np.where(is_shown.any(axis=1), RESTORE + is_shown.argmax(axis=1), decoys)
        one.note(actions)
        observations, _ = batch.step(actions)
    assert found > 1_000
    assert missed < 0.02 * found
    assert wrong < 0.02 * found


# --------------------------------------------------------------------------------- true state
@pytest.mark.parametrize("is_recalled", [False, True])
def test_equal_observations_and_actions_give_equal_inputs_whatever_the_true_state(
    is_recalled: bool,
) -> None:
    """Red is detected with probability 0.95 only, so equal histories hide different states."""
    layout = InputLayout(has_focus=True, has_memory=is_recalled, has_suspects=is_recalled)
    count = 600
    batch = Cage2Batch(count, SimConfig(red="b_line"))
    one = InputEncoder(layout, np.full(count, 17))
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
