"""What decisions earn: the reward table of records, the price list of sessions, and their game.

A *record* is judged alone. It is *flagged* by any action but allow; a flag on a threat is a true
positive, on a benign event a false positive. Block and quarantine are *restrictive*.

The events of a *session* arrive one by one until a restrictive action ends it or they run out. An
attack has *begun* from its onset on, and every attack event that is not answered by a restrictive
action *passes*. All prices are costs; a reward is minus a cost, and catching every attack at its
onset without touching anything benign earns 0.

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

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from standing_orders.config import Config
from standing_orders.detect.actions import ACTION_NAMES, ALERT, ALLOW, BLOCK, NUM_ACTIONS
from standing_orders.detect.data.events import Sessions
from standing_orders.errors import ConfigError

Preset = Literal["published", "published-original"]
ACCURACIES = (0.85, 0.95)  # of policies that anyone can picture


# Reward of a true positive, true negative, false positive, false negative, and of restriction.
PRESETS = {
    "published": (10.0, 1.0, -8.0, -10.0, -1.5),
    "published-original": (5.0, 2.0, -3.0, -6.0, -0.05),
}


class CostConfig(Config):
    """Which reward table judges records: a preset, and any of its values replaced by your own."""

    preset: Preset = Field(
        "published",
        description="Reward table: +10, +1, -8, -10, -1.5 (published) or +5, +2, -3, -6, -0.05 "
        "(published-original) for a true positive, true negative, false positive, false negative "
        "and a restrictive action.",
    )
    true_positive: float | None = Field(None, description="Reward of flagging a threat.")
    true_negative: float | None = Field(None, description="Reward of allowing a benign event.")
    false_positive: float | None = Field(None, description="Reward of flagging a benign event.")
    false_negative: float | None = Field(None, description="Reward of allowing a threat.")
    restrictive: float | None = Field(None, description="Added for a block or a quarantine.")
    team: float = Field(
        0.2, ge=0, description="Weight of the team term, team * (agreement + 2 * accuracy)."
    )

    def rewards(self) -> NDArray[np.float64]:  # (NUM_ACTIONS, 2)
        """Reward of each action on a benign event (column 0) and on a threat (column 1)."""
        own = (self.true_positive, self.true_negative, self.false_positive, self.false_negative,
               self.restrictive)  # fmt: skip
        tp, tn, fp, fn, restrictive = (
            preset if value is None else value
            for value, preset in zip(own, PRESETS[self.preset], strict=True)
        )
        table = np.array([[tn, fn], [fp, tp], [fp, tp], [fp, tp]])
        table[BLOCK:] += restrictive
        return table


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


@dataclass(frozen=True, eq=False)
class Game:
    """Sessions, and what every action earns at every event of them.

    What an action earns depends on the past in one way only, whether an alert has been raised since
    the attack began, so the table has one more axis for that.
    """

    rewards: NDArray[np.float64]  # (num_events, NUM_ACTIONS, 2): no alert since the onset, or one
    has_begun: NDArray[np.bool_]  # (num_events,): the attack of its session, here or before
    is_threat: NDArray[np.bool_]  # (num_events,)
    sessions: Sessions

    def take(self, chosen: NDArray[np.int64]) -> "Game":
        """The game of some of the sessions."""
        rows = self.sessions.rows(chosen)
        return Game(
            self.rewards[rows],
            self.has_begun[rows],
            self.is_threat[rows],
            self.sessions.take(chosen),
        )


def record_game(is_threat: NDArray[np.bool_], rewards: NDArray[np.float64]) -> Game:
    """The game of records, sessions of one event, by a reward table (NUM_ACTIONS, 2)."""
    table = np.repeat(rewards.T[is_threat.astype(np.int64)][:, :, None], 2, axis=2)
    return Game(table, is_threat, is_threat, Sessions(np.arange(len(is_threat) + 1)))


def session_game(is_threat: NDArray[np.bool_], sessions: Sessions, costs: SessionCosts) -> Game:
    """The game of sessions: the only place with prices.

    An attack that has begun goes on to the end of its session, whatever later labels say: nobody
    has put the intruder out.
    """
    num_seen = sessions.running(np.add, is_threat.astype(np.int64))
    has_begun = num_seen > 0
    is_coming = ~has_begun & (num_seen[sessions.starts[1:] - 1] > 0)[sessions.index]
    num_passed = np.maximum(sessions.running(np.add, has_begun.astype(np.int64)) - 1, 0)
    rewards = np.empty((len(is_threat), NUM_ACTIONS, 2))
    for has_alerted in (0, 1):
        for action in range(NUM_ACTIONS):
            is_relieved = has_begun if action == ALERT else np.zeros_like(has_begun)
            harm = costs.miss * np.where(is_relieved | bool(has_alerted), 1 - costs.alert_relief, 1)
            delay = costs.delay * has_begun + harm * (has_begun & sessions.is_last)
            cost = (
                delay,
                costs.alert + delay,
                np.where(
                    has_begun,
                    np.minimum(costs.aftermath * num_passed, harm),
                    costs.false_block + harm * is_coming,
                ),
                costs.quarantine + costs.false_block * ~(has_begun | is_coming),
            )[action]
            rewards[:, action, has_alerted] = 0.0 - cost
    return Game(rewards, has_begun, is_threat, sessions)


@dataclass(frozen=True)
class Played:
    """What came of decisions about whole sessions."""

    rewards: NDArray[np.float64]  # (num_events,): 0 after the end
    is_open: NDArray[np.bool_]  # (num_events,): the session had not been ended before
    is_end: NDArray[np.bool_]  # (num_events,): nothing of the session follows


def play(game: Game, actions: ArrayLike) -> Played:
    """Play whole sessions at once; decisions after the end of a session do not count.

    Raises:
        ConfigError: there is not one action for each event.
    """
    actions = np.asarray(actions)
    if actions.shape != game.is_threat.shape or actions.min(initial=0) < 0:
        raise ConfigError("actions: must be one of 0 to 3 for each event")
    is_stop = actions >= BLOCK
    is_open = _before(is_stop, game.sessions) == 0
    has_alerted = _before((actions == ALERT) & game.has_begun, game.sessions) > 0
    rewards = game.rewards[np.arange(len(actions)), actions, has_alerted.astype(np.int64)]
    return Played(np.where(is_open, rewards, 0.0), is_open, is_stop | game.sessions.is_last)


def _before(values: NDArray[np.bool_], sessions: Sessions) -> NDArray[np.int64]:  # (num_events,)
    """How often it was so earlier in the session."""
    counts = values.astype(np.int64)
    return sessions.running(np.add, counts) - counts


def stop_rewards(game: Game) -> NDArray[np.float64]:  # (num_events, NUM_ACTIONS)
    """Total of a session if its first action other than allow is `action` at this event.

    Everything before is allowed; everything after an alert is too. Column allow is the total of
    doing nothing at all. Tuning a stopping rule is a look-up in this table.
    """
    sessions = game.sessions
    last = (sessions.starts[1:] - 1)[sessions.index]
    allow, once_alerted = game.rewards[:, ALLOW, 0], game.rewards[:, ALLOW, 1]
    so_far = sessions.running(np.add, allow)
    table = (so_far - allow)[:, None] + game.rewards[:, :, 0]
    is_relieved = game.has_begun & ~sessions.is_last
    relief = np.where(is_relieved, (once_alerted - allow)[last], 0.0)
    table[:, ALERT] += so_far[last] - so_far + relief
    table[:, ALLOW] = so_far[last]
    return table


def team_rewards(
    weight: float,
    votes: ArrayLike,  # (num_events, num_agents): actions; -1 = no vote
    is_threat: ArrayLike,  # (num_events,)
) -> NDArray[np.float64]:  # (num_events,)
    """The team term, weight * (agreement + 2 * accuracy).

    Agreement is the share of agents that voted for the most common action, accuracy the share
    whose vote, flag or allow, was right; who did not vote neither agrees nor is right.
    """
    votes = np.asarray(votes)
    counts = (votes[:, :, None] == np.arange(NUM_ACTIONS)).sum(axis=1)
    agreement = counts.max(axis=1) / votes.shape[1]
    is_right = (votes >= 0) & ((votes != ALLOW) == np.asarray(is_threat, dtype=bool)[:, None])
    bonus: NDArray[np.float64] = weight * (agreement + 2 * is_right.mean(axis=1))
    return bonus


def optimal_threshold(
    rewards: NDArray[np.float64],  # (NUM_ACTIONS, 2): on a benign event and on a threat
    action: int = ALERT,
) -> float:
    """P(threat) from which a flag earns at least as much as allowing.

    With a = what `action` gains over allow on a threat and b = what allow gains over it on a
    benign event, it is b / (a + b).

    Args:
        rewards: such as those of a `CostConfig`.
        action: alert, block or quarantine, what the flag is.

    Returns:
        The threshold; 0 if flagging is never worse, infinity if it is never better.

    Raises:
        ConfigError: the table rewards mistakes, so that no threshold is right.

    Example:
        >>> round(optimal_threshold(CostConfig().rewards()), 4)  # 9 / 29
        0.3103
    """
    on_threat = float(rewards[action, 1] - rewards[ALLOW, 1])
    on_benign = float(rewards[ALLOW, 0] - rewards[action, 0])
    if on_benign <= 0 <= on_threat:
        return 0.0
    if on_threat <= 0 < on_benign:
        return float("inf")
    if on_threat < 0:
        raise ConfigError(
            f"costs: {ACTION_NAMES[action]} gains {on_threat:g} on a threat and {-on_benign:g} on "
            "a benign event: rewards must not favour mistakes"
        )
    return on_benign / (on_threat + on_benign)


def best_flag(rewards: NDArray[np.float64]) -> int:  # (NUM_ACTIONS, 2)
    """The flag that earns more: an alert, or a block if the table favours restriction."""
    return BLOCK if rewards[BLOCK, 0] > rewards[ALERT, 0] else ALERT


def describe_records(
    rewards: NDArray[np.float64],  # (NUM_ACTIONS, 2)
    prevalence: float,
) -> dict[str, float]:
    """Rows to print before training: what policies earn a record, and the optimal thresholds.

    Without the team term. Policies that are right, or nearly, are there twice: a flag can be an
    alert, or a block, which the published arithmetic takes. The thresholds are those from which an
    action is better than to allow.

    Example:
        >>> rows = describe_records(CostConfig().rewards(), 0.089)
        >>> round(rows["allow-all"], 2), round(rows["85 % accurate, by blocks"], 2)
        (0.02, -0.01)
    """
    shares = np.array([1 - prevalence, prevalence])
    allowed = rewards[ALLOW]
    rows = {"allow-all": shares @ allowed, "block-all": shares @ rewards[BLOCK]}
    for flag in (ALERT, BLOCK):
        flagged, how = rewards[flag], f"by {ACTION_NAMES[flag]}s"
        right, wrong = np.array([allowed[0], flagged[1]]), np.array([flagged[0], allowed[1]])
        rows[f"perfect, {how}"] = shares @ right
        for accuracy in ACCURACIES:
            mean = shares @ (accuracy * right + (1 - accuracy) * wrong)
            rows[f"{100 * accuracy:g} % accurate, {how}"] = mean
    thresholds = _thresholds(rewards, "P(threat)")
    return {name: float(value) for name, value in rows.items()} | thresholds


def _thresholds(rewards: NDArray[np.float64], of: str) -> dict[str, float]:
    return {
        f"threshold of {ACTION_NAMES[action]} on {of}": optimal_threshold(rewards, action)
        for action in (ALERT, BLOCK)
    }


def describe_sessions(
    is_threat: NDArray[np.bool_],  # (num_events,)
    sessions: Sessions,
    costs: SessionCosts,
) -> dict[str, float]:
    """Rows to print before training: the mean reward a session of policies anyone can picture.

    Perfect knows the future and takes the best of all stops. An x %-accurate policy decides like
    it on x % of the sessions; on the others it misses the attack, or blocks a benign one at once.
    The thresholds are those at a last event with nothing before it.
    """
    game, starts = session_game(is_threat, sessions, costs), sessions.starts
    table = stop_rewards(game)
    best = sessions.fold(np.maximum, table.max(axis=1))
    allowed, blocked = table[starts[:-1], ALLOW], table[starts[:-1], BLOCK]
    wrong = np.where(game.has_begun[starts[1:] - 1], allowed, blocked)
    rows = {"allow-all": allowed, "block at once": blocked, "perfect": best}
    for share in ACCURACIES:
        rows[f"{100 * share:g} % accurate"] = share * best + (1 - share) * wrong
    means = {name: float(totals.mean()) for name, totals in rows.items()}
    alone = session_game(np.array([False, True]), Sessions(np.arange(3)), costs)
    return means | _thresholds(alone.rewards[:, :, 0].T, "P(attack), at the last event")
