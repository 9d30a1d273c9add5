"""Blue's actions: section 4 of the rules."""

import pytest

HOSTS = (
    "Defender", "Enterprise0", "Enterprise1", "Enterprise2", "Op_Host0", "Op_Host1", "Op_Host2",
    "Op_Server0", "User0", "User1", "User2", "User3", "User4",
)  # fmt: skip
DECOYS = ("Apache", "Femitter", "HarakaSMPT", "Smss", "SSHD", "Svchost", "Tomcat", "Vsftpd")
PLACEABLE = {
    "Defender": "Apache HarakaSMPT Tomcat Vsftpd",
    "Enterprise0": "Apache HarakaSMPT Tomcat Vsftpd",
    "Enterprise1": "Femitter",
    "Enterprise2": "Femitter",
    "Op_Host0": "Apache HarakaSMPT Tomcat Vsftpd",
    "Op_Host1": "Apache HarakaSMPT Tomcat Vsftpd",
    "Op_Host2": "Apache HarakaSMPT Tomcat Vsftpd",
    "Op_Server0": "Apache HarakaSMPT Tomcat Vsftpd",
    "User0": "Apache Smss Svchost Tomcat",
    "User1": "Apache Smss Svchost Tomcat",
    "User2": "Apache Femitter SSHD Tomcat",
    "User3": "SSHD Vsftpd",
    "User4": "Vsftpd",
}
LINUX = [
    "Defender", "Enterprise0", "Op_Host0", "Op_Host1", "Op_Host2", "Op_Server0", "User3", "User4",
]  # fmt: skip
DECOY_TABLE = [
    (host, decoy, decoy in names.split()) for host, names in PLACEABLE.items() for decoy in DECOYS
]
OF_PLACEABLE = [(host, decoy) for host, decoy, is_placeable in DECOY_TABLE if is_placeable]
FOOTHOLD = [("priv", False)]


@pytest.fixture
def busy(game):
    """A game in full swing: red everywhere, decoys, malware, damage, beliefs."""

    def make(**options):
        g = game(**options).know_all()
        for host in HOSTS:
            g.give_session(host, removable=True).give_session(host).give_session(host, "priv")
            g.believe(host, "User").put_malware(host).remember_scan(host, 22)
        for host, decoy in OF_PLACEABLE:
            g.blue(f"Decoy{decoy}", host)
        return g.put(ot_up=0, ot_active=0, ot_known=1, meander_exploited=["User1"], bline_index=9)

    return make


# ------------------------------------------------------------------------ Sleep, Monitor, Analyse
@pytest.mark.parametrize("kind", ["Sleep", "Monitor"])
def test_sleep_and_monitor_change_nothing(busy, kind: str) -> None:
    g = busy()
    before = g.snapshot()
    g.blue(kind)
    assert g.snapshot() == before


@pytest.mark.parametrize("host", HOSTS)
def test_analyse_changes_nothing_but_the_table_of_compromised_hosts(busy, host: str) -> None:
    g = busy()
    before = g.snapshot("belief")
    g.play(("Analyse", host))
    assert g.snapshot("belief") == before


@pytest.mark.parametrize("belief", ["No", "Unknown", "User", "Privileged"])
def test_analyse_marks_malware_privileged(game, belief: str) -> None:
    g = game().put_malware("User3").believe("User3", belief)
    g.play(("Analyse", "User3"))
    assert g.belief("User3") == "Privileged"


@pytest.mark.parametrize("belief", ["No", "Unknown", "User", "Privileged"])
def test_analyse_of_a_clean_host_keeps_the_belief(game, belief: str) -> None:
    g = game().put_malware("User2", "User4").believe("User3", belief)
    g.play(("Analyse", "User3"))
    assert g.belief("User3") == belief


def test_analyse_misses_malware_that_red_leaves_in_the_same_step(game) -> None:
    g = game().know_all().give_session("Op_Host1")
    g.play(("Analyse", "Op_Host1"), "PrivilegeEscalate", "Op_Host1", session=0)
    assert (g.hosts("malware"), g.belief("Op_Host1")) == ({"Op_Host1"}, "No")


# ----------------------------------------------------------------------------------------- Remove
@pytest.mark.parametrize(
    ("level", "removable", "survives"),
    [("user", True, False), ("user", False, True), ("priv", True, True), ("priv", False, True)],
)
@pytest.mark.parametrize("host", HOSTS)
def test_remove_deletes_only_user_level_removable_sessions(
    game, host: str, level: str, removable: bool, survives: bool
) -> None:
    g = game()
    before = g.sessions(host)
    g.give_session(host, level, removable=removable).blue("Remove", host)
    assert g.sessions(host) == before + [(level, removable)] * survives


def test_remove_keeps_the_order_of_the_sessions_that_stay(game) -> None:
    g = game().give_session("User3", removable=True).give_session("User3")
    g.give_session("User3", removable=True).give_session("User3", "priv", removable=True)
    g.give_session("User3", removable=True).give_session("User3")
    g.blue("Remove", "User3")
    assert g.sessions("User3") == [("user", False), ("priv", True), ("user", False)]


def test_remove_takes_sessions_of_no_other_host(game) -> None:
    g = game()
    for host in HOSTS[9:]:
        g.give_session(host, removable=True)
    g.blue("Remove", "User2")
    assert [g.sessions(host) for host in HOSTS[9:]] == [
        [("user", True)], [], [("user", True)], [("user", True)]
    ]  # fmt: skip


@pytest.mark.parametrize("host", HOSTS)
def test_remove_leaves_malware_decoys_damage_and_knowledge(busy, host: str) -> None:
    g = busy()
    sessions = ("session_priv", "session_removable", "num_sessions")
    before = g.snapshot(*sessions, "belief")
    g.blue("Remove", host)
    assert g.snapshot(*sessions, "belief") == before


@pytest.mark.parametrize(
    ("before", "after"),
    [("No", "No"), ("Unknown", "Unknown"), ("User", "Unknown"), ("Privileged", "Unknown")],
)
def test_remove_makes_a_compromised_host_unknown(game, before: str, after: str) -> None:
    g = game().believe("Enterprise1", before)
    g.blue("Remove", "Enterprise1")
    assert g.belief("Enterprise1") == after


def test_remove_changes_the_belief_of_no_other_host(game) -> None:
    g = game().believe("User1", "User").believe("User2", "User").believe("User3", "User")
    g.blue("Remove", "User2")
    assert [g.belief(host) for host in ("User1", "User2", "User3")] == ["User", "Unknown", "User"]


@pytest.mark.parametrize("host", HOSTS)
def test_remove_of_the_last_session_ends_the_hold_on_the_host(game, host: str) -> None:
    g = game().give_session(host, removable=True)
    g.blue("Remove", host)
    assert g.hosts("held") == set()


@pytest.mark.parametrize(("removable", "is_reached"), [(True, False), (False, True)])
def test_remove_of_the_last_enterprise_session_closes_the_way_to_operational(
    game, removable: bool, is_reached: bool
) -> None:
    g = game().know_all().give_session("Enterprise1", removable=removable)
    g.blue("Remove", "Enterprise1")
    assert g.red("DiscoverRemoteSystems", "Operational") is is_reached


# ---------------------------------------------------------------------------------------- Restore
@pytest.mark.parametrize("host", HOSTS)
def test_restore_deletes_every_session_but_the_foothold(busy, host: str) -> None:
    g = busy()
    g.blue("Restore", host)
    assert g.sessions(host) == (FOOTHOLD if host == "User0" else [])


@pytest.mark.parametrize("host", HOSTS)
def test_restore_of_a_clean_host_leaves_the_foothold(game, host: str) -> None:
    g = game()
    g.blue("Restore", host)
    assert [h for h in HOSTS if g.sessions(h)] == ["User0"]


@pytest.mark.parametrize("host", HOSTS)
def test_restore_deletes_malware_there(busy, host: str) -> None:
    g = busy()
    g.blue("Restore", host)
    assert g.hosts("malware") == set(HOSTS) - {host}


@pytest.mark.parametrize("host", HOSTS)
def test_restore_deletes_all_decoys_there(busy, host: str) -> None:
    g = busy()
    g.blue("Restore", host)
    assert {h for h in HOSTS if not g.decoys(h)} == {host}


@pytest.mark.parametrize("belief", ["No", "Unknown", "User", "Privileged"])
def test_restore_clears_the_belief(game, belief: str) -> None:
    g = game().believe("Enterprise2", belief)
    g.blue("Restore", "Enterprise2")
    assert g.belief("Enterprise2") == "No"


@pytest.mark.parametrize("host", HOSTS)
def test_restore_leaves_all_other_hosts_alone(busy, host: str) -> None:
    def others(g):
        return [
            (g.sessions(h), g.decoys(h), g.belief(h), g.seen_ports(h)) for h in HOSTS if h != host
        ]

    g = busy()
    before = others(g)
    g.blue("Restore", host)
    assert others(g) == before


@pytest.mark.parametrize("host", HOSTS)
def test_restore_takes_nothing_from_what_red_knows(busy, host: str) -> None:
    changed = ("session_priv", "session_removable", "num_sessions", "held", "privileged", "belief",
               "malware", "decoys", "num_vsftpd", "ot_up", "ot_active", "ot_linked")  # fmt: skip
    g = busy()
    before = g.snapshot(*changed)
    g.blue("Restore", host)
    assert g.snapshot(*changed) == before


def test_restore_of_the_server_repairs_the_service(game) -> None:
    g = game().put(ot_up=0, ot_active=0)
    g.blue("Restore", "Op_Server0")
    assert (g.env["ot_up"], g.env["ot_active"]) == (1, 1)


def test_restore_of_the_server_cuts_the_link_to_the_process(game) -> None:
    g = game()
    g.blue("Restore", "Op_Server0")
    assert g.env["ot_linked"] == 0


@pytest.mark.parametrize("host", [host for host in HOSTS if host != "Op_Server0"])
def test_restore_of_another_host_repairs_no_service(game, host: str) -> None:
    g = game().put(ot_up=0, ot_active=0)
    g.blue("Restore", host)
    assert (g.env["ot_up"], g.env["ot_active"], g.env["ot_linked"]) == (0, 0, 1)


@pytest.mark.parametrize("host", HOSTS)
def test_restore_makes_only_mail_hosts_immune_on_the_leaderboard(game, host: str) -> None:
    g = game(rules="leaderboard-2022")
    g.blue("Restore", host)
    assert g.hosts("mail_immune") == {host} & {"User3", "User4"}


@pytest.mark.parametrize("host", ["User3", "User4"])
def test_restore_makes_no_host_immune_at_head(game, host: str) -> None:
    g = game(rules="head")
    g.blue("Restore", host)
    assert g.hosts("mail_immune") == set()


def test_both_mail_hosts_stay_immune_whatever_blue_restores_next(game) -> None:
    g = game(rules="leaderboard-2022")
    for host in ("User3", "User4", "User3", "User2"):
        g.blue("Restore", host)
    assert g.hosts("mail_immune") == {"User3", "User4"}


def test_mail_immunity_ends_with_the_episode(game) -> None:
    g = game(rules="leaderboard-2022")
    g.blue("Restore", "User3")
    g.batch.reset()
    assert g.hosts("mail_immune") == set()


@pytest.mark.parametrize("host", ["Enterprise0", "Enterprise1", "Enterprise2"])
def test_restore_of_the_last_enterprise_foothold_closes_the_way_to_operational(game, host) -> None:
    g = game().know_all().give_session(host, "priv")
    g.blue("Restore", host)
    assert not g.red("DiscoverRemoteSystems", "Operational")


# ----------------------------------------------------------------------------------------- decoys
@pytest.mark.parametrize(("host", "decoy", "is_placeable"), DECOY_TABLE)
def test_decoy_succeeds_on_a_fresh_host_as_the_table_says(
    game, host: str, decoy: str, is_placeable: bool
) -> None:
    assert game().blue(f"Decoy{decoy}", host) is is_placeable


@pytest.mark.parametrize(("host", "decoy"), OF_PLACEABLE)
def test_placed_decoy_changes_only_the_decoys_of_its_host(game, host: str, decoy: str) -> None:
    g = game()
    before = g.snapshot("decoys", "num_vsftpd")
    g.blue(f"Decoy{decoy}", host)
    assert g.snapshot("decoys", "num_vsftpd") == before
    assert {h: g.decoys(h) for h in HOSTS if g.decoys(h)} == {host: {decoy: 1}}


@pytest.mark.parametrize(
    ("host", "decoy"), [(h, d) for h, d, is_placeable in DECOY_TABLE if not is_placeable]
)
def test_failed_decoy_changes_nothing(game, host: str, decoy: str) -> None:
    g = game()
    before = g.snapshot()
    g.blue(f"Decoy{decoy}", host)
    assert g.snapshot() == before


@pytest.mark.parametrize(("host", "decoy"), OF_PLACEABLE)
def test_same_decoy_twice_fails_except_vsftpd(game, host: str, decoy: str) -> None:
    g = game()
    g.blue(f"Decoy{decoy}", host)
    assert g.blue(f"Decoy{decoy}", host) is (decoy == "Vsftpd")


@pytest.mark.parametrize(
    ("host", "names"), [(host, names) for host, names in PLACEABLE.items() if "Vsftpd" not in names]
)
def test_decoys_on_different_ports_stand_side_by_side(game, host: str, names: str) -> None:
    g = game()
    for decoy in names.split():
        g.blue(f"Decoy{decoy}", host)
    assert g.decoys(host) == dict.fromkeys(names.split(), 1)


@pytest.mark.parametrize("host", LINUX)
def test_vsftpd_stacks_any_number_of_times_on_linux(game, host: str) -> None:
    g = game()
    assert [g.blue("DecoyVsftpd", host) for _ in range(300)] == [True] * 300
    assert g.decoys(host) == {"Vsftpd": 300}


@pytest.mark.parametrize("host", [host for host in LINUX if not host.startswith("User")])
def test_vsftpd_goes_next_to_apache(game, host: str) -> None:
    g = game()
    g.blue("DecoyApache", host)
    assert g.blue("DecoyVsftpd", host)


@pytest.mark.parametrize("host", [host for host in LINUX if not host.startswith("User")])
def test_apache_fails_after_vsftpd(game, host: str) -> None:
    g = game()
    g.blue("DecoyVsftpd", host)
    assert not g.blue("DecoyApache", host)


@pytest.mark.parametrize(("host", "decoy"), OF_PLACEABLE)
def test_decoy_can_be_placed_again_after_restore(game, host: str, decoy: str) -> None:
    g = game()
    g.blue(f"Decoy{decoy}", host)
    g.blue("Restore", host)
    assert g.blue(f"Decoy{decoy}", host)
    assert g.decoys(host) == {decoy: 1}


@pytest.mark.parametrize(("host", "decoy"), OF_PLACEABLE)
def test_red_on_the_host_does_not_stop_a_decoy(game, host: str, decoy: str) -> None:
    g = game().give_session(host, "priv").put_malware(host)
    assert g.blue(f"Decoy{decoy}", host)
