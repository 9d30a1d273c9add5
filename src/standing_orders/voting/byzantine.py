"""The liars of `liars`, among agents that exchange messages.

A liar runs an honest replica inside and lies on the way out: each message to each recipient becomes
any number of others, signed with its own key or not at all.

| liar | what it does |
|---|---|
| silent | sends nothing |
| random | casts a random ballot; drops messages, adds signed ballots, votes and wishes at random |
| always-allow, always-block, flip, omniscient | casts a false ballot, follows the protocol |
| equivocate | tells two halves of the others two stories: a low ballot and a high one; in a view \
of its own a low ballot set and a high one, or both to all, or the high one, or the truth; in \
another's view it supports the proposal before half of them, or all. It commits before it may, \
hides what was prepared, and overlooks what others had prepared |
| collude | all colluders tell the same two stories, and back each other's |
| replay | also sends again what it heard, as it was or under another slot, view or name |
| late | holds everything back for longer than an agent waits in view 0 |
| malformed | sends things of the wrong type, out of range, truncated, unsigned, in another's \
name, and proofs made of too few or repeated parts |
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

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
from standing_orders.voting.pbft import Replica
from standing_orders.voting.quorum import Committee

Lie = tuple[object, float]  # what a liar sends, and for how long it holds it back
NOTHING = hashlib.sha256(b"").digest()


@dataclass
class Plot:
    """What liars that work together share: their keys, their stories and who hears which."""

    committee: Committee
    signers: Mapping[int, Signer]
    sides: Sequence[int]  # (n,): 0 or 1, the story that each agent hears
    chance: Random
    # By slot and view: the ballot sets that each side is told, one or two.
    proposed: dict[tuple[int, int], tuple[tuple[BallotSet, ...], ...]] = field(default_factory=dict)
    # By slot and view: are all sides told the same about another's proposal.
    is_loyal: dict[tuple[int, int], bool] = field(default_factory=dict)

    def stories(self, size: int) -> tuple[bytes, bytes]:
        """Ballots of the two stories, for a number of events: the lowest choices, the highest."""
        return bytes(size), bytes([self.committee.num_choices - 1]) * size

    def propose(self, replica: Replica, honest: Proposal) -> tuple[tuple[BallotSet, ...], ...]:
        """Ballot sets for each side, as low and as high as can be made from what is known."""
        key = (honest.slot, honest.view)
        if key not in self.proposed:
            stories = self.stories(len(honest.value.ballots[0].choices))
            low, high = (self._value(replica, story) for story in stories)
            self.proposed[key] = self.chance.choice((
                ((low,), (high,)),
                ((low,), (high,)),
                ((low, high), (high, low)),
                ((high,), (high,)),
                ((honest.value,), (honest.value,)),
            ))  # fmt: skip
        return self.proposed[key]

    def support(self, vote: Vote, side: int) -> list[bytes]:
        """What to vote for before one side."""
        key = (vote.slot, vote.view)
        if key in self.proposed:
            return [value.digest for value in self.proposed[key][side]]
        is_loyal = self.is_loyal.setdefault(key, self.chance.random() < 0.5)
        return [vote.digest if side == 0 or is_loyal else NOTHING]

    def _value(self, replica: Replica, story: bytes) -> BallotSet:
        own = [signer.ballot(replica.slot, story) for signer in self.signers.values()]
        others = [b for b in replica.ballots.values() if b.sender not in self.signers]
        others.sort(
            key=lambda ballot: sum(
                abs(told - wanted) for told, wanted in zip(ballot.choices, story, strict=True)
            )
        )
        return ballot_set(own + others[: max(self.committee.num_ballots - len(own), 0)])


def two_halves(n: int, liars: Iterable[int], chance: Random) -> list[int]:  # (n,)
    """Split the honest agents into two halves that hear different stories, 0 and 1."""
    sides = [0] * n
    honest = sorted(set(range(n)) - set(liars))
    first = chance.randrange(2)
    for place, agent in enumerate(chance.sample(honest, len(honest))):
        sides[agent] = (first + place) % 2
    return sides


@dataclass
class Liar:
    """What stands between a replica and the network."""

    kind: str  # one of `liars.KINDS`
    signer: Signer
    plot: Plot
    hold: float  # longer than an agent waits in view 0
    replicas: dict[int, Replica] = field(default_factory=dict)  # by slot
    heard: list[Message] = field(default_factory=list)

    def size(self, slot: int) -> int:
        """Number of events of a slot, by its own ballot."""
        own = self.replicas[slot].ballots.get(self.signer.agent)
        return 1 if own is None else len(own.choices)

    def tell(self, recipient: int, message: Message) -> Iterable[Lie]:
        """What becomes of a message to one agent."""
        return MESSAGE_LIES[self.kind](self, message, recipient)


def _random(liar: Liar, message: Message, _: int) -> Iterator[Lie]:
    chance, signer, slot = liar.plot.chance, liar.signer, message.slot
    if chance.random() < 0.7:
        yield message, 0.0
    if chance.random() < 0.7:
        return
    view = liar.replicas[slot].view + chance.randrange(3)
    choices = bytes(chance.choices(range(liar.plot.committee.num_choices), k=liar.size(slot)))
    digests = [heard.digest for heard in liar.heard if type(heard) is Vote and heard.slot == slot]
    digest = chance.choice(digests or [NOTHING])
    additions = (
        signer.ballot(slot, choices),
        signer.change(slot, view + 1, None),
        signer.vote("prepare", slot, view, digest),
        signer.vote("commit", slot, view, digest),
    )
    for _ in range(chance.choice((1, 2))):
        yield chance.choice(additions), 0.0


def _two_faced(liar: Liar, message: Message, recipient: int) -> Iterator[Lie]:
    plot, signer, side = liar.plot, liar.signer, liar.plot.sides[recipient]
    if type(message) is Ballot:
        yield signer.ballot(message.slot, plot.stories(len(message.choices))[side]), 0.0
    elif type(message) is Proposal:
        changes = _least_changes(plot, message)
        for value in plot.propose(liar.replicas[message.slot], message)[side]:
            yield signer.proposal(message.slot, message.view, value, changes), 0.0
    elif type(message) is Vote:
        for digest in plot.support(message, side):
            yield signer.vote("prepare", message.slot, message.view, digest), 0.0
            yield signer.vote("commit", message.slot, message.view, digest), 0.0
    elif type(message) is ViewChange:
        hidden = signer.change(message.slot, message.view, None)
        yield (message if side == 0 else hidden), 0.0


def _least_changes(plot: Plot, message: Proposal) -> tuple[ViewChange, ...]:
    """The wishes for the view that say least about earlier views."""
    slot, view = message.slot, message.view
    if view == 0:
        return ()
    wishes = {change.sender: change for change in message.changes}
    wishes |= {agent: liar.change(slot, view, None) for agent, liar in plot.signers.items()}
    least = sorted(wishes.values(), key=lambda wish: wish.prepared is not None)
    if plot.chance.random() < 0.5:
        least = [wish for wish in least if wish.prepared is None]
    return tuple(least[: plot.committee.quorum])


def _replay(liar: Liar, message: Message, _: int) -> Iterator[Lie]:
    chance = liar.plot.chance
    yield message, 0.0
    if not liar.heard or chance.random() < 0.5:
        return
    old: Any = chance.choice(liar.heard)
    choice = chance.randrange(4)
    if choice == 0:
        old = replace(old, sender=liar.signer.agent)
    elif choice == 1:
        old = replace(old, slot=message.slot)
    elif choice == 2 and not isinstance(old, Ballot | Decided):
        old = replace(old, view=liar.replicas[message.slot].view)
    yield old, liar.hold * chance.random()


def _malformed(liar: Liar, message: Message, recipient: int) -> Iterator[Lie]:
    broken = broken_messages(liar, message, recipient)
    for _ in range(liar.plot.chance.choice((1, 2))):
        yield liar.plot.chance.choice(broken), 0.0


def broken_messages(liar: Liar, message: Message, victim: int) -> list[object]:
    """Messages that no honest agent may take for what they claim to be."""
    signer, slot, committee = liar.signer, message.slot, liar.plot.committee
    n, view, size = committee.n, liar.replicas[slot].view, liar.size(slot)
    own = signer.ballot(slot, liar.plot.stories(size)[1])
    known = list(liar.replicas[slot].ballots.values())
    forged = [replace(ballot, choices=_mirrored(ballot.choices, committee)) for ballot in known]
    vote = signer.vote("prepare", slot, view, NOTHING)
    commit = signer.vote("commit", slot, view, NOTHING)
    change = signer.change(slot, view + 1, None)
    lone = ballot_set([own])
    proof = Certificate("commit", view, lone, (signer.vote("commit", slot, view, lone.digest),) * n)
    rigged = ballot_set({**{b.sender: b for b in known}, signer.agent: own}.values())
    names = [replace(commit, digest=rigged.digest, sender=agent) for agent in range(n)]
    anything: Any = None
    return [
        None,
        "prepare",
        b"\x00" * 64,
        (slot, view),
        signer.ballot(slot, bytes([committee.num_choices]) * size),
        signer.ballot(slot, bytes([254]) * size),
        replace(own, choices=anything),
        replace(own, choices=own.choices + own.choices),
        replace(own, sender=victim),
        replace(own, sender=n),
        replace(own, tag=b""),
        replace(own, slot=True),
        replace(vote, digest=NOTHING[:5]),
        replace(vote, sender=victim),
        replace(vote, tag=NOTHING),
        replace(commit, view=-1),
        replace(commit, phase=anything),
        signer.proposal(slot, view, BallotSet((own,) * n, NOTHING)),
        signer.proposal(slot, view, lone),
        signer.proposal(slot, view, ballot_set([own, *forged])),
        signer.proposal(slot, view, replace(lone, ballots=anything)),
        signer.change(slot, view + 1, replace(proof, phase="prepare")),
        signer.change(slot, 0, None),
        replace(change, prepared=anything, view=anything),
        replace(change, sender=victim),
        signer.decided(slot, proof),
        signer.decided(slot, Certificate("commit", view, rigged, tuple(names))),
        replace(signer.decided(slot, proof), certificate=anything),
        replace(message, tag=anything),
    ]


def _mirrored(choices: bytes, committee: Committee) -> bytes:
    return bytes((committee.num_choices - 1 - choice) % 256 for choice in choices)


def _truth(_: Liar, message: Message, __: int) -> Iterator[Lie]:
    yield message, 0.0


MESSAGE_LIES: dict[str, Callable[[Liar, Message, int], Iterable[Lie]]] = {
    "silent": lambda *_: (),
    "random": _random,
    "always-allow": _truth,
    "always-block": _truth,
    "flip": _truth,
    "omniscient": _truth,
    "collude": _two_faced,
    "equivocate": _two_faced,
    "replay": _replay,
    "late": lambda liar, message, _: ((message, liar.hold),),
    "malformed": _malformed,
}
