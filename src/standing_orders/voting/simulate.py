"""Runs of the agreement without trust: one with given liars and network, or many drawn at random.

Use it to see what the vote costs (messages, views, time), and to look for a schedule that breaks
it. For votes of a million events use `quorum.decide` on the ballots; the outcome of an agreement is
the same rule on the ballots that were agreed on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.actions import ALERT, NUM_ACTIONS
from standing_orders.errors import VotingError
from standing_orders.seeding import child_seed
from standing_orders.voting.byzantine import LyingPort, Plot
from standing_orders.voting.checks import Checker
from standing_orders.voting.committee import Committee
from standing_orders.voting.liars import LIARS, lie
from standing_orders.voting.messages import Message, Notary, is_well_formed
from standing_orders.voting.network import Conditions, Network, Stream, Timer
from standing_orders.voting.pbft import Patience, Port, Replica
from standing_orders.voting.quorum import MISSING, decide

# Liars that cast a false ballot and only that; the others lie about messages.
BALLOT_LIARS = ("random", "always-allow", "always-block", "flip")
# Long after any network of ours has settled: the time at which a run is given up.
DEADLINE = 1e6


@dataclass(frozen=True)
class Agreement:
    """What a run came to; liars have no decisions."""

    actions: NDArray[np.int8]  # (num_slots,): as the first honest agent decided; alert if none did
    has_quorum: NDArray[np.bool_]  # (num_slots,): decided, and the ballots decided on had a quorum
    has_agreement: NDArray[np.bool_]  # (num_slots,): no two honest agents decided differently
    is_valid: NDArray[np.bool_]  # (num_slots,): decisions within the range of honest votes
    decisions: NDArray[np.int8]  # (num_slots, n): action that each agent decided, or MISSING
    views: NDArray[np.int64]  # (num_slots, n): view in which it was decided, or -1
    times: NDArray[np.float64]  # (num_slots, n): when each agent decided, or nan
    is_honest: NDArray[np.bool_]  # (n,)
    num_messages: int

    @property
    def num_undecided(self) -> int:
        """Number of times an honest agent had no decision by the deadline, and alerted."""
        return int((self.decisions[:, self.is_honest] == MISSING).sum())

    @property
    def num_fallbacks(self) -> int:
        """Number of slots that came to an alert for lack of a decision or of a quorum."""
        return int((~self.has_quorum).sum())


def agree(
    votes: NDArray[np.int8],  # (num_slots, n)
    f: int,
    *,
    liars: Mapping[int, str] | None = None,
    conditions: Conditions | None = None,
    patience: Patience | None = None,
    interval: float = 1.0,
    deadline: float = DEADLINE,
    seed: int = 0,
) -> Agreement:
    """Let n agents agree on what each of some votes came to.

    Args:
        votes: what every agent would vote if it were honest; `MISSING` if it has no vote.
        f: number of liars that the agreement must bear, at least 1.
        liars: kind of each agent that lies, one of `liars.LIARS`; may be more than f.
        conditions: how the network behaves.
        patience: how long agents wait.
        interval: time from the start of one slot to the start of the next, at least 0.
        deadline: time at which agents without a decision fall back to alert.
        seed: of the keys, the network and the liars; the same seed gives the same run.

    Returns:
        The decisions.

    Raises:
        VotingError: n < 3f + 1, no such liar, or another argument that is not acceptable.

    Example:
        >>> votes = np.array([[2, 2, 3, 0]], dtype=np.int8)
        >>> result = agree(votes, f=1, liars={3: "equivocate"}, seed=1)
        >>> result.decisions
        array([[ 2,  2,  2, -1]], dtype=int8)
    """
    run = _Run(
        _checked_votes(votes),
        Committee(votes.shape[1], f),
        liars=dict(liars or {}),
        conditions=conditions or Conditions(),
        patience=patience or Patience(),
        seed=seed,
    )
    if not (interval >= 0 and deadline >= 0):
        raise VotingError(f"interval = {interval}, deadline = {deadline}: must be at least 0")
    run.play(interval, deadline)
    return run.result()


class _HonestPort:
    def __init__(self, agent: int, n: int, network: Network) -> None:
        self._agent = agent
        self._others = [other for other in range(n) if other != agent]
        self._network = network

    def send(self, recipient: int, message: Message) -> None:
        self._network.send(self._agent, recipient, message)

    def broadcast(self, message: Message) -> None:
        for other in self._others:
            self._network.send(self._agent, other, message)

    def remind(self, timer: Timer, after: float) -> None:
        self._network.remind(self._agent, timer, after)


class _Run:
    """All agents, the network between them, and what happened so far."""

    def __init__(
        self,
        votes: NDArray[np.int8],
        committee: Committee,
        *,
        liars: Mapping[int, str],
        conditions: Conditions,
        patience: Patience,
        seed: int,
    ) -> None:
        self.votes = votes
        self.liars = liars
        self.n = committee.n
        self.patience = patience
        self.seed = seed
        self.committee = committee
        self.cast = self._ballots()
        self.checker = Checker(committee, Notary(self.n, child_seed(seed, "keys")))
        self.signers = [self.checker.notary.signer(agent) for agent in range(self.n)]
        self.network = Network(conditions, self.n, Stream(child_seed(seed, "network")))
        self.ports = self._ports()
        self.replicas: dict[tuple[int, int], Replica] = {}
        self.times: dict[tuple[int, int], float] = {}

    def _ballots(self) -> NDArray[np.int8]:
        ballots = self.votes
        rng = np.random.Generator(np.random.Philox(child_seed(self.seed, "ballots")))
        for agent, kind in self.liars.items():
            if kind not in LIARS or not 0 <= agent < self.n:
                raise VotingError(
                    f"liar {agent}: {kind!r}: must be an agent from 0 to {self.n - 1} and one of "
                    f"{', '.join(LIARS)}"
                )
            if kind in BALLOT_LIARS:
                ballots = lie(kind, ballots, [agent], rng)
        return ballots

    def _ports(self) -> list[Port]:
        ports: list[Port] = [_HonestPort(i, self.n, self.network) for i in range(self.n)]
        stream = Stream(child_seed(self.seed, "liars"))
        together = [agent for agent, kind in self.liars.items() if kind == "collude"]
        shared = self._plot(together, stream)
        for agent, kind in self.liars.items():
            ports[agent] = LyingPort(
                kind,
                self.signers[agent],
                network=self.network,
                plot=shared if kind == "collude" else self._plot([agent], stream),
                stream=stream,
                hold=2 * self.patience.view,
            )
        return ports

    def _plot(self, members: Sequence[int], stream: Stream) -> Plot:
        sides = [0] * self.n
        honest = [agent for agent in range(self.n) if agent not in self.liars]
        first = stream.below(2)
        while honest:
            agent = honest.pop(stream.below(len(honest)))
            sides[agent] = (first + len(honest)) % 2
        signers = {agent: self.signers[agent] for agent in members}
        return Plot(self.committee, signers, sides, stream)

    def play(self, interval: float, deadline: float) -> None:
        """Run until every honest agent decided every slot, or the deadline."""
        for number, agent in np.ndindex(*self.votes.shape):
            self.network.remind(agent, Timer("start", number, 0), number * interval)
        num_open = len(self.votes) * (self.n - len(self.liars))
        while num_open and (event := self.network.next(deadline)) is not None:
            agent, item = event
            slot = getattr(item, "slot", None)
            if type(slot) is not int:
                continue
            if type(item) is Timer and item.name == "start":
                self._start(slot, agent)
            replica = self.replicas.get((slot, agent))
            if replica is None:
                continue
            was_open = replica.decision is None
            if type(item) is Timer:
                replica.on_timer(item)
            else:
                self._hear(agent, item)
                replica.receive(item)
            if was_open and replica.decision is not None and agent not in self.liars:
                self.times[slot, agent] = self.network.now
                num_open -= 1

    def _start(self, slot: int, agent: int) -> None:
        replica = Replica(
            slot,
            int(self.cast[slot, agent]),
            checker=self.checker,
            signer=self.signers[agent],
            patience=self.patience,
        )
        self.replicas[slot, agent] = replica
        port = self.ports[agent]
        if isinstance(port, LyingPort):
            port.replicas[slot] = replica
        replica.start(port)

    def _hear(self, agent: int, item: object) -> None:
        port = self.ports[agent]
        if isinstance(port, LyingPort) and is_well_formed(item, self.n):
            port.heard.append(cast(Message, item))

    def result(self) -> Agreement:
        """Compute the action of every decision, and compare the decisions."""
        num_slots = len(self.votes)
        ballots = np.full((num_slots, self.n, self.n), MISSING, dtype=np.int8)
        views = np.full((num_slots, self.n), -1, dtype=np.int64)
        times = np.full((num_slots, self.n), np.nan)
        digests: list[set[bytes]] = [set() for _ in range(num_slots)]
        for (slot, agent), time in self.times.items():
            certificate = self.replicas[slot, agent].decision
            assert certificate is not None
            times[slot, agent], views[slot, agent] = time, certificate.view
            digests[slot].add(certificate.value.digest)
            for ballot in certificate.value.ballots:
                ballots[slot, agent, ballot.sender] = ballot.action
        outcome = decide(ballots.reshape(-1, self.n), self.committee.f)
        has_decided = ~np.isnan(times)
        decisions = np.where(has_decided, outcome.actions.reshape(num_slots, self.n), MISSING)
        first = has_decided.argmax(axis=1)
        rows = np.arange(num_slots)
        has_any = has_decided.any(axis=1)
        is_honest = np.array([agent not in self.liars for agent in range(self.n)])
        return Agreement(
            actions=np.where(has_any, decisions[rows, first], ALERT).astype(np.int8),
            has_quorum=has_any & outcome.has_quorum.reshape(num_slots, self.n)[rows, first],
            has_agreement=np.array([len(different) <= 1 for different in digests], dtype=np.bool_),
            is_valid=_in_range(decisions, self.votes[:, is_honest]),
            decisions=decisions.astype(np.int8),
            views=views,
            times=times,
            is_honest=is_honest,
            num_messages=self.network.num_sent,
        )


def _in_range(
    decisions: NDArray[np.int8],  # (num_slots, n)
    honest: NDArray[np.int8],  # (num_slots, num_honest)
) -> NDArray[np.bool_]:  # (num_slots,)
    if not honest.shape[1]:
        return np.ones(len(decisions), dtype=np.bool_)
    has_vote = honest != MISSING
    lowest = np.where(has_vote, honest, NUM_ACTIONS).min(axis=1, keepdims=True)
    highest = np.where(has_vote, honest, MISSING).max(axis=1, keepdims=True)
    is_inside = (decisions >= lowest) & (decisions <= highest)
    return np.asarray((is_inside | (decisions == MISSING)).all(axis=1))


def _checked_votes(votes: NDArray[np.int8]) -> NDArray[np.int8]:
    if votes.ndim != 2 or votes.dtype != np.int8:
        raise VotingError(
            f"votes of shape {votes.shape} and type {votes.dtype}: must be int8, one row per slot "
            "and one column per agent"
        )
    is_action = (votes >= 0) & (votes < NUM_ACTIONS)
    return np.where(is_action, votes, np.int8(MISSING))
