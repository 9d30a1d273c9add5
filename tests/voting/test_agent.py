"""Agents with real keys and real bytes between them, in one process: every fault, quickly."""

import asyncio
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from standing_orders.voting import LIARS, Committee, Patience, decide
from standing_orders.voting.agent import Agent, Answer, Trial
from standing_orders.voting.keys import public_notary
from standing_orders.voting.messages import Certificate, Checker
from standing_orders.voting.suspects import Suspects
from standing_orders.voting.wire import decode

COMMITTEE = Committee(4, 1, num_choices=4)
HASTE = Patience(collect=0.15, view=0.4)


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop whose clock jumps to the next timer: nothing depends on how busy the machine is."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        self._look = self._selector.select
        self._selector.select = self._jump

    def _jump(self, timeout: float | None = None) -> Any:
        self._now += timeout or 0.0
        return self._look(0)

    def time(self) -> float:
        return self._now


class Cast:
    """Votes what it is told to."""

    def vote(self, inputs: NDArray[np.int8]) -> tuple[NDArray[np.int8], Any]:
        return inputs, None


class Room:
    """Agents in one loop; some of them dead."""

    def __init__(self, trials: dict[int, Trial], dead: tuple[int, ...] = ()) -> None:
        self.agents = [
            Agent(index, COMMITTEE, Cast(), HASTE, trials.get(index)) for index in range(4)
        ]
        self.dead, self.sent = dead, 0
        keys = [agent.public_key for agent in self.agents]
        self.checker = Checker(COMMITTEE, public_notary(keys))
        self.suspects = Suspects(self.checker)
        for agent in self.agents:
            agent.meet(keys, self.post)

    def post(self, recipient: int, envelope: bytes) -> None:
        self.sent += 1
        if recipient not in self.dead:
            asyncio.get_running_loop().call_soon(self.agents[recipient].hear, envelope)

    async def decide(self, slot: int, votes: NDArray[np.int8]) -> list[Certificate]:
        """What every living agent says was decided."""
        calls = [
            agent.vote(slot, [(slot, votes[:, index])], range(4))
            for index, agent in enumerate(self.agents)
            if index not in self.dead
        ]
        return [self.proof(slot, answer) for (answer,) in await asyncio.gather(*calls)]

    def proof(self, slot: int, answer: Answer) -> Certificate:
        for evidence in answer.evidence:
            self.suspects.note_evidence(evidence)
        told = decode(answer.decided)
        assert self.checker.is_proof(told, slot)
        return told


def draw_votes(num_slots: int, size: int = 30) -> NDArray[np.int8]:
    """Honest agents that mostly agree: a true answer, and one in ten ballots differs."""
    rng = np.random.default_rng(2)
    right = rng.integers(4, size=(num_slots, size, 1))
    noise = rng.random((num_slots, size, 4)) < 0.1
    other = rng.integers(4, size=(num_slots, size, 4))
    return np.where(noise, other, right).astype(np.int8)


def play(room: Room, votes: NDArray[np.int8], together: bool = False) -> list[NDArray[np.int8]]:
    """Ballots agreed on in each slot."""

    async def run() -> list[list[Certificate]]:
        slots = enumerate(votes)
        if together:
            return list(await asyncio.gather(*(room.decide(slot, one) for slot, one in slots)))
        found = []
        for slot, one in slots:
            found.append(await room.decide(slot, one))
            await asyncio.sleep(2 * HASTE.view)  # for what a liar holds back
        return found

    found = []
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        decided = runner.run(run())
    for slot, certificates in enumerate(decided):
        assert len({one.value.digest for one in certificates}) == 1
        ballots = certificates[0].value.table(4)
        choices = decide(ballots, 1, num_choices=4).choices
        room.suspects.note_decision(slot, certificates[0], choices)
        found.append(ballots)
    return found


def outcome(ballots: NDArray[np.int8]) -> NDArray[np.int8]:
    return decide(ballots, 1, num_choices=4).choices


@pytest.mark.parametrize("together", [False, True])
def test_honest_agents_agree_on_all_ballots_and_nobody_is_suspect(together: bool) -> None:
    votes = draw_votes(6)
    room = Room({})
    assert np.array_equal(play(room, votes, together), votes)
    assert room.suspects.named == {}


def test_delayed_and_reordered_letters_change_nothing() -> None:
    votes = draw_votes(8)
    room = Room({agent: Trial(delay=0.03, seed=5) for agent in range(4)})
    assert np.array_equal(play(room, votes, together=True), votes)
    assert room.suspects.named == {}


@pytest.mark.parametrize("dead", range(4))
def test_the_others_go_on_without_a_dead_one_and_name_it(dead: int) -> None:
    votes = draw_votes(4)
    room = Room({}, dead=(dead,))
    found = play(room, votes)
    left = votes.copy()
    left[:, :, dead] = -1
    assert np.array_equal(found, left)  # what the plain vote counts without it
    assert set(room.suspects.named) == {dead}


@pytest.mark.parametrize("kind", LIARS)
def test_whoever_lies_the_honest_have_their_way_and_the_liar_is_named(kind: str) -> None:
    liar = 2
    votes = draw_votes(6, size=60)
    room = Room({liar: Trial(liar=kind, seed=3)})
    honest = [agent for agent in range(4) if agent != liar]
    for ballots, told in zip(play(room, votes), votes, strict=True):
        own = told[:, honest]
        assert ((ballots[:, honest] == own) | (ballots[:, honest] == -1)).all()  # none invented
        chosen = outcome(ballots)
        agree = (own == own[:, :1]).all(axis=1)
        assert agree.sum() > 30
        assert np.array_equal(chosen[agree], own[agree, 0])
        assert ((chosen >= own.min(axis=1)) & (chosen <= own.max(axis=1))).all()
    assert set(room.suspects.named) == {liar}, room.suspects.named
