"""One honest agent against hand-made messages: what it must refuse, and what it must do."""

from dataclasses import replace
from random import Random

import pytest

from standing_orders.voting import Committee, Patience
from standing_orders.voting.byzantine import Liar, Plot, broken_messages
from standing_orders.voting.keys import simulated_keys
from standing_orders.voting.messages import (
    BallotSet,
    Certificate,
    Checker,
    Decided,
    Phase,
    Proposal,
    ViewChange,
    Vote,
    ballot_set,
)
from standing_orders.voting.pbft import Effect, Replica, Send, Timer

ALLOW, BLOCK, QUARANTINE = b"\0", b"\2", b"\3"

SLOT = 4  # its primary in view v is agent v
NOTARY, SIGNERS = simulated_keys(4, seed=5)
CHECKER = Checker(Committee(4, 1, num_choices=4), NOTARY)


class Agent:
    """A replica, and all that it said."""

    def __init__(self, index: int = 3, vote: bytes = BLOCK) -> None:
        self.replica = Replica(
            SLOT, vote, checker=CHECKER, signer=SIGNERS[index], patience=Patience()
        )
        self.effects: list[Effect] = self.replica.start()

    def receive(self, message: object) -> None:
        self.effects += self.replica.receive(message)

    def on_timer(self, name: str, view: int) -> None:
        self.effects += self.replica.on_timer(Timer(name, SLOT, view, after=0.0))

    @property
    def sent(self) -> list[Send]:
        return [effect for effect in self.effects if isinstance(effect, Send)]

    @property
    def said(self) -> list[object]:
        return [send.message for send in self.sent if send.recipient is None]

    def votes(self, phase: Phase) -> list[Vote]:
        return [said for said in self.said if type(said) is Vote and said.phase == phase]


def value(
    choice: bytes = BLOCK, senders: tuple[int, ...] = (0, 1, 2), slot: int = SLOT
) -> BallotSet:
    return ballot_set(SIGNERS[sender].ballot(slot, choice) for sender in senders)


def votes(phase: Phase, view: int, digest: bytes, senders=(0, 1, 2), slot=SLOT) -> tuple[Vote, ...]:
    return tuple(SIGNERS[sender].vote(phase, slot, view, digest) for sender in senders)


def proof(phase: Phase, view: int, of: BallotSet, senders=(0, 1, 2)) -> Certificate:
    return Certificate(phase, view, of, votes(phase, view, of.digest, senders))


def changes(view: int, prepared: dict[int, Certificate] | None = None, senders=(0, 1, 2)):
    return tuple(SIGNERS[s].change(SLOT, view, (prepared or {}).get(s)) for s in senders)


def test_an_agent_prepares_commits_and_decides_on_quorums() -> None:
    replica = Agent()
    good = value()
    replica.receive(SIGNERS[0].proposal(SLOT, 0, good))
    assert [vote.digest for vote in replica.votes("prepare")] == [good.digest]
    replica.receive(votes("prepare", 0, good.digest)[0])
    assert not replica.votes("commit")
    replica.receive(votes("prepare", 0, good.digest)[0])  # said twice, counted once
    assert not replica.votes("commit")
    replica.receive(votes("prepare", 0, good.digest)[1])
    assert [vote.digest for vote in replica.votes("commit")] == [good.digest]
    replica.receive(votes("commit", 0, good.digest)[0])
    assert replica.replica.decision is None
    replica.receive(votes("commit", 0, good.digest)[1])
    assert replica.replica.decision is not None
    assert replica.replica.decision.value == good


def test_votes_that_come_before_the_proposal_count() -> None:
    replica = Agent()
    good = value()
    for vote in votes("commit", 0, good.digest) + votes("prepare", 0, good.digest):
        replica.receive(vote)
    assert replica.replica.decision is None
    replica.receive(SIGNERS[0].proposal(SLOT, 0, good))
    assert replica.replica.decision is not None


def test_an_agent_prepares_once_in_a_view() -> None:
    replica = Agent()
    replica.receive(SIGNERS[0].proposal(SLOT, 0, value(ALLOW)))
    replica.receive(SIGNERS[0].proposal(SLOT, 0, value(QUARANTINE)))
    assert [vote.digest for vote in replica.votes("prepare")] == [value(ALLOW).digest]


def test_only_the_first_vote_of_an_agent_in_a_view_counts() -> None:
    replica = Agent()
    good = value()
    replica.receive(votes("prepare", 0, value(ALLOW).digest)[0])
    replica.receive(SIGNERS[0].proposal(SLOT, 0, good))
    for vote in votes("prepare", 0, good.digest, (0, 1)):
        replica.receive(vote)
    assert not replica.votes("commit")


STOLEN = replace(SIGNERS[0].ballot(SLOT, ALLOW), choices=QUARANTINE)
BAD_VALUES = {
    "too few ballots": value(senders=(0, 1)),
    "a ballot twice": ballot_set([SIGNERS[0].ballot(SLOT, BLOCK)] * 3),
    "two ballots of one agent": ballot_set([
        *value(senders=(0, 1)).ballots, SIGNERS[0].ballot(SLOT, ALLOW)
    ]),
    "ballots on another slot": value(slot=SLOT + 4),
    "an invented vote": ballot_set([STOLEN, *value(senders=(1, 2)).ballots]),
    "a wrong digest": BallotSet(value().ballots, value(ALLOW).digest),
}  # fmt: skip


@pytest.mark.parametrize("bad", BAD_VALUES)
def test_a_primary_cannot_invent_repeat_or_withhold_votes(bad: str) -> None:
    replica = Agent()
    replica.receive(SIGNERS[0].proposal(SLOT, 0, BAD_VALUES[bad]))
    assert not replica.votes("prepare")
    forged = proof("commit", 0, BAD_VALUES[bad])
    replica.receive(SIGNERS[0].decided(SLOT, forged))
    assert replica.replica.decision is None


def test_only_the_primary_proposes_and_only_in_its_name() -> None:
    replica = Agent()
    replica.receive(SIGNERS[1].proposal(SLOT, 0, value()))
    replica.receive(replace(SIGNERS[1].proposal(SLOT, 0, value()), sender=0))
    assert not replica.votes("prepare")


LATER = {0: proof("prepare", 1, value(BLOCK)), 1: proof("prepare", 0, value(ALLOW))}
OTHERS = votes("prepare", 0, value(ALLOW).digest)
BAD_CHANGES = {
    "no wishes": (),
    "less than a quorum": changes(2, senders=(0, 1)),
    "one agent twice": changes(2, senders=(0, 1, 1)),
    "wishes for another view": changes(3),
    "one wish for an earlier view": changes(2, senders=(0, 1)) + changes(1, senders=(2,)),
    "another slot": (*changes(2, senders=(0, 1)), SIGNERS[2].change(SLOT + 4, 2, None)),
    "a forged wish": (*changes(2, senders=(0, 1)), replace(changes(2)[0], sender=2)),
    "a proof removed": (*changes(2, senders=(1, 2)), replace(changes(2, LATER)[0], prepared=None)),
    "a proof that demands another set": changes(2, {0: proof("prepare", 1, value(ALLOW))}),
    "the latest proof demands another": changes(
        2, {0: proof("prepare", 0, value(BLOCK)), 1: proof("prepare", 1, value(ALLOW))}
    ),
    "a proof without a quorum": changes(2, {0: proof("prepare", 1, value(), (0, 1))}),
    "a proof with one vote repeated": changes(2, {0: proof("prepare", 1, value(), (0, 1, 1))}),
    "a proof from the future": changes(2, {0: proof("prepare", 2, value())}),
    "a proof of commits": changes(2, {0: proof("commit", 1, value())}),
    "a proof with votes of another phase": changes(
        2, {0: replace(proof("commit", 1, value()), phase="prepare")}
    ),
    "a proof with votes of another view": changes(2, {0: replace(LATER[0], view=0)}),
    "a proof with votes for another set": changes(2, {0: replace(LATER[0], votes=OTHERS, view=0)}),
    "a proof of another slot": changes(
        2,
        {0: replace(LATER[0], votes=votes("prepare", 1, value().digest, slot=SLOT + 4))},
    ),
    "a forged proof": changes(
        2, {0: replace(LATER[0], votes=tuple(replace(v, tag=b"\0" * 32) for v in LATER[0].votes))}
    ),
}  # fmt: skip


@pytest.mark.parametrize("bad", BAD_CHANGES)
def test_a_proposal_in_a_later_view_needs_a_quorum_of_wishes_and_keeps_to_their_proofs(bad) -> None:
    replica = Agent()
    replica.receive(SIGNERS[2].proposal(SLOT, 2, value(BLOCK), BAD_CHANGES[bad]))
    assert not replica.votes("prepare")
    assert replica.replica.view == 0


@pytest.mark.parametrize("prepared", [{}, LATER, {2: proof("prepare", 0, value(BLOCK))}])
def test_a_lawful_proposal_in_a_later_view_takes_an_agent_there(prepared) -> None:
    replica = Agent()
    replica.receive(SIGNERS[2].proposal(SLOT, 2, value(BLOCK), changes(2, prepared)))
    assert replica.replica.view == 2
    assert [(vote.view, vote.digest) for vote in replica.votes("prepare")] == [(2, value().digest)]


def test_an_agent_that_moved_on_neither_prepares_nor_commits_in_the_view_it_left() -> None:
    replica = Agent()
    late, good = value(ALLOW), value()
    replica.receive(SIGNERS[0].proposal(SLOT, 0, good))
    replica.on_timer("view", 0)
    assert replica.replica.view == 1
    for vote in votes("prepare", 0, good.digest):
        replica.receive(vote)
    assert not replica.votes("commit")
    other = Agent()
    other.on_timer("view", 0)
    other.receive(SIGNERS[0].proposal(SLOT, 0, late))
    assert not other.votes("prepare")


def test_a_wish_for_a_new_view_shows_what_was_prepared() -> None:
    replica = Agent()
    good = value()
    replica.receive(SIGNERS[0].proposal(SLOT, 0, good))
    for vote in votes("prepare", 0, good.digest):
        replica.receive(vote)
    replica.on_timer("view", 0)
    (wish,) = [said for said in replica.said if type(said) is ViewChange]
    assert wish.view == 1
    assert wish.prepared is not None
    assert wish.prepared.value == good
    assert CHECKER.is_change(wish)


def test_the_next_primary_proposes_the_latest_prepared_set_again() -> None:
    replica = Agent(2)
    for sender in (0, 1, 3):
        replica.receive(SIGNERS[sender].ballot(SLOT, QUARANTINE))
    for change in changes(2, LATER, senders=(0, 1, 3)):
        replica.receive(change)
    (proposal,) = [said for said in replica.said if type(said) is Proposal]
    assert proposal.value == value(BLOCK)
    assert CHECKER.is_proposal(proposal)


def test_f_wishes_move_nobody_and_one_more_moves_everybody() -> None:
    replica = Agent()
    replica.receive(changes(7)[0])
    assert replica.replica.view == 0
    replica.receive(changes(5)[1])
    assert replica.replica.view == 5


def test_a_wish_with_a_false_proof_moves_nobody() -> None:
    replica = Agent()
    for change in changes(2, dict.fromkeys(range(3), proof("prepare", 1, value(), (0, 1)))):
        replica.receive(change)
    assert replica.replica.view == 0
    assert not replica.replica.changes


def test_waiting_times_double_and_a_past_timer_is_ignored() -> None:
    replica = Agent()
    for view in range(4):
        assert Timer("view", SLOT, view, after=8.0 * 2**view) in replica.effects
        replica.on_timer("view", view)
        replica.on_timer("view", view)
        assert replica.replica.view == view + 1


def test_whoever_decided_answers_those_behind_with_a_proof_that_convinces() -> None:
    replica = Agent()
    replica.receive(SIGNERS[1].decided(SLOT, proof("commit", 0, value())))
    assert replica.replica.decision is not None
    replica.receive(changes(1)[2])
    (answer,) = [send for send in replica.sent if send.recipient is not None]
    assert answer.recipient == 2
    assert type(answer.message) is Decided
    other = Agent(2)
    other.receive(answer.message)
    assert other.replica.decision == replica.replica.decision


@pytest.mark.parametrize(
    "false",
    [
        proof("prepare", 0, value()),
        proof("commit", 0, value(), (0, 1)),
        proof("commit", 0, value(), (0, 1, 1)),
        replace(proof("commit", 0, value()), view=1),
        replace(proof("commit", 0, value()), value=value(ALLOW)),
        replace(proof("prepare", 0, value()), phase="commit"),
        replace(proof("commit", 0, value()), phase="prepare"),
    ],
)
def test_a_false_proof_of_a_decision_convinces_nobody(false: Certificate) -> None:
    replica = Agent()
    replica.receive(SIGNERS[1].decided(SLOT, false))
    assert replica.replica.decision is None


def test_the_primary_waits_for_all_ballots_but_not_for_ever() -> None:
    replica = Agent(0)
    for sender in (1, 2):
        replica.receive(SIGNERS[sender].ballot(SLOT, ALLOW))
    assert not replica.votes("prepare")
    replica.on_timer("collect", 0)
    assert len(replica.votes("prepare")) == 1
    eager = Agent(0)
    for sender in (1, 2, 3):
        eager.receive(SIGNERS[sender].ballot(SLOT, ALLOW))
    assert len(eager.votes("prepare")) == 1


def test_what_may_be_lost_is_said_again() -> None:
    replica = Agent()
    replica.receive(SIGNERS[0].proposal(SLOT, 0, value()))
    before = list(replica.said)
    replica.on_timer("repeat", 0)
    assert replica.said == before * 2


def test_nobody_signs_for_another_and_every_claim_is_signed() -> None:
    good = value()
    signed = [
        SIGNERS[0].ballot(SLOT, BLOCK),
        SIGNERS[0].vote("prepare", SLOT, 1, good.digest),
        SIGNERS[0].change(SLOT, 2, proof("prepare", 1, good)),
        SIGNERS[0].proposal(SLOT, 1, good),
        SIGNERS[0].decided(SLOT, proof("commit", 1, good)),
    ]
    other = proof("commit", 0, value(ALLOW))
    fields = {"slot": 5, "sender": 1, "choices": ALLOW, "phase": "commit", "view": 3,
              "digest": other.value.digest, "prepared": other, "value": other.value,
              "certificate": other, "tag": bytes(32)}  # fmt: skip
    for message in signed:
        assert NOTARY.holds(message)
        for name in set(fields) & set(type(message).__slots__):
            assert not NOTARY.holds(replace(message, **{name: fields[name]})), name
    assert not NOTARY.holds(replace(signed[2], prepared=None))
    assert not simulated_keys(4, seed=6)[0].holds(signed[0]), "another run has other keys"


def test_a_message_of_another_slot_is_dropped() -> None:
    replica = Agent()
    replica.receive(SIGNERS[0].ballot(SLOT + 1, BLOCK))
    assert 0 not in replica.replica.ballots


def test_malformed_messages_change_nothing() -> None:
    replica = Agent()
    liar = Agent(0)
    for sender in (1, 2):
        liar.receive(SIGNERS[sender].ballot(SLOT, ALLOW))
    plot = Plot(CHECKER.committee, {0: SIGNERS[0]}, [0] * 4, Random(0))
    lies = Liar("malformed", SIGNERS[0], plot, hold=1.0, replicas={SLOT: liar.replica})
    said, ballots = list(replica.said), dict(replica.replica.ballots)
    for broken in broken_messages(lies, SIGNERS[0].ballot(SLOT, ALLOW), victim=3):
        replica.receive(broken)
    assert replica.said == said
    assert replica.replica.ballots == ballots
    assert not replica.replica.changes
    assert replica.replica.decision is None


@pytest.mark.parametrize(
    "junk", [None, 3, "ballot", b"", (), [], {}, object(), Timer("view", 4, 0, 1.0)]
)
def test_junk_is_not_well_formed(junk: object) -> None:
    assert not CHECKER.is_well_formed(junk)
