"""What agents say to each other, and who said it.

**Model of authentication.** Every message but a certificate carries a tag of its author:
HMAC-SHA256 under a key that only the author holds, over everything the message claims. The check
is done by a `Notary`, which knows all keys and answers yes or no. Together they stand for
public-key signatures: anyone can check a message of anyone, also one that was passed on, and
nobody, however many conspire, can make one in the name of an agent that is not among them. Keys
are drawn for each run, so messages of another run are void; messages of another slot or view are
void because both are signed.
"""

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from standing_orders.detect.actions import NUM_ACTIONS
from standing_orders.seeding import child_seed

Phase = Literal["prepare", "commit"]


@dataclass(frozen=True, slots=True)
class Ballot:
    """What one agent votes on the event of a slot."""

    slot: int
    sender: int
    action: int
    tag: bytes = b""


@dataclass(frozen=True, slots=True)
class BallotSet:
    """What is agreed on: signed ballots of different agents, sorted by agent."""

    ballots: tuple[Ballot, ...]
    digest: bytes


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


def ballot_set(ballots: Iterable[Ballot]) -> BallotSet:
    """Put ballots in canonical order and sum them up."""
    ordered = tuple(sorted(ballots, key=lambda ballot: ballot.sender))
    return BallotSet(ballots=ordered, digest=digest_of(ordered))


def digest_of(ballots: tuple[Ballot, ...]) -> bytes:
    """SHA-256 of what the ballots say and of their tags."""
    return hashlib.sha256(b"".join(content(ballot) + ballot.tag for ballot in ballots)).digest()


def content(message: Message) -> bytes:
    """Everything a message claims; different claims give different bytes."""
    if type(message) is Vote:
        claim = f"{message.phase} {message.view} {message.digest.hex()}"
    elif type(message) is Ballot:
        claim = f"ballot {message.action}"
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
    """Checks tags; stands for the public keys of all agents."""

    def __init__(self, n: int, seed: int) -> None:
        self.n = n
        self._keys = [str(child_seed(seed, "key", agent)).encode() for agent in range(n)]
        # Tags that passed, with what they are for: a message is checked by many.
        self._passed: dict[bytes, bytes] = {}

    def signer(self, agent: int) -> "Signer":
        """The private key of one agent."""
        return Signer(agent, self._keys[agent])

    def holds(self, message: Message) -> bool:
        """Is a well-formed message really from its sender."""
        claim = content(message)
        if self._passed.get(message.tag) == claim:
            return True
        tag = hmac.digest(self._keys[message.sender], claim, "sha256")
        if not hmac.compare_digest(tag, message.tag):
            return False
        self._passed[tag] = claim
        return True


class Signer:
    """Signs in the name of one agent."""

    def __init__(self, agent: int, key: bytes) -> None:
        self.agent = agent
        self._key = key

    def ballot(self, slot: int, action: int) -> Ballot:
        """Cast a ballot."""
        return Ballot(slot, self.agent, action, self._tag(Ballot(slot, self.agent, action)))

    def vote(self, phase: Phase, slot: int, view: int, digest: bytes) -> Vote:
        """Support a proposal."""
        claim = Vote(phase, slot, view, digest, self.agent)
        return Vote(phase, slot, view, digest, self.agent, self._tag(claim))

    def change(self, slot: int, view: int, prepared: Certificate | None) -> ViewChange:
        """Ask for a new view."""
        claim = ViewChange(slot, view, prepared, self.agent)
        return ViewChange(slot, view, prepared, self.agent, self._tag(claim))

    def proposal(
        self, slot: int, view: int, value: BallotSet, changes: tuple[ViewChange, ...] = ()
    ) -> Proposal:
        """Propose a ballot set."""
        claim = Proposal(slot, view, value, changes, self.agent)
        return Proposal(slot, view, value, changes, self.agent, self._tag(claim))

    def decided(self, slot: int, certificate: Certificate) -> Decided:
        """Pass a decision on."""
        claim = Decided(slot, certificate, self.agent)
        return Decided(slot, certificate, self.agent, self._tag(claim))

    def _tag(self, claim: Message) -> bytes:
        return hmac.digest(self._key, content(claim), "sha256")


def is_well_formed(message: object, n: int) -> bool:
    """Has a message the form that its kind must have; says nothing about its truth."""
    if type(message) is Vote:
        return (
            _is_header(message, n)
            and _is_count(message.view)
            and message.phase in ("prepare", "commit")
            and _is_digest(message.digest)
        )
    if type(message) is Ballot:
        return _is_header(message, n) and _is_count(message.action) and message.action < NUM_ACTIONS
    if type(message) is ViewChange:
        is_change = _is_header(message, n) and _is_count(message.view)
        return is_change and (message.prepared is None or _is_certificate(message.prepared, n))
    if type(message) is Proposal:
        is_proposal = _is_header(message, n) and _is_count(message.view)
        return (
            is_proposal
            and _is_ballot_set(message.value, n)
            and _are(message.changes, ViewChange, n)
        )
    if type(message) is Decided:
        return _is_header(message, n) and _is_certificate(message.certificate, n)
    return False


def _is_header(message: Message, n: int) -> bool:
    return (
        _is_count(message.slot)
        and _is_count(message.sender)
        and message.sender < n
        and _is_digest(message.tag)
    )


def _is_certificate(certificate: object, n: int) -> bool:
    return (
        type(certificate) is Certificate
        and certificate.phase in ("prepare", "commit")
        and _is_count(certificate.view)
        and _is_ballot_set(certificate.value, n)
        and _are(certificate.votes, Vote, n)
    )


def _is_ballot_set(value: object, n: int) -> bool:
    return type(value) is BallotSet and _is_digest(value.digest) and _are(value.ballots, Ballot, n)


def _are(parts: object, kind: type, n: int) -> bool:
    if type(parts) is not tuple or len(parts) > n:
        return False
    return all(type(part) is kind and is_well_formed(part, n) for part in parts)


def _is_count(value: object) -> bool:
    # Bool is a kind of int; a bound keeps a liar from making numbers that cost to handle.
    return type(value) is int and 0 <= value < 2**63


def _is_digest(value: object) -> bool:
    return type(value) is bytes and len(value) == hashlib.sha256().digest_size
