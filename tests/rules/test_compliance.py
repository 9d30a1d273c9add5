"""Verdicts and figures against an oracle in plain Python, written from section 2 of the design."""

from dataclasses import asdict, fields
from typing import Any

import numpy as np
import pytest

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.config import SimConfig
from standing_orders.rules.compliance import (
    COMPLIANT,
    NEUTRAL,
    NO_FIX,
    NUM_TALLIES,
    VERDICTS,
    VIOLATION,
    OrderCompliance,
    count_episodes,
    judge,
    judge_all,
    look_all,
    ratio_of_tallies,
    top_held,
)
from standing_orders.rules.orders import ORDERS

DEFENDER, ENTERPRISE, OP_SERVER, OP_HOST, USER = range(5)
TYPE_OF_HOST = [
    DEFENDER, *[ENTERPRISE] * 3, *[OP_HOST] * 3, OP_SERVER, *[USER] * 5,
]  # fmt: skip
ENTERPRISE0, OP_HOST0, OP_SERVER0, USER0, USER1 = 1, 4, 7, 8, 9
SLEEP, ANALYSE_USER1, DECOY_USER1 = 0, 2 + USER1, 28 + USER1
USER_LAST = ORDERS.index((DEFENDER, ENTERPRISE, OP_SERVER, OP_HOST, USER))
USER_FIRST = ORDERS.index((USER, DEFENDER, ENTERPRISE, OP_SERVER, OP_HOST))


def remove(host: int) -> int:
    return 15 + host


def restore(host: int) -> int:
    return 132 + host


def mask(*hosts: int) -> int:
    return sum(1 << host for host in hosts)


# ------------------------------------------------------------------------------------- oracle
def fixed_host(action: int) -> int | None:
    if 15 <= action <= 27:
        return action - 15
    return action - 132 if 132 <= action <= 144 else None


def oracle_verdict(held: set[int], action: int, order: tuple[int, ...]) -> str:
    host = fixed_host(action)
    if host is None:
        return "no fix"
    if not held:
        return "neutral"
    top = next(unit_type for unit_type in order if unit_type in held)
    return "compliant" if TYPE_OF_HOST[host] == top else "violation"


def oracle_counts(
    episodes: list[list[tuple[set[int], int]]],  # per step: hosts held before, action
    order: tuple[int, ...],
    *,
    is_foothold_counted: bool = False,
) -> dict[str, int]:
    counts = {field.name: 0 for field in fields(OrderCompliance)}
    for episode in episodes:
        fixes = held_steps = 0
        for hosts, action in episode:
            held = {TYPE_OF_HOST[host] for host in hosts}
            if is_foothold_counted:
                held.add(USER)
            verdict = oracle_verdict(held, action, order)
            held_steps += bool(held)
            counts["held_steps"] += bool(held)
            if verdict == "no fix":
                continue
            fixes += 1
            counts["fixes"] += 1
            name = "violations" if verdict == "violation" else verdict
            counts[name] += 1
            if len(held) >= 2:
                counts[f"contested_{name}"] += 1
            counts["answered_steps"] += bool(held)
            counts["aimed"] += verdict != "neutral" and fixed_host(action) in hosts
        counts["episodes"] += 1
        counts["fixless_episodes"] += fixes == 0
        counts["idle_episodes"] += fixes == 0 and held_steps > 0
    return counts


def play(
    episodes: list[list[tuple[set[int], int]]],
    order: int,
    *,
    is_foothold_counted: bool = False,
) -> np.ndarray:
    """Tallies of hand-built episodes of equal length, through the compiled functions."""
    count = len(episodes)
    batch = Cage2Batch(count, SimConfig(red="sleep"))
    batch.reset(0)
    orders = np.full(count, order)
    top, num_held = np.zeros(count, np.int8), np.zeros(count, np.int8)
    held_hosts, verdicts = np.zeros(count, np.int16), np.zeros(count, np.int8)
    tallies = np.zeros((count, NUM_TALLIES), np.int64)
    for step in range(len(episodes[0])):
        batch.states["held"] = [mask(*episode[step][0]) for episode in episodes]
        look_all(batch.states, orders, is_foothold_counted, top, num_held, held_hosts)
        actions = np.array([episode[step][1] for episode in episodes])
        judge_all(actions, top, num_held, held_hosts, verdicts, tallies)
    return tallies


def counts_of(*episodes: list[tuple[set[int], int]], order: int = USER_LAST) -> OrderCompliance:
    return count_episodes(play(list(episodes), order))


# ----------------------------------------------------------------------------------- verdicts
def test_the_verdict_of_every_action_in_every_situation_under_every_order() -> None:
    names = [oracle_verdict(set(), action, ORDERS[0]) for action in range(145)]
    assert [i for i, name in enumerate(names) if name != "no fix"] == [
        *range(15, 28), *range(132, 145),
    ]  # fmt: skip
    for index, order in enumerate(ORDERS):
        for held_mask in range(32):
            held = {unit_type for unit_type in range(5) if held_mask >> unit_type & 1}
            top = top_held(held_mask, index)
            seen = [VERDICTS[judge(top, action)] for action in range(145)]
            assert seen == [oracle_verdict(held, action, order) for action in range(145)]


def test_the_verdicts_have_the_names_of_the_design() -> None:
    assert [VERDICTS[v] for v in (NO_FIX, NEUTRAL, COMPLIANT, VIOLATION)] == [
        "no fix", "neutral", "compliant", "violation",
    ]  # fmt: skip


@pytest.mark.parametrize("is_foothold_counted", [False, True])
def test_the_foothold_is_no_compromise_unless_it_is_to_be_counted(
    is_foothold_counted: bool,
) -> None:
    episode = [({ENTERPRISE0}, remove(ENTERPRISE0)), (set(), remove(ENTERPRISE0)), (set(), SLEEP)]
    counts = count_episodes(play([episode], USER_FIRST, is_foothold_counted=is_foothold_counted))
    assert asdict(counts) == oracle_counts(
        [episode], ORDERS[USER_FIRST], is_foothold_counted=is_foothold_counted
    )
    if is_foothold_counted:
        assert (counts.violations, counts.contested_violations, counts.held_steps) == (2, 1, 3)
    else:
        assert (counts.compliant, counts.neutral, counts.held_steps) == (1, 1, 1)


def test_a_further_session_on_user0_does_count() -> None:
    counts = counts_of([({USER0}, restore(USER0))])
    assert (counts.compliant, counts.aimed) == (1, 1)


def test_nothing_is_held_at_the_start_of_an_episode() -> None:
    batch = Cage2Batch(1, SimConfig())
    batch.reset(3)
    top, num_held, hosts = np.zeros(1, np.int8), np.zeros(1, np.int8), np.zeros(1, np.int16)
    look_all(batch.states, np.zeros(1, np.int64), False, top, num_held, hosts)
    assert (top[0], num_held[0], hosts[0]) == (-1, 0, 0)


# ------------------------------------------------------------------------------------ figures
def test_the_five_figures_of_an_episode_counted_by_hand() -> None:
    counts = counts_of(
        [
            (set(), restore(USER1)),  # neutral
            ({USER1}, remove(USER1)),  # compliant, aimed
            ({USER1}, SLEEP),  # held, not answered
            ({USER1, ENTERPRISE0}, restore(USER1)),  # contested violation, aimed
            ({USER1, ENTERPRISE0}, restore(ENTERPRISE0)),  # contested, compliant, aimed
            ({USER1, ENTERPRISE0}, restore(2)),  # contested, compliant, but Enterprise1 is clean
            ({USER1}, DECOY_USER1),
            ({USER1}, ANALYSE_USER1),
        ]
    )
    assert counts.judged == 4
    assert counts.compliance == 4 / 5
    assert counts.strict_compliance == 3 / 4
    assert counts.contested_compliance == 2 / 3
    assert counts.response_rate == 4 / 7
    assert counts.aim == 3 / 4


def test_an_episode_without_a_fix_has_no_compliance() -> None:
    counts = counts_of([({USER1}, SLEEP)])
    assert counts.compliance is counts.strict_compliance is counts.contested_compliance is None
    assert counts.aim is None
    assert counts.response_rate == 0.0
    assert (counts.fixless_episodes, counts.idle_episodes) == (1, 1)
    assert counts.to_json()["fixless_share"] == 1.0


def test_an_episode_without_need_of_a_fix_is_not_idle() -> None:
    counts = counts_of([(set(), SLEEP)])
    assert (counts.fixless_episodes, counts.idle_episodes) == (1, 0)
    assert counts.response_rate is None


def test_compliance_is_pooled_over_episodes_not_averaged() -> None:
    good = [({USER1}, remove(USER1))] + [({USER1}, SLEEP)] * 3
    bad = [({USER1}, remove(ENTERPRISE0))] * 4
    assert counts_of(good, bad).compliance == 1 / 5
    assert counts_of(good) + counts_of(bad) == counts_of(good, bad)


def test_fixing_only_when_nothing_is_held_shows_in_the_response_rate() -> None:
    counts = counts_of([(set(), restore(USER1))] * 3 + [({USER1}, SLEEP)] * 3)
    assert counts.compliance == 1.0
    assert counts.strict_compliance is None
    assert counts.response_rate == 0.0


def test_one_lucky_fix_and_then_none_shows_in_the_response_rate() -> None:
    counts = counts_of([({USER1}, restore(USER1))] + [({USER1}, SLEEP)] * 9)
    assert counts.strict_compliance == 1.0
    assert counts.response_rate == 0.1


def test_restoring_clean_hosts_of_the_right_type_shows_in_the_aim() -> None:
    counts = counts_of([({USER1, ENTERPRISE0}, restore(3))] * 4)
    assert counts.strict_compliance == counts.contested_compliance == counts.response_rate == 1.0
    assert counts.aim == 0.0


def test_never_fixing_shows_in_the_share_of_episodes_without_a_fix() -> None:
    counts = counts_of([({USER1}, SLEEP)], [({USER1}, restore(USER1))])
    assert counts.compliance == 1.0
    assert counts.to_json()["fixless_share"] == 0.5


def test_json_holds_every_count_and_the_five_figures() -> None:
    plain = counts_of([({USER1, ENTERPRISE0}, restore(USER1))]).to_json()
    assert {"compliance", "strict", "contested", "response", "aim"} <= set(plain)
    assert plain["contested"] == plain["strict"] == plain["compliance"] == 0.0
    assert plain["violations"] == plain["contested_violations"] == 1


def test_the_parts_of_a_ratio_are_given_for_each_episode() -> None:
    first = [({USER1}, restore(USER1)), ({USER1, OP_HOST0}, restore(USER1))]
    second = [({USER1, OP_HOST0}, restore(OP_HOST0)), (set(), restore(USER1))]
    tallies = play([first, second], USER_LAST)
    compliant, judged = ratio_of_tallies(tallies, is_contested=False)
    assert (compliant.tolist(), judged.tolist()) == ([1, 1], [2, 1])
    compliant, judged = ratio_of_tallies(tallies, is_contested=True)
    assert (compliant.tolist(), judged.tolist()) == ([0, 1], [1, 1])


# ------------------------------------------------------------------------------ played episodes
@pytest.mark.parametrize("red", ["b_line", "meander"])
@pytest.mark.parametrize("is_foothold_counted", [False, True])
def test_counting_in_played_episodes_equals_reading_every_state(
    red: Any, is_foothold_counted: bool
) -> None:
    from standing_orders.learn.inputs import InputLayout
    from standing_orders.learn.networks import ActorCritic
    from standing_orders.learn.rollout import collect

    order = ORDERS.index((USER, OP_HOST, ENTERPRISE, OP_SERVER, DEFENDER))
    batch = Cage2Batch(12, SimConfig(red=red))
    network = ActorCritic(InputLayout(), hidden=(8,), activation="tanh", seed=0)
    rollout = collect(
        batch, network, np.full(12, order), seed=5, count_foothold=is_foothold_counted
    )
    episodes: list[list[tuple[set[int], int]]] = [[] for _ in range(12)]
    verdicts = []
    batch.reset(5)
    for actions in rollout.actions:
        for i, action in enumerate(actions):
            # The foothold is the first session on User0: only a second one is a compromise.
            sessions = batch.states["num_sessions"][i].tolist()
            sessions[USER0] -= 1
            hosts = {host for host in range(13) if sessions[host] > 0}
            episodes[i].append((hosts, int(action)))
            held = {TYPE_OF_HOST[host] for host in hosts}
            if is_foothold_counted:
                held.add(USER)
            verdicts.append(oracle_verdict(held, int(action), ORDERS[order]))
        batch.step(actions)
    wanted = oracle_counts(episodes, ORDERS[order], is_foothold_counted=is_foothold_counted)
    assert asdict(rollout.counts) == wanted
    assert [VERDICTS[verdict] for verdict in rollout.verdicts.ravel()] == verdicts
    assert wanted["compliant"] and wanted["violations"] and wanted["contested_violations"]
