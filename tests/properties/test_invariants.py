"""Invariants of the simulator: any red agent, rules and options, whatever blue does."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.blue import act_blue
from standing_orders.cage2.state import digest
from standing_orders.config import SimConfig
from tests.effort import effort

NUM_ENVS = 8
USER0, OP_SERVER0 = 8, 7
FOOTHOLD = np.arange(13) == USER0
EXPLOIT, SUCCESS = 3, 1
LINUX = 0b1_1000_1111_0011
# Apache, Femitter, HarakaSMPT, Smss, SSHD, Svchost, Tomcat, Vsftpd: hosts where each can ever
# stand (table 4.1).
PLAIN_LINUX = 0b0_0000_1111_0011
DECOY_HOSTS = (
    PLAIN_LINUX | 0b0_0111_0000_0000, 0b0_0100_0000_1100, PLAIN_LINUX, 0b0_0011_0000_0000,
    0b0_1100_0000_0000, 0b0_0011_0000_0000, PLAIN_LINUX | 0b0_0111_0000_0000, LINUX,
)  # fmt: skip
FIRST_OF_KIND = (2, 15, 28, 41, 54, 67, 80, 93, 106, 119, 132)
# 0.1 for each of Op_Host0-2 and User1-4, 1 for each of Enterprise0-2 and Op_Server0, 10 for the
# service, 1 for Restore; Defender never falls.
LOWEST_REWARD_TENTHS = -(7 + 40 + 100 + 10)

play_settings = settings(max_examples=effort(100, 35), deadline=None, print_blob=True)

actions = st.one_of(
    st.sampled_from([0, 1]),
    # Kinds equally often: eight of eleven place decoys, and Restore and Remove matter most.
    st.builds(lambda kind, host: kind + host, st.sampled_from((2, 15, 132)), st.integers(0, 12)),
    st.builds(lambda kind, host: kind + host, st.sampled_from(FIRST_OF_KIND), st.integers(0, 12)),
)
seeds = st.integers(0, 2**63 - 1)


@st.composite
def configs(draw, **fixed):
    options = {
        "red": draw(st.sampled_from(["b_line", "meander", "sleep"])),
        "rules": draw(st.sampled_from(["head", "leaderboard-2022"])),
        "observation": draw(st.sampled_from(["corrected", "stock"])),
        "head_start": draw(st.sampled_from([0, 0, 1, 7, 40])),
        "red_tempo": draw(st.integers(1, 5)),
        "horizon": 1000,
    }
    return SimConfig(**(options | fixed))


@st.composite
def sequences(draw, max_size=50):
    """Actions step by step: a Sleep long enough for red to get somewhere, then anything."""
    asleep = draw(st.sampled_from([0, 0, 10, 25, 60]))
    return [0] * asleep + draw(st.lists(actions, min_size=1, max_size=max_size))


def begin(config: SimConfig, seed: int) -> Cage2Batch:
    batch = Cage2Batch(NUM_ENVS, config)
    batch.reset(seed)
    return batch


def play(config: SimConfig, seed: int, sequence):
    """Yield the batch after each step, every environment given the same action."""
    batch = begin(config, seed)
    for action in sequence:
        batch.step(np.full(NUM_ENVS, action))
        yield batch


def per_host(mask):
    """Masks over hosts as booleans, shape (num_envs, 13)."""
    return (np.asarray(mask)[:, None] >> np.arange(13) & 1).astype(bool)


def is_subset(mask, of) -> bool:
    return not (mask & ~of).any()


# --------------------------------------------------------------------------------- after every step
@play_settings
@given(configs(), seeds, sequences())
def test_reward_is_never_positive_and_never_below_the_sum_of_all_losses(config, seed, sequence):
    for batch in play(config, seed, sequence):
        assert batch.rewards.max() <= 0
        assert batch.rewards.min() >= LOWEST_REWARD_TENTHS


@play_settings
@given(configs(), seeds, sequences())
def test_every_observation_has_a_meaning(config, seed, sequence):
    for batch in play(config, seed, sequence):
        bits = batch.observations.reshape(NUM_ENVS, 13, 4)
        assert set(np.unique(bits)) <= {0, 1}
        assert (bits[:, :, 1] <= bits[:, :, 0]).all()


@play_settings
@given(configs(), seeds, sequences())
def test_no_more_hosts_are_active_than_red_acted_on(config, seed, sequence):
    for batch in play(config, seed, sequence):
        active = batch.observations.reshape(NUM_ENVS, 13, 4)[:, :, 0]
        assert active.sum(axis=1).max() <= config.red_tempo


@play_settings
@given(configs(), seeds, sequences())
def test_red_never_loses_its_foothold(config, seed, sequence):
    for batch in play(config, seed, sequence):
        assert (batch.states["num_sessions"][:, USER0] >= 1).all()
        assert (batch.states["session_priv"][:, USER0] & 1 == 1).all()
        assert (batch.states["session_removable"][:, USER0] & 1 == 0).all()


@play_settings
@given(configs(), seeds, sequences())
def test_session_counters_agree_with_the_session_words(config, seed, sequence):
    for batch in play(config, seed, sequence):
        states = batch.states
        num = states["num_sessions"].astype(np.int64)
        assert num.min() >= 0
        assert num.max() <= 63
        assert not (states["session_priv"] >> num).any()
        assert not (states["session_removable"] >> num).any()
        assert (per_host(states["privileged"]) == (states["session_priv"] != 0)).all()
        assert (per_host(states["held"]) == (num > FOOTHOLD)).all()


@play_settings
@given(configs(), seeds, sequences())
def test_red_only_holds_hosts_that_it_knows_and_defender_never(config, seed, sequence):
    for batch in play(config, seed, sequence):
        states = batch.states
        assert not (states["held"] & 1).any()
        assert is_subset(states["held"], states["known_host"])
        assert is_subset(states["known_host"], states["known_ip"])
        assert not ((states["scan_ports"] != 0) & ~per_host(states["known_ip"])).any()


@play_settings
@given(configs(), seeds, sequences())
def test_privileged_host_has_malware_and_malware_a_host_red_was_on(config, seed, sequence):
    for batch in play(config, seed, sequence):
        states = batch.states
        assert is_subset(states["privileged"] & ~(1 << USER0), states["malware"])
        assert is_subset(states["malware"], states["known_host"])


@play_settings
@given(configs(), seeds, sequences())
def test_decoys_stand_only_where_they_fit(config, seed, sequence):
    for batch in play(config, seed, sequence):
        decoys = batch.states["decoys"]
        for decoy, hosts in enumerate(DECOY_HOSTS):
            stands = (decoys >> decoy & 1).astype(bool)
            assert not (stands & (hosts >> np.arange(13) & 1 == 0)).any()
        assert ((decoys >> 7 & 1 == 1) == (batch.states["num_vsftpd"] > 0)).all()


@play_settings
@given(configs(), seeds, sequences())
def test_service_is_down_only_if_red_found_it_and_no_restore_came_before(config, seed, sequence):
    for batch in play(config, seed, sequence):
        states = batch.states
        is_down = states["ot_up"] == 0
        assert (states["ot_linked"][is_down] == 1).all()
        assert (states["ot_known"][is_down] == 1).all()
        assert (states["ot_active"][is_down] == 0).all()
        was_restored = 132 + OP_SERVER0 in sequence[: int(states["step"][0])]
        assert (states["ot_linked"] == (not was_restored)).all()


@play_settings
@given(configs(), seeds, sequences())
def test_mail_servers_are_immune_exactly_after_a_restore_on_the_leaderboard(config, seed, sequence):
    for batch in play(config, seed, sequence):
        played = sequence[: int(batch.states["step"][0])]
        restored = sum(1 << host for host in (11, 12) if 132 + host in played)
        is_leaderboard = config.rules == "leaderboard-2022"
        assert (batch.states["mail_immune"] == restored * is_leaderboard).all()


# ------------------------------------------------------------------------------- from step to step
@play_settings
@given(configs(), seeds, sequences())
def test_red_never_forgets_what_it_knows(config, seed, sequence):
    before = begin(config, seed).states
    for batch in play(config, seed, sequence):
        states = batch.states
        for name in ("known_ip", "known_host", "known_subnets", "ot_known"):
            assert is_subset(before[name], states[name])
        assert not ((before["scan_ports"] != 0) & (states["scan_ports"] == 0)).any()
        if config.rules == "leaderboard-2022":
            assert is_subset(before["scan_ports"], states["scan_ports"])
        before = states.copy()


@play_settings
@given(configs(red_tempo=1), seeds, sequences())
def test_sessions_only_grow_by_one_through_a_successful_exploit(config, seed, sequence):
    before = begin(config, seed).states["num_sessions"]
    for batch in play(config, seed, sequence):
        states = batch.states
        has_won = (states["red_action"] == EXPLOIT) & (states["red_success"] == SUCCESS)
        may_grow = has_won[:, None] & (np.arange(13) == states["red_target"][:, None])
        assert (states["num_sessions"] <= before + may_grow).all()
        before = states["num_sessions"].copy()


@play_settings
@given(configs(), seeds, sequences())
def test_sessions_only_disappear_from_the_host_of_a_remove_or_restore(config, seed, sequence):
    before = begin(config, seed).states["num_sessions"]
    for action, batch in zip(sequence, play(config, seed, sequence), strict=True):
        states = batch.states
        may_shrink = np.zeros(13, bool)
        if 15 <= action < 28 or action >= 132:
            may_shrink[(action - 2) % 13] = True
        assert (states["num_sessions"] >= before)[:, ~may_shrink].all()
        before = states["num_sessions"].copy()


@play_settings
@given(configs(), seeds, sequences(), st.integers(0, 12))
def test_restore_empties_its_host_before_red_acts(config, seed, sequence, host):
    *_, batch = play(config, seed, sequence)
    states = batch.states.copy()
    for env in states:
        act_blue(env, 132 + host, int(config.rules != "head"))
    assert (states["num_sessions"][:, host] == (host == USER0)).all()
    assert not ((states["held"] | states["malware"]) >> host & 1).any()
    assert not states["decoys"][:, host].any()
    assert not states["belief"][:, host].any()


@play_settings
@given(configs(), seeds, sequences(), st.integers(0, 12))
def test_restored_host_holds_at_most_what_red_won_in_the_same_step(config, seed, sequence, host):
    *_, batch = play(config, seed, sequence)
    batch.step(np.full(NUM_ENVS, 132 + host))
    assert (batch.states["num_sessions"][:, host] <= (host == USER0) + config.red_tempo).all()


# ------------------------------------------------------------------------------- whole episodes
@play_settings
@given(configs(head_start=0), seeds, sequences())
def test_reset_brings_back_the_initial_state(config, seed, sequence):
    *_, batch = play(config, seed, sequence)
    observations = batch.reset()
    states = batch.states
    user0 = 1 << USER0
    wanted = {
        "held": 0, "privileged": user0, "malware": 0, "mail_immune": 0, "known_ip": user0,
        "known_host": user0, "known_subnets": 0b100, "ot_up": 1, "ot_linked": 1, "ot_active": 1,
        "ot_known": 0, "step": 0,
    }  # fmt: skip
    assert {name: np.unique(states[name]).tolist() for name in wanted} == {
        name: [value] for name, value in wanted.items()
    }
    for name in ("num_sessions", "session_priv"):
        assert (states[name] == FOOTHOLD).all()
    for name in ("session_removable", "decoys", "num_vsftpd", "scan_ports", "belief"):
        assert not states[name].any()
    assert not observations.any()


@play_settings
@given(configs(head_start=0), seeds, sequences())
def test_nothing_leaks_from_one_episode_into_the_next(config, seed, sequence):
    *_, used = play(config, seed, sequence)
    fresh = begin(config, seed)
    used.reset()
    fresh.reset()
    assert digest(used.states) == digest(fresh.states)


@play_settings
@given(configs(), seeds, sequences())
def test_same_seed_and_actions_give_the_same_episode(config, seed, sequence):
    *_, first = play(config, seed, sequence)
    *_, second = play(config, seed, sequence)
    assert digest(first.states) == digest(second.states)


@play_settings
@given(configs(head_start=0, red_tempo=1), seeds, sequences())
def test_head_start_0_and_tempo_1_are_the_standard_game(config, seed, sequence):
    options = config.model_dump(exclude={"head_start", "red_tempo"})
    for batch, standard in zip(
        play(config, seed, sequence), play(SimConfig(**options), seed, sequence), strict=True
    ):
        assert digest(batch.states) == digest(standard.states)
        assert (batch.rewards == standard.rewards).all()
        assert (batch.observations == standard.observations).all()


@play_settings
@given(configs(head_start=0), seeds, st.integers(1, 60), sequences(max_size=20))
def test_head_start_is_as_many_sleeping_steps(config, seed, head_start, sequence):
    options = config.model_dump() | {"head_start": head_start}
    ahead = play(SimConfig(**options), seed, sequence)
    slept = play(config, seed, [0] * head_start + sequence)
    for _ in range(head_start):
        next(slept)
    for batch, standard in zip(ahead, slept, strict=True):
        assert (batch.states["step"] + head_start == standard.states["step"]).all()
        assert (batch.rewards == standard.rewards).all()
        assert (batch.observations == standard.observations).all()


@play_settings
@given(configs(head_start=0), seeds, st.integers(1, 60))
def test_first_observation_after_a_head_start_is_the_last_of_it(config, seed, head_start):
    options = config.model_dump() | {"head_start": head_start}
    *_, slept = play(config, seed, [0] * head_start)
    assert (begin(SimConfig(**options), seed).observations == slept.observations).all()


@play_settings
@given(configs(head_start=0), seeds, st.integers(1, 30))
def test_red_at_a_higher_tempo_gets_as_far_in_fewer_steps(config, seed, num_steps):
    standard = SimConfig(**(config.model_dump() | {"red_tempo": 1}))
    *_, fast = play(config, seed, [0] * num_steps)
    *_, slow = play(standard, seed, [0] * (num_steps * config.red_tempo))
    for name in ("turn", "session_priv", "num_sessions", "malware", "known_ip", "scan_ports",
                 "ot_up", "red_action", "red_target", "red_success"):  # fmt: skip
        assert (fast.states[name] == slow.states[name]).all()
    assert (fast.rewards == slow.rewards).all()


@play_settings
@given(configs(), seeds, sequences())
def test_monitor_is_sleep(config, seed, sequence):
    asleep = [0 if action == 1 else action for action in sequence]
    for batch, other in zip(play(config, seed, sequence), play(config, seed, asleep), strict=True):
        assert (batch.rewards == other.rewards).all()
        assert (batch.observations == other.observations).all()


@play_settings
@given(configs(), seeds, sequences())
def test_observation_styles_differ_only_in_activity_where_a_decoy_was_placed(
    config, seed, sequence
):
    options = config.model_dump(exclude={"observation"})
    stock = play(SimConfig(**options, observation="stock"), seed, sequence)
    corrected = play(SimConfig(**options, observation="corrected"), seed, sequence)
    for one, other in zip(stock, corrected, strict=True):
        assert digest(one.states) == digest(other.states)
        assert (one.rewards == other.rewards).all()
        host = one.states["decoy_host"].astype(int)
        differs = (one.observations != other.observations).reshape(NUM_ENVS, 13, 4)
        is_decoy_host = np.arange(13) == host[:, None]
        assert not differs[~is_decoy_host].any()
        assert not differs[:, :, 1:].any()


@play_settings
@given(configs(), seeds, sequences())
def test_states_can_be_copied_and_played_on(config, seed, sequence):
    *_, batch = play(config, seed, sequence)
    twin = begin(config, 0)
    twin.states[:] = batch.states
    for action in sequence:
        batch.step(np.full(NUM_ENVS, action))
        twin.step(np.full(NUM_ENVS, action))
    assert digest(batch.states) == digest(twin.states)
