"""One agent's part in a Byzantine-fault-tolerant vote without a trusted counter: n >= 3f + 1.

**Model.** Up to f of n agents lie: they may say different things to different agents, stay silent,
conspire and see everything sent to any of them. Messages are signed (`messages`); the network may
lose and delay anything until some unknown time (partial synchrony).

**What is agreed on** is a *set of at least n - f signed ballots* of different agents; the outcome
is `quorum.decide` on that set. So a lying primary cannot invent an honest agent's vote. It can
leave out up to f ballots and pick among contradicting ballots of liars, and claim 4 of `quorum`
bounds what that can do.

**Protocol** (PBFT; Castro and Liskov, 1999), one instance per slot (a batch of events). The primary
of view 0 collects ballots and proposes a set (pre-prepare). An agent that finds it valid, and has
accepted no other in this view, sends prepare. A quorum of prepares makes it *prepared*: it sends
commit. A quorum of commits decides. An agent that waits too long asks for the next view with proof
of the last set it had prepared; f + 1 such wishes carry others along. The next primary shows a
quorum of wishes and must propose again the set with the latest proof among them. Waiting times
double with the view. Whoever decided answers wishes with the proof. Unanswered messages are sent
again.

**Claims**, with at most f liars: 1. *Agreement*: no two honest agents decide different sets, ever,
whatever the network does (two quorums share an honest agent). 2. *Validity*: the outcome lies
between the lowest and the highest honest ballot; if all honest agents vote the same, it is that.
3. *Liveness*: once the network settles every honest agent decides, provided that they have votes.
With f + 1 liars claim 1 fails; the tests run the attack.
"""

from collections.abc import Collection
from dataclasses import dataclass

from standing_orders.errors import VotingError
from standing_orders.voting.messages import (
    ABSTAIN,
    Ballot,
    BallotSet,
    Certificate,
    Checker,
    Contradiction,
    Message,
    Phase,
    Proposal,
    Signer,
    ViewChange,
    Vote,
    ballot_set,
    content,
    latest_prepared,
)

MAX_DOUBLINGS = 40  # of a waiting time; beyond, it would outgrow any number


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


@dataclass(frozen=True, slots=True)
class Send:
    """A message to one agent, or to all others."""

    message: Message
    recipient: int | None = None


@dataclass(frozen=True, slots=True)
class Timer:
    """What an agent asks to be reminded of, and after what time."""

    name: str
    slot: int
    view: int
    after: float


Effect = Send | Timer


class Replica:
    """One honest agent's part in the vote on one slot: messages and timers in, effects out.

    Whoever drives it, a simulation or a process with a socket, delivers what comes in and carries
    out the effects in their order. Its own messages do not come back to it from outside.

    Args:
        slot: number of the vote.
        choices: its vote on each event, or `ABSTAIN`; if it abstains from all it casts no ballot.
        checker: what it judges messages by.
        signer: its key.
        patience: how long it waits.
        awaited: whose ballots are waited for as long as patience lasts; everybody's if left out.
            Naming those that still answer saves time and is a matter of time alone.
    """

    def __init__(
        self,
        slot: int,
        choices: bytes,
        *,
        checker: Checker,
        signer: Signer,
        patience: Patience,
        awaited: Collection[int] | None = None,
    ) -> None:
        self.slot = slot
        self.agent = signer.agent
        self.view = 0
        self.ballots: dict[int, Ballot] = {}
        self.changes: dict[int, ViewChange] = {}
        self.prepared: Certificate | None = None
        self.decision: Certificate | None = None
        self.contradictions: dict[int, Contradiction] = {}  # the first of each agent
        self._choices = choices
        self._checker = checker
        self._committee = checker.committee
        self._awaited = range(self._committee.n) if awaited is None else awaited
        self._signer = signer
        self._patience = patience
        self._has_collected = False
        self._has_proposed = False
        self._values: dict[bytes, BallotSet] = {}
        self._proposals: dict[tuple[int, int], Proposal] = {}  # the first, by view and sender
        # The first vote of each agent in each phase and view.
        self._votes: dict[tuple[Phase, int], dict[int, Vote]] = {}
        # Phase and view of every vote of its own, so that it votes once in each.
        self._cast: set[tuple[Phase, int]] = set()
        self._to_repeat: list[Message] = []
        self._effects: list[Effect] = []

    def start(self) -> list[Effect]:
        """Cast the ballot, if there is one, and start to wait."""
        if any(choice != ABSTAIN for choice in self._choices):
            self._broadcast(self._signer.ballot(self.slot, self._choices))
        self._effects.append(Timer("collect", self.slot, 0, self._patience.collect))
        self._wait()
        return self._drain()

    def receive(self, message: object) -> list[Effect]:
        """Take a message from anyone; what is malformed, forged or of another slot is dropped."""
        self._take(message)
        return self._drain()

    def on_timer(self, timer: Timer) -> list[Effect]:
        """Propose with fewer ballots, repeat what may be lost, or ask for the next view."""
        if self.decision is not None:
            return []
        if timer.name == "collect":
            self._has_collected = True
            self._propose()
        elif timer.view == self.view and timer.name == "repeat":
            self._effects.extend(Send(message) for message in self._to_repeat)
        elif timer.view == self.view:
            self._change_to(self.view + 1)
        return self._drain()

    def _drain(self) -> list[Effect]:
        effects, self._effects = self._effects, []
        return effects

    def _take(self, message: object) -> None:
        if not self._checker.is_authentic(message) or message.slot != self.slot:
            return
        if isinstance(message, Vote):
            votes = self._votes.setdefault((message.phase, message.view), {})
            self._compare(votes.setdefault(message.sender, message), message)
            self._count(message.phase, message.view, message.digest)
        elif isinstance(message, Ballot):
            if len(message.choices) == len(self._choices):
                self._compare(self.ballots.setdefault(message.sender, message), message)
                self._propose()
        elif isinstance(message, Proposal):
            self._on_proposal(message)
        elif isinstance(message, ViewChange):
            self._on_change(message)
        elif self.decision is None and self._checker.is_certificate(
            message.certificate, "commit", self.slot
        ):
            self.decision = message.certificate

    def _compare(self, known: Message, said: Message) -> None:
        if known is not said and content(known) != content(said):
            self.contradictions.setdefault(said.sender, Contradiction(known, said))

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
        elif len(self.ballots) >= committee.num_ballots and (
            self._has_collected or view > 0 or all(agent in self.ballots for agent in self._awaited)
        ):
            value = ballot_set(self.ballots.values())
        else:
            return
        self._has_proposed = True
        self._broadcast(self._signer.proposal(slot, view, value, changes))

    def _on_proposal(self, proposal: Proposal) -> None:
        view = proposal.view
        self._compare(self._proposals.setdefault((view, proposal.sender), proposal), proposal)
        if self.decision is not None or view < self.view or ("prepare", view) in self._cast:
            return
        if not self._checker.is_proposal(proposal):
            return
        if view > self.view:  # a quorum is there already
            self._enter(view)
        for ballot in proposal.value.ballots:
            self._compare(self.ballots.get(ballot.sender, ballot), ballot)
        self._values[proposal.value.digest] = proposal.value
        self._cast_vote("prepare", proposal.value.digest)

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
            self.decision = certificate
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
                answer = self._signer.decided(self.slot, self.decision)
                self._effects.append(Send(answer, change.sender))
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
        for name, share in (("repeat", 0.5), ("repeat", 0.75), ("view", 1.0)):
            self._effects.append(Timer(name, self.slot, self.view, share * time))

    def _broadcast(self, message: Message) -> None:
        self._to_repeat.append(message)
        self._effects.append(Send(message))
        self._take(message)
