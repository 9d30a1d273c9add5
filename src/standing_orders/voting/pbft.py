"""Agreement without trust on what a vote came to: n >= 3f + 1, by messages only.

**Model.** Up to f of n agents are liars: they may say different things to different agents, stay
silent, conspire and see everything sent to any of them. Messages are signed (`messages`), the
network is partially synchronous (`network`): it may lose and delay anything until some unknown
time. There is no counter and no shared memory.

**What is agreed on.** Each agent signs a ballot and sends it to all. What is proposed, and agreed
on, is a *set of at least n - f signed ballots* of different agents; the action is the quorum vote
(`quorum.decide`) on that set, which everybody can compute. So a lying primary cannot invent an
honest agent's vote. It can leave out up to f ballots and pick among contradicting ballots of liars,
and claim 4 of `quorum` bounds what that can do.

**Protocol** (PBFT; Castro and Liskov, 1999), one instance per slot (event). The primary of view 0
collects ballots and proposes a set (pre-prepare). An agent that finds the proposal valid, and has
not accepted another one in this view, sends prepare. A quorum of prepares makes it *prepared*: it
sends commit. A quorum of commits decides. An agent that waits too long asks for the next view
with proof of the last set it had prepared; f + 1 such wishes carry others along. The next view's
primary shows a quorum of wishes and must propose again the set with the latest proof among them, if
there is one. Waiting times double with the view. Whoever decided answers wishes with the proof.
Unanswered messages are sent again.

**Claims**, with at most f liars:

1. *Agreement*: no two honest agents decide different sets, hence not different actions, ever,
   whatever the network does. (Two quorums share an honest agent.)
2. *Validity*: the decided action lies between the mildest and the most severe honest ballot; if all
   honest agents vote the same, it is that.
3. *Liveness*: once the network settles every honest agent decides, provided that the honest agents
   have votes. The views that start after that with a liar as primary are lost time.
4. *Fallback*: an agent that has not decided by a deadline alerts, which is counted. That is no
   decision: one agent may alert where another decided. No protocol can rule that out before the
   network settles.

With f + 1 liars claim 1 fails; the tests run the attack.
"""

from dataclasses import dataclass
from typing import Protocol

from standing_orders.errors import VotingError
from standing_orders.voting.checks import Checker, latest_prepared
from standing_orders.voting.messages import (
    Ballot,
    BallotSet,
    Certificate,
    Decided,
    Message,
    Phase,
    Proposal,
    Signer,
    ViewChange,
    Vote,
    ballot_set,
)
from standing_orders.voting.network import Timer
from standing_orders.voting.quorum import MISSING

# Views whose waiting time is still doubled; beyond, time would outgrow any number.
MAX_DOUBLINGS = 40


@dataclass(frozen=True)
class Patience:
    """How long an agent waits; its own guess, the truth about the network is unknown to it.

    Raises:
        VotingError: a time is not greater than 0, or not finite.
    """

    collect: float = 2.0  # for the last ballots, before a proposal without them
    view: float = 8.0  # for a decision in view 0; doubles with each view

    def __post_init__(self) -> None:
        for name, time in (("collect", self.collect), ("view", self.view)):
            if not 0 < time < float("inf"):
                raise VotingError(f"patience.{name} = {time}: must be finite and greater than 0")

    def at(self, view: int) -> float:
        """Waiting time in a view."""
        return self.view * 2.0 ** min(view, MAX_DOUBLINGS)


class Port(Protocol):
    """How an agent reaches the others; its own messages do not come back through it."""

    def send(self, recipient: int, message: Message) -> None:
        """Send a message to one agent."""

    def broadcast(self, message: Message) -> None:
        """Send a message to all others."""

    def remind(self, timer: Timer, after: float) -> None:
        """Be called back later."""


class Replica:
    """One honest agent's part in the agreement on one slot."""

    def __init__(
        self, slot: int, vote: int, *, checker: Checker, signer: Signer, patience: Patience
    ) -> None:
        self.slot = slot
        self.agent = signer.agent
        self.view = 0
        self.ballots: dict[int, Ballot] = {}
        self.changes: dict[int, ViewChange] = {}
        self.prepared: Certificate | None = None
        self.decision: Certificate | None = None
        self._vote = vote
        self._checker = checker
        self._committee = checker.committee
        self._signer = signer
        self._patience = patience
        self._has_collected = False
        self._has_proposed = False
        self._values: dict[bytes, BallotSet] = {}
        # The first vote of each agent in each phase and view.
        self._votes: dict[tuple[Phase, int], dict[int, Vote]] = {}
        # Phase and view of every vote of its own, so that it votes once in each.
        self._cast: set[tuple[Phase, int]] = set()
        self._to_repeat: list[Message] = []

    def start(self, port: Port) -> None:
        """Cast the ballot, if there is one, and start to wait."""
        self._port = port
        if self._vote != MISSING:
            self._broadcast(self._signer.ballot(self.slot, self._vote))
        port.remind(Timer("collect", self.slot, 0), self._patience.collect)
        self._wait()

    def receive(self, message: object) -> None:
        """Take a message from anyone; what is malformed, forged or of another slot is dropped."""
        if not self._checker.is_authentic(message):
            return
        if message.slot != self.slot:  # type: ignore[attr-defined]
            return
        if type(message) is Vote:
            self._on_vote(message)
        elif type(message) is Ballot:
            self.ballots.setdefault(message.sender, message)
            self._propose()
        elif type(message) is Proposal:
            self._on_proposal(message)
        elif type(message) is ViewChange:
            self._on_change(message)
        elif type(message) is Decided:
            certificate = message.certificate
            if self._checker.is_certificate(certificate, "commit", self.slot):
                self._decide(certificate)

    def on_timer(self, timer: Timer) -> None:
        """Propose with fewer ballots, repeat what may be lost, or ask for the next view."""
        if self.decision is not None:
            return
        if timer.name == "collect":
            self._has_collected = True
            self._propose()
        elif timer.view != self.view:
            return
        elif timer.name == "repeat":
            for message in self._to_repeat:
                self._port.broadcast(message)
        elif timer.name == "view":
            self._change_to(self.view + 1)

    def _propose(self) -> None:
        committee, slot, view = self._committee, self.slot, self.view
        if self._has_proposed or committee.primary(slot, view) != self.agent:
            return
        changes = tuple(change for change in self.changes.values() if change.view == view)
        if view > 0 and len(changes) < committee.quorum:
            return
        latest = latest_prepared(changes)
        if latest is not None:
            value = latest.value
        elif len(self.ballots) == committee.n or (
            len(self.ballots) >= committee.num_ballots and (self._has_collected or view > 0)
        ):
            value = ballot_set(self.ballots.values())
        else:
            return
        self._has_proposed = True
        self._broadcast(self._signer.proposal(slot, view, value, changes))

    def _on_proposal(self, proposal: Proposal) -> None:
        view = proposal.view
        if self.decision is not None or view < self.view or ("prepare", view) in self._cast:
            return
        if not self._checker.is_proposal(proposal):
            return
        if view > self.view:  # a quorum is there already
            self._enter(view)
        self._values[proposal.value.digest] = proposal.value
        self._cast_vote("prepare", proposal.value.digest)

    def _on_vote(self, vote: Vote) -> None:
        self._votes.setdefault((vote.phase, vote.view), {}).setdefault(vote.sender, vote)
        self._count(vote.phase, vote.view, vote.digest)

    def _count(self, phase: Phase, view: int, digest: bytes) -> None:
        """Act on a quorum of votes for a ballot set that is known."""
        if self.decision is not None or digest not in self._values:
            return
        votes = self._votes.get((phase, view), {}).values()
        support = tuple(vote for vote in votes if vote.digest == digest)
        if len(support) < self._committee.quorum:
            return
        certificate = Certificate(phase, view, self._values[digest], support)
        if phase == "commit":
            self._decide(certificate)
        elif view == self.view and ("commit", view) not in self._cast:
            self.prepared = certificate
            self._cast_vote("commit", digest)

    def _cast_vote(self, phase: Phase, digest: bytes) -> None:
        self._cast.add((phase, self.view))
        self._broadcast(self._signer.vote(phase, self.slot, self.view, digest))
        # Commits may have come before the proposal did.
        self._count("commit", self.view, digest)

    def _on_change(self, change: ViewChange) -> None:
        if not self._checker.is_change(change):
            return
        if self.decision is not None:
            if change.sender != self.agent:
                self._port.send(change.sender, self._signer.decided(self.slot, self.decision))
            return
        known = self.changes.get(change.sender)
        if known is not None and known.view >= change.view:
            return
        self.changes[change.sender] = change
        wished = sorted((other.view for other in self.changes.values()), reverse=True)
        if len(wished) > self._committee.f and wished[self._committee.f] > self.view:
            self._change_to(wished[self._committee.f])  # at least one honest agent wants it
        self._propose()

    def _change_to(self, view: int) -> None:
        self._enter(view)
        self._broadcast(self._signer.change(self.slot, view, self.prepared))

    def _enter(self, view: int) -> None:
        self.view = view
        self._has_proposed = False
        # Of earlier views only the ballot matters to the others.
        self._to_repeat = [message for message in self._to_repeat if type(message) is Ballot]
        self._wait()

    def _wait(self) -> None:
        time = self._patience.at(self.view)
        for share in (0.5, 0.75):
            self._port.remind(Timer("repeat", self.slot, self.view), share * time)
        self._port.remind(Timer("view", self.slot, self.view), time)

    def _decide(self, certificate: Certificate) -> None:
        if self.decision is None:
            self.decision = certificate

    def _broadcast(self, message: Message) -> None:
        self._to_repeat.append(message)
        self._port.broadcast(message)
        self.receive(message)
