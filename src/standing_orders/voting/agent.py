"""One agent in a process of its own: its key, its votes, its replicas, its letters.

It draws its key where it runs. Inputs come from whoever asks for a verdict, letters from the other
agents; it casts its ballots on a batch of events (a slot), takes part in the agreement about them
(`pbft.Replica`) and answers with the proof of what was decided. What it says within `LINGER` goes
into one envelope for each recipient. Whatever carries the envelopes, and however late,
often or mixed up they come, is not its concern.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from standing_orders.seeding import child_seed
from standing_orders.voting.byzantine import Liar, Plot, two_halves
from standing_orders.voting.keys import draw_key, public_notary
from standing_orders.voting.liars import BALLOT_LIARS, lie
from standing_orders.voting.messages import Checker, Message
from standing_orders.voting.pbft import Effect, Patience, Replica, Timer
from standing_orders.voting.quorum import Committee
from standing_orders.voting.wire import Envelope, decode, encode, seal, unseal

LINGER = 0.003  # seconds: what is said meanwhile shares an envelope, which costs more than a letter
KEPT_SLOTS = 256  # for agents that are behind, and letters that come early
_EARLY_LETTERS = 64  # kept for a slot that has not begun here
_REPORTED = 2  # pieces of evidence against each agent

Post = Callable[[int, bytes], None]  # to whom, the envelope


class Voter(Protocol):
    """What one agent thinks: holds its own weights, and sees its own view."""

    def vote(self, inputs: Any) -> tuple[NDArray[np.int8], Any]:
        """Its choice for each event, and a remark for whoever asked."""


@dataclass(frozen=True)
class Trial:
    """A fault that is played, to see that the others bear it."""

    liar: str | None = None  # one of `liars.LIARS`
    delay: float = 0.0  # longest, in seconds, of each envelope: later ones overtake it
    seed: int = 0


@dataclass
class Answer:
    """What an agent says about a slot."""

    decided: bytes  # the encoded proof of what is decided; empty if nothing is
    remark: Any  # of its voter
    evidence: list[bytes] = field(default_factory=list)  # envelopes and contradictions


class Agent:
    """One of n agents that agree by messages.

    Args:
        index: its number.
        committee: how many there are, and how many may fail.
        voter: what it votes.
        patience: how long it waits, in seconds.
        trial: a fault that is played.
    """

    def __init__(
        self,
        index: int,
        committee: Committee,
        voter: Voter,
        patience: Patience,
        trial: Trial | None = None,
    ) -> None:
        self._index, self._committee, self.voter = index, committee, voter
        self._patience, self._trial = patience, trial or Trial()
        self._signer, self.public_key = draw_key(index)
        self._chance = Random(child_seed(self._trial.seed, "trial", index))
        self._liar = self._make_liar()
        self._replicas: dict[int, Replica] = {}
        self._decided: dict[int, asyncio.Future[None]] = {}
        self._early: dict[int, list[Message]] = {}
        self._outbox: dict[int, list[bytes]] = {}
        self._numbers = dict.fromkeys(range(committee.n), 0)
        self._heard: dict[int, int] = {}  # window of numbers heard, by sender; see `_is_new`
        self._evidence: dict[int, list[bytes]] = {}
        self._turn, self._waiting = 0, {0: asyncio.Event()}

    def meet(self, keys: Sequence[bytes], post: Post) -> None:
        """Learn the public keys of all, and how to reach them."""
        self._checker = Checker(self._committee, public_notary(keys))
        self._post = post
        self._waiting[0].set()

    async def vote(
        self, turn: int, batches: Sequence[tuple[int, Any]], awaited: Collection[int]
    ) -> list[Answer]:
        """Vote on some batches of events, and tell what is agreed about each.

        Args:
            turn: 0, 1, 2 and so on: batches are voted on in this order, however they come.
            batches: number of the agreement (slot), larger each time, and what its voter looks at.
            awaited: whose ballots are worth waiting for.
        """
        await self._waiting.setdefault(turn, asyncio.Event()).wait()
        opinions = [self.voter.vote(inputs) for _, inputs in batches]
        del self._waiting[turn]
        self._waiting.setdefault(turn + 1, asyncio.Event()).set()
        for (slot, _), (choices, _) in zip(batches, opinions, strict=True):
            self._begin(slot, self._cast(choices), awaited)
        await asyncio.gather(*(self._decided[slot] for slot, _ in batches))
        remarks = [remark for _, remark in opinions]
        return [self._answer(slot, one) for (slot, _), one in zip(batches, remarks, strict=True)]

    def _answer(self, slot: int, remark: Any) -> Answer:
        replica = self._replicas.get(slot)
        if replica is None or replica.decision is None:
            return Answer(b"", remark)
        for contradiction in replica.contradictions.values():
            self._accuse(contradiction.first.sender, encode(contradiction))
        evidence = [one for each in self._evidence.values() for one in each if one]
        self._evidence = {agent: [b""] * len(each) for agent, each in self._evidence.items()}
        return Answer(encode(replica.decision), remark, evidence)

    def hear(self, data: bytes) -> None:
        """Take an envelope from anyone."""
        checker = self._checker
        envelope = unseal(data, self._committee.n, checker.notary)
        if envelope is None or envelope.recipient != self._index or not self._is_new(envelope):
            return
        for letter in envelope.letters:
            message = decode(letter)
            if is_loyal(message, envelope.sender, checker):
                self._deliver(message)
            else:
                self._accuse(envelope.sender, data)

    def _make_liar(self) -> Liar | None:
        if self._trial.liar is None:
            return None
        sides = two_halves(self._committee.n, [self._index], self._chance)
        plot = Plot(self._committee, {self._index: self._signer}, sides, self._chance)
        return Liar(self._trial.liar, self._signer, plot, hold=2 * self._patience.view)

    def _cast(self, choices: NDArray[np.int8]) -> bytes:
        kind = self._trial.liar
        if kind in BALLOT_LIARS:
            rng = np.random.Generator(np.random.Philox(self._chance.getrandbits(64)))
            num_choices = self._committee.num_choices
            choices = lie(kind, choices[:, None], [0], rng, num_choices=num_choices)[:, 0]
        return choices.astype(np.int8).tobytes()

    def _begin(self, slot: int, choices: bytes, awaited: Collection[int]) -> None:
        replica = Replica(
            slot, choices, checker=self._checker, signer=self._signer, patience=self._patience,
            awaited=awaited,
        )  # fmt: skip
        self._replicas[slot] = replica
        self._decided[slot] = asyncio.get_running_loop().create_future()
        if self._liar:
            self._liar.replicas[slot] = replica
        self._carry_out(slot, replica.start())
        for message in self._early.pop(slot, ()):
            self._deliver(message)
        self._forget(slot - KEPT_SLOTS)

    def _forget(self, before: int) -> None:
        for slot in [slot for slot in self._replicas if slot < before]:
            del self._replicas[slot]
            future = self._decided.pop(slot)
            if not future.done():
                future.set_result(None)
            if self._liar:
                del self._liar.replicas[slot]
        self._early = {slot: kept for slot, kept in self._early.items() if slot >= before}
        if self._liar:
            del self._liar.heard[:-KEPT_SLOTS]

    def _is_new(self, envelope: Envelope) -> bool:
        """Whether an envelope has not been heard before; very old ones count as heard.

        The window is a whole number: the highest number heard, and a bit for each one below.
        """
        highest, bits = divmod(self._heard.get(envelope.sender, 0), 1 << KEPT_SLOTS)
        number = envelope.number + 1
        if number > highest:
            bits = ((bits << min(number - highest, KEPT_SLOTS)) | 1) % (1 << KEPT_SLOTS)
            highest = number
        elif highest - number >= KEPT_SLOTS or bits >> (highest - number) & 1:
            return False
        else:
            bits |= 1 << (highest - number)
        self._heard[envelope.sender] = (highest << KEPT_SLOTS) | bits
        return True

    def _deliver(self, message: Message) -> None:
        replica = self._replicas.get(message.slot)
        if replica is None:
            latest = max(self._replicas, default=0)
            kept = self._early.setdefault(message.slot, [])
            if latest < message.slot <= latest + KEPT_SLOTS and len(kept) < _EARLY_LETTERS:
                kept.append(message)
            elif not kept:
                del self._early[message.slot]
            return
        if self._liar:
            self._liar.heard.append(message)
        self._carry_out(message.slot, replica.receive(message))

    def _on_timer(self, timer: Timer) -> None:
        if (replica := self._replicas.get(timer.slot)) is not None:
            self._carry_out(timer.slot, replica.on_timer(timer))

    def _carry_out(self, slot: int, effects: Iterable[Effect]) -> None:
        loop = asyncio.get_running_loop()
        for effect in effects:
            if isinstance(effect, Timer):
                loop.call_later(effect.after, self._on_timer, effect)
                continue
            everyone = range(self._committee.n)
            to = everyone if effect.recipient is None else (effect.recipient,)
            letter = b"" if self._liar else encode(effect.message)
            for recipient in to:
                if recipient == self._index:
                    continue
                if not self._liar:
                    self._put(recipient, letter)
                    continue
                for lie_told, hold in self._liar.tell(recipient, effect.message):
                    loop.call_later(hold, self._put, recipient, encode(lie_told))
        future = self._decided.get(slot)
        if future and not future.done() and self._replicas[slot].decision is not None:
            future.set_result(None)

    def _put(self, recipient: int, letter: bytes) -> None:
        if not self._outbox:
            asyncio.get_running_loop().call_later(LINGER, self._send)
        self._outbox.setdefault(recipient, []).append(letter)

    def _send(self) -> None:
        outbox, self._outbox = self._outbox, {}
        for recipient, letters in outbox.items():
            number = self._numbers[recipient]
            self._numbers[recipient] += 1
            envelope = seal(self._signer, recipient, number, tuple(letters))
            if self._trial.delay:
                delay = self._trial.delay * self._chance.random()
                asyncio.get_running_loop().call_later(delay, self._post, recipient, envelope)
            else:
                self._post(recipient, envelope)

    def _accuse(self, agent: int, evidence: bytes) -> None:
        known = self._evidence.setdefault(agent, [])
        if agent != self._index and len(known) < _REPORTED and evidence not in known:
            known.append(evidence)


def is_loyal(message: object, sender: int, checker: Checker) -> TypeGuard[Message]:
    """Whether an honest agent may have sent this: signed, in its own name, by the rules."""
    return checker.is_authentic(message) and message.sender == sender and checker.is_lawful(message)
