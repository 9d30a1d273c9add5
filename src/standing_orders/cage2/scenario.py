"""The fixed facts of CAGE Challenge 2 (CybORG v2.1, Scenario2) as named constants.

Hosts, ports, decoys and exploits are indices; sets of them are bit masks, bit i = index i.
"""

import numpy as np

from standing_orders.config import ObservationStyle, RedAgent, RuleSet

# ------------------------------------------------------------------------------------ hosts
HOSTS = (
    "Defender", "Enterprise0", "Enterprise1", "Enterprise2", "Op_Host0", "Op_Host1", "Op_Host2",
    "Op_Server0", "User0", "User1", "User2", "User3", "User4",
)  # fmt: skip
NUM_HOSTS = len(HOSTS)
DEFENDER, ENTERPRISE0, ENTERPRISE1, ENTERPRISE2 = 0, 1, 2, 3
OP_SERVER0, USER0, USER1, USER2, USER3, USER4 = 7, 8, 9, 10, 11, 12

SUBNETS = ("Enterprise", "Operational", "User")
ENTERPRISE, OPERATIONAL, USER = 0, 1, 2
SUBNET_OF_HOST = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2])
WAY_OF_RED = (USER, ENTERPRISE, OPERATIONAL)
SUBNET_HOSTS = np.array(
    [sum(1 << h for h in range(NUM_HOSTS) if SUBNET_OF_HOST[h] == s) for s in range(len(SUBNETS))]
)
OPERATIONAL_HOSTS = int(SUBNET_HOSTS[OPERATIONAL])
# Only these open the route to Operational; Defender, though in their subnet, does not.
ROUTER_HOSTS = 1 << ENTERPRISE0 | 1 << ENTERPRISE1 | 1 << ENTERPRISE2

UNIT_TYPES = ("defender", "enterprise", "op_server", "op_host", "user")
NUM_UNIT_TYPES = len(UNIT_TYPES)
UNIT_TYPE_OF_HOST = np.array([0, 1, 1, 1, 3, 3, 3, 2, 4, 4, 4, 4, 4])
UNIT_TYPE_HOSTS = np.array(
    [
        sum(1 << h for h in range(NUM_HOSTS) if UNIT_TYPE_OF_HOST[h] == t)
        for t in range(NUM_UNIT_TYPES)
    ]
)

# Reward lost per step for a privileged red session, in tenths; User0 is worth nothing.
HOST_VALUE_TENTHS = np.array([1, 10, 10, 10, 1, 1, 1, 10, 0, 1, 1, 1, 1])
HOSTS_WORTH_ONE = sum(1 << h for h in range(NUM_HOSTS) if HOST_VALUE_TENTHS[h] == 10)
HOSTS_WORTH_A_TENTH = sum(1 << h for h in range(NUM_HOSTS) if HOST_VALUE_TENTHS[h] == 1)
SERVICE_DOWN_TENTHS = 100
RESTORE_TENTHS = 10

# --------------------------------------------------------------------------- ports, services
PORTS = (21, 22, 25, 80, 139, 443, 3389, 3390, 53, 68, 135, 445)
SCANNABLE_PORTS = 0xFF  # the first eight: those that a choice of exploit can depend on
PORT_BIT = {port: 1 << i for i, port in enumerate(PORTS)}


def _ports(*ports: int) -> int:
    return sum(PORT_BIT[port] for port in ports)


# ------------------------------------------------------------------------------------ exploits
EXPLOITS = (
    "none", "EternalBlue", "BlueKeep", "HTTPRFI", "HTTPSRFI", "SSHBruteForce", "SQLInjection",
    "HarakaRCE", "FTPDirectoryTraversal",
)  # fmt: skip
NUM_EXPLOITS = len(EXPLOITS) - 1
NO_EXPLOIT, ETERNAL_BLUE, BLUE_KEEP, HTTP_RFI, HTTPS_RFI = 0, 1, 2, 3, 4
SSH_BRUTE_FORCE, SQL_INJECTION, HARAKA_RCE, FTP_TRAVERSAL = 5, 6, 7, 8
EXPLOIT_PORT = np.array([0, 139, 3389, 80, 443, 22, 3390, 25, 21])
EXPLOIT_PORT_BIT = np.array([0] + [PORT_BIT[int(port)] for port in EXPLOIT_PORT[1:]])
EXPLOIT_WEIGHT = np.array([0, 2, 1, 3, 4, 0.1, 5, 6, 7])
TOP_EXPLOIT_PROB = 0.75
DETECTION_PROB = 0.95


def _exploits(*exploits: int) -> int:
    return sum(1 << exploit for exploit in exploits)


def _candidates(scan: int) -> int:
    """Exploits that red considers after a scan that showed these ports."""
    found = 0
    for exploit in range(1, NUM_EXPLOITS + 1):
        is_seen = bool(scan & EXPLOIT_PORT_BIT[exploit])
        if exploit == SQL_INJECTION:
            is_seen = is_seen and bool(scan & _ports(80, 443))
        found |= is_seen << exploit
    return found


def _heaviest(candidates: int) -> int:
    chosen = [e for e in range(1, NUM_EXPLOITS + 1) if candidates >> e & 1]
    return max(chosen, key=lambda e: float(EXPLOIT_WEIGHT[e]), default=NO_EXPLOIT)


EXPLOIT_CANDIDATES = np.array([_candidates(scan) for scan in range(SCANNABLE_PORTS + 1)])
TOP_EXPLOIT = np.array([_heaviest(int(c)) for c in EXPLOIT_CANDIDATES])

# image: (ports, connections, exploits a base service answers to, those that give a priv shell)
_IMAGES = {
    "D": (_ports(22, 53, 68), 4, _exploits(SSH_BRUTE_FORCE), 0),
    "G": (_ports(22), 1, _exploits(SSH_BRUTE_FORCE), 0),
    "I": (
        _ports(22, 135, 3389, 445, 139, 80, 443),
        7,
        _exploits(SSH_BRUTE_FORCE, BLUE_KEEP, HTTP_RFI, HTTPS_RFI),
        _exploits(BLUE_KEEP),
    ),
    "WA": (_ports(22, 21), 2, _exploits(SSH_BRUTE_FORCE, FTP_TRAVERSAL), _exploits(FTP_TRAVERSAL)),
    "WB": (
        _ports(445, 139, 135, 3389), 4, _exploits(ETERNAL_BLUE, BLUE_KEEP), _exploits(ETERNAL_BLUE),
    ),
    "LA": (
        _ports(80, 3389, 443, 25), 4, _exploits(HTTP_RFI, HTTPS_RFI, HARAKA_RCE),
        _exploits(HARAKA_RCE),
    ),
    "LB": (
        _ports(22, 80, 3390, 443, 25),
        5,
        _exploits(SSH_BRUTE_FORCE, HTTP_RFI, HTTPS_RFI, SQL_INJECTION, HARAKA_RCE),
        _exploits(SQL_INJECTION, HARAKA_RCE),
    ),
}  # fmt: skip
IMAGE_OF_HOST = ("D", "G", "I", "I", "G", "G", "G", "G", "WA", "WA", "WB", "LA", "LB")
BASE_PORTS = np.array([_IMAGES[image][0] for image in IMAGE_OF_HOST])
BASE_CONNECTIONS = np.array([_IMAGES[image][1] for image in IMAGE_OF_HOST])
BASE_EXPLOITABLE = np.array([_IMAGES[image][2] for image in IMAGE_OF_HOST])
BASE_PRIVILEGED = np.array([_IMAGES[image][3] for image in IMAGE_OF_HOST])
WINDOWS_HOSTS = sum(1 << h for h, image in enumerate(IMAGE_OF_HOST) if image in ("I", "WA", "WB"))
ALL_HOSTS = (1 << NUM_HOSTS) - 1

# -------------------------------------------------------------------------------------- decoys
DECOYS = ("Apache", "Femitter", "HarakaSMPT", "Smss", "SSHD", "Svchost", "Tomcat", "Vsftpd")
NUM_DECOYS = len(DECOYS)
APACHE, FEMITTER, HARAKA_SMPT, SMSS, SSHD, SVCHOST, TOMCAT, VSFTPD = range(NUM_DECOYS)
_DECOY_OPENS = np.array([PORT_BIT[p] for p in (80, 21, 25, 139, 22, 3389, 443, 80)])
# Vsftpd asks for port 21 but opens port 80: it can be stacked.
DECOY_NEEDS_FREE = np.array([PORT_BIT[p] for p in (80, 21, 25, 139, 22, 3389, 443, 21)])
_LINUX_HOSTS = ALL_HOSTS & ~WINDOWS_HOSTS
DECOY_FITS_HOSTS = np.array(
    [
        ALL_HOSTS, WINDOWS_HOSTS, _LINUX_HOSTS, WINDOWS_HOSTS, ALL_HOSTS, WINDOWS_HOSTS, ALL_HOSTS,
        _LINUX_HOSTS,
    ]
)  # fmt: skip
_DECOY_ATTRACTS = np.array(
    [
        HTTP_RFI, FTP_TRAVERSAL, HARAKA_RCE, ETERNAL_BLUE, SSH_BRUTE_FORCE, BLUE_KEEP, HTTPS_RFI,
        HTTP_RFI,
    ]
)  # fmt: skip


def _union(bits: np.ndarray, members: int) -> int:
    return int(np.bitwise_or.reduce(bits[[i for i in range(len(bits)) if members >> i & 1]]))


# Indexed by the bit mask of the decoys that stand on a host.
DECOY_PORTS = np.array([_union(_DECOY_OPENS, mask) for mask in range(1 << NUM_DECOYS)])
DECOY_EXPLOITABLE = np.array(
    [_union(1 << _DECOY_ATTRACTS, mask) for mask in range(1 << NUM_DECOYS)]
)

# ------------------------------------------------------------------------ what an escalation shows
REVEALED_HOSTS = np.zeros(NUM_HOSTS, dtype=np.int64)
REVEALED_HOSTS[[USER1, USER2]] = 1 << ENTERPRISE1
REVEALED_HOSTS[[USER3, USER4]] = 1 << ENTERPRISE0
REVEALED_HOSTS[ENTERPRISE2] = 1 << OP_SERVER0

# ---------------------------------------------------------------------------------- red's actions
RED_ACTIONS = (
    "Sleep", "DiscoverRemoteSystems", "DiscoverNetworkServices", "ExploitRemoteService",
    "PrivilegeEscalate", "Impact", "Refused",
)  # fmt: skip
RED_SLEEP, DISCOVER_SYSTEMS, DISCOVER_SERVICES, EXPLOIT, ESCALATE, IMPACT, REFUSED = range(7)
SUBNET_TARGET = 20  # target 20 + s means subnet s, as in recorded episodes
NO_TARGET = -1

FAILED, SUCCEEDED, UNKNOWN = 0, 1, 2  # how an action ended

# ----------------------------------------------------------------------------- what blue is shown
ACTIVITIES = ("None", "Scan", "Exploit")
NO_ACTIVITY, SCAN_SEEN, EXPLOIT_SEEN = range(3)
BELIEFS = ("No", "Unknown", "User", "Privileged")
BELIEF_NO, BELIEF_UNKNOWN, BELIEF_USER, BELIEF_PRIVILEGED = range(4)
ACTIVITY_BITS = ((0, 0), (1, 0), (1, 1))
BELIEF_BITS = ((0, 0), (1, 0), (0, 1), (1, 1))
OBSERVATION_SIZE = 4 * NUM_HOSTS
OBSERVATION_STYLES: tuple[ObservationStyle, ...] = ("corrected", "stock")
CORRECTED, STOCK = range(2)

# ------------------------------------------------------------------------------- names of options
RULE_SETS: tuple[RuleSet, ...] = ("head", "leaderboard-2022")
HEAD, LEADERBOARD_2022 = range(2)
MAIL_HOSTS = 1 << USER3 | 1 << USER4  # whose restored mail server is immune in LEADERBOARD_2022
RED_AGENTS: tuple[RedAgent, ...] = ("b_line", "meander", "sleep")
B_LINE, MEANDER, SLEEP = range(3)
