"""Effects of red's actions, draws given: section 5 of the rules, and deltas L1 and L2."""

import pytest

HOSTS = (
    "Defender", "Enterprise0", "Enterprise1", "Enterprise2", "Op_Host0", "Op_Host1", "Op_Host2",
    "Op_Server0", "User0", "User1", "User2", "User3", "User4",
)  # fmt: skip
OPERATIONAL = HOSTS[4:8]
REACHABLE = [host for host in HOSTS if host not in OPERATIONAL]
ROUTERS = ["Enterprise0", "Enterprise1", "Enterprise2"]
SUBNETS = {"Enterprise": HOSTS[:4], "Operational": OPERATIONAL, "User": HOSTS[8:]}
RULES = ["head", "leaderboard-2022"]
EXPLOIT_PORT = {
    "EternalBlue": 139, "BlueKeep": 3389, "HTTPRFI": 80, "HTTPSRFI": 443, "SSHBruteForce": 22,
    "SQLInjection": 3390, "HarakaRCE": 25, "FTPDirectoryTraversal": 21,
}  # fmt: skip

# Table 1.2: connections, ports listening, and what each exploit wins against the base services.
IMAGES = {
    "D": (4, {22, 53, 68}, {}),
    "G": (1, {22}, {"SSHBruteForce": "user"}),
    "I": (
        7, {22, 135, 3389, 445, 139, 80, 443},
        {"SSHBruteForce": "user", "BlueKeep": "priv", "HTTPRFI": "user", "HTTPSRFI": "user"},
    ),
    "WA": (2, {22, 21}, {"SSHBruteForce": "user", "FTPDirectoryTraversal": "priv"}),
    "WB": (4, {445, 139, 135, 3389}, {"EternalBlue": "priv", "BlueKeep": "user"}),
    "LA": (4, {80, 3389, 443, 25}, {"HTTPRFI": "user", "HTTPSRFI": "user", "HarakaRCE": "priv"}),
    "LB": (
        5, {22, 80, 3390, 443, 25},
        {
            "SSHBruteForce": "user", "HTTPRFI": "user", "HTTPSRFI": "user", "SQLInjection": "priv",
            "HarakaRCE": "priv",
        },
    ),
}  # fmt: skip
IMAGE_OF = {
    "Defender": "D", "Enterprise0": "G", "Enterprise1": "I", "Enterprise2": "I", "Op_Host0": "G",
    "Op_Host1": "G", "Op_Host2": "G", "Op_Server0": "G", "User0": "WA", "User1": "WA",
    "User2": "WB", "User3": "LA", "User4": "LB",
}  # fmt: skip
ATTACKS = [
    (host, exploit, IMAGES[IMAGE_OF[host]][2].get(exploit))
    for host in HOSTS
    for exploit in EXPLOIT_PORT
]
WINS = [(host, exploit, level) for host, exploit, level in ATTACKS if level]
SHELLS = [(host, exploit, level) for host, exploit, level in WINS if exploit != "SSHBruteForce"]
SSH_HOSTS = [host for host, exploit, _ in WINS if exploit == "SSHBruteForce"]
SILENT = [
    (host, exploit)
    for host, exploit, level in ATTACKS
    if not level and (host, exploit) != ("Defender", "SSHBruteForce")
]
# A host where it can stand, the port it opens, the exploit it answers to.
DECOYS = [
    ("Apache", "User1", 80, "HTTPRFI"),
    ("Femitter", "Enterprise2", 21, "FTPDirectoryTraversal"),
    ("HarakaSMPT", "Defender", 25, "HarakaRCE"),
    ("Smss", "User0", 139, "EternalBlue"),
    ("SSHD", "User3", 22, "SSHBruteForce"),
    ("Svchost", "User1", 3389, "BlueKeep"),
    ("Tomcat", "User2", 443, "HTTPSRFI"),
    ("Vsftpd", "Enterprise0", 80, "HTTPRFI"),
]
QUIET = (0, set(), 0)
# Ports that match no exploit are not worth remembering.
USEFUL_PORTS = set(EXPLOIT_PORT.values())


@pytest.fixture
def war(game):
    """Red knows everything and holds Enterprise0 by user level, so every host can be reached."""

    def make(**options):
        return game(**options).know_all().give_session("Enterprise0")

    return make


# -------------------------------------------------------------------------- Sleep, unknown targets
def test_sleep_does_not_count_as_success(game) -> None:
    g = game()
    before = g.snapshot()
    assert not g.red("Sleep")
    assert g.snapshot() == before


@pytest.mark.parametrize(
    ("kind", "target", "unknown"),
    [
        ("DiscoverRemoteSystems", "Enterprise", "known_subnets"),
        ("DiscoverNetworkServices", "User1", "known_ip"),
        ("ExploitRemoteService", "User1", "known_ip"),
        ("PrivilegeEscalate", "User1", "known_host"),
        ("Impact", "Op_Server0", "known_host"),
    ],
)
def test_action_on_a_target_red_does_not_know_is_refused(war, kind, target, unknown) -> None:
    g = war().put(ot_known=1).put(**{unknown: 0}).remember_scan("User1", 21)
    g.give_session("User1").give_session("Op_Server0")
    before = g.snapshot()
    exploit = "FTPDirectoryTraversal" if kind == "ExploitRemoteService" else "none"
    assert not g.red(kind, target, exploit, detected=True, session=0)
    assert g.snapshot() == before
    assert g.hosts("event_hosts") == set()


# --------------------------------------------------------------------------- DiscoverRemoteSystems
@pytest.mark.parametrize("subnet", SUBNETS)
def test_discovery_of_a_subnet_shows_its_hosts(game, subnet: str) -> None:
    g = game().put(known_subnets=0b111).give_session("Enterprise2")
    assert g.red("DiscoverRemoteSystems", subnet)
    assert g.hosts("known_ip") == {"User0", *SUBNETS[subnet]}


@pytest.mark.parametrize("subnet", SUBNETS)
def test_discovery_of_a_subnet_shows_nothing_else(game, subnet: str) -> None:
    g = game().put(known_subnets=0b111).give_session("Enterprise2")
    before = g.snapshot("known_ip")
    g.red("DiscoverRemoteSystems", subnet)
    assert g.snapshot("known_ip") == before
    assert g.hosts("event_hosts") == set()


@pytest.mark.parametrize("level", ["user", "priv"])
@pytest.mark.parametrize("host", HOSTS)
def test_only_a_session_on_an_enterprise_server_opens_operational(game, host, level) -> None:
    g = game().know_all().put(known_ip=0).give_session(host, level)
    is_open = host in ROUTERS
    assert g.red("DiscoverRemoteSystems", "Operational") is is_open
    assert g.hosts("known_ip") == (set(OPERATIONAL) if is_open else set())


@pytest.mark.parametrize("subnet", ["Enterprise", "User"])
def test_enterprise_and_user_subnets_need_no_route(game, subnet: str) -> None:
    assert game().know_all().red("DiscoverRemoteSystems", subnet)


# ------------------------------------------------------------------------- DiscoverNetworkServices
@pytest.mark.parametrize("host", HOSTS)
def test_port_scan_remembers_the_listening_ports(war, host: str) -> None:
    g = war()
    assert g.red("DiscoverNetworkServices", host)
    assert g.seen_ports(host) == IMAGES[IMAGE_OF[host]][1] & USEFUL_PORTS


@pytest.mark.parametrize("host", HOSTS)
def test_port_scan_makes_one_event_per_connection(war, host: str) -> None:
    g = war()
    g.red("DiscoverNetworkServices", host)
    connections, ports, _ = IMAGES[IMAGE_OF[host]]
    assert g.events(host) == (connections, ports, 0)
    assert g.hosts("event_hosts") == {host}


@pytest.mark.parametrize("host", HOSTS)
def test_port_scan_changes_only_the_remembered_ports(war, host: str) -> None:
    g = war()
    before = g.snapshot("scan_ports")
    g.red("DiscoverNetworkServices", host)
    assert g.snapshot("scan_ports") == before


@pytest.mark.parametrize(("decoy", "host", "port", "_exploit"), DECOYS)
def test_port_scan_shows_a_decoy(war, decoy: str, host: str, port: int, _exploit: str) -> None:
    g = war()
    g.blue(f"Decoy{decoy}", host)
    g.red("DiscoverNetworkServices", host)
    connections, ports, _ = IMAGES[IMAGE_OF[host]]
    assert g.seen_ports(host) == (ports | {port}) & USEFUL_PORTS
    assert g.events(host) == (connections + 1, ports | {port}, 0)


def test_port_scan_counts_each_stacked_vsftpd(war) -> None:
    g = war()
    for decoy in ("Apache", "Vsftpd", "Vsftpd", "Vsftpd", "HarakaSMPT"):
        g.blue(f"Decoy{decoy}", "Op_Server0")
    g.red("DiscoverNetworkServices", "Op_Server0")
    assert g.events("Op_Server0") == (6, {22, 25, 80}, 0)


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("host", OPERATIONAL)
def test_port_scan_without_a_route_succeeds_with_an_empty_result(game, host, rules) -> None:
    g = game(rules=rules).know_all().remember_scan(host, 25)
    assert g.red("DiscoverNetworkServices", host)
    assert g.seen_ports(host) == {25}
    assert g.hosts("event_hosts") == set()


@pytest.mark.parametrize("host", OPERATIONAL)
def test_first_port_scan_without_a_route_leaves_the_host_unscanned(game, host: str) -> None:
    g = game().know_all()
    g.red("DiscoverNetworkServices", host)
    assert g.seen_ports(host) == set()


@pytest.mark.parametrize("host", REACHABLE)
def test_port_scan_in_user_and_enterprise_needs_no_route(game, host: str) -> None:
    g = game().know_all()
    g.red("DiscoverNetworkServices", host)
    assert g.events(host)[0] == IMAGES[IMAGE_OF[host]][0]


@pytest.mark.parametrize(
    ("rules", "remembered"), [("head", {22}), ("leaderboard-2022", {22, 25, 443})]
)
def test_second_port_scan_replaces_the_first_but_on_the_leaderboard_adds_to_it(
    war, rules: str, remembered: set[int]
) -> None:
    g = war(rules=rules).remember_scan("Enterprise0", 25, 443)
    g.red("DiscoverNetworkServices", "Enterprise0")
    assert g.seen_ports("Enterprise0") == remembered


@pytest.mark.parametrize("rules", RULES)
def test_events_of_a_port_scan_come_from_what_listens_now(war, rules: str) -> None:
    g = war(rules=rules).remember_scan("Enterprise0", 25, 443)
    g.red("DiscoverNetworkServices", "Enterprise0")
    assert g.events("Enterprise0") == (1, {22}, 0)


# ---------------------------------------------------------------------------- ExploitRemoteService
@pytest.mark.parametrize("host", HOSTS)
def test_exploit_before_a_scan_fails_without_events(war, host: str) -> None:
    g = war(red="meander").lead_meander("ExploitRemoteService", host)
    before = g.sessions(host)
    g.step()
    assert g.last_red() == ("ExploitRemoteService", host)
    assert (g.sessions(host), g.env["red_success"], g.hosts("event_hosts")) == (before, 0, set())


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize(("host", "exploit", "level"), ATTACKS)
def test_exploit_of_base_services_wins_what_the_table_says(
    war, host: str, exploit: str, level: str | None, rules: str
) -> None:
    g = war(rules=rules)
    before = g.sessions(host)
    assert g.exploit(host, exploit) is (level is not None)
    assert [won for won, _ in g.sessions(host)[len(before) :]] == ([level] if level else [])


@pytest.mark.parametrize(("host", "exploit"), SILENT)
def test_exploit_without_a_matching_process_is_silent(war, host: str, exploit: str) -> None:
    g = war()
    before = g.snapshot()
    g.exploit(host, exploit)
    assert g.snapshot() == before
    assert g.hosts("event_hosts") == set()


@pytest.mark.parametrize(("host", "exploit", "level"), SHELLS)
def test_detected_exploit_leaves_an_alert_and_a_removable_session(war, host, exploit, level):
    g = war()
    g.exploit(host, exploit, detected=True)
    assert g.events(host) == (2, {EXPLOIT_PORT[exploit]}, 1)
    assert g.sessions(host)[-1] == (level, True)


@pytest.mark.parametrize(("host", "exploit", "level"), SHELLS)
def test_undetected_exploit_leaves_one_event_and_a_session_that_stays(war, host, exploit, level):
    g = war()
    g.exploit(host, exploit, detected=False)
    assert g.events(host) == (1, {EXPLOIT_PORT[exploit]}, 0)
    assert g.sessions(host)[-1] == (level, False)


@pytest.mark.parametrize("detected", [True, False])
@pytest.mark.parametrize(("host", "exploit", "level"), SHELLS)
def test_successful_exploit_leaves_malware_and_tells_the_name(
    war, host: str, exploit: str, level: str, detected: bool
) -> None:
    g = war().put(known_host=0)
    g.exploit(host, exploit, detected=detected)
    assert (g.hosts("malware"), g.hosts("known_host")) == ({host}, {host})


@pytest.mark.parametrize("host", SSH_HOSTS)
def test_ssh_makes_eleven_events_and_a_session_that_stays(war, host: str) -> None:
    g = war()
    g.exploit(host, "SSHBruteForce")
    assert g.events(host) == (11, {22}, 0)
    assert g.sessions(host)[-1] == ("user", False)


@pytest.mark.parametrize("host", SSH_HOSTS)
def test_ssh_leaves_no_malware_but_tells_the_name(war, host: str) -> None:
    g = war().put(known_host=0)
    g.exploit(host, "SSHBruteForce")
    assert (g.hosts("malware"), g.hosts("known_host")) == (set(), {host})


def test_ssh_against_defender_fails_with_ten_events(war) -> None:
    g = war().put(known_host=0)
    before = g.snapshot()
    assert not g.exploit("Defender", "SSHBruteForce")
    assert g.events("Defender") == (10, {22}, 0)
    assert g.snapshot() == before


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize(("decoy", "host", "port", "exploit"), DECOYS)
def test_exploit_that_hits_a_decoy_fails_and_is_heard(war, decoy, host, port, exploit, rules):
    g = war(rules=rules).put(known_host=0)
    g.blue(f"Decoy{decoy}", host)
    before = g.snapshot()
    assert not g.exploit(host, exploit)
    assert g.events(host) == (10 if exploit == "SSHBruteForce" else 2, {port}, 0)
    assert g.snapshot() == before


@pytest.mark.parametrize(("decoy", "host", "port", "exploit"), DECOYS)
def test_exploit_of_a_decoy_that_was_restored_away_is_silent(war, decoy, host, port, exploit):
    g = war().remember_scan(host, port)
    g.blue(f"Decoy{decoy}", host)
    g.blue("Restore", host)
    assert not g.exploit(host, exploit)
    assert g.hosts("event_hosts") == set()


@pytest.mark.parametrize("host", ["User3", "User4"])
def test_real_web_server_answers_before_vsftpd(war, host: str) -> None:
    g = war()
    g.blue("DecoyVsftpd", host)
    assert g.exploit(host, "HTTPRFI")
    assert g.events(host) == (2, {80}, 1)


def test_decoy_does_not_shield_another_port(war) -> None:
    g = war()
    g.blue("DecoyApache", "User1")
    assert g.exploit("User1", "FTPDirectoryTraversal")


@pytest.mark.parametrize("host", OPERATIONAL)
def test_exploit_without_a_route_fails_without_events(game, host: str) -> None:
    g = game().know_all().remember_scan(host, 22).give_session(host)
    before = g.snapshot()
    assert not g.exploit(host, "SSHBruteForce")
    assert g.snapshot() == before
    assert g.hosts("event_hosts") == set()


@pytest.mark.parametrize("host", OPERATIONAL)
def test_decoy_without_a_route_is_not_heard(game, host: str) -> None:
    g = game().know_all()
    g.blue("DecoyHarakaSMPT", host)
    assert not g.exploit(host, "HarakaRCE")
    assert g.hosts("event_hosts") == set()


@pytest.mark.parametrize("router", ROUTERS)
@pytest.mark.parametrize("host", OPERATIONAL)
def test_exploit_in_operational_works_over_any_enterprise_server(game, host, router) -> None:
    assert game().know_all().give_session(router).exploit(host, "SSHBruteForce")


def test_choice_of_exploit_is_drawn_even_without_a_route(game) -> None:
    g = game(red="meander").lead_meander("ExploitRemoteService", "Op_Host0")
    g.remember_scan("Op_Host0", 22).step()
    assert (g.drawn_exploit(), g.env["red_success"]) == ("SSHBruteForce", 0)


@pytest.mark.parametrize("host", REACHABLE[1:])
def test_further_exploits_add_further_sessions(war, host: str) -> None:
    g = war()
    exploit = next(e for h, e, _ in WINS if h == host)
    before = len(g.sessions(host))
    for _ in range(5):
        g.exploit(host, exploit)
    assert len(g.sessions(host)) == before + 5


def test_user0_can_be_exploited(war) -> None:
    g = war()
    assert g.exploit("User0", "FTPDirectoryTraversal")
    assert g.sessions("User0") == [("priv", False), ("priv", True)]


# --------------------------------------------------------------------------- L1: immune mail server
@pytest.mark.parametrize("host", ["User3", "User4"])
def test_restored_mail_server_is_immune_on_the_leaderboard(war, host: str) -> None:
    g = war(rules="leaderboard-2022").put(known_host=0)
    g.blue("Restore", host)
    before = g.snapshot()
    assert not g.exploit(host, "HarakaRCE")
    assert g.events(host) == (1, {25}, 0)
    assert g.snapshot() == before


@pytest.mark.parametrize("host", ["User3", "User4"])
def test_restored_mail_server_is_not_immune_at_head(war, host: str) -> None:
    g = war(rules="head")
    g.blue("Restore", host)
    assert g.exploit(host, "HarakaRCE")


@pytest.mark.parametrize(("restored", "other"), [("User3", "User4"), ("User4", "User3")])
def test_only_the_restored_mail_server_is_immune(war, restored: str, other: str) -> None:
    g = war(rules="leaderboard-2022")
    g.blue("Restore", restored)
    assert g.exploit(other, "HarakaRCE")


@pytest.mark.parametrize(
    ("host", "exploit", "level"), [w for w in WINS if w[0] in ("User3", "User4")]
)
def test_other_services_of_an_immune_host_still_fall(war, host, exploit, level) -> None:
    g = war(rules="leaderboard-2022")
    g.blue("Restore", host)
    assert g.exploit(host, exploit) is (exploit != "HarakaRCE")


@pytest.mark.parametrize("host", ["User3", "User4"])
def test_scan_of_an_immune_host_still_shows_the_mail_port(war, host: str) -> None:
    g = war(rules="leaderboard-2022")
    g.blue("Restore", host)
    g.red("DiscoverNetworkServices", host)
    assert 25 in g.seen_ports(host)


@pytest.mark.parametrize(("is_restored", "draw"), [(True, {-1}), (False, {0, 1})])
def test_detection_is_not_drawn_against_an_immune_mail_server(
    game, is_restored: bool, draw: set[int]
) -> None:
    g = game(200, red="meander", rules="leaderboard-2022")
    g.lead_meander("ExploitRemoteService", "User3").remember_scan("User3", 25)
    g.put(mail_immune=["User3"] * is_restored).step()
    assert set(g.states["detected"].tolist()) == draw


# ------------------------------------------------------------------------------- PrivilegeEscalate
@pytest.mark.parametrize("host", [host for host in HOSTS if host != "User0"])
def test_escalation_without_a_session_fails(game, host: str) -> None:
    g = game().know_all()
    before = g.snapshot()
    assert not g.red("PrivilegeEscalate", host, session=0)
    assert g.snapshot() == before


@pytest.mark.parametrize("host", [host for host in HOSTS if host != "User0"])
@pytest.mark.parametrize("picked", [0, 1, 2])
def test_escalation_raises_the_session_that_was_drawn(game, host: str, picked: int) -> None:
    g = game().know_all().give_session(host, count=3)
    assert g.red("PrivilegeEscalate", host, session=picked)
    assert [level for level, _ in g.sessions(host)] == [
        "priv" if j == picked else "user" for j in range(3)
    ]


@pytest.mark.parametrize("host", [host for host in HOSTS if host != "User0"])
def test_escalation_leaves_malware_but_no_events(game, host: str) -> None:
    g = game().know_all().give_session(host)
    g.red("PrivilegeEscalate", host, session=0)
    assert (g.hosts("malware"), g.hosts("event_hosts")) == ({host}, set())


@pytest.mark.parametrize("removable", [True, False])
def test_escalated_session_withstands_remove(game, removable: bool) -> None:
    g = game().know_all().give_session("User3", removable=removable)
    g.red("PrivilegeEscalate", "User3", session=0)
    g.blue("Remove", "User3")
    assert g.sessions("User3") == [("priv", removable)]


@pytest.mark.parametrize("host", HOSTS)
def test_escalation_beside_a_privileged_session_changes_no_session(game, host: str) -> None:
    g = game().know_all().give_session(host).give_session(host, "priv").give_session(host)
    before = g.snapshot("ot_known")
    assert g.red("PrivilegeEscalate", host)
    assert g.snapshot("ot_known") == before


def test_privileged_sessions_elsewhere_do_not_spare_an_escalation(game) -> None:
    g = game().know_all().give_session("User2", "priv").give_session("User3")
    g.red("PrivilegeEscalate", "User3", session=0)
    assert g.sessions("User3") == [("priv", False)]


@pytest.mark.parametrize("level", ["user", "priv"])
@pytest.mark.parametrize(
    ("host", "subnet", "shown"),
    [
        ("Defender", "Enterprise", set()),
        ("Enterprise0", "Enterprise", set()),
        ("Enterprise1", "Enterprise", set()),
        ("Enterprise2", "Enterprise", {"Op_Server0"}),
        ("Op_Host0", "Operational", set()),
        ("Op_Host1", "Operational", set()),
        ("Op_Host2", "Operational", set()),
        ("Op_Server0", "Operational", set()),
        ("User0", "User", set()),
        ("User1", "User", {"Enterprise1"}),
        ("User2", "User", {"Enterprise1"}),
        ("User3", "User", {"Enterprise0"}),
        ("User4", "User", {"Enterprise0"}),
    ],
)
def test_escalation_reveals_what_the_table_says(game, host, subnet, shown, level) -> None:
    g = game().give_session(host, level).put(known_ip=[host], known_host=[host], known_subnets=0)
    g.red("PrivilegeEscalate", host, session=0)
    assert g.subnets() == {subnet}
    assert g.hosts("known_ip") == {host} | shown
    assert g.env["ot_known"] == (host == "Op_Server0")


def test_failed_escalation_reveals_nothing(game) -> None:
    g = game().put(known_host=["Op_Server0"])
    before = g.snapshot()
    g.red("PrivilegeEscalate", "Op_Server0", session=0)
    assert g.snapshot() == before


@pytest.mark.parametrize("host", OPERATIONAL)
def test_escalation_in_operational_needs_no_route(game, host: str) -> None:
    assert game().know_all().give_session(host).red("PrivilegeEscalate", host, session=0)


def test_decoys_do_not_hinder_escalation(game) -> None:
    g = game().know_all().give_session("User2")
    for decoy in ("Apache", "Femitter", "SSHD", "Tomcat"):
        g.blue(f"Decoy{decoy}", "User2")
    assert g.red("PrivilegeEscalate", "User2", session=0)


# ------------------------------------------------------------------------------------------ Impact
@pytest.mark.parametrize("level", ["user", "priv"])
def test_impact_takes_the_service_down_with_any_session(game, level: str) -> None:
    g = game().know_all().give_session("Op_Server0", level).put(ot_known=1)
    assert g.red("Impact", "Op_Server0")
    assert (g.env["ot_up"], g.env["ot_active"]) == (0, 0)


def test_impact_changes_nothing_else_and_makes_no_events(game) -> None:
    g = game().know_all().give_session("Op_Server0").put(ot_known=1)
    before = g.snapshot("ot_up", "ot_active")
    g.red("Impact", "Op_Server0")
    assert g.snapshot("ot_up", "ot_active") == before
    assert g.hosts("event_hosts") == set()


@pytest.mark.parametrize("host", [host for host in HOSTS if host != "Op_Server0"])
def test_impact_fails_anywhere_but_on_the_server(game, host: str) -> None:
    g = game().know_all().give_session(host, "priv").put(ot_known=1)
    g.give_session("Op_Server0", "priv")
    assert not g.red("Impact", host)
    assert g.env["ot_up"] == 1


def test_impact_fails_without_a_session_on_the_server(game) -> None:
    g = game().know_all().give_session("Op_Host0", "priv").put(ot_known=1)
    assert not g.red("Impact", "Op_Server0")
    assert g.env["ot_up"] == 1


def test_impact_fails_before_red_knows_the_service(game) -> None:
    g = game().know_all().give_session("Op_Server0", "priv")
    assert not g.red("Impact", "Op_Server0")
    assert g.env["ot_up"] == 1


def test_impact_needs_no_route(game) -> None:
    g = game().know_all().give_session("Op_Server0", "priv").put(ot_known=1)
    assert g.hosts("held") == {"Op_Server0"}
    assert g.red("Impact", "Op_Server0")


def test_second_impact_succeeds_without_further_effect(game) -> None:
    g = game().know_all().give_session("Op_Server0", "priv").put(ot_known=1)
    g.red("Impact", "Op_Server0")
    before = g.snapshot()
    assert g.red("Impact", "Op_Server0")
    assert g.snapshot() == before


def test_impact_on_a_stopped_service_does_not_kill_its_process(game) -> None:
    g = game().know_all().give_session("Op_Server0").put(ot_known=1, ot_active=0)
    assert g.red("Impact", "Op_Server0")
    assert g.env["ot_up"] == 1


@pytest.mark.parametrize("num_restores", [1, 2])
def test_impact_after_a_restore_succeeds_but_takes_nothing_down(game, num_restores: int) -> None:
    g = game().know_all().put(ot_known=1)
    for _ in range(num_restores):
        g.blue("Restore", "Op_Server0")
    g.give_session("Op_Server0", "priv")
    assert g.red("Impact", "Op_Server0")
    assert (g.env["ot_up"], g.env["ot_active"]) == (1, 0)
