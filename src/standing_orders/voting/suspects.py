"""Who is to be suspected of lying or failing, and why.

| sign | what it shows |
|---|---|
| lost | its process ended |
| proven | it signed what no honest agent signs: two ballots, votes or proposals at one occasion, \
or an envelope with something unsigned, in another's name or against the rules. Anyone can check \
the proof, so nobody can be framed |
| absent | its ballot is not among those agreed on in half of the last slots or more |
| idle | half of the views that it led or more ended without a decision |
| at odds | it votes against the outcome in half of the events of one side or more (those that \
came to 0, or those that came to more), and twice as often as the others |

The last three are signs, not proofs: a slow line makes an honest agent look absent, and one that
sees more than the others is at odds with them.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from standing_orders.voting.agent import is_loyal
from standing_orders.voting.messages import Certificate, Checker, Contradiction
from standing_orders.voting.wire import decode, unseal

_SLOTS = 16  # that absence is judged by
_LEAST_SLOTS, _LEAST_EVENTS = 2, 20  # before anything is said


def convict(evidence: bytes, checker: Checker) -> tuple[int, str] | None:
    """Who lied, and how, if evidence proves that; None if it does not.

    Args:
        evidence: an encoded `Contradiction`, or an envelope.
        checker: knows the public keys.
    """
    found = decode(evidence)
    if type(found) is Contradiction:
        if not checker.is_contradiction(found):
            return None
        kind = type(found.first).__name__.lower()
        return found.first.sender, f"signed two different {kind}s in slot {found.first.slot}"
    envelope = unseal(evidence, checker.committee.n, checker.notary)
    if envelope is None:
        return None
    for letter in envelope.letters:
        message = decode(letter)
        if is_loyal(message, envelope.sender, checker):
            continue
        if not checker.is_authentic(message):
            return envelope.sender, "sent a message that is malformed or not its own"
        if message.sender != envelope.sender:
            return envelope.sender, f"sent on a message of agent {message.sender}"
        return envelope.sender, f"sent a {type(message).__name__.lower()} against the rules"
    return None


@dataclass(frozen=True)
class Suspicion:
    """Why an agent is suspect."""

    sign: str  # see the table of this module
    why: str  # in words


class Suspects:
    """What is known against each agent.

    Args:
        checker: knows the committee and the public keys.
    """

    def __init__(self, checker: Checker) -> None:
        self._checker = checker
        n = checker.committee.n
        self.lost: set[int] = set()
        self._proofs: dict[int, str] = {}
        self._present: deque[set[int]] = deque(maxlen=_SLOTS)
        self._led, self._failed = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self._votes = np.zeros((2, n), dtype=np.int64)  # on events that came to 0, or to more
        self._against = np.zeros((2, n), dtype=np.int64)

    def note_evidence(self, evidence: bytes) -> None:
        """Keep what proves a lie; what proves nothing is dropped."""
        if (found := convict(evidence, self._checker)) is not None:
            self._proofs.setdefault(*found)

    def note_decision(
        self,
        slot: int,
        certificate: Certificate,
        choices: NDArray[np.int8],  # (num_events,): what came of it
    ) -> None:
        """Keep who took part in a decision, and who voted how."""
        committee, ballots = self._checker.committee, certificate.value.table(self._led.size)
        self._present.append({ballot.sender for ballot in certificate.value.ballots})
        for view in range(certificate.view + 1):
            self._led[committee.primary(slot, view)] += 1
            self._failed[committee.primary(slot, view)] += view < certificate.view
        for side in (0, 1):
            told = ballots[(choices > 0) == side]
            self._votes[side] += (told >= 0).sum(axis=0)
            self._against[side] += ((told >= 0) & ((told > 0) != side)).sum(axis=0)

    @property
    def absent(self) -> set[int]:
        """Agents whose ballots do not come."""
        num_slots = len(self._present)
        if num_slots < _LEAST_SLOTS:
            return set()
        agents = range(self._led.size)
        missed = {agent: sum(agent not in one for one in self._present) for agent in agents}
        return {agent for agent in agents if 2 * missed[agent] >= num_slots}

    @property
    def named(self) -> dict[int, Suspicion]:
        """Every suspect, by the surest sign against it."""
        is_idle = (self._failed >= _LEAST_SLOTS) & (2 * self._failed >= self._led)
        idle = map(int, np.flatnonzero(is_idle))
        found = {agent: Suspicion("at odds", why) for agent, why in self._at_odds().items()}
        found |= dict.fromkeys(idle, Suspicion("idle", "does not bring about decisions"))
        found |= dict.fromkeys(self.absent, Suspicion("absent", "casts no ballots in time"))
        found |= {agent: Suspicion("proven", why) for agent, why in self._proofs.items()}
        return found | dict.fromkeys(self.lost, Suspicion("lost", "its process ended"))

    def passed_over(self) -> list[int]:
        """Agents that are not worth waiting for: at most as many as may fail."""
        proven = [agent for agent in self._proofs if agent not in self.lost]
        ranked = dict.fromkeys([*self.lost, *sorted(self.absent), *proven])
        return list(ranked)[: self._checker.committee.f]

    def _at_odds(self) -> dict[int, str]:
        found = {}
        rates = self._against / np.maximum(self._votes, 1)
        for side, outcome in enumerate(("0", "more than 0")):
            for agent, rate in enumerate(rates[side]):
                usual = float(np.median(np.delete(rates[side], agent)))
                if self._votes[side, agent] >= _LEAST_EVENTS and rate >= max(0.5, 2 * usual):
                    found[agent] = (
                        f"votes against the outcome in {100 * rate:.0f} % of the events that came "
                        f"to {outcome} (the others: {100 * usual:.0f} %)"
                    )
        return found
