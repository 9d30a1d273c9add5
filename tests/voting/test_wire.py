"""Bytes between agents: what is said arrives, and nothing else is believed."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from standing_orders.voting import Committee
from standing_orders.voting.keys import draw_key, public_notary
from standing_orders.voting.messages import Certificate, Checker, Contradiction, ballot_set
from standing_orders.voting.wire import MAX_BYTES, decode, encode, seal, unseal
from tests.effort import effort

KEYS = [draw_key(agent) for agent in range(4)]
SIGNERS = [signer for signer, _ in KEYS]
NOTARY = public_notary([key for _, key in KEYS])
CHECKER = Checker(Committee(4, 1, num_choices=4), NOTARY)
VALUE = ballot_set(SIGNERS[agent].ballot(7, bytes([0, 2, 255])) for agent in range(3))
VOTES = tuple(SIGNERS[agent].vote("commit", 7, 0, VALUE.digest) for agent in range(3))
PROOF = Certificate("commit", 0, VALUE, VOTES)
MESSAGES = [
    SIGNERS[0].ballot(7, bytes([3])),
    VOTES[0],
    SIGNERS[1].change(7, 1, None),
    SIGNERS[1].change(7, 1, PROOF),
    SIGNERS[2].proposal(7, 1, VALUE, (SIGNERS[1].change(7, 1, PROOF),)),
    SIGNERS[3].decided(7, PROOF),
    Contradiction(SIGNERS[0].ballot(7, b"\0"), SIGNERS[0].ballot(7, b"\1")),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_arrives_as_it_was_and_its_signature_holds(message) -> None:
    assert decode(encode(message)) == message
    if not isinstance(message, Contradiction):
        assert CHECKER.is_authentic(decode(encode(message)))


def test_a_signature_is_of_one_agent_over_one_claim() -> None:
    ballot = SIGNERS[0].ballot(7, b"\0")
    assert len(ballot.tag) == 64
    for other in (
        SIGNERS[1].ballot(7, b"\0"), SIGNERS[0].ballot(8, b"\0"), SIGNERS[0].ballot(7, b"\1"),
    ):  # fmt: skip
        assert NOTARY.holds(other)
        assert not NOTARY.vouches(0, encode(other), ballot.tag)
    stranger, _ = draw_key(0)
    assert not NOTARY.holds(stranger.ballot(7, b"\0")), "another run has other keys"


@settings(max_examples=effort(100, 40))
@given(st.binary(max_size=200) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("Ballot"),
    lambda inner: st.lists(inner, max_size=6), max_leaves=20,
).map(lambda data: json.dumps(data).encode()))  # fmt: skip
def test_junk_is_nothing_and_no_envelope(data: bytes) -> None:
    assert not CHECKER.is_authentic(decode(data))
    assert unseal(data, 4, NOTARY) is None


@pytest.mark.parametrize(
    "data", [b"[" * 100_000, b'["Ballot",' + b"9" * 5000 + b"]", None, 3, b"0" * (MAX_BYTES + 1)]
)
def test_what_is_made_to_hurt_does_not(data) -> None:
    if isinstance(data, bytes):
        assert decode(data) is None
    assert unseal(data, 4, NOTARY) is None


def test_an_envelope_cannot_be_altered_or_sent_in_anothers_name() -> None:
    letters = (encode(MESSAGES[0]), encode(MESSAGES[1]))
    sealed = seal(SIGNERS[2], 1, 5, letters)
    envelope = unseal(sealed, 4, NOTARY)
    assert envelope is not None
    assert (envelope.sender, envelope.recipient, envelope.number) == (2, 1, 5)
    assert envelope.letters == letters
    parts = json.loads(sealed)
    for place, value in ((0, 3), (1, 2), (2, 6), (3, parts[3][:1]), (3, parts[3][::-1]), (0, 9),
                         (0, -1), (0, True), (4, "00"), (4, "zz")):  # fmt: skip
        changed = [*parts[:place], value, *parts[place + 1 :]]
        assert unseal(json.dumps(changed).encode(), 4, NOTARY) is None, (place, value)
