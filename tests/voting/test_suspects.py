"""A proof convicts whoever lied and nobody else; signs are told from chance."""

import numpy as np

from standing_orders.voting.messages import Certificate, Contradiction, Vote, ballot_set
from standing_orders.voting.suspects import Suspects, Suspicion, convict
from standing_orders.voting.wire import encode, seal
from tests.voting.test_wire import CHECKER, PROOF, SIGNERS, VALUE, VOTES


def sent(by: int, message: object) -> bytes:
    return seal(SIGNERS[by], 0, 1, (encode(VOTES[by]) if by < 3 else b"", encode(message)))


def test_two_ballots_are_a_proof_and_two_signatures_of_others_are_none() -> None:
    low, high = SIGNERS[1].ballot(7, b"\0"), SIGNERS[1].ballot(7, b"\3")
    found = convict(encode(Contradiction(low, high)), CHECKER)
    assert found == (1, "signed two different ballots in slot 7")
    vote = SIGNERS[1].vote("commit", 7, 0, VALUE.digest)
    wish = SIGNERS[1].change(7, 1, None), SIGNERS[1].change(7, 1, PROOF)
    for first, second in (
        (low, low),
        (low, SIGNERS[2].ballot(7, b"\3")),  # of another agent
        (low, SIGNERS[1].ballot(8, b"\3")),  # in another slot
        (vote, SIGNERS[1].vote("prepare", 7, 0, bytes(32))),  # in another phase
        (vote, Vote("commit", 7, 0, bytes(32), 1, vote.tag)),  # never signed
        wish,  # it learned more in between
    ):
        assert convict(encode(Contradiction(first, second)), CHECKER) is None


def test_an_envelope_convicts_its_sender_by_what_is_inside() -> None:
    lone = ballot_set([SIGNERS[1].ballot(7, b"\3")])
    lies = {
        "malformed or not its own": ["junk", SIGNERS[1].ballot(7, b"\7")],
        "sent on a message of agent 2": [VOTES[2]],
        "sent a proposal against the rules": [SIGNERS[1].proposal(7, 0, VALUE)],
        "sent a decided against the rules": [
            SIGNERS[1].decided(7, Certificate("commit", 0, lone, VOTES))
        ],
        "sent a viewchange against the rules": [SIGNERS[1].change(7, 0, None)],
    }
    for why, messages in lies.items():
        for message in messages:
            found = convict(sent(1, message), CHECKER)
            assert found is not None
            assert found[0] == 1
            assert why in found[1]
    for honest in (VOTES[1], SIGNERS[1].decided(7, PROOF), SIGNERS[1].change(7, 1, None)):
        assert convict(sent(1, honest), CHECKER) is None


def test_nobody_is_framed() -> None:
    stolen = seal(SIGNERS[1], 0, 1, (encode(VOTES[1]),)).replace(b"[1, 0", b"[2, 0")
    assert convict(stolen, CHECKER) is None
    assert convict(b"agent 2 did it", CHECKER) is None
    assert convict(encode(None), CHECKER) is None


def decision(slot: int, ballots: np.ndarray, view: int = 0, absent: tuple[int, ...] = ()):
    cast = [
        SIGNERS[agent].ballot(slot, ballots[:, agent].tobytes())
        for agent in range(4)
        if agent not in absent
    ]
    return Certificate("commit", view, ballot_set(cast), ())


def test_signs_are_told_from_chance() -> None:
    rng = np.random.default_rng(0)
    honest, quiet, odd, idle = (Suspects(CHECKER) for _ in range(4))
    for slot in range(12):
        right = rng.integers(2, size=(40, 1)).astype(np.int8)
        ballots = np.where(rng.random((40, 4)) < 0.1, 1 - right, right).astype(np.int8)
        honest.note_decision(slot, decision(slot, ballots, absent=(slot % 4,)), right[:, 0])
        quiet.note_decision(slot, decision(slot, ballots, absent=(2,)), right[:, 0])
        idle.note_decision(slot, decision(slot, ballots, view=int(slot % 4 == 1)), right[:, 0])
        ballots[:, 3] = 0
        odd.note_decision(slot, decision(slot, ballots), right[:, 0])
    assert honest.named == {}
    assert quiet.named == {2: Suspicion("absent", "casts no ballots in time")}
    assert quiet.passed_over() == [2]
    assert idle.named == {1: Suspicion("idle", "does not bring about decisions")}
    assert list(odd.named) == [3]
    assert "100 % of the events that came to more than 0" in odd.named[3].why
    odd.lost |= {0}
    assert odd.named[0] == Suspicion("lost", "its process ended")
    assert odd.passed_over() == [0]
