"""The ten liars of `liars`, among agents that exchange messages.

A liar runs an honest agent inside and lies on the way out: each message to each recipient becomes
any number of others, signed with its own key or not at all.

| liar | what it does |
|---|---|
| silent | sends nothing |
| random | casts a random ballot; drops messages, adds signed votes, ballots and wishes for a new \
view at random |
| always-allow, always-block, flip | casts a false ballot, follows the protocol |
| equivocate | splits the others into two halves and tells each another story: a mild ballot and a \
severe one; in a view of its own a mild ballot set and a severe one, or both to all, or the severe \
one to all, or the truth; in another's view it supports the proposal before half of them, or all. \
It commits before it may, hides what was prepared, and overlooks what others had prepared |
| collude | all colluders tell the same two stories, and back each other's |
| replay | also sends again what it heard from anyone in any slot, as it was or under another \
slot, view or name |
| late | holds everything back for longer than an agent waits in view 0 |
| malformed | sends things of the wrong type, out of range, truncated, unsigned, in another's \
name, and proofs made of too few or repeated parts |
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from standing_orders.detect.actions import ALLOW, NUM_ACTIONS, QUARANTINE
from standing_orders.voting.committee import Committee
from standing_orders.voting.messages import (
    Ballot,
    BallotSet,
    Certificate,
    Decided,
    Message,
    Proposal,
    Signer,
    ViewChange,
    Vote,
    ballot_set,
)
from standing_orders.voting.network import Network, Stream, Timer
from standing_orders.voting.pbft import Replica

# A message that a liar sends, and for how long it holds it back.
Sent = tuple[object, float]
# Ballots of the two stories that a two-faced liar tells.
STORIES = (ALLOW, QUARANTINE)


@dataclass
class Plot:
    """What liars that work together share: their keys, their stories and who hears which."""

    committee: Committee
    signers: Mapping[int, Signer]
    sides: Sequence[int]  # (n,): 0 or 1, the story that each agent hears
    stream: Stream
    # By slot and view: the ballot sets that each side is told, one or two.
    proposed: dict[tuple[int, int], tuple[tuple[BallotSet, ...], ...]] = field(default_factory=dict)
    # By slot and view: are all sides told the same about another's proposal.
    is_loyal: dict[tuple[int, int], bool] = field(default_factory=dict)

    def propose(self, replica: Replica, honest: Proposal) -> tuple[tuple[BallotSet, ...], ...]:
        """Ballot sets for each side, as mild and as severe as can be made from what is known."""
        key = (honest.slot, honest.view)
        if key not in self.proposed:
            mild, severe = (self._value(replica, story) for story in STORIES)
            self.proposed[key] = (
                ((mild,), (severe,)),
                ((mild,), (severe,)),
                ((mild, severe), (severe, mild)),
                ((severe,), (severe,)),
                ((honest.value,), (honest.value,)),
            )[self.stream.below(5)]
        return self.proposed[key]

    def support(self, vote: Vote, side: int) -> list[bytes]:
        """What to vote for before one side."""
        key = (vote.slot, vote.view)
        if key in self.proposed:
            return [value.digest for value in self.proposed[key][side]]
        if key not in self.is_loyal:
            self.is_loyal[key] = self.stream.below(2) == 0
        return [vote.digest if side == 0 or self.is_loyal[key] else _digest_of_nothing()]

    def _value(self, replica: Replica, story: int) -> BallotSet:
        own = [signer.ballot(replica.slot, story) for signer in self.signers.values()]
        others = [b for b in replica.ballots.values() if b.sender not in self.signers]
        others.sort(key=lambda ballot: abs(ballot.action - story))
        num_others = max(self.committee.num_ballots - len(own), 0)
        return ballot_set(own + others[:num_others])


class LyingPort:
    """How a liar reaches the others."""

    def __init__(
        self,
        kind: str,
        signer: Signer,
        *,
        network: Network,
        plot: Plot,
        stream: Stream,
        hold: float,
    ) -> None:
        self.signer = signer
        self.plot = plot
        self.stream = stream
        self.hold = hold
        self.replicas: dict[int, Replica] = {}
        self.heard: list[Message] = []
        self._network = network
        self._lies = MESSAGE_LIES[kind]

    def broadcast(self, message: Message) -> None:
        """Tell everybody else something."""
        for recipient in range(self.plot.committee.n):
            if recipient != self.signer.agent:
                self.send(recipient, message)

    def send(self, recipient: int, message: Message) -> None:
        """Tell one agent something."""
        for lie, hold in self._lies(self, message, recipient):
            self._network.send(self.signer.agent, recipient, lie, hold)

    def remind(self, timer: Timer, after: float) -> None:
        """Be called back later."""
        self._network.remind(self.signer.agent, timer, after)


def _truth(port: LyingPort, message: Message, recipient: int) -> Iterator[Sent]:  # noqa: ARG001
    yield message, 0.0


def _silent(port: LyingPort, message: Message, recipient: int) -> Iterator[Sent]:  # noqa: ARG001
    yield from ()


def _late(port: LyingPort, message: Message, recipient: int) -> Iterator[Sent]:  # noqa: ARG001
    yield message, port.hold


def _random(port: LyingPort, message: Message, recipient: int) -> Iterator[Sent]:  # noqa: ARG001
    stream, signer, slot = port.stream, port.signer, message.slot
    if stream.uniform() < 0.7:
        yield message, 0.0
    if stream.uniform() < 0.7:
        return
    view = port.replicas[slot].view + stream.below(3)
    digests = [heard.digest for heard in port.heard if type(heard) is Vote and heard.slot == slot]
    digest = digests[stream.below(len(digests))] if digests else _digest_of_nothing()
    for _ in range(1 + stream.below(2)):
        choice = stream.below(4)
        if choice == 0:
            yield signer.ballot(slot, stream.below(NUM_ACTIONS)), 0.0
        elif choice == 1:
            yield signer.change(slot, view + 1, None), 0.0
        else:
            yield signer.vote(("prepare", "commit")[choice - 2], slot, view, digest), 0.0


def _two_faced(port: LyingPort, message: Message, recipient: int) -> Iterator[Sent]:
    plot, signer, side = port.plot, port.signer, port.plot.sides[recipient]
    if type(message) is Ballot:
        yield signer.ballot(message.slot, STORIES[side]), 0.0
    elif type(message) is Proposal:
        yield from ((lie, 0.0) for lie in _two_faced_proposals(port, message, side))
    elif type(message) is Vote:
        for digest in plot.support(message, side):
            yield signer.vote("prepare", message.slot, message.view, digest), 0.0
            yield signer.vote("commit", message.slot, message.view, digest), 0.0
    elif type(message) is ViewChange:
        hidden = signer.change(message.slot, message.view, None)
        yield (message if side == 0 else hidden), 0.0


def _two_faced_proposals(port: LyingPort, message: Proposal, side: int) -> Iterator[Proposal]:
    """This side's ballot sets, with the wishes that say least about earlier views."""
    plot, slot, view = port.plot, message.slot, message.view
    changes: tuple[ViewChange, ...] = ()
    if view > 0:
        wishes = {change.sender: change for change in message.changes}
        wishes |= {agent: liar.change(slot, view, None) for agent, liar in plot.signers.items()}
        least = sorted(wishes.values(), key=lambda wish: wish.prepared is not None)
        if plot.stream.below(2):
            least = [wish for wish in least if wish.prepared is None]
        changes = tuple(least[: plot.committee.quorum])
    for value in plot.propose(port.replicas[slot], message)[side]:
        yield port.signer.proposal(slot, view, value, changes)


def _replay(port: LyingPort, message: Message, recipient: int) -> Iterator[Sent]:  # noqa: ARG001
    stream = port.stream
    yield message, 0.0
    if not port.heard or stream.uniform() < 0.5:
        return
    old: Any = port.heard[stream.below(len(port.heard))]
    choice = stream.below(4)
    if choice == 0:
        old = replace(old, sender=port.signer.agent)
    elif choice == 1:
        old = replace(old, slot=message.slot)
    elif choice == 2 and type(old) is not Ballot and type(old) is not Decided:
        old = replace(old, view=port.replicas[message.slot].view)
    yield old, port.hold * stream.uniform()


def _malformed(port: LyingPort, message: Message, recipient: int) -> Iterator[Sent]:
    broken = broken_messages(port, message, recipient)
    yield broken[port.stream.below(len(broken))], 0.0
    if port.stream.uniform() < 0.5:
        yield broken[port.stream.below(len(broken))], 0.0


def broken_messages(port: LyingPort, message: Message, victim: int) -> list[object]:
    """Messages that no honest agent may take for what they claim to be."""
    signer, slot, n = port.signer, message.slot, port.plot.committee.n
    replica = port.replicas[slot]
    view, nothing = replica.view, _digest_of_nothing()
    own = signer.ballot(slot, QUARANTINE)
    known = list(replica.ballots.values())
    forged = [replace(ballot, action=QUARANTINE - ballot.action) for ballot in known]
    vote = signer.vote("prepare", slot, view, nothing)
    commit = signer.vote("commit", slot, view, nothing)
    stuffed = BallotSet((own,) * n, nothing)
    lone = ballot_set([own])
    proof = Certificate("commit", view, lone, (signer.vote("commit", slot, view, lone.digest),) * n)
    claim = replace(proof, phase="prepare")
    others = {ballot.sender: ballot for ballot in known}
    rigged = ballot_set({**others, signer.agent: own}.values())
    names = [replace(commit, digest=rigged.digest, sender=agent) for agent in range(n)]
    theft = Certificate("commit", view, rigged, tuple(names))
    anything: Any = None
    return [
        None,
        "prepare",
        b"\x00" * 64,
        (slot, view),
        signer.ballot(slot, NUM_ACTIONS),
        signer.ballot(slot, -1),
        replace(own, action=anything),
        replace(own, sender=victim),
        replace(own, sender=n),
        replace(own, tag=b""),
        replace(own, slot=True),
        replace(vote, digest=nothing[:5]),
        replace(vote, sender=victim),
        replace(vote, tag=nothing),
        replace(commit, view=-1),
        replace(commit, phase=anything),
        signer.proposal(slot, view, stuffed),
        signer.proposal(slot, view, lone),
        signer.proposal(slot, view, ballot_set([own, *forged])),
        signer.proposal(slot, view, replace(lone, ballots=anything)),
        signer.change(slot, view + 1, claim),
        signer.change(slot, 0, None),
        replace(signer.change(slot, view + 1, None), prepared=anything, view=anything),
        replace(signer.change(slot, view + 1, None), sender=victim),
        signer.decided(slot, proof),
        signer.decided(slot, theft),
        replace(signer.decided(slot, proof), certificate=anything),
        replace(message, tag=anything),
    ]


def _digest_of_nothing() -> bytes:
    return hashlib.sha256(b"").digest()


MESSAGE_LIES: dict[str, Callable[[LyingPort, Message, int], Iterator[Sent]]] = {
    "silent": _silent,
    "random": _random,
    "always-allow": _truth,
    "always-block": _truth,
    "flip": _truth,
    "collude": _two_faced,
    "equivocate": _two_faced,
    "replay": _replay,
    "late": _late,
    "malformed": _malformed,
}
