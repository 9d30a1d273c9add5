"""How red decides: section 8 of the rules."""

import numpy as np
import pytest

HOSTS = (
    "Defender", "Enterprise0", "Enterprise1", "Enterprise2", "Op_Host0", "Op_Host1", "Op_Host2",
    "Op_Server0", "User0", "User1", "User2", "User3", "User4",
)  # fmt: skip
USERS = HOSTS[8:]
OPERATIONAL = set(HOSTS[4:8])
SERVERS = {"Enterprise0", "Enterprise1", "Enterprise2"}
ENTERPRISE_BEHIND = {
    "User1": "Enterprise1", "User2": "Enterprise1", "User3": "Enterprise0", "User4": "Enterprise0",
}  # fmt: skip
FAIL, SUCCESS = 0, 1
# Table 8.1: action, target, index after a failure.
PLAN = [
    ("DiscoverRemoteSystems", "User", 0),
    ("DiscoverNetworkServices", "X", 1),
    ("ExploitRemoteService", "X", 2),
    ("PrivilegeEscalate", "X", 2),
    ("DiscoverNetworkServices", "Y", 2),
    ("ExploitRemoteService", "Y", 2),
    ("PrivilegeEscalate", "Y", 5),
    ("DiscoverRemoteSystems", "Enterprise", 5),
    ("DiscoverNetworkServices", "Enterprise2", 5),
    ("ExploitRemoteService", "Enterprise2", 5),
    ("PrivilegeEscalate", "Enterprise2", 9),
    ("DiscoverNetworkServices", "Op_Server0", 9),
    ("ExploitRemoteService", "Op_Server0", 9),
    ("PrivilegeEscalate", "Op_Server0", 12),
    ("Impact", "Op_Server0", 13),
]


def planned(index: int, entry: str) -> tuple[str, set[str]]:
    kind, target, _ = PLAN[index]
    return kind, {{"X": entry, "Y": ENTERPRISE_BEHIND[entry]}.get(target, target)}


def meddlesome_actions(num_steps: int, num_envs: int):
    """Blue actions that throw red back: many Sleeps and Restores of Enterprise0-2, some others."""
    rng = np.random.default_rng(5)
    actions = rng.integers(145, size=(num_steps, num_envs))
    restores = rng.integers(133, 136, size=(num_steps, num_envs))
    kind = rng.random((num_steps, num_envs))
    return np.where(kind < 0.7, 0, np.where(kind < 0.9, restores, actions))


# ------------------------------------------------------------------------------------------ B_line
@pytest.fixture
def b_line(game):
    """A B_line whose last action was that of the index, with the result given."""

    def make(index: int, result: int, entry: str = "User1", **fields):
        g = game(red="b_line").know_all()
        entry_index = HOSTS.index(entry)
        g.put(bline_index=index, red_success=result, bline_entry=entry_index)
        return g.put(**fields)

    return make


@pytest.mark.parametrize("entry", ENTERPRISE_BEHIND)
@pytest.mark.parametrize("index", range(15))
def test_b_line_goes_on_after_a_success(b_line, index: int, entry: str) -> None:
    assert b_line(index, SUCCESS, entry).decide() == planned(min(index + 1, 14), entry)


@pytest.mark.parametrize("entry", ENTERPRISE_BEHIND)
@pytest.mark.parametrize("index", range(15))
def test_b_line_falls_back_after_a_failure(b_line, index: int, entry: str) -> None:
    assert b_line(index, FAIL, entry).decide() == planned(PLAN[index][2], entry)


def test_b_line_begins_with_the_user_subnet(game) -> None:
    g = game(red="b_line")
    g.step()
    assert g.last_red() == ("DiscoverRemoteSystems", "User")


def test_b_line_enters_through_any_user_host_but_user0(game) -> None:
    g = game(red="b_line")
    g.step()
    assert g.decide() == ("DiscoverNetworkServices", {"User1", "User2", "User3", "User4"})


def test_b_line_keeps_its_entry_for_the_whole_episode(game) -> None:
    g = game(64, red="b_line")
    entries = []
    for actions in meddlesome_actions(150, 64):
        g.batch.step(actions)
        entries.append(g.states["bline_entry"].copy())
    assert all((later == entries[1]).all() for later in entries[2:])


def test_b_line_draws_its_entry_afresh_in_each_episode(game) -> None:
    g = game(red="b_line")
    targets = set()
    for _ in range(40):
        g.batch.reset()
        g.step()
        g.step()
        targets.add(g.last_red())
    assert targets == {("DiscoverNetworkServices", f"User{i}") for i in (1, 2, 3, 4)}


def test_b_line_starts_its_plan_again_in_the_next_episode(game) -> None:
    g = game(red="b_line")
    for _ in range(30):
        g.step()
    g.batch.reset()
    g.step()
    assert g.last_red() == ("DiscoverRemoteSystems", "User")


def test_b_line_left_alone_walks_its_plan_to_impact(game) -> None:
    g = game(red="b_line")
    walked = []
    for _ in range(60):
        g.step()
        walked.append((*g.last_red(), int(g.env["red_success"])))
    entry = HOSTS[int(g.env["bline_entry"])]
    # A failed exploit falls back by at most a step or two and repeats what had succeeded.
    successes = [(kind, {target}) for kind, target, result in walked if result == SUCCESS]
    firsts = [step for i, step in enumerate(successes) if step not in successes[:i]]
    assert firsts == [planned(index, entry) for index in range(15)]
    assert set(walked[-10:]) == {("Impact", "Op_Server0", SUCCESS)}


def test_b_line_starts_over_from_its_entry_if_the_server_scan_was_empty(b_line) -> None:
    g = b_line(10, SUCCESS, "User3")
    walked = []
    for _ in range(3):
        g.step()
        walked.append(g.last_red())
    assert walked == [
        ("DiscoverNetworkServices", "Op_Server0"),
        ("DiscoverNetworkServices", "User3"),
        ("ExploitRemoteService", "User3"),
    ]


def test_b_line_attacks_the_server_if_the_scan_was_not_empty(b_line) -> None:
    g = b_line(10, SUCCESS).give_session("Enterprise2")
    g.step()
    g.step()
    assert g.last_red() == ("ExploitRemoteService", "Op_Server0")


def test_b_line_attacks_the_server_if_it_did_so_before_though_the_scan_was_empty(b_line) -> None:
    g = b_line(10, SUCCESS).give_session("Enterprise2")
    g.step()
    g.step()
    g.put(bline_index=10, red_success=SUCCESS)
    g.step("Restore", "Enterprise2")
    g.step()
    assert g.hosts("held") == {"Op_Server0"}
    assert g.last_red() == ("ExploitRemoteService", "Op_Server0")


def test_b_line_starts_over_as_often_as_the_scan_is_empty(b_line) -> None:
    g = b_line(10, SUCCESS)
    g.step()
    g.step()
    g.put(bline_index=10, red_success=SUCCESS)
    g.step()
    g.step()
    assert g.last_red() == ("DiscoverNetworkServices", "User1")


def test_b_line_forgets_having_attacked_the_server_in_the_next_episode(b_line) -> None:
    g = b_line(11, SUCCESS).give_session("Enterprise2")
    g.step()
    g.batch.reset()
    g.know_all().put(bline_index=10, red_success=SUCCESS, bline_entry=9)
    g.step()
    g.step()
    assert g.last_red() == ("DiscoverNetworkServices", "User1")


def test_b_line_follows_the_plan_whatever_blue_does(game) -> None:
    num_envs = 128
    g = game(num_envs, red="b_line")
    index, has_attacked = [0] * num_envs, [False] * num_envs
    result, is_empty = [FAIL] * num_envs, [False] * num_envs
    num_exceptions = 0
    for actions in meddlesome_actions(200, num_envs):
        g.batch.step(actions)
        for i in range(num_envs):
            g.env = g.states[i]
            index[i] = min(index[i] + 1, 14) if result[i] == SUCCESS else PLAN[index[i]][2]
            if index[i] == 12 and not has_attacked[i] and is_empty[i]:
                index[i] = 1
                num_exceptions += 1
            has_attacked[i] |= index[i] == 12
            kind, target = g.last_red()
            entry = HOSTS[int(g.env["bline_entry"])] if index[i] else "User1"
            assert (kind, {target}) == planned(index[i], entry)
            result[i] = int(g.env["red_success"])
            is_empty[i] = index[i] == 11 and not g.hosts("held") & SERVERS
    assert num_exceptions > 0


# ----------------------------------------------------------------------------------------- Meander
@pytest.fixture
def meander(game):
    """A Meander that has scanned what it knows and escalated and exploited nothing."""

    def make(**memory):
        g = game(red="meander")
        base = {"known_ip": list(USERS), "meander_subnets": 0b111, "meander_scanned": list(HOSTS)}
        return g.put(**(base | memory))

    return make


def test_meander_attacks_the_service_first_of_all(meander) -> None:
    g = meander(meander_escalated=["Op_Server0"], meander_subnets=0, meander_scanned=0)
    assert g.decide() == ("Impact", {"Op_Server0"})


@pytest.mark.parametrize(
    ("known", "scanned", "chosen"),
    [
        (0b111, 0b000, "Enterprise"),
        (0b111, 0b001, "Operational"),
        (0b111, 0b011, "User"),
        (0b110, 0b000, "Operational"),
        (0b101, 0b000, "Enterprise"),
        (0b101, 0b001, "User"),
        (0b100, 0b000, "User"),
    ],
)
def test_meander_scans_known_subnets_in_order(meander, known, scanned, chosen) -> None:
    g = meander(known_subnets=known, meander_subnets=scanned, meander_scanned=0)
    assert g.decide() == ("DiscoverRemoteSystems", {chosen})


def test_meander_never_repeats_a_subnet_scan_even_if_it_failed(meander) -> None:
    g = meander(known_subnets=0b110, meander_subnets=0b100)
    g.step()
    assert (*g.last_red(), g.env["red_success"]) == ("DiscoverRemoteSystems", "Operational", FAIL)
    assert g.decide()[0] != "DiscoverRemoteSystems"


def test_meander_scans_known_hosts_it_has_not_scanned(meander) -> None:
    g = meander(known_ip=["User0", "User1", "Op_Host0"], meander_scanned=["User1", "User2"])
    assert g.decide() == ("DiscoverNetworkServices", {"User0", "Op_Host0"})


def test_meander_never_repeats_a_port_scan_even_if_it_was_empty(meander) -> None:
    known = ["User0", "Op_Host0"]
    g = meander(known_ip=known, meander_scanned=["User0"])
    g.step()
    assert g.last_red() == ("DiscoverNetworkServices", "Op_Host0")
    assert g.seen_ports("Op_Host0") == set()
    assert g.decide()[0] != "DiscoverNetworkServices"


@pytest.mark.parametrize("is_exploited", [True, False])
@pytest.mark.parametrize("is_named", [True, False])
@pytest.mark.parametrize("is_escalated", [True, False])
@pytest.mark.parametrize("is_host_known", [True, False])
def test_meander_escalates_known_hosts_that_it_has_not_lost(
    meander, is_host_known: bool, is_escalated: bool, is_named: bool, is_exploited: bool
) -> None:
    g = meander(
        known_host=["User0"] + ["User2"] * is_host_known,
        meander_escalated=["User2"] * is_escalated,
        meander_named=["User2"] * is_named,
        meander_exploited=["User2"] * is_exploited,
    )
    is_candidate = is_host_known and not is_escalated and not (is_named and not is_exploited)
    assert g.decide() == ("PrivilegeEscalate", {"User0"} | ({"User2"} if is_candidate else set()))


def test_meander_exploits_known_hosts_that_it_has_not_exploited(meander) -> None:
    g = meander(known_host=["User0"], meander_escalated=["User0"])
    g.put(known_ip=["User0", "User1", "User4", "Defender"], meander_exploited=["User1", "User3"])
    assert g.decide() == ("ExploitRemoteService", {"User0", "User4", "Defender"})


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("DiscoverNetworkServices", "meander_scanned"),
        ("PrivilegeEscalate", "meander_escalated"),
        ("ExploitRemoteService", "meander_exploited"),
    ],
)
def test_meander_notes_the_host_it_acts_on(game, kind: str, field: str) -> None:
    g = game(red="meander").lead_meander(kind, "User2")
    before = g.hosts(field)
    g.step()
    assert g.last_red() == (kind, "User2")
    assert g.hosts(field) == before | {"User2"}


def test_meander_notes_the_name_of_a_host_it_exploited(meander) -> None:
    g = meander(meander_last_exploited=10, red_success=SUCCESS, meander_exploited=["User2"])
    g.decide()
    assert g.hosts("meander_named") == {"User2"}
    assert g.hosts("meander_exploited") == {"User2"}


def test_meander_notes_no_name_without_an_exploit(meander) -> None:
    g = meander(red_success=SUCCESS)
    g.decide()
    assert g.hosts("meander_named") == set()


# Hosts exploited and escalated before a failed exploit of User2, and after it.
@pytest.mark.parametrize(
    ("exploited", "escalated", "still_exploited", "still_escalated"),
    [
        pytest.param(
            ["User1", "User2", "Enterprise1", "Op_Host0", "Op_Host1"],
            ["User1", "Enterprise1", "Op_Host0"],
            {"User1", "Enterprise1", "Op_Host1"},
            {"User1", "Enterprise1"},
            id="operational escalated",
        ),
        pytest.param(
            ["User2", "Op_Host0", "Op_Host1", "Op_Host2", "Op_Server0", "Enterprise0"],
            ["Op_Host0", "Op_Host2", "Enterprise0"],
            {"Op_Host1", "Op_Server0", "Enterprise0"},
            {"Enterprise0"},
            id="all operational escalated ones at once",
        ),
        pytest.param(
            ["User1", "User2", "Enterprise0", "Enterprise1", "Enterprise2", "Op_Host0"],
            ["User1", "Enterprise0", "Enterprise2", "Defender"],
            {"User1", "Enterprise1", "Op_Host0"},
            {"User1", "Defender"},
            id="enterprise escalated",
        ),
        pytest.param(
            ["User1", "User2", "Enterprise0", "Op_Host0"],
            ["User1", "User2"],
            {"User1", "Enterprise0", "Op_Host0"},
            {"User1", "User2"},
            id="only users escalated",
        ),
    ],
)
def test_meander_forgets_conquests_after_a_failed_exploit(
    meander, exploited, escalated, still_exploited, still_escalated
) -> None:
    g = meander(meander_last_exploited=10, red_success=FAIL)
    g.put(meander_exploited=exploited, meander_escalated=escalated)
    g.decide()
    assert g.hosts("meander_exploited") == still_exploited
    assert g.hosts("meander_escalated") == still_escalated
    assert g.hosts("meander_named") == set()


@pytest.mark.parametrize(
    ("result", "named", "still_exploited", "still_escalated"),
    [
        (SUCCESS, [], {"User1", "User2"}, {"User1", "User2"}),
        (SUCCESS, ["User1", "User2"], {"User1", "User2"}, {"User1", "User2"}),
        (FAIL, ["User1"], {"User1", "User2"}, {"User1"}),
        (FAIL, ["User1", "User2"], {"User1"}, {"User1"}),
    ],
)
def test_meander_forgets_a_host_it_failed_to_escalate(
    meander, result, named, still_exploited, still_escalated
) -> None:
    g = meander(meander_last_host=10, red_success=result, meander_named=named)
    g.put(meander_exploited=["User1", "User2"], meander_escalated=["User1", "User2"])
    g.decide()
    assert g.hosts("meander_exploited") == still_exploited
    assert g.hosts("meander_escalated") == still_escalated


def test_failed_escalation_costs_meander_no_other_conquest(meander) -> None:
    g = meander(meander_last_host=10, red_success=FAIL)
    g.put(meander_escalated=["User2", "Op_Host0", "Enterprise0"])
    g.decide()
    assert g.hosts("meander_escalated") == {"Op_Host0", "Enterprise0"}


@pytest.mark.parametrize("result", [FAIL, SUCCESS])
@pytest.mark.parametrize("field", ["meander_last_exploited", "meander_last_host"])
def test_meander_digests_a_result_once(meander, field: str, result: int) -> None:
    g = meander(red_success=result, **{field: 10})
    g.decide()
    assert g.env[field] == -1


def test_meander_forgets_the_server_if_impact_fails(meander) -> None:
    g = meander(meander_escalated=["Op_Server0"], known_host=["Op_Server0"])
    g.put(meander_named=["Op_Server0"], meander_exploited=["Op_Server0"])
    g.step()
    assert (*g.last_red(), g.env["red_success"]) == ("Impact", "Op_Server0", FAIL)
    g.decide()
    assert g.hosts("meander_escalated") == set()
    assert g.hosts("meander_exploited") == set()


def test_meander_repeats_impact_while_it_succeeds(meander) -> None:
    g = meander(meander_escalated=["Op_Server0"], known_host=["Op_Server0"], ot_known=1)
    g.give_session("Op_Server0")
    walked = []
    for _ in range(3):
        g.step()
        walked.append((*g.last_red(), int(g.env["red_success"])))
    assert walked == [("Impact", "Op_Server0", SUCCESS)] * 3


def test_meander_opens_with_the_user_subnet_all_its_hosts_and_user0(game) -> None:
    g = game(red="meander")
    walked = []
    for _ in range(8):
        g.step()
        walked.append(g.last_red())
    assert walked[0] == ("DiscoverRemoteSystems", "User")
    assert sorted(walked[1:6]) == [("DiscoverNetworkServices", host) for host in USERS]
    assert walked[6] == ("PrivilegeEscalate", "User0")
    assert walked[7][0] == "ExploitRemoteService"


def test_meander_forgets_everything_at_reset(game) -> None:
    g = game(red="meander")
    for _ in range(60):
        g.step()
    g.batch.reset()
    assert {n: int(g.env[n]) for n in g.states.dtype.names if n.startswith("meander")} == {
        "meander_subnets": 0, "meander_scanned": 0, "meander_exploited": 0, "meander_escalated": 0,
        "meander_named": 0, "meander_last_exploited": -1, "meander_last_host": -1,
    }  # fmt: skip


class MeanderByTheRules:
    """Section 8.2, word by word."""

    def __init__(self) -> None:
        self.subnets, self.scanned, self.named = set(), set(), set()
        self.exploited, self.escalated = set(), set()
        self.last_exploited = self.last_host = None

    def expect(self, g, is_success: bool) -> tuple[str, set[str]]:
        if self.last_exploited and is_success:
            self.named.add(self.last_exploited)
        elif self.last_exploited:
            self.exploited.discard(self.last_exploited)
            lost = self.escalated & OPERATIONAL or self.escalated & SERVERS
            self.escalated -= lost
            self.exploited -= lost
        if self.last_host and not is_success:
            self.escalated.discard(self.last_host)
            if self.last_host in self.named:
                self.exploited.discard(self.last_host)
        self.last_exploited = self.last_host = None
        if "Op_Server0" in self.escalated:
            return "Impact", {"Op_Server0"}
        for subnet in ("Enterprise", "Operational", "User"):
            if subnet in g.subnets() and subnet not in self.subnets:
                return "DiscoverRemoteSystems", {subnet}
        if unscanned := g.hosts("known_ip") - self.scanned:
            return "DiscoverNetworkServices", unscanned
        lost = self.named - self.exploited
        if candidates := g.hosts("known_host") - self.escalated - lost:
            return "PrivilegeEscalate", candidates
        return "ExploitRemoteService", g.hosts("known_ip") - self.exploited

    def note(self, kind: str, target: str) -> None:
        if kind == "DiscoverRemoteSystems":
            self.subnets.add(target)
        elif kind == "DiscoverNetworkServices":
            self.scanned.add(target)
        elif kind == "ExploitRemoteService":
            self.exploited.add(target)
            self.last_exploited = target
        elif kind == "PrivilegeEscalate":
            self.escalated.add(target)
            self.last_host = target
        else:
            self.last_host = target


def test_meander_follows_the_rules_whatever_blue_does(game) -> None:
    num_envs = 64
    g = game(num_envs, red="meander")
    models = [MeanderByTheRules() for _ in range(num_envs)]
    kinds = set()
    for actions in meddlesome_actions(200, num_envs):
        expected = []
        for i, model in enumerate(models):
            g.env = g.states[i]
            expected.append(model.expect(g, int(g.env["red_success"]) == SUCCESS))
        g.batch.step(actions)
        for i, (model, (kind, targets)) in enumerate(zip(models, expected, strict=True)):
            g.env = g.states[i]
            played, target = g.last_red()
            assert (played, target in targets) == (kind, True)
            model.note(kind, target)
            kinds.add(kind)
    assert "Impact" in kinds


# ------------------------------------------------------------------------------------------- Sleep
def test_sleeping_red_never_acts(game) -> None:
    g = game(red="sleep")
    before = g.snapshot()
    walked = set()
    for _ in range(20):
        g.step()
        walked.add(g.last_red())
    assert walked == {("Sleep", "nothing")}
    assert g.snapshot() == before


def test_sleeping_red_leaves_the_observation_zero_whatever_blue_does(game) -> None:
    g = game(145, red="sleep")
    for shift in range(10):
        g.batch.step((np.arange(145) * (shift + 1)) % 145)
        assert not g.batch.observations.any()


def test_sleeping_red_costs_nothing_but_restores(game) -> None:
    g = game(145, red="sleep")
    g.batch.step(np.arange(145))
    assert g.batch.rewards.tolist() == [0] * 132 + [-10] * 13
