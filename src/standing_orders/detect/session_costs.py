"""What decisions about a session cost: the price list, and the one place that applies it.

Events arrive one by one until a restrictive action ends the session or its events run
out. An attack has *begun* from its onset on, and every attack event that is not answered by a
restrictive action *passes*. All prices are costs; a reward is minus a cost, and catching every
attack at its onset without touching anything benign earns 0.

| | nothing comes | attack has begun | attack begins later |
|---|---|---|---|
| allow | 0 | delay | 0 |
| alert | alert | alert + delay | alert |
| block | false_block | aftermath * passed, at most the harm | false_block + harm |
| quarantine | false_block + quarantine | quarantine | quarantine |
| the events run out | 0 | harm | |

The harm is `miss`, or `(1 - alert_relief) * miss` if an alert was raised since the onset: somebody
is looking. A block closes this session only. It stops an attack that has begun, but what the
events that passed have left behind goes on (the aftermath), and a block before the onset stops
nothing: the same source attacks later, elsewhere. A quarantine isolates the source. It costs more,
but it ends the aftermath and averts an attack that nobody has seen yet.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from standing_orders.config import Config
from standing_orders.detect.actions import ACTION_NAMES, ALERT, ALLOW, BLOCK, NUM_ACTIONS
from standing_orders.detect.costs import accurate_name, best_from
from standing_orders.detect.data.events import Sessions


class SessionCosts(Config):
    """Prices of decisions about a session, all of them costs."""

    alert: float = Field(0.5, ge=0, description="Cost of each alert: somebody looks.")
    delay: float = Field(0.2, ge=0, description="Cost of each attack event that passes.")
    false_block: float = Field(
        5.0, ge=0, description="Cost of ending a session in which no attack has begun."
    )
    quarantine: float = Field(
        1.0, ge=0, description="Cost of a quarantine beyond that of a block: isolating the source."
    )
    aftermath: float = Field(
        0.25,
        ge=0,
        description="Cost of a block, not of a quarantine, for each attack event that passed "
        "before it: what these left behind goes on. Never more than the harm of the attack.",
    )
    miss: float = Field(10.0, ge=0, description="Harm of an attack that is never stopped.")
    alert_relief: float = Field(
        0.3,
        ge=0,
        le=1,
        description="Share of that harm averted by an alert raised since the attack began.",
    )


@dataclass(frozen=True)
class SessionContext:
    """What the truth says at each event, all that a price depends on besides the actions."""

    has_begun: NDArray[np.bool_]  # (num_events,): this event or an earlier one is of an attack
    is_coming: NDArray[np.bool_]  # (num_events,): an attack begins after this event
    num_passed: NDArray[np.int64]  # (num_events,): events since the onset, without this one
    is_last: NDArray[np.bool_]  # (num_events,): of its session
    starts: NDArray[np.int64]  # (num_sessions + 1,)


def session_context(
    is_threat: NDArray[np.bool_],  # (num_events,)
    starts: NDArray[np.int64],  # (num_sessions + 1,)
) -> SessionContext:
    """Look at the truth of whole sessions, once for all that is scored on them.

    An attack that has begun goes on to the end of its session, whatever later labels say: nobody
    has put the intruder out.
    """
    num_seen = running_count(is_threat.astype(np.int64), starts)
    has_begun = num_seen > 0
    totals = np.repeat(num_seen[starts[1:] - 1], np.diff(starts))
    is_last = np.zeros(len(is_threat), dtype=bool)
    is_last[starts[1:] - 1] = True
    num_passed = np.maximum(running_count(has_begun.astype(np.int64), starts) - 1, 0)
    return SessionContext(
        has_begun=has_begun,
        is_coming=~has_begun & (totals > 0),
        num_passed=num_passed,
        is_last=is_last,
        starts=starts,
    )


def step_rewards(
    costs: SessionCosts,
    actions: ArrayLike,  # (n,)
    context: SessionContext,
    *,
    events: ArrayLike,  # (n,): which event of the context each action answers
    has_alerted: ArrayLike,  # (n,): an alert was raised since the onset, before this action
) -> NDArray[np.float64]:  # (n,)
    """Reward of one action each in any number of open sessions: the only place with prices."""
    actions, events = np.asarray(actions), np.asarray(events)
    has_begun, is_coming = context.has_begun[events], context.is_coming[events]
    relieved = alerted_since_onset(actions, context, events=events, has_alerted=has_alerted)
    harm = costs.miss * np.where(relieved, 1 - costs.alert_relief, 1.0)
    aftermath = np.minimum(costs.aftermath * context.num_passed[events], harm)
    delay = costs.delay * has_begun + harm * (has_begun & context.is_last[events])
    block = np.where(has_begun, aftermath, costs.false_block + harm * is_coming)
    needless = ~(has_begun | is_coming)
    quarantine = costs.quarantine + costs.false_block * needless
    rewards: NDArray[np.float64] = 0.0 - np.choose(
        actions, [delay, costs.alert + delay, block, quarantine]
    )
    return rewards


def alerted_since_onset(
    actions: ArrayLike,  # (n,)
    context: SessionContext,
    *,
    events: ArrayLike,  # (n,)
    has_alerted: ArrayLike,  # (n,): before these actions
) -> NDArray[np.bool_]:  # (n,)
    """Whether an alert has been raised since the onset, these actions included."""
    is_alert = np.asarray(actions) == ALERT
    has_begun = context.has_begun[np.asarray(events)]
    result: NDArray[np.bool_] = np.asarray(has_alerted, dtype=bool) | (is_alert & has_begun)
    return result


@dataclass(frozen=True)
class SessionScores:
    """What whole sessions earned."""

    rewards: NDArray[np.float64]  # (num_events,): 0 after the end
    totals: NDArray[np.float64]  # (num_sessions,)
    events_seen: NDArray[np.int64]  # (num_sessions,): up to and with the restrictive action
    is_stopped: NDArray[np.bool_]  # (num_sessions,): a restrictive action ended it


def session_rewards(
    costs: SessionCosts,
    actions: ArrayLike,  # (num_events,)
    context: SessionContext,
) -> SessionScores:
    """Score the actions of whole sessions; those after the first restrictive one do not count."""
    actions, starts = np.asarray(actions), context.starts
    is_stop = (actions >= BLOCK).astype(np.int64)
    is_open = running_count(is_stop, starts) - is_stop == 0
    alerts = ((actions == ALERT) & context.has_begun).astype(np.int64)
    rewards = step_rewards(
        costs,
        actions,
        context,
        events=np.arange(len(actions)),
        has_alerted=running_count(alerts, starts) - alerts > 0,
    )
    rewards = np.where(is_open, rewards, 0.0)
    return SessionScores(
        rewards=rewards,
        totals=np.add.reduceat(rewards, starts[:-1]),
        events_seen=np.add.reduceat(is_open.astype(np.int64), starts[:-1]),
        is_stopped=np.add.reduceat(is_stop, starts[:-1]) > 0,
    )


def stop_rewards(
    costs: SessionCosts, context: SessionContext
) -> NDArray[np.float64]:  # (num_events, NUM_ACTIONS)
    """Total of a session if its first action other than allow is `action` at this event.

    Everything before is allowed; everything after an alert is too. Column allow is the total of
    doing nothing at all. Tuning a stopping rule is a look-up in this table.
    """
    starts, events = context.starts, np.arange(len(context.is_last))
    lengths = np.diff(starts)
    last = np.repeat(starts[1:] - 1, lengths)
    no, yes = np.zeros(len(events), dtype=bool), np.ones(len(events), dtype=bool)

    def step(action: int, has_alerted: NDArray[np.bool_]) -> NDArray[np.float64]:
        actions = np.full(len(events), action)
        return step_rewards(costs, actions, context, events=events, has_alerted=has_alerted)

    allow = step(ALLOW, no)
    so_far = Sessions(starts).running(np.add, allow)
    table = np.stack([so_far - allow + step(action, no) for action in range(NUM_ACTIONS)], axis=1)
    relief = np.where(context.has_begun & ~context.is_last, (step(ALLOW, yes) - allow)[last], 0.0)
    table[:, ALERT] += so_far[last] - so_far + relief
    table[:, ALLOW] = so_far[last]
    return table


def running_count(
    values: NDArray[np.int64],  # (num_events,)
    starts: NDArray[np.int64],  # (num_sessions + 1,)
) -> NDArray[np.int64]:  # (num_events,)
    """Count from the start of the session to each event, itself included."""
    sums = np.cumsum(values)
    before = np.concatenate([[0], sums])[starts[:-1]]
    result: NDArray[np.int64] = sums - np.repeat(before, np.diff(starts))
    return result


def last_chance_thresholds(costs: SessionCosts) -> list[tuple[int, float]]:
    """Which action is best from which P(attack) on, at a last event with nothing before it."""
    benign_and_attack = session_context(np.array([False, True]), np.array([0, 1, 2]))
    return best_from(stop_rewards(costs, benign_and_attack).T)


def describe_sessions(
    costs: SessionCosts, context: SessionContext, accuracies: Sequence[float] = (0.85, 0.95)
) -> list[tuple[str, float]]:
    """Rows to print before training: the mean reward a session of policies anyone can picture.

    Perfect knows the future and takes the best of all stops. An x %-accurate policy decides like
    it on x % of the sessions; on the others it misses the attack, or blocks a benign one at once.
    """
    starts = context.starts[:-1]
    table = stop_rewards(costs, context)
    best = np.maximum.reduceat(table.max(axis=1), starts)
    allowed, blocked = table[starts, ALLOW], table[starts, BLOCK]
    has_attack = context.has_begun[context.starts[1:] - 1]
    wrong = np.where(has_attack, allowed, blocked)
    rows = [("allow-all", allowed), ("block at once", blocked), ("perfect", best)]
    rows += [(accurate_name(share), share * best + (1 - share) * wrong) for share in accuracies]
    means = [(name, float(totals.mean())) for name, totals in rows]
    thresholds = [
        (f"{ACTION_NAMES[action]} is best from P(attack), at the last event", chance)
        for action, chance in last_chance_thresholds(costs)
    ]
    return means + thresholds
