"""Frequencies of every random draw (section 8.5), with fixed seeds, and the generator itself."""

import numpy as np
import pytest
from scipy import stats

from standing_orders.cage2.rng import below, philox
from standing_orders.cage2.scenario import EXPLOITS

NUM_ENVS = 100_000
# With fixed seeds a test passes or fails for good; at this level chance fails one in 10 000.
LEVEL = 1e-4
HOSTS = (
    "Defender", "Enterprise0", "Enterprise1", "Enterprise2", "Op_Host0", "Op_Host1", "Op_Host2",
    "Op_Server0", "User0", "User1", "User2", "User3", "User4",
)  # fmt: skip
EXPLOIT, ESCALATE, SCAN = "ExploitRemoteService", "PrivilegeEscalate", "DiscoverNetworkServices"


def assert_distributed(drawn, probabilities: dict) -> None:
    """Chi-square test that the values drawn have these probabilities, and no others occur."""
    values, counts = np.unique(drawn, return_counts=True)
    seen = dict(zip(values.tolist(), counts.tolist(), strict=True))
    assert set(seen) == set(probabilities)
    if len(seen) == 1:
        return  # a chi-square test needs a choice
    wanted = [len(drawn) * p for p in probabilities.values()]
    assert stats.chisquare([seen[v] for v in probabilities], wanted).pvalue > LEVEL


def assert_independent(first, second) -> None:
    table = stats.contingency.crosstab(first, second).count
    assert stats.chi2_contingency(table).pvalue > LEVEL


# ------------------------------------------------------------------------------------------ philox
@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ([0, 0, 0, 0], [0, 0], [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        (
            [0xFFFFFFFF] * 4,
            [0xFFFFFFFF] * 2,
            [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD],
        ),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_philox_gives_the_known_answers_of_random123(counter, key, words) -> None:
    assert list(philox(*counter, np.uint64(key[0] | key[1] << 32))) == words


@pytest.mark.parametrize("n", [1, 2, 3, 5, 13])
def test_below_reaches_both_ends_and_no_further(n: int) -> None:
    assert (below(0, n), below(2**32 - 1, n)) == (0, n - 1)


# ----------------------------------------------------------------------------- choice of an exploit
# From all ports down, each time without the one on top.
DESCENDING = [
    ({21, 22, 25, 80, 139, 443, 3389, 3390}, "FTPDirectoryTraversal"),
    ({22, 25, 80, 139, 443, 3389, 3390}, "HarakaRCE"),
    ({22, 80, 139, 443, 3389, 3390}, "SQLInjection"),
    ({22, 80, 139, 443, 3389}, "HTTPSRFI"),
    ({22, 80, 139, 3389}, "HTTPRFI"),
    ({22, 139, 3389}, "EternalBlue"),
    ({22, 3389}, "BlueKeep"),
]
ATTACKED = {
    139: "EternalBlue", 3389: "BlueKeep", 80: "HTTPRFI", 443: "HTTPSRFI", 22: "SSHBruteForce",
    3390: "SQLInjection", 25: "HarakaRCE", 21: "FTPDirectoryTraversal",
}  # fmt: skip


def drawn_exploits(g):
    g.step()
    return np.array(EXPLOITS)[g.states["exploit"]]


@pytest.mark.parametrize(("ports", "top"), DESCENDING)
def test_heaviest_exploit_is_drawn_with_three_quarters(game, ports: set[int], top: str) -> None:
    g = game(NUM_ENVS, 11, red="meander").lead_meander(EXPLOIT, "User4")
    g.remember_scan("User4", *ports)
    others = {ATTACKED[port] for port in ports} - {top}
    wanted = {top: 0.75} | {other: 0.25 / len(others) for other in others}
    assert_distributed(drawn_exploits(g), wanted)


@pytest.mark.parametrize(
    ("ports", "wanted"),
    [
        ({3390, 22}, {"SSHBruteForce": 1.0}),
        ({3390, 25, 22}, {"HarakaRCE": 0.75, "SSHBruteForce": 0.25}),
        ({3390, 80}, {"SQLInjection": 0.75, "HTTPRFI": 0.25}),
        ({3390, 443}, {"SQLInjection": 0.75, "HTTPSRFI": 0.25}),
    ],
)
def test_sql_injection_is_a_candidate_only_beside_a_web_port(game, ports, wanted) -> None:
    g = game(NUM_ENVS, 12, red="meander").lead_meander(EXPLOIT, "User4")
    g.remember_scan("User4", *ports)
    assert_distributed(drawn_exploits(g), wanted)


@pytest.mark.parametrize(("port", "exploit"), [(p, e) for p, e in ATTACKED.items() if p != 3390])
def test_single_candidate_is_always_taken(game, port: int, exploit: str) -> None:
    g = game(10_000, red="meander").lead_meander(EXPLOIT, "User4").remember_scan("User4", port)
    assert set(drawn_exploits(g)) == {exploit}


# The outcome table of section 5: exploit drawn after a scan of the host as it is.
@pytest.mark.parametrize(
    ("host", "wanted"),
    [
        ("User0", {"FTPDirectoryTraversal": 3 / 4, "SSHBruteForce": 1 / 4}),
        ("User1", {"FTPDirectoryTraversal": 3 / 4, "SSHBruteForce": 1 / 4}),
        ("User2", {"EternalBlue": 3 / 4, "BlueKeep": 1 / 4}),
        ("User3", {"HarakaRCE": 3 / 4, "HTTPSRFI": 1 / 12, "HTTPRFI": 1 / 12, "BlueKeep": 1 / 12}),
        ("User4", {"HarakaRCE": 3 / 4, "SQLInjection": 1 / 16, "HTTPSRFI": 1 / 16,
                   "HTTPRFI": 1 / 16, "SSHBruteForce": 1 / 16}),
        ("Enterprise1", {"HTTPSRFI": 3 / 4, "HTTPRFI": 1 / 16, "BlueKeep": 1 / 16,
                         "SSHBruteForce": 1 / 16, "EternalBlue": 1 / 16}),
        ("Enterprise2", {"HTTPSRFI": 3 / 4, "HTTPRFI": 1 / 16, "BlueKeep": 1 / 16,
                         "SSHBruteForce": 1 / 16, "EternalBlue": 1 / 16}),
        ("Enterprise0", {"SSHBruteForce": 1.0}),
        ("Op_Server0", {"SSHBruteForce": 1.0}),
        ("Defender", {"SSHBruteForce": 1.0}),
    ],
)  # fmt: skip
def test_exploits_of_a_scanned_host_have_the_frequencies_of_the_table(game, host, wanted) -> None:
    g = game(NUM_ENVS, 13, red="meander").give_session("Enterprise0").lead_meander(SCAN, host)
    g.step()
    assert_distributed(drawn_exploits(g.lead_meander(EXPLOIT, host)), wanted)


@pytest.mark.parametrize(
    ("host", "decoys", "wanted"),
    [
        ("Enterprise1", ["Femitter"],
         {"FTPDirectoryTraversal": 0.75, "HTTPSRFI": 0.05, "HTTPRFI": 0.05, "BlueKeep": 0.05,
          "SSHBruteForce": 0.05, "EternalBlue": 0.05}),
        ("Op_Server0", ["HarakaSMPT", "Apache", "Tomcat", "Vsftpd", "Vsftpd"],
         {"HarakaRCE": 3 / 4, "HTTPSRFI": 1 / 12, "HTTPRFI": 1 / 12, "SSHBruteForce": 1 / 12}),
        ("User1", ["Smss", "Svchost"],
         {"FTPDirectoryTraversal": 3 / 4, "EternalBlue": 1 / 12, "BlueKeep": 1 / 12,
          "SSHBruteForce": 1 / 12}),
        ("User2", ["SSHD"], {"EternalBlue": 3 / 4, "BlueKeep": 1 / 8, "SSHBruteForce": 1 / 8}),
    ],
)  # fmt: skip
def test_scanned_decoys_draw_exploits_like_real_services(game, host, decoys, wanted) -> None:
    g = game(NUM_ENVS, 14, red="meander").give_session("Enterprise0")
    g.lead_meander(EXPLOIT, "Defender")
    for decoy in decoys:
        g.step(f"Decoy{decoy}", host)
    g.lead_meander(SCAN, host).step()
    assert_distributed(drawn_exploits(g.lead_meander(EXPLOIT, host)), wanted)


def test_decoys_placed_after_the_scan_draw_no_exploit(game) -> None:
    g = game(NUM_ENVS, 15, red="meander").lead_meander(SCAN, "User1")
    g.step()
    g.lead_meander(EXPLOIT, "User1").step("DecoyApache", "User1")
    wanted = {"FTPDirectoryTraversal": 3 / 4, "SSHBruteForce": 1 / 4}
    assert_distributed(np.array(EXPLOITS)[g.states["exploit"]], wanted)


@pytest.mark.parametrize(
    ("rules", "wanted"),
    [
        ("head", {"FTPDirectoryTraversal": 3 / 4, "SSHBruteForce": 1 / 4}),
        ("leaderboard-2022", {"FTPDirectoryTraversal": 3 / 4, "SSHBruteForce": 1 / 8,
                              "HTTPRFI": 1 / 8}),
    ],
)  # fmt: skip
def test_decoy_restored_before_a_second_scan_draws_only_on_the_leaderboard(
    game, rules: str, wanted
) -> None:
    g = game(NUM_ENVS, 16, red="meander", rules=rules).lead_meander(SCAN, "User1")
    g.step("DecoyApache", "User1")
    g.lead_meander(SCAN, "User1").step("Restore", "User1")
    assert_distributed(drawn_exploits(g.lead_meander(EXPLOIT, "User1")), wanted)


@pytest.mark.parametrize(
    ("rules", "is_restored", "probability"),
    [
        ("head", False, 11 / 12),
        ("head", True, 11 / 12),
        ("leaderboard-2022", False, 11 / 12),
        ("leaderboard-2022", True, 1 / 6),
    ],
)
def test_success_against_user3_is_as_likely_as_the_rule_set_says(
    game, rules: str, is_restored: bool, probability: float
) -> None:
    g = game(NUM_ENVS, 17, red="meander", rules=rules).lead_meander(SCAN, "User3")
    g.step(*(("Restore", "User3") if is_restored else ("Sleep",)))
    g.lead_meander(EXPLOIT, "User3").step()
    assert_distributed(g.states["red_success"], {1: probability, 0: 1 - probability})


# --------------------------------------------------------------------------------------- detection
@pytest.mark.parametrize(
    ("host", "port"),
    [("User1", 21), ("User2", 139), ("User3", 25), ("User3", 80), ("User4", 443),
     ("Enterprise2", 443), ("Enterprise1", 3389)],
)  # fmt: skip
def test_exploits_are_detected_with_95_per_cent(game, host: str, port: int) -> None:
    g = game(NUM_ENVS, 18, red="meander").lead_meander(EXPLOIT, host).remember_scan(host, port)
    g.step()
    assert_distributed(g.states["detected"], {1: 0.95, 0: 0.05})
    removable = g.states["session_removable"][:, HOSTS.index(host)]
    assert (removable == g.states["detected"]).all()


@pytest.mark.parametrize(("host", "port"), [("User1", 22), ("Enterprise1", 139), ("User3", 3389)])
def test_detection_is_not_drawn_for_ssh_or_without_success(game, host: str, port: int) -> None:
    g = game(10_000, red="meander").lead_meander(EXPLOIT, host).remember_scan(host, port)
    g.step()
    assert set(g.states["detected"].tolist()) == {-1}


def test_detection_is_independent_of_the_exploit_drawn(game) -> None:
    g = game(NUM_ENVS, 19, red="meander").lead_meander(EXPLOIT, "User3")
    g.remember_scan("User3", 80, 443, 25).step()
    assert_independent(g.states["exploit"], g.states["detected"])


def test_exploit_drawn_is_independent_of_its_target(game) -> None:
    g = game(NUM_ENVS, 20, red="meander").lead_meander(EXPLOIT, "User3", "User4", "User2")
    for host in ("User2", "User3", "User4"):
        g.remember_scan(host, 80, 443, 25)
    g.step()
    assert_independent(g.states["exploit"], g.states["red_target"])


# ---------------------------------------------------------------------------------- session raised
@pytest.mark.parametrize("count", [2, 3, 7])
def test_escalation_raises_each_session_equally_often(game, count: int) -> None:
    g = game(NUM_ENVS, 21, red="meander").lead_meander(ESCALATE, "User3")
    g.give_session("User3", count=count).step()
    raised = np.log2(g.states["session_priv"][:, 11]).astype(int)
    assert_distributed(raised, dict.fromkeys(range(count), 1 / count))


def test_escalation_of_removable_and_other_sessions_is_not_biased(game) -> None:
    g = game(NUM_ENVS, 22, red="meander").lead_meander(ESCALATE, "User3")
    g.give_session("User3", removable=True).give_session("User3", count=2).step()
    priv, removable = g.states["session_priv"][:, 11], g.states["session_removable"][:, 11]
    assert_distributed((priv & removable) != 0, {True: 1 / 3, False: 2 / 3})


def test_no_session_is_drawn_beside_a_privileged_one(game) -> None:
    g = game(10_000, red="meander").lead_meander(ESCALATE, "User3")
    g.give_session("User3", count=3).give_session("User3", "priv").step()
    assert set(g.states["session_priv"][:, 11].tolist()) == {0b1000}


# ---------------------------------------------------------------------------- choices of the agents
def entries(g):
    g.step()
    g.step()
    return g.states["red_target"].copy()


def test_b_line_enters_each_of_four_user_hosts_equally_often(game) -> None:
    drawn = entries(game(NUM_ENVS, 23, red="b_line"))
    assert_distributed(drawn, dict.fromkeys((9, 10, 11, 12), 1 / 4))


def test_b_line_entries_of_successive_episodes_are_independent(game) -> None:
    g = game(NUM_ENVS, 24, red="b_line")
    first = entries(g)
    g.batch.reset()
    assert_independent(first, entries(g))


def test_b_line_entries_under_neighbouring_seeds_are_independent(game) -> None:
    drawn = entries(game(NUM_ENVS, 25, red="b_line"))
    assert_independent(drawn[:-1], drawn[1:])


@pytest.mark.parametrize(
    ("kind", "hosts"),
    [
        (SCAN, HOSTS),
        (SCAN, ("User1", "Op_Host0", "Enterprise2")),
        (ESCALATE, ("User0", "User3")),
        (ESCALATE, ("Enterprise0", "Enterprise1", "Op_Host1", "User1", "User4")),
        (EXPLOIT, ("Defender", "Enterprise1", "Op_Server0", "User0")),
        (EXPLOIT, HOSTS[:12]),
    ],
)
def test_meander_chooses_each_candidate_equally_often(game, kind: str, hosts) -> None:
    g = game(NUM_ENVS, 26, red="meander").lead_meander(kind, *hosts)
    g.step()
    wanted = {HOSTS.index(host): 1 / len(hosts) for host in hosts}
    assert_distributed(g.states["red_target"], wanted)


def test_meander_scans_the_user_hosts_in_every_order_equally_often(game) -> None:
    g = game(NUM_ENVS, 27, red="meander")
    g.step()
    order = np.zeros(NUM_ENVS, int)
    for _ in range(5):
        g.step()
        order = 10 * order + g.states["red_target"] - 8
    assert np.unique(order).size == 120
    assert_distributed(order, dict.fromkeys(np.unique(order).tolist(), 1 / 120))


def test_meander_choices_of_successive_turns_are_independent(game) -> None:
    g = game(NUM_ENVS, 28, red="meander").lead_meander(EXPLOIT, *HOSTS[8:12])
    g.step()
    first = g.states["red_target"].copy()
    g.lead_meander(EXPLOIT, *HOSTS[8:12]).step()
    assert_independent(first, g.states["red_target"])
