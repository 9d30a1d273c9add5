"""Blue's action table: section 1.5 of the rules."""

import pytest

from standing_orders.cage2.actions import NUM_ACTIONS, describe, encode
from standing_orders.errors import ConfigError

HOSTS = (
    "Defender", "Enterprise0", "Enterprise1", "Enterprise2", "Op_Host0", "Op_Host1", "Op_Host2",
    "Op_Server0", "User0", "User1", "User2", "User3", "User4",
)  # fmt: skip
FIRST_INDEX = {
    "Analyse": 2, "Remove": 15, "DecoyApache": 28, "DecoyFemitter": 41, "DecoyHarakaSMPT": 54,
    "DecoySmss": 67, "DecoySSHD": 80, "DecoySvchost": 93, "DecoyTomcat": 106, "DecoyVsftpd": 119,
    "Restore": 132,
}  # fmt: skip
TABLE = [("Sleep", None, 0), ("Monitor", None, 1)] + [
    (kind, host, first + i) for kind, first in FIRST_INDEX.items() for i, host in enumerate(HOSTS)
]


def test_there_are_145_actions() -> None:
    assert NUM_ACTIONS == len({index for _, _, index in TABLE}) == 145


def test_encode_follows_the_table() -> None:
    assert [(kind, host, encode(kind, host)) for kind, host, _ in TABLE] == TABLE


def test_describe_names_kind_and_host() -> None:
    names = [kind if host is None else f"{kind} {host}" for kind, host, _ in TABLE]
    assert [describe(index) for _, _, index in TABLE] == names


def test_encode_undoes_describe() -> None:
    assert [encode(*describe(index).split()) for index in range(145)] == list(range(145))


@pytest.mark.parametrize("kind", ["", "restore", "DecoyHaraka", "Restore User0"])
def test_encode_refuses_an_unknown_kind(kind: str) -> None:
    with pytest.raises(ConfigError, match=f"action kind '{kind}'"):
        encode(kind, "User0")


@pytest.mark.parametrize("host", ["", "user0", "User5", "Attacker0"])
def test_encode_refuses_an_unknown_host(host: str) -> None:
    with pytest.raises(ConfigError, match=f"host '{host}': must be one of Defender"):
        encode("Restore", host)


@pytest.mark.parametrize("kind", FIRST_INDEX)
def test_encode_asks_for_a_host_where_one_is_needed(kind: str) -> None:
    with pytest.raises(ConfigError, match="host None"):
        encode(kind)


@pytest.mark.parametrize("kind", ["Sleep", "Monitor"])
def test_encode_refuses_a_host_where_none_is_taken(kind: str) -> None:
    with pytest.raises(ConfigError, match="takes no host, but got 'User1'"):
        encode(kind, "User1")


@pytest.mark.parametrize("index", [-1, -145, 145, 10_000])
def test_describe_refuses_an_index_out_of_range(index: int) -> None:
    with pytest.raises(ConfigError, match=f"action {index}: must be between 0 and 144"):
        describe(index)
