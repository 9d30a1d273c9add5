"""Agents as Ray actors that agree on batches of events by signed messages.

Each actor is a process of its own that holds its own key, weights and view, and talks to the others
directly. Whoever asks is trusted with one thing, to pass the public keys round when they meet; what
an agent answers counts only with the signatures of a quorum.

The trust is in the keys, not in Ray: whoever can enter the cluster can run code in it, and an agent
whose *process* is taken over can do what Ray lets it do (see `collect.cluster`).
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.errors import StandingOrdersError, VotingError, WorkerError
from standing_orders.voting.agent import Agent, Answer, Trial, Voter
from standing_orders.voting.keys import public_notary
from standing_orders.voting.messages import Certificate, Checker
from standing_orders.voting.pbft import Patience
from standing_orders.voting.quorum import Committee, decide
from standing_orders.voting.suspects import Suspects
from standing_orders.voting.wire import decode

SECONDS = Patience(collect=2.0, view=6.0)
GIVE_UP = 120.0  # seconds without a decision on a slot
_TOGETHER = 8  # batches that are voted on in one call: their letters share envelopes
_CALLS = 2  # under way at a time
_START_SECONDS = 300.0  # a busy machine loads four copies of everything slowly


class AgentActor:
    """An agent where Ray runs it; see `agent.Agent`."""

    def __init__(
        self, index: int, committee: Committee, voter: Voter, patience: Patience, trial: Trial
    ) -> None:
        self._agent = Agent(index, committee, voter, patience, trial)

    async def key(self) -> bytes:
        """Its public key."""
        return self._agent.public_key

    async def meet(self, keys: Sequence[bytes], peers: Sequence[Any]) -> None:
        """Learn who the others are and how to reach them."""
        self._agent.meet(keys, lambda agent, envelope: peers[agent].hear.remote(envelope))

    async def hear(self, envelope: bytes) -> None:
        """Take an envelope from another agent."""
        self._agent.hear(envelope)

    async def vote(
        self, turn: int, batches: Sequence[tuple[int, Any]], awaited: Sequence[int]
    ) -> list[Answer]:
        """Vote on batches of events, and tell what is agreed."""
        return await self._agent.vote(turn, batches, awaited)

    async def ask(self, name: str, *args: Any) -> Any:
        """Call a method of its voter."""
        return getattr(self._agent.voter, name)(*args)


@dataclass(frozen=True, eq=False)
class Agreed:
    """What the agents agreed on about a batch of events."""

    ballots: NDArray[np.int8]  # (num_events, n): `MISSING` for agents whose ballot is not counted
    remarks: list[Any]  # (n,): of each agent's voter; None of an agent that did not answer
    view: int  # in which it was decided: 0 unless a primary failed


@dataclass
class _Round:
    """Batches that are voted on in one call."""

    slots: list[int]
    begun: float
    running: dict[Any, int]  # agent by answers to come
    remarks: list[list[Any]]  # by batch and agent
    proofs: dict[int, Certificate] = field(default_factory=dict)  # by slot
    decided_at: float = float("inf")

    @property
    def is_decided(self) -> bool:
        return len(self.proofs) == len(self.slots)


class RayVote:
    """A committee of Ray actors; use as a context manager, or close it.

    Args:
        ray: the module, connected to a cluster.
        voters: one for each agent, which goes to its process and nowhere else.
        f: number of faulty agents tolerated, at least 1; needs 3f + 1 voters.
        num_choices: rungs of the ladder that they vote on.
        patience: how long agents wait for each other, in seconds.
        report: told of every suspect, once for each sign, and why.
        trials: faults that are played, by agent.

    Raises:
        VotingError: too few agents.
        WorkerError: the actors cannot be started.
    """

    def __init__(
        self,
        ray: Any,
        voters: Sequence[Voter],
        f: int,
        *,
        num_choices: int,
        patience: Patience = SECONDS,
        report: Callable[[str], None],
        trials: Mapping[int, Trial] | None = None,
    ) -> None:
        self.committee = Committee(len(voters), f, num_choices)
        self._ray, self._report, self._patience = ray, report, patience
        remote = ray.remote(num_cpus=0)(AgentActor)
        told = trials or {}
        self.actors = [
            remote.remote(index, self.committee, voter, patience, told.get(index, Trial()))
            for index, voter in enumerate(voters)
        ]
        try:
            keys = ray.get([one.key.remote() for one in self.actors], timeout=_START_SECONDS)
            meet = [one.meet.remote(keys, self.actors) for one in self.actors]
            ray.get(meet, timeout=_START_SECONDS)
        except ray.exceptions.RayError as err:
            self.close()
            raise _explained(err, "the agents cannot be started") from err
        self._checker = Checker(self.committee, public_notary(keys))
        self.suspects = Suspects(self._checker)
        self._named: set[tuple[int, str]] = set()
        self._turn, self._number = 0, 0

    def __enter__(self) -> "RayVote":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the agents; their keys end with them."""
        for actor in self.actors:
            self._ray.kill(actor)

    def decide(self, batches: Iterable[Sequence[Any]]) -> Iterator[Agreed]:
        """Have batches of events agreed on, in their order, several at a time.

        Args:
            batches: for each batch the inputs of each agent: what it sees, and nothing else.

        Raises:
            WorkerError: more agents are lost than may fail, or one refuses.
            VotingError: no agreement comes about.
        """
        running: deque[_Round] = deque()
        left = iter(batches)
        while together := list(islice(left, _TOGETHER)):
            running.append(self._submit(together))
            if len(running) >= _CALLS:
                yield from self._finish(running.popleft())
        while running:
            yield from self._finish(running.popleft())

    def ask(self, name: str, arguments: Sequence[Sequence[Any]]) -> list[Any]:
        """Call a method of each agent's voter with its own arguments; None of a lost one."""
        calls = [
            None if agent in self.suspects.lost else actor.ask.remote(name, *arguments[agent])
            for agent, actor in enumerate(self.actors)
        ]
        return [
            None if call is None else self._get(call, agent) for agent, call in enumerate(calls)
        ]

    def _submit(self, batches: Sequence[Sequence[Any]]) -> _Round:
        over = self.suspects.passed_over()
        slots: list[int] = []
        while len(slots) < len(batches):
            if self.committee.primary(self._number, 0) not in over:
                slots.append(self._number)
            self._number += 1  # another number, another primary
        absent = self.suspects.lost | self.suspects.absent
        awaited = [one for one in range(self.committee.n) if one not in absent or one not in over]
        calls = {}
        for agent, actor in enumerate(self.actors):
            if agent not in self.suspects.lost:
                told = [(slot, one[agent]) for slot, one in zip(slots, batches, strict=True)]
                calls[actor.vote.remote(self._turn, told, awaited)] = agent
        self._turn += 1
        remarks = [[None] * self.committee.n for _ in slots]
        return _Round(slots, monotonic(), calls, remarks)

    def _finish(self, found: _Round) -> Iterator[Agreed]:
        """Wait for proofs of what is decided, then a little for the others' remarks."""
        while found.running:
            ready, _ = self._ray.wait(list(found.running), num_returns=1, timeout=0.5)
            for call in ready:
                self._take(found, call)
            now = monotonic()
            waited_for = set(found.running.values()) - self.suspects.absent
            if found.is_decided and (
                not waited_for or now - found.decided_at > self._patience.collect
            ):
                break
            if not found.is_decided and now - found.begun > GIVE_UP:
                break
        if not found.is_decided:
            raise VotingError(
                f"no agreement after {monotonic() - found.begun:.0f} s: more than "
                f"{self.committee.f} of {self.committee.n} agents fail, or they are too slow"
            )
        for slot, remarks in zip(found.slots, found.remarks, strict=True):
            proof = found.proofs[slot]
            ballots = proof.value.table(self.committee.n)
            counted = decide(ballots, self.committee.f, num_choices=self.committee.num_choices)
            self.suspects.note_decision(slot, proof, counted.choices)
            self._name_suspects()
            yield Agreed(ballots, remarks, proof.view)

    def _take(self, found: _Round, call: Any) -> None:
        agent = found.running.pop(call)
        answers = self._get(call, agent) or []
        for place, (slot, answer) in enumerate(zip(found.slots, answers, strict=False)):
            found.remarks[place][agent] = answer.remark
            for evidence in answer.evidence:
                self.suspects.note_evidence(evidence)
            if slot in found.proofs:
                continue
            told = decode(answer.decided)
            if self._checker.is_proof(told, slot):
                found.proofs[slot] = told
        if found.is_decided:
            found.decided_at = min(found.decided_at, monotonic())

    def _get(self, call: Any, agent: int) -> Any:
        """What an agent answered; None if it is lost."""
        try:
            return self._ray.get(call)
        except self._ray.exceptions.RayActorError:
            self.suspects.lost.add(agent)
            self._name_suspects()
            if (num_lost := len(self.suspects.lost)) > self.committee.f:
                raise WorkerError(
                    f"{num_lost} of {self.committee.n} agents are lost, {self.committee.f} may be: "
                    "no quorum is left; start again"
                ) from None
            return None
        except self._ray.exceptions.RayError as err:
            raise _explained(err, f"agent {agent} fails") from err

    def _name_suspects(self) -> None:
        for agent, found in self.suspects.named.items():
            if (agent, found.sign) not in self._named:
                self._named.add((agent, found.sign))
                self._report(f"agent {agent} is suspect: {found.why}")


def _explained(err: Exception, what: str) -> StandingOrdersError:
    cause = getattr(err, "cause", None)
    return cause if isinstance(cause, StandingOrdersError) else WorkerError(f"{what}: {err}")
