"""What blue sees: section 7 of the rules."""

import numpy as np
import pytest

from standing_orders.cage2.observe import describe
from standing_orders.errors import ConfigError

HOSTS = (
    "Defender", "Enterprise0", "Enterprise1", "Enterprise2", "Op_Host0", "Op_Host1", "Op_Host2",
    "Op_Server0", "User0", "User1", "User2", "User3", "User4",
)  # fmt: skip
BELIEFS = {"No": [0, 0], "Unknown": [1, 0], "User": [0, 1], "Privileged": [1, 1]}
ACTIVITIES = {"None": [0, 0], "Scan": [1, 0], "Exploit": [1, 1]}
SCAN, EXPLOIT, ESCALATE = "DiscoverNetworkServices", "ExploitRemoteService", "PrivilegeEscalate"
FTP = "FTPDirectoryTraversal"
STYLES = ["stock", "corrected"]


def row(what, host, decoy, red, without, stock, corrected, *, before=(), detected=None, **options):
    """Decoys that stand `before`, one placed in the step or not, and what red does in it."""
    case = (host, decoy, red, before, detected, options, (without, stock, corrected))
    return pytest.param(case, id=f"{what}, {host}".replace(" ", "-"))


# Table 7.1: seen without a decoy placed in the step, with one (stock), with one (corrected).
TABLE = [
    row("scan of one port", "Enterprise0", "Apache", (SCAN,), "Scan", "None", "Scan"),
    row("scan of two ports", "User0", None, (SCAN,), "Scan", None, None),
    row("scan of two ports, one twice", "Enterprise0", "Vsftpd", (SCAN,), "Scan", "None", "Scan",
        before=("Apache",)),
    row("scan, third port is the decoy", "User1", "Apache", (SCAN,), "Scan", "Scan", "Scan"),
    row("scan of three ports", "Defender", "Vsftpd", (SCAN,), "Scan", "Scan", "Scan"),
    row("scan of many ports", "Enterprise1", "Femitter", (SCAN,), "Scan", "Scan", "Scan"),
    row("scan of many ports", "User3", "Vsftpd", (SCAN,), "Scan", "Scan", "Scan"),
    row("ssh success", "User1", "Apache", (EXPLOIT, "SSHBruteForce"),
        "Exploit", "Exploit", "Exploit"),
    row("ssh success", "Enterprise0", "Vsftpd", (EXPLOIT, "SSHBruteForce"),
        "Exploit", "Exploit", "Exploit"),
    row("ssh decoy", "User2", "Apache", (EXPLOIT, "SSHBruteForce"),
        "Exploit", "Exploit", "Exploit", before=("SSHD",)),
    row("ssh against Defender", "Defender", "Apache", (EXPLOIT, "SSHBruteForce"),
        "Exploit", "Exploit", "Exploit"),
    row("detected", "User1", "Tomcat", (EXPLOIT, FTP),
        "Exploit", "Exploit", "Exploit", detected=True),
    row("detected", "Enterprise2", "Femitter", (EXPLOIT, "HTTPSRFI"),
        "Exploit", "Exploit", "Exploit", detected=True),
    row("undetected", "User1", "Tomcat", (EXPLOIT, FTP),
        "Scan", "None", "Scan", detected=False),
    row("undetected", "Enterprise2", "Femitter", (EXPLOIT, "HTTPSRFI"),
        "Scan", "None", "Scan", detected=False),
    row("decoy hit", "User1", "Apache", (EXPLOIT, "EternalBlue"),
        "Scan", "Exploit", "Exploit", before=("Smss",)),
    row("decoy hit", "Enterprise0", "Vsftpd", (EXPLOIT, "HarakaRCE"),
        "Scan", "Exploit", "Exploit", before=("HarakaSMPT",)),
    row("no process", "Enterprise1", "Femitter", (EXPLOIT, "EternalBlue"), "None", "None", "None"),
    row("no process", "User3", "SSHD", (EXPLOIT, "BlueKeep"), "None", "None", "None"),
    row("no route", "Op_Host0", "Apache", (EXPLOIT, "SSHBruteForce"), "None", "None", "None"),
    row("not scanned", "User1", "Apache", (EXPLOIT, "none"), "None", "None", "None"),
    row("escalation", "User0", "Apache", (ESCALATE,), "None", "None", "None"),
    row("impact", "Op_Server0", "Apache", ("Impact",), "None", "None", "None"),
    row("empty scan", "Op_Server0", "Apache", (SCAN,), "None", "None", "None"),
    row("nothing", "User1", "Apache", ("Sleep",), "None", "None", "None"),
    row("immune mail server", "User3", "SSHD", (EXPLOIT, "HarakaRCE"),
        "Scan", "None", "Scan", rules="leaderboard-2022"),
    row("immune mail server", "User4", "Vsftpd", (EXPLOIT, "HarakaRCE"),
        "Scan", "None", "Scan", rules="leaderboard-2022"),
]  # fmt: skip


def arrange(game, case, style: str):
    host, _, _, before, _, options, _ = case
    g = game(observation=style, **options).know_all()
    if options:
        g.blue("Restore", host)
    for decoy in before:
        g.blue(f"Decoy{decoy}", host)
    return g


def play(g, case, blue: tuple[str, ...]) -> None:
    host, _, (kind, *exploit), _, detected, _, _ = case
    target = None if kind == "Sleep" else host
    g.play(blue, kind, target, *exploit, detected=detected)


def expected(host: str, activity: str) -> dict[str, tuple[str, str]]:
    seen = dict.fromkeys(HOSTS, ("None", "No"))
    return seen | {host: (activity, "User" if activity == "Exploit" else "No")}


# ------------------------------------------------------------------------------------ 7.1 activity
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("case", TABLE)
def test_activity_without_a_decoy_in_the_step(game, case, style: str) -> None:
    g = arrange(game, case, style)
    play(g, case, ("Sleep",))
    assert {h: g.seen(h) for h in HOSTS} == expected(case[0], case[-1][0])


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("case", [p for p in TABLE if p.values[0][1]])
def test_activity_with_a_decoy_placed_in_the_step(game, case, style: str) -> None:
    g = arrange(game, case, style)
    play(g, case, (f"Decoy{case[1]}", case[0]))
    assert g.env["blue_success"] == 1
    assert {h: g.seen(h) for h in HOSTS} == expected(case[0], case[-1][1 + STYLES.index(style)])


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("case", TABLE)
def test_decoy_placed_on_another_host_does_not_count(game, case, style: str) -> None:
    g = arrange(game, case, style)
    play(g, case, ("DecoyVsftpd", "Op_Host2"))
    assert {h: g.seen(h) for h in HOSTS} == expected(case[0], case[-1][0])


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("case", [p for p in TABLE if p.values[0][1]])
def test_decoy_placed_in_the_step_before_does_not_count(game, case, style: str) -> None:
    g = arrange(game, case, style)
    g.play((f"Decoy{case[1]}", case[0]))
    play(g, case, ("Sleep",))
    assert g.seen(case[0])[0] == case[-1][0]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("detected", [True, False])
def test_decoy_that_failed_does_not_count(game, style: str, detected: bool) -> None:
    g = game(observation=style).know_all()
    g.play(("DecoyFemitter", "User1"), EXPLOIT, "User1", FTP, detected=detected)
    assert g.env["blue_success"] == 0
    assert g.seen("User1")[0] == ("Exploit" if detected else "Scan")


@pytest.mark.parametrize("style", STYLES)
def test_failed_decoy_beside_a_decoy_that_is_hit_does_not_count(game, style: str) -> None:
    g = game(observation=style).know_all()
    g.blue("DecoySmss", "User1")
    g.play(("DecoySmss", "User1"), EXPLOIT, "User1", "EternalBlue")
    assert g.seen("User1") == ("Scan", "No")


@pytest.mark.parametrize("style", STYLES)
def test_decoy_hit_in_the_step_of_its_own_placement_shows_an_exploit(game, style: str) -> None:
    g = game(observation=style).know_all()
    g.play(("DecoyApache", "User1"), EXPLOIT, "User1", "HTTPRFI")
    assert g.seen("User1") == ("Exploit", "User")


# Only a red of a higher tempo does so; the general rule of 7.1 covers it.
@pytest.mark.parametrize(
    ("detected", "seen"),
    [
        ((True, True), ("Scan", "No")),
        ((True, False), ("Scan", "No")),
        ((False, False), ("Scan", "No")),
    ],
)
def test_exploits_of_two_ports_in_one_step_look_like_a_scan(game, detected, seen) -> None:
    g = game().know_all()
    g.exploit("User3", "HTTPRFI", detected=detected[0])
    g.exploit("User3", "HTTPSRFI", detected=detected[1])
    g.look()
    assert g.seen("User3") == seen


def test_same_exploit_twice_in_one_step_still_shows_an_exploit(game) -> None:
    g = game().know_all()
    g.exploit("User3", "HTTPRFI", detected=True)
    g.exploit("User3", "HTTPRFI", detected=False)
    g.look()
    assert g.seen("User3") == ("Exploit", "User")


@pytest.mark.parametrize("style", STYLES)
def test_discovery_of_a_subnet_is_not_seen(game, style: str) -> None:
    g = game(observation=style).know_all()
    g.play(("Sleep",), "DiscoverRemoteSystems", "User")
    assert not g.observation.any()


def test_activity_describes_the_current_step_only(game) -> None:
    g = game(red="meander")
    seen = []
    for _ in range(7):
        g.step()
        seen.append([h for h in HOSTS if g.seen(h)[0] != "None"])
    assert seen[0] == seen[6] == []
    assert sorted(seen[1:6]) == [[f"User{i}"] for i in range(5)]


def test_engine_shows_the_events_of_the_step_just_played(game) -> None:
    g = game(red="meander").lead_meander(EXPLOIT, "Enterprise0").remember_scan("Enterprise0", 22)
    g.step()
    assert g.seen("Enterprise0") == ("Exploit", "User")


@pytest.mark.parametrize(("style", "activity"), [("stock", "None"), ("corrected", "Scan")])
def test_option_decides_how_the_engine_shows_a_scan_behind_a_decoy(game, style, activity) -> None:
    g = game(red="meander", observation=style).lead_meander(SCAN, "Enterprise0")
    g.step("DecoyApache", "Enterprise0")
    assert g.seen("Enterprise0") == (activity, "No")


def test_corrected_observation_is_the_default(game) -> None:
    g = game(red="meander").lead_meander(SCAN, "Enterprise0")
    g.step("DecoyApache", "Enterprise0")
    assert g.seen("Enterprise0")[0] == "Scan"


# --------------------------------------------------------------------------------- 7.2 compromised
@pytest.mark.parametrize("belief", BELIEFS)
@pytest.mark.parametrize("detected", [True, False])
def test_exploit_seen_overwrites_any_belief_with_user(game, belief: str, detected: bool) -> None:
    g = game().know_all().believe("User1", belief)
    g.play(("Sleep",), EXPLOIT, "User1", FTP, detected=detected)
    assert g.seen("User1") == (("Exploit", "User") if detected else ("Scan", belief))


@pytest.mark.parametrize("belief", BELIEFS)
def test_scan_seen_keeps_the_belief(game, belief: str) -> None:
    g = game().know_all().believe("User1", belief)
    g.play(("Sleep",), SCAN, "User1")
    assert g.seen("User1") == ("Scan", belief)


@pytest.mark.parametrize("belief", BELIEFS)
def test_belief_persists_when_nothing_happens(game, belief: str) -> None:
    g = game().believe("Op_Host2", belief)
    g.step()
    g.step("Monitor")
    assert g.seen("Op_Host2") == ("None", belief)


@pytest.mark.parametrize("kind", ["Restore", "Remove"])
def test_exploit_seen_comes_after_restore_and_remove(game, kind: str) -> None:
    g = game().know_all().believe("User1", "Privileged")
    g.play((kind, "User1"), EXPLOIT, "User1", "SSHBruteForce")
    assert g.seen("User1") == ("Exploit", "User")


@pytest.mark.parametrize("kind", ["Restore", "Remove"])
def test_engine_enters_an_exploit_after_restore_and_remove(game, kind: str) -> None:
    g = game(red="meander").lead_meander(EXPLOIT, "Enterprise0").remember_scan("Enterprise0", 22)
    g.believe("Enterprise0", "Privileged").step(kind, "Enterprise0")
    assert g.seen("Enterprise0") == ("Exploit", "User")


@pytest.mark.parametrize(("has_malware", "belief"), [(True, "Privileged"), (False, "User")])
def test_analyse_of_earlier_malware_wins_over_an_exploit_seen(game, has_malware, belief) -> None:
    g = game().know_all()
    if has_malware:
        g.put_malware("User1")
    g.play(("Analyse", "User1"), EXPLOIT, "User1", FTP, detected=True)
    assert g.seen("User1") == ("Exploit", belief)


def test_engine_lets_analyse_win_over_an_exploit_seen(game) -> None:
    g = game(red="meander").lead_meander(EXPLOIT, "Enterprise0").remember_scan("Enterprise0", 22)
    g.put_malware("Enterprise0").step("Analyse", "Enterprise0")
    assert g.seen("Enterprise0") == ("Exploit", "Privileged")


def test_engine_analyses_before_red_acts(game) -> None:
    g = game(red="meander").lead_meander(ESCALATE, "Enterprise0").give_session("Enterprise0")
    g.step("Analyse", "Enterprise0")
    assert (g.hosts("malware"), g.seen("Enterprise0")) == ({"Enterprise0"}, ("None", "No"))


def test_analyse_marks_a_host_in_its_own_step_only(game) -> None:
    g = game().put_malware("User1")
    g.step("Analyse", "User1")
    g.step("Restore", "User1")
    g.step()
    assert g.seen("User1") == ("None", "No")


@pytest.mark.parametrize(("kind", "belief"), [("Restore", "No"), ("Remove", "Unknown")])
def test_restore_and_remove_show_in_the_observation(game, kind: str, belief: str) -> None:
    g = game().believe("User3", "Privileged")
    g.step(kind, "User3")
    assert g.seen("User3") == ("None", belief)


# ------------------------------------------------------------------------------------- 7.3 Analyse
@pytest.mark.parametrize(
    ("exploit", "escalates", "belief"),
    [
        ("HTTPRFI", False, "Privileged"),
        ("HarakaRCE", False, "Privileged"),
        ("SSHBruteForce", False, "No"),
        ("SSHBruteForce", True, "Privileged"),
    ],
)
def test_analyse_shows_malware_but_not_an_ssh_foothold(game, exploit, escalates, belief) -> None:
    g = game().know_all()
    g.exploit("User4", exploit, detected=False)
    if escalates:
        g.red(ESCALATE, "User4", session=0)
    g.play(("Analyse", "User4"))
    assert g.seen("User4")[1] == belief


@pytest.mark.parametrize(("kind", "belief"), [("Remove", "Privileged"), ("Restore", "No")])
def test_malware_survives_remove_but_not_restore(game, kind: str, belief: str) -> None:
    g = game().know_all()
    g.exploit("User3", "HTTPRFI", detected=True)
    g.play((kind, "User3"))
    g.play(("Analyse", "User3"))
    assert (g.sessions("User3"), g.seen("User3")[1]) == ([], belief)


# -------------------------------------------------------------------------------------------- bits
@pytest.mark.parametrize("options", [{"observation": s, "rules": r} for s in STYLES
                                     for r in ("head", "leaderboard-2022")])  # fmt: skip
@pytest.mark.parametrize("red", ["b_line", "meander", "sleep"])
def test_first_observation_of_every_episode_is_zero(game, red: str, options) -> None:
    g = game(20, red=red, **options)
    first = g.batch.reset(3).copy()
    for _ in range(30):
        g.step()
    again = g.batch.reset()
    assert (first.shape, first.dtype) == ((20, 52), np.int8)
    assert not first.any()
    assert not again.any()


@pytest.mark.parametrize("belief", BELIEFS)
@pytest.mark.parametrize("i", range(13))
def test_belief_stands_in_the_last_two_bits_of_its_host(game, i: int, belief: str) -> None:
    g = game().believe(HOSTS[i], belief)
    g.step()
    bits = [0] * 52
    bits[4 * i + 2 : 4 * i + 4] = BELIEFS[belief]
    assert g.observation.tolist() == bits


@pytest.mark.parametrize("belief", BELIEFS)
@pytest.mark.parametrize("i", range(13))
def test_scan_sets_the_first_bit_of_its_host(game, i: int, belief: str) -> None:
    g = game().know_all().give_session("Enterprise0").believe(HOSTS[i], belief)
    g.play(("Sleep",), SCAN, HOSTS[i])
    bits = [0] * 52
    bits[4 * i : 4 * i + 4] = [1, 0, *BELIEFS[belief]]
    assert g.observation.tolist() == bits


@pytest.mark.parametrize(("has_malware", "bits"), [(False, [1, 1, 0, 1]), (True, [1, 1, 1, 1])])
def test_exploit_sets_both_first_bits(game, has_malware: bool, bits: list[int]) -> None:
    g = game().know_all().put(malware=["User1"] * has_malware)
    g.play(("Analyse", "User1"), EXPLOIT, "User1", "SSHBruteForce")
    assert g.observation.tolist()[36:40] == bits


# ---------------------------------------------------------------------------------------- describe
@pytest.mark.parametrize("belief", BELIEFS)
@pytest.mark.parametrize("activity", ACTIVITIES)
@pytest.mark.parametrize("i", range(13))
def test_describe_reads_the_bits_of_each_host(i: int, activity: str, belief: str) -> None:
    bits = np.zeros(52, np.int8)
    bits[4 * i : 4 * i + 4] = ACTIVITIES[activity] + BELIEFS[belief]
    read = dict.fromkeys(HOSTS, ("None", "No")) | {HOSTS[i]: (activity, belief)}
    assert describe(bits) == read


@pytest.mark.parametrize("shape", [(51,), (53,), (1, 52), ()])
def test_describe_refuses_another_shape(shape: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError, match=r"must be \(52,\)"):
        describe(np.zeros(shape, np.int8))


@pytest.mark.parametrize("wrong", [[0, 1, 0, 0], [2, 0, 0, 0], [0, 0, 0, 2], [-1, 0, 0, 0]])
def test_describe_refuses_bits_without_a_meaning(wrong: list[int]) -> None:
    bits = np.zeros(52, np.int8)
    bits[28:32] = wrong
    with pytest.raises(ConfigError, match="Op_Server0 mean nothing"):
        describe(bits)
