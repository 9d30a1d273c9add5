"""Blue's reward: section 6 of the rules."""

import numpy as np
import pytest

VALUES = {
    "Defender": 0.1, "Enterprise0": 1, "Enterprise1": 1, "Enterprise2": 1, "Op_Host0": 0.1,
    "Op_Host1": 0.1, "Op_Host2": 0.1, "Op_Server0": 1, "User0": 0, "User1": 0.1, "User2": 0.1,
    "User3": 0.1, "User4": 0.1,
}  # fmt: skip
HOSTS = list(VALUES)


def test_nothing_lost_costs_nothing(game) -> None:
    assert game().step() == 0


@pytest.mark.parametrize(("host", "value"), VALUES.items())
def test_privileged_session_costs_the_value_of_its_host(game, host: str, value: float) -> None:
    assert game().give_session(host, "priv").step() == -value


@pytest.mark.parametrize("host", HOSTS)
def test_user_level_session_costs_nothing(game, host: str) -> None:
    assert game().give_session(host, count=3).step() == 0


@pytest.mark.parametrize(("host", "value"), VALUES.items())
def test_host_is_charged_once_however_many_sessions_it_holds(game, host, value) -> None:
    assert game().give_session(host).give_session(host, "priv", count=4).step() == -value


def test_values_of_all_hosts_add_up(game) -> None:
    g = game()
    for host in HOSTS:
        g.give_session(host, "priv")
    assert g.step() == -4.8


def test_privileged_session_is_charged_in_every_step(game) -> None:
    g = game().give_session("Enterprise1", "priv")
    assert [g.step() for _ in range(4)] == [-1] * 4


@pytest.mark.parametrize("host", HOSTS)
def test_restore_costs_one_even_if_pointless(game, host: str) -> None:
    assert game().step("Restore", host) == -1


@pytest.mark.parametrize(
    "action",
    [("Monitor",), ("Analyse", "User1"), ("Remove", "User1"), ("DecoyApache", "User1"),
     ("DecoyFemitter", "User1")],
)  # fmt: skip
def test_every_other_blue_action_is_free(game, action: tuple[str, ...]) -> None:
    assert game().step(*action) == 0


def test_restore_ends_the_cost_of_its_host_at_once(game) -> None:
    g = game().give_session("Enterprise1", "priv").give_session("User2", "priv")
    assert [g.step(), g.step("Restore", "Enterprise1"), g.step()] == [-1.1, -1.1, -0.1]


def test_remove_of_a_privileged_session_saves_nothing(game) -> None:
    assert game().give_session("User4", "priv", removable=True).step("Remove", "User4") == -0.1


def test_service_down_costs_ten(game) -> None:
    assert game().put(ot_up=0).step() == -10


def test_service_down_costs_ten_a_step_until_the_server_is_restored(game) -> None:
    g = game().put(ot_up=0, ot_active=0)
    costs = [g.step(), g.step("Restore", "Op_Host0"), g.step("Remove", "Op_Server0")]
    costs += [g.step("Restore", "Op_Server0"), g.step()]
    assert costs == [-10, -11, -10, -1, 0]


def test_impact_is_charged_in_its_own_step_and_after_red_is_gone(game) -> None:
    g = game(red="meander").lead_meander("ExploitRemoteService", "Defender")
    g.put(known_host=["Op_Server0"], meander_escalated=["Op_Server0"], ot_known=1)
    g.give_session("Op_Server0", removable=True)
    impact = g.step()
    assert g.last_red() == ("Impact", "Op_Server0")
    later = g.step("Remove", "Op_Server0")
    assert (impact, later, g.sessions("Op_Server0")) == (-10, -10, [])


def test_reward_counts_what_red_wins_in_the_same_step(game) -> None:
    g = game(red="meander").lead_meander("PrivilegeEscalate", "Enterprise0")
    g.give_session("Enterprise0")
    assert g.step() == -1


def test_restore_comes_before_red_in_a_step(game) -> None:
    g = game(red="meander").lead_meander("PrivilegeEscalate", "Enterprise0")
    g.give_session("Enterprise0")
    assert (g.step("Restore", "Enterprise0"), g.env["red_success"]) == (-1, 0)


def test_all_losses_at_once_add_up(game) -> None:
    g = game().put(ot_up=0)
    for host in HOSTS:
        g.give_session(host, "priv")
    assert g.step("Restore", "User0") == -15.8


# The known returns of quirk Q1: a restored server cannot be taken down any more.
@pytest.mark.parametrize(("first", "mean"), [("Sleep", -1135), ("Restore", -280)])
def test_return_of_a_hundred_steps_against_b_line_is_the_known_one(game, first, mean) -> None:
    g = game(4000, red="b_line")
    totals = np.zeros(4000)
    for step in range(100):
        g.step(*((first, "Op_Server0") if step == 0 else ("Sleep",)))
        totals += g.batch.rewards / 10
    assert totals.mean() == pytest.approx(mean, abs=10)


def test_reward_stays_above_minus_3_1_once_the_server_was_restored(game) -> None:
    g = game(1000, red="b_line")
    g.step("Restore", "Op_Server0")
    lowest = []
    for _ in range(99):
        g.step()
        lowest.append(g.batch.rewards.min())
    assert min(lowest) == -31
