"""Votes without a trusted counter in a simulated network: what they cost, and what breaks them.

For votes of a million events use `quorum.decide` on the ballots; the outcome here is the same rule
on the ballots that were agreed on.

**Network** (partial synchrony; Dwork, Lynch and Stockmeyer, 1988). Time is a number. Before
`settle_time` a message may be lost, and takes up to `early_delay`; some links are slow throughout;
some agents hear no commits of a view, or no decision passed on, which is how one agent decides
while others do not. From `settle_time` on nothing is lost and nothing takes longer than `delay`;
what was sent before and not lost arrives by `settle_time + delay`. Messages overtake each other at
all times. Agents do not know `settle_time` nor `delay`. The network does not alter, invent or
repeat messages. Liars may hold a message back as long as they like.

**Worst scheduler.** The network may also cut chosen agents off from a slot (`withheld`) until the
others, who cannot tell them from dead ones, have decided without their ballots. `liars.withhold`
chooses those whose ballots the truth needs most.
"""

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from standing_orders.errors import VotingError
from standing_orders.seeding import child_seed
from standing_orders.voting.byzantine import Liar, Plot, two_halves
from standing_orders.voting.keys import simulated_keys
from standing_orders.voting.liars import BALLOT_LIARS, KINDS, lie
from standing_orders.voting.messages import Checker, Decided, Vote
from standing_orders.voting.pbft import Effect, Patience, Replica, Timer
from standing_orders.voting.quorum import FALLBACK, MISSING, Committee, decide

CUT_OFF = 1e3  # time for which an agent is cut off from a slot
DEADLINE = 1e6  # long after any network of ours has settled: the time at which a run is given up


@dataclass(frozen=True)
class Conditions:
    """How a network behaves; times in the unit of `delay`.

    Raises:
        VotingError: a value is out of bounds.
    """

    settle_time: float = 0.0  # at least 0
    delay: float = 1.0  # longest delay from then on, greater than 0
    early_delay: float = 10.0  # longest delay before, at least `delay`
    loss_prob: float = 0.0  # of a message sent before, 0 to 1
    slow_prob: float = 0.0  # of a link to be slow until then, 0 to 1
    deaf_prob: float = 0.0  # of an agent to hear no commits of a view until then, 0 to 1

    def __post_init__(self) -> None:
        if not 0 <= self.settle_time < float("inf"):
            raise VotingError(f"settle_time = {self.settle_time}: must be finite and at least 0")
        if not 0 < self.delay <= self.early_delay < float("inf"):
            raise VotingError(
                f"delay = {self.delay}, early_delay = {self.early_delay}: must be finite, the "
                "first greater than 0 and not above the second"
            )
        for name in ("loss_prob", "slow_prob", "deaf_prob"):
            if not 0 <= (prob := getattr(self, name)) <= 1:
                raise VotingError(f"{name} = {prob}: must be between 0 and 1")


class Network:
    """Queue of what will happen: messages and timers, in the order of their times."""

    def __init__(
        self,
        conditions: Conditions,
        n: int,
        chance: Random,
        withheld: NDArray[np.bool_] | None = None,  # (num_slots, n)
    ) -> None:
        self.now = 0.0
        self._withheld = np.zeros((0, n), dtype=np.bool_) if withheld is None else withheld
        self.num_sent = 0
        self._conditions = conditions
        self._chance = chance
        self._queue: list[tuple[float, int, int, object]] = []
        self._num_queued = 0
        self._is_slow = [
            [chance.random() < conditions.slow_prob for _ in range(n)] for _ in range(n)
        ]
        self._is_deaf: dict[tuple[int, int], bool] = {}

    def send(self, sender: int, recipient: int, message: object, hold: float = 0.0) -> None:
        """Send a message, held back by its sender for a while."""
        self.num_sent += 1
        at = self.now + hold
        told = self._conditions
        arrival = at + told.delay * self._chance.random()
        if at < told.settle_time:
            if self._chance.random() < told.loss_prob or self._is_lost_on(recipient, message):
                return
            share = 1.0 if self._is_slow[sender][recipient] else self._chance.random()
            arrival = min(at + share * told.early_delay, told.settle_time + arrival - at)
        if at < CUT_OFF and self._is_cut_off(sender, recipient, message):
            arrival += CUT_OFF
        self._push(arrival, recipient, message)

    def remind(self, agent: int, timer: Timer) -> None:
        """Set a timer; clocks of agents run at the same speed."""
        self._push(self.now + timer.after, agent, timer)

    def next(self, deadline: float) -> tuple[int, object] | None:
        """Advance to what happens next, at which agent; None if nothing does by the deadline."""
        if not self._queue or self._queue[0][0] > deadline:
            return None
        self.now, _, agent, item = heapq.heappop(self._queue)
        return agent, item

    def _is_cut_off(self, sender: int, recipient: int, message: object) -> bool:
        slot = getattr(message, "slot", None)
        if type(slot) is not int or not 0 <= slot < len(self._withheld):
            return False
        return bool(self._withheld[slot, [sender, recipient]].any())

    def _is_lost_on(self, recipient: int, message: object) -> bool:
        if type(message) is Vote and message.phase == "commit":
            key = (recipient, message.view)
        elif type(message) is Decided:
            key = (recipient, -1)
        else:
            return False
        return self._is_deaf.setdefault(key, self._chance.random() < self._conditions.deaf_prob)

    def _push(self, time: float, agent: int, item: object) -> None:
        self._num_queued += 1
        heapq.heappush(self._queue, (time, self._num_queued, agent, item))


@dataclass(frozen=True)
class Agreement:
    """What a run came to; liars have no decisions."""

    ballots: NDArray[np.int8]  # (num_events, n): as the first honest agent decided; MISSING if none
    choices: NDArray[np.int8]  # (num_events,): what came of them; 1 if nobody decided
    has_quorum: NDArray[np.bool_]  # (num_events,): decided, and the ballots had a quorum
    has_agreement: NDArray[np.bool_]  # (num_slots,): no two honest agents decided differently
    is_valid: NDArray[np.bool_]  # (num_events,): decisions within the range of honest votes
    decisions: NDArray[np.int8]  # (num_events, n): choice that each agent decided, or MISSING
    views: NDArray[np.int64]  # (num_slots, n): view in which it was decided, or -1
    times: NDArray[np.float64]  # (num_slots, n): when each agent decided, or nan
    is_honest: NDArray[np.bool_]  # (n,)
    num_messages: int

    @property
    def num_undecided(self) -> int:
        """Number of slots, over honest agents, without a decision by the deadline: fallen to 1."""
        return int(np.isnan(self.times[:, self.is_honest]).sum())

    @property
    def num_fallbacks(self) -> int:
        """Number of events that came to 1 for lack of a decision or of a quorum."""
        return int((~self.has_quorum).sum())


def agree(
    votes: NDArray[np.int8],  # (num_events, n)
    f: int,
    *,
    num_choices: int,
    batch: int = 1,
    liars: Mapping[int, str] | None = None,
    is_right: NDArray[np.bool_] | None = None,  # (num_events,)
    withheld: NDArray[np.bool_] | None = None,  # (num_slots, n)
    conditions: Conditions | None = None,
    patience: Patience | None = None,
    deadline: float = DEADLINE,
    seed: int = 0,
) -> Agreement:
    """Let n agents agree on what each of some votes came to.

    An agent without a decision by the deadline falls back to 1. That is no decision: one agent may
    fall back where another decided, and no protocol can rule that out before the network settles.

    Args:
        votes: what every agent would vote if it were honest; `MISSING` if it has no vote.
        f: number of faulty agents tolerated, at least 1.
        num_choices: choices that there are.
        batch: events of a slot, which are agreed on together; the last slot may have fewer.
        liars: kind of each agent that lies, one of `liars.KINDS`; may be more than f.
        is_right: whether more than 0 is right, for liars that know.
        withheld: who is cut off from which slot.
        conditions: how the network behaves.
        patience: how long agents wait.
        deadline: time at which the run ends.
        seed: of the keys, the network and the liars; the same seed gives the same run.

    Raises:
        VotingError: n < 3f + 1, no such liar, or another argument that is not acceptable.

    Example:
        >>> votes = np.array([[2, 2, 3, 0]], dtype=np.int8)
        >>> agree(votes, f=1, num_choices=4, liars={3: "equivocate"}, seed=1).decisions
        array([[ 2,  2,  2, -1]], dtype=int8)
    """
    if votes.ndim != 2 or votes.dtype != np.int8 or batch < 1:
        raise VotingError(
            f"votes of shape {votes.shape} and type {votes.dtype} in batches of {batch}: must be "
            "int8, one row per event and one column per agent, in batches of at least 1"
        )
    committee = Committee(votes.shape[1], f, num_choices)
    if not deadline >= 0:
        raise VotingError(f"deadline = {deadline}: must be at least 0")
    votes = np.where((votes >= 0) & (votes < num_choices), votes, np.int8(MISSING))
    cast = votes
    rng = np.random.Generator(np.random.Philox(child_seed(seed, "ballots")))
    for agent, kind in (liars or {}).items():
        _check_liar(agent, kind, committee.n)
        if kind in BALLOT_LIARS:
            cast = lie(kind, cast, [agent], rng, num_choices=num_choices, is_right=is_right)
    chance = Random(child_seed(seed, "network"))
    network = Network(conditions or Conditions(), committee.n, chance, withheld)
    run = _Run(votes, cast, committee, liars or {}, network, patience or Patience(), batch, seed)
    run.play(deadline)
    return run.result()


def _check_liar(agent: int, kind: str, n: int) -> None:
    if kind not in KINDS or not 0 <= agent < n:
        raise VotingError(
            f"liar {agent}: {kind!r}: must be an agent from 0 to {n - 1} and one of "
            f"{', '.join(KINDS)}"
        )


class _Run:
    """All agents, the network between them, and what happened so far."""

    def __init__(
        self,
        votes: NDArray[np.int8],
        cast: NDArray[np.int8],
        committee: Committee,
        liars: Mapping[int, str],
        network: Network,
        patience: Patience,
        batch: int,
        seed: int,
    ) -> None:
        self.votes, self.committee, self.network = votes, committee, network
        self.patience, self.batch = patience, batch
        starts = range(0, len(votes), batch)
        self.cast = [cast[start : start + batch] for start in starts]  # by slot
        notary, self.signers = simulated_keys(committee.n, child_seed(seed, "keys"))
        self.checker = Checker(committee, notary)
        self.replicas: dict[tuple[int, int], Replica] = {}
        self.times: dict[tuple[int, int], float] = {}
        chance = Random(child_seed(seed, "liars"))
        shared = self._plot([agent for agent in liars if liars[agent] == "collude"], liars, chance)
        self.liars: dict[int, Liar] = {}
        for agent, kind in liars.items():
            plot = shared if kind == "collude" else self._plot([agent], liars, chance)
            self.liars[agent] = Liar(kind, self.signers[agent], plot, hold=2 * patience.view)

    def _plot(self, members: Iterable[int], liars: Iterable[int], chance: Random) -> Plot:
        sides = two_halves(self.committee.n, liars, chance)
        signers = {agent: self.signers[agent] for agent in members}
        return Plot(self.committee, signers, sides, chance)

    def play(self, deadline: float) -> None:
        """Run until every honest agent decided every slot, or the deadline."""
        num_slots = len(self.cast)
        for slot, agent in np.ndindex(num_slots, self.committee.n):
            self.network.remind(agent, Timer("start", slot, 0, after=float(slot)))
        num_open = num_slots * (self.committee.n - len(self.liars))
        while num_open and (event := self.network.next(deadline)) is not None:
            agent, item = event
            slot = getattr(item, "slot", None)
            if type(slot) is not int:
                continue
            if type(item) is Timer and item.name == "start":
                self._start(slot, agent)
            elif (replica := self.replicas.get((slot, agent))) is not None:
                was_open = replica.decision is None
                self._deliver(agent, replica, item)
                if was_open and replica.decision is not None and agent not in self.liars:
                    self.times[slot, agent] = self.network.now
                    num_open -= 1

    def _start(self, slot: int, agent: int) -> None:
        replica = Replica(
            slot,
            self.cast[slot][:, agent].tobytes(),
            checker=self.checker,
            signer=self.signers[agent],
            patience=self.patience,
        )
        self.replicas[slot, agent] = replica
        if agent in self.liars:
            self.liars[agent].replicas[slot] = replica
        self._carry_out(agent, replica.start())

    def _deliver(self, agent: int, replica: Replica, item: object) -> None:
        if type(item) is Timer:
            effects = replica.on_timer(item)
        else:
            if agent in self.liars and self.checker.is_well_formed(item):
                self.liars[agent].heard.append(item)
            effects = replica.receive(item)
        self._carry_out(agent, effects)

    def _carry_out(self, agent: int, effects: Iterable[Effect]) -> None:
        liar = self.liars.get(agent)
        everyone = range(self.committee.n)
        for effect in effects:
            if isinstance(effect, Timer):
                self.network.remind(agent, effect)
                continue
            to = everyone if effect.recipient is None else (effect.recipient,)
            for recipient in to:
                if recipient == agent:
                    continue
                told = liar.tell(recipient, effect.message) if liar else ((effect.message, 0.0),)
                for message, hold in told:
                    self.network.send(agent, recipient, message, hold)

    def result(self) -> Agreement:
        """Compute the outcome of every decision, and compare the decisions."""
        committee, num_slots = self.committee, len(self.cast)
        num_events, n = self.votes.shape
        ballots = np.full((num_events, n, n), MISSING, dtype=np.int8)
        views = np.full((num_slots, n), -1, dtype=np.int64)
        times = np.full((num_slots, n), np.nan)
        digests: list[set[bytes]] = [set() for _ in range(num_slots)]
        for (slot, agent), time in self.times.items():
            certificate = self.replicas[slot, agent].decision
            assert certificate is not None
            times[slot, agent], views[slot, agent] = time, certificate.view
            digests[slot].add(certificate.value.digest)
            events = slice(slot * self.batch, slot * self.batch + len(self.cast[slot]))
            ballots[events, agent] = certificate.value.table(n)
        outcome = decide(ballots.reshape(-1, n), committee.f, num_choices=committee.num_choices)
        slots = np.arange(num_events) // self.batch
        has_decided = ~np.isnan(times)[slots]  # (num_events, n)
        decisions = np.where(has_decided, outcome.choices.reshape(num_events, n), MISSING)
        first = np.arange(num_events), has_decided.argmax(axis=1)
        has_any = has_decided.any(axis=1)
        is_honest = np.array([agent not in self.liars for agent in range(n)])
        return Agreement(
            ballots=ballots[first],
            choices=np.where(has_any, decisions[first], FALLBACK).astype(np.int8),
            has_quorum=has_any & outcome.has_quorum.reshape(num_events, n)[first],
            has_agreement=np.array([len(different) <= 1 for different in digests], dtype=np.bool_),
            is_valid=_in_range(decisions, self.votes[:, is_honest], committee.num_choices),
            decisions=decisions.astype(np.int8),
            views=views,
            times=times,
            is_honest=is_honest,
            num_messages=self.network.num_sent,
        )


def _in_range(
    decisions: NDArray[np.integer],  # (num_events, n)
    honest: NDArray[np.int8],  # (num_events, num_honest)
    num_choices: int,
) -> NDArray[np.bool_]:  # (num_events,)
    """Whether every decision lies between the lowest and the highest honest vote."""
    has_vote = honest != MISSING
    lowest = np.where(has_vote, honest, num_choices).min(axis=1, initial=num_choices)[:, None]
    highest = np.where(has_vote, honest, MISSING).max(axis=1, initial=MISSING)[:, None]
    is_inside = (decisions >= lowest) & (decisions <= highest)
    return np.asarray((is_inside | (decisions == MISSING)).all(axis=1))
