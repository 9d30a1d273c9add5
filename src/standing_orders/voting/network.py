"""A seeded discrete-event network: delay, loss, reordering, and a time from which it behaves.

**Model** (partial synchrony; Dwork, Lynch and Stockmeyer, 1988). Time is a number. Before
`settle_time` a message may be lost, and takes up to `early_delay`; some links are slow throughout:
they take that long every time; some agents hear no commits of a view, or no decision passed on,
which is how one agent decides while others do not. From `settle_time` on nothing is lost and
nothing takes longer than `delay`; what was sent before and not lost arrives by `settle_time +
delay`. Messages overtake each other at all times. Agents do not know `settle_time` nor `delay`. The
network does not alter, invent or repeat messages. Liars may hold a message back as long as they
like.
"""

import heapq
from dataclasses import dataclass

import numpy as np

from standing_orders.errors import VotingError
from standing_orders.voting.messages import Decided, Vote


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
            prob = getattr(self, name)
            if not 0 <= prob <= 1:
                raise VotingError(f"{name} = {prob}: must be between 0 and 1")


class Stream:
    """Random numbers one by one, drawn in blocks."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.Generator(np.random.Philox(seed))
        self._block: list[float] = []

    def uniform(self) -> float:
        """A number from 0 to 1, 1 excluded."""
        if not self._block:
            self._block = self._rng.random(256).tolist()
        return self._block.pop()

    def below(self, bound: int) -> int:
        """A whole number from 0 to bound - 1."""
        return int(self.uniform() * bound)


@dataclass(frozen=True, slots=True)
class Timer:
    """What an agent asked to be reminded of."""

    name: str
    slot: int
    view: int


class Network:
    """Queue of what will happen: messages and timers, in the order of their times."""

    def __init__(self, conditions: Conditions, n: int, stream: Stream) -> None:
        self.now = 0.0
        self.num_sent = 0
        self._conditions = conditions
        self._stream = stream
        self._queue: list[tuple[float, int, int, object]] = []
        self._num_queued = 0
        self._is_slow = [
            [stream.uniform() < conditions.slow_prob for _ in range(n)] for _ in range(n)
        ]
        self._is_deaf: dict[tuple[int, object], bool] = {}

    def send(self, sender: int, recipient: int, message: object, hold: float = 0.0) -> None:
        """Send a message, held back by its sender for a while."""
        self.num_sent += 1
        at = self.now + hold
        now = self._conditions
        delay = now.delay * self._stream.uniform()
        if at < now.settle_time:
            if self._stream.uniform() < now.loss_prob or self._is_lost_on(recipient, message):
                return
            share = 1.0 if self._is_slow[sender][recipient] else self._stream.uniform()
            arrival = min(at + share * now.early_delay, now.settle_time + delay)
        else:
            arrival = at + delay
        self._push(arrival, recipient, message)

    def remind(self, agent: int, timer: Timer, after: float) -> None:
        """Set a timer; clocks of agents run at the same speed."""
        self._push(self.now + after, agent, timer)

    def next(self, deadline: float) -> tuple[int, object] | None:
        """Advance to what happens next, at which agent; None if nothing does by the deadline."""
        if not self._queue or self._queue[0][0] > deadline:
            return None
        self.now, _, agent, item = heapq.heappop(self._queue)
        return agent, item

    def _is_lost_on(self, recipient: int, message: object) -> bool:
        if type(message) is Vote and message.phase == "commit":
            key = (recipient, message.view)
        elif type(message) is Decided:
            key = (recipient, -1)
        else:
            return False
        if key not in self._is_deaf:
            self._is_deaf[key] = self._stream.uniform() < self._conditions.deaf_prob
        return self._is_deaf[key]

    def _push(self, time: float, agent: int, item: object) -> None:
        self._num_queued += 1
        heapq.heappush(self._queue, (time, self._num_queued, agent, item))
