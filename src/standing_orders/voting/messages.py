"""What agents say to each other, who said it, and what an honest agent believes of it.

**Authentication.** Every message but a certificate carries a tag of its author over everything the
message claims, and a `Notary` answers whether a tag holds. Anyone can check a message of anyone,
also one that was passed on, and nobody, however many conspire, can make one in the name of an agent
that is not among them; `keys` says with which keys. Keys are drawn for each run; slot and view are
signed, so that messages of another run, slot or view are void.
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Literal, TypeGuard, TypeVar, cast, get_args

import numpy as np
from numpy.typing import NDArray

from standing_orders.voting.quorum import MISSING, Committee

Phase = Literal["prepare", "commit"]
Sign = Callable[[bytes], bytes]
Verify = Callable[[int, bytes, bytes], bool]  # whose tag on a claim, the claim, the tag
ABSTAIN = MISSING % 256  # the byte of an event that an agent has no vote on
_MAX_PASSED = 20_000  # tags that a notary remembers


@dataclass(frozen=True, slots=True)
class Ballot:
    """What one agent votes on the events of a slot."""

    slot: int
    sender: int
    choices: bytes  # one for each event of the slot: a choice or `ABSTAIN`
    tag: bytes = b""


@dataclass(frozen=True, slots=True)
class BallotSet:
    """What is agreed on: signed ballots of different agents, sorted by agent."""

    ballots: tuple[Ballot, ...]
    digest: bytes

    def table(self, n: int) -> NDArray[np.int8]:  # (num_events, n)
        """The ballots, a column for each of n agents; `MISSING` where there is none."""
        told = [np.frombuffer(ballot.choices, dtype=np.int8) for ballot in self.ballots]
        found = np.full((len(told[0]), n), MISSING, dtype=np.int8)
        found[:, [ballot.sender for ballot in self.ballots]] = np.stack(told, axis=1)
        return found


@dataclass(frozen=True, slots=True)
class Vote:
    """An agent's support for a proposal: prepare (I saw it) or commit (a quorum saw it)."""

    phase: Phase
    slot: int
    view: int
    digest: bytes
    sender: int
    tag: bytes = b""


@dataclass(frozen=True, slots=True)
class Certificate:
    """Proof that a quorum supported a ballot set in a view: their votes."""

    phase: Phase
    view: int
    value: BallotSet
    votes: tuple[Vote, ...]


@dataclass(frozen=True, slots=True)
class ViewChange:
    """An agent's wish for a new view, with the last ballot set it knows a quorum prepared."""

    slot: int
    view: int
    prepared: Certificate | None
    sender: int
    tag: bytes = b""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Pre-prepare: the ballot set of a view's primary; after view 0 with a quorum of changes."""

    slot: int
    view: int
    value: BallotSet
    changes: tuple[ViewChange, ...]
    sender: int
    tag: bytes = b""


@dataclass(frozen=True, slots=True)
class Decided:
    """Answer to an agent that is behind: the commit certificate."""

    slot: int
    certificate: Certificate
    sender: int
    tag: bytes = b""


Message = Ballot | Vote | ViewChange | Proposal | Decided


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two signed messages of one agent that no honest agent sends both of."""

    first: Message
    second: Message


FIELDS: dict[type, tuple[str, ...]] = {
    kind: tuple(field.name for field in fields(kind))
    for kind in (
        Ballot,
        BallotSet,
        Vote,
        Certificate,
        ViewChange,
        Proposal,
        Decided,
        Contradiction,
    )
}
Claim = TypeVar("Claim", Ballot, Vote, ViewChange, Proposal, Decided)


def ballot_set(ballots: Iterable[Ballot]) -> BallotSet:
    """Put ballots in canonical order and sum them up."""
    ordered = tuple(sorted(ballots, key=lambda ballot: ballot.sender))
    return BallotSet(ballots=ordered, digest=_digest_of(ordered))


def _digest_of(ballots: tuple[Ballot, ...]) -> bytes:
    return hashlib.sha256(b"".join(content(ballot) + ballot.tag for ballot in ballots)).digest()


def content(message: Message) -> bytes:
    """Everything a message claims; different claims give different bytes."""
    if type(message) is Vote:
        claim = f"{message.phase} {message.view} {message.digest.hex()}"
    elif type(message) is Ballot:
        claim = f"ballot {message.choices.hex()}"
    elif type(message) is Proposal:
        claim = f"propose {message.view} {message.value.digest.hex()}"
    elif type(message) is ViewChange:
        claim = f"change {message.view} {_summary(message.prepared)}"
    elif type(message) is Decided:
        claim = f"decided {_summary(message.certificate)}"
    return f"{message.slot} {message.sender} {claim};".encode()


def _summary(certificate: Certificate | None) -> str:
    # The votes in it are signed by themselves.
    return "none" if certificate is None else f"{certificate.view} {certificate.value.digest.hex()}"


class Notary:
    """Checks tags; knows the public keys of all agents.

    Args:
        verify: whether a tag holds.
        tag_size: bytes of a tag.
    """

    def __init__(self, verify: Verify, tag_size: int) -> None:
        self.tag_size = tag_size
        self._verify = verify
        # Tags that passed, with whose they are and what for: a message is checked by many.
        self._passed: dict[bytes, tuple[int, bytes]] = {}

    def holds(self, message: Message) -> bool:
        """Is a well-formed message really from its sender."""
        return self.vouches(message.sender, content(message), message.tag)

    def vouches(self, agent: int, claim: bytes, tag: bytes) -> bool:
        """Did an agent sign this."""
        if self._passed.get(tag) == (agent, claim):
            return True
        if not self._verify(agent, claim, tag):
            return False
        if len(self._passed) >= _MAX_PASSED:
            self._passed.clear()
        self._passed[tag] = agent, claim
        return True


class Signer:
    """Signs in the name of one agent."""

    def __init__(self, agent: int, sign: Sign) -> None:
        self.agent = agent
        self.sign = sign

    def ballot(self, slot: int, choices: bytes) -> Ballot:
        """Cast a ballot."""
        return self._sign(Ballot(slot, self.agent, choices))

    def vote(self, phase: Phase, slot: int, view: int, digest: bytes) -> Vote:
        """Support a proposal."""
        return self._sign(Vote(phase, slot, view, digest, self.agent))

    def change(self, slot: int, view: int, prepared: Certificate | None) -> ViewChange:
        """Ask for a new view."""
        return self._sign(ViewChange(slot, view, prepared, self.agent))

    def proposal(
        self, slot: int, view: int, value: BallotSet, changes: tuple[ViewChange, ...] = ()
    ) -> Proposal:
        """Propose a ballot set."""
        return self._sign(Proposal(slot, view, value, changes, self.agent))

    def decided(self, slot: int, certificate: Certificate) -> Decided:
        """Pass a decision on."""
        return self._sign(Decided(slot, certificate, self.agent))

    def _sign(self, claim: Claim) -> Claim:
        return replace(claim, tag=self.sign(content(claim)))


class Checker:
    """Judges messages by the rules of a committee; every honest agent judges alike."""

    def __init__(self, committee: Committee, notary: Notary) -> None:
        self.committee = committee
        self.notary = notary
        self._choices = bytes([*range(committee.num_choices), ABSTAIN])
        # What each field of a message must be, whatever kind of message it is in.
        self._fits: dict[str, Callable[[object], bool]] = {
            "slot": _is_count,
            "view": _is_count,
            "sender": lambda value: _is_count(value, committee.n),
            "choices": self._are_choices,
            "phase": lambda value: value in get_args(Phase),
            "digest": _is_digest,
            "tag": lambda value: type(value) is bytes and len(value) == notary.tag_size,
            "value": lambda value: self._is_a(BallotSet, value),
            "certificate": lambda value: self._is_a(Certificate, value),
            "prepared": lambda value: value is None or self._is_a(Certificate, value),
            "ballots": lambda value: self._are(Ballot, value),
            "votes": lambda value: self._are(Vote, value),
            "changes": lambda value: self._are(ViewChange, value),
        }

    def is_well_formed(self, message: object) -> TypeGuard[Message]:
        """Has a message the form that its kind must have; says nothing about its truth."""
        return isinstance(message, Message) and self._is_a(type(message), message)

    def is_authentic(self, message: object) -> TypeGuard[Message]:
        """Has a message its due form, and is it from its sender."""
        return self.is_well_formed(message) and self.notary.holds(message)

    def _is_a(self, kind: type, part: object) -> bool:
        return type(part) is kind and all(
            self._fits[name](getattr(part, name)) for name in FIELDS[kind]
        )

    def _are(self, kind: type, parts: object) -> bool:
        if type(parts) is not tuple or len(parts) > self.committee.n:
            return False
        return all(self._is_a(kind, part) for part in parts)

    def _are_choices(self, value: object) -> bool:
        return type(value) is bytes and not value.translate(None, self._choices)

    def is_ballot_set(self, value: BallotSet, slot: int) -> bool:
        """Are these n - f or more signed ballots of different agents on this slot.

        They are of one length, and more than f of them are honest: so it is the right one.
        """
        senders = [ballot.sender for ballot in value.ballots]
        return (
            len(senders) >= self.committee.num_ballots
            and all(first < second for first, second in pairwise(senders))
            and all(ballot.slot == slot for ballot in value.ballots)
            and len({len(ballot.choices) for ballot in value.ballots}) == 1
            and _digest_of(value.ballots) == value.digest
            and all(self.notary.holds(ballot) for ballot in value.ballots)
        )

    def is_certificate(self, certificate: Certificate, phase: Phase, slot: int) -> bool:
        """Did a quorum of agents support this valid ballot set in one phase of one view."""
        claim = (phase, slot, certificate.view, certificate.value.digest)
        return (
            certificate.phase == phase
            and self._is_quorum(vote.sender for vote in certificate.votes)
            and all(
                (vote.phase, vote.slot, vote.view, vote.digest) == claim and self.notary.holds(vote)
                for vote in certificate.votes
            )
            and self.is_ballot_set(certificate.value, slot)
        )

    def is_proof(self, told: object, slot: int) -> TypeGuard[Certificate]:
        """Does something from anywhere prove what was decided about a slot."""
        return self._is_a(Certificate, told) and self.is_certificate(
            cast(Certificate, told), "commit", slot
        )

    def is_change(self, change: ViewChange) -> bool:
        """Does an authentic wish for a new view prove what it says was prepared before."""
        if change.prepared is None:
            return change.view > 0
        return change.prepared.view < change.view and self.is_certificate(
            change.prepared, "prepare", change.slot
        )

    def is_proposal(self, proposal: Proposal) -> bool:
        """May the primary propose this ballot set in this view.

        After view 0 a quorum must have asked for the view, and what the latest of their
        certificates says is the only ballot set allowed: it may have been decided already.
        """
        slot, view = proposal.slot, proposal.view
        if proposal.sender != self.committee.primary(slot, view):
            return False
        if not self.is_ballot_set(proposal.value, slot):
            return False
        if view == 0:
            return True
        latest = latest_prepared(proposal.changes)
        return (
            self._is_quorum(change.sender for change in proposal.changes)
            and all(
                (change.slot, change.view) == (slot, view)
                and self.notary.holds(change)
                and self.is_change(change)
                for change in proposal.changes
            )
            and (latest is None or latest.value.digest == proposal.value.digest)
        )

    def is_lawful(self, message: Message) -> bool:
        """May an honest agent have sent this authentic message."""
        if type(message) is Proposal:
            return self.is_proposal(message)
        if type(message) is ViewChange:
            return self.is_change(message)
        if type(message) is Decided:
            return self.is_certificate(message.certificate, "commit", message.slot)
        return True

    def is_contradiction(self, found: Contradiction) -> bool:
        """Has an agent signed two ballots, or two votes or proposals of one kind and view."""
        first, second = found.first, found.second
        return (
            self.is_authentic(first)
            and self.is_authentic(second)
            and _occasion(first) == _occasion(second) is not None
            and content(first) != content(second)
        )

    def _is_quorum(self, senders: Iterable[int]) -> bool:
        named = list(senders)
        return len(named) == len(set(named)) >= self.committee.quorum


def _occasion(message: Message) -> tuple[object, ...] | None:
    """What an honest agent says one thing at; None where it may say several."""
    if type(message) is Vote:
        return "vote", message.phase, message.slot, message.view, message.sender
    if type(message) is Ballot:
        return "ballot", message.slot, message.sender
    if type(message) is Proposal:
        return "proposal", message.slot, message.view, message.sender
    return None


def _is_count(value: object, bound: int = 2**63) -> bool:
    # Bool is a kind of int; a bound keeps a liar from making numbers that cost to handle.
    return type(value) is int and 0 <= value < bound


def _is_digest(value: object) -> bool:
    return type(value) is bytes and len(value) == hashlib.sha256().digest_size


def latest_prepared(changes: Iterable[ViewChange]) -> Certificate | None:
    """The certificate of the highest view among some wishes for a new view."""
    known = [change.prepared for change in changes if change.prepared is not None]
    return max(known, key=lambda certificate: certificate.view, default=None)
