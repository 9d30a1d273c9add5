"""What a decision about a record earns: the reward table.

Each event is judged alone. An event is *flagged* by any action but allow; a flag on a
threat is a true positive, on a benign event a false positive. Block and quarantine are
*restrictive* and earn `restrictive` on top. The threat threshold that is optimal under the table
follows from it in closed form.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from standing_orders.config import Config
from standing_orders.detect.actions import ACTION_NAMES, ALERT, ALLOW, BLOCK, NUM_ACTIONS
from standing_orders.errors import ConfigError

Preset = Literal["published", "published-original"]


class CostTable(Config):
    """Rewards of a decision about one record; the defaults are the preset `published`."""

    true_positive: float = Field(10.0, description="Reward of flagging a threat.")
    true_negative: float = Field(1.0, description="Reward of allowing a benign event.")
    false_positive: float = Field(-8.0, description="Reward of flagging a benign event.")
    false_negative: float = Field(-10.0, description="Reward of allowing a threat.")
    restrictive: float = Field(-1.5, description="Added for a block or a quarantine.")
    team: float = Field(
        0.2, ge=0, description="Weight of the team term, team * (agreement + 2 * accuracy)."
    )

    def rewards(self) -> NDArray[np.float64]:  # (NUM_ACTIONS, 2)
        """Reward of each action on a benign event (column 0) and on a threat (column 1)."""
        table = np.empty((NUM_ACTIONS, 2))
        table[ALLOW] = self.true_negative, self.false_negative
        table[ALERT:] = self.false_positive, self.true_positive
        table[BLOCK:] += self.restrictive
        return table


PRESETS: dict[str, CostTable] = {
    "published": CostTable(),
    "published-original": CostTable(
        true_positive=5.0,
        true_negative=2.0,
        false_positive=-3.0,
        false_negative=-6.0,
        restrictive=-0.05,
    ),
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
    team: float | None = Field(None, ge=0, description="Weight of the team term.")

    def table(self) -> CostTable:
        """The preset with the user's own values in it."""
        own = self.model_dump(exclude={"preset"}, exclude_none=True)
        return CostTable(**(PRESETS[self.preset].model_dump() | own))


def record_rewards(
    table: CostTable,
    actions: ArrayLike,  # (num_events,)
    is_threat: ArrayLike,  # (num_events,)
) -> NDArray[np.float64]:  # (num_events,)
    """Reward of each decision about a record, without the team term.

    Example:
        >>> record_rewards(CostTable(), [0, 1, 2, 0], [False, True, True, True])
        array([  1. ,  10. ,   8.5, -10. ])
    """
    actions, is_threat = np.asarray(actions), np.asarray(is_threat, dtype=bool)
    if actions.shape != is_threat.shape or actions.min(initial=0) < 0:
        raise ConfigError("actions: must be one of 0 to 3 for each event")
    rewards: NDArray[np.float64] = table.rewards()[actions, is_threat.astype(np.int64)]
    return rewards


def team_rewards(
    table: CostTable,
    votes: ArrayLike,  # (num_events, num_agents): actions; -1 = no vote
    is_threat: ArrayLike,  # (num_events,)
) -> NDArray[np.float64]:  # (num_events,)
    """The team term, team * (agreement + 2 * accuracy).

    Agreement is the share of agents that voted for the most common action, accuracy the share
    whose vote, flag or allow, was right; who did not vote neither agrees nor is right.
    """
    votes = np.asarray(votes)
    counts = (votes[:, :, None] == np.arange(NUM_ACTIONS)).sum(axis=1)
    agreement = counts.max(axis=1) / votes.shape[1]
    is_right = (votes >= 0) & ((votes != ALLOW) == np.asarray(is_threat, dtype=bool)[:, None])
    bonus: NDArray[np.float64] = table.team * (agreement + 2 * is_right.mean(axis=1))
    return bonus


def optimal_threshold(table: CostTable, action: int = ALERT) -> float:
    """P(threat) from which a flag earns at least as much as allowing.

    With a = what `action` gains over allow on a threat and b = what allow gains over it on a
    benign event, it is b / (a + b).

    Args:
        table: the rewards.
        action: alert, block or quarantine, what the flag is.

    Returns:
        The threshold; 0 if flagging is never worse, infinity if it is never better.

    Raises:
        ConfigError: the table rewards mistakes, so that no threshold is right.

    Example:
        >>> round(optimal_threshold(CostTable()), 4)  # 9 / 29
        0.3103
    """
    rewards = table.rewards()
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


def best_flag(table: CostTable) -> int:
    """The flag that earns more: an alert, or a block if the table favours restriction."""
    return BLOCK if table.restrictive > 0 else ALERT


def expected_rewards(
    table: CostTable, prevalence: float, *, accuracies: Sequence[float] = (0.85, 0.95)
) -> dict[str, float]:
    """Mean reward a step of policies anyone can picture, without the team term.

    Args:
        table: the rewards.
        prevalence: share of threats, 0 to 1.
        accuracies: chance to be right about an event, the same for threats and benign events.

    Returns:
        Reward by policy. Those that are right, or nearly, are there twice: a flag can be an alert,
        or a block, which the published arithmetic takes.

    Example:
        >>> {name: round(value, 2) for name, value in expected_rewards(CostTable(), 0.089).items()}
        {'allow-all': 0.02, 'block-all': -7.9, 'perfect, by alerts': 1.8, \
'85 % accurate, by alerts': 0.3, '95 % accurate, by alerts': 1.3, 'perfect, by blocks': 1.67, \
'85 % accurate, by blocks': -0.01, '95 % accurate, by blocks': 1.11}
    """
    shares = np.array([1 - prevalence, prevalence])
    rewards = table.rewards()
    allowed = rewards[ALLOW]
    means = {"allow-all": shares @ allowed, "block-all": shares @ rewards[BLOCK]}
    for flag in (ALERT, BLOCK):
        flagged, how = rewards[flag], f"by {ACTION_NAMES[flag]}s"
        right, wrong = np.array([allowed[0], flagged[1]]), np.array([flagged[0], allowed[1]])
        means[f"perfect, {how}"] = shares @ right
        for accuracy in accuracies:
            mean = shares @ (accuracy * right + (1 - accuracy) * wrong)
            means[f"{accurate_name(accuracy)}, {how}"] = mean
    return {name: float(value) for name, value in means.items()}


def best_from(
    rewards: NDArray[np.float64],  # (NUM_ACTIONS, 2): on benign events and on threats
) -> list[tuple[int, float]]:
    """Which action is best from which P(threat) on; of equal ones the mildest.

    Example:
        >>> best_from(np.array([[1, -10], [-8, 10], [-9.5, 8.5], [-9.5, 8.5]]))[1]
        (1, 0.3103448275862069)
    """
    slopes = rewards[:, 1] - rewards[:, 0]
    action, chance = int(rewards[:, 0].argmax()), 0.0
    found = [(action, chance)]
    while True:
        steeper = np.flatnonzero(slopes > slopes[action])
        meets = (rewards[action, 0] - rewards[steeper, 0]) / (slopes[steeper] - slopes[action])
        if not len(steeper) or meets.min() >= 1:
            return found
        chance = float(meets.min())
        first = steeper[meets == chance]
        action = int(first[slopes[first].argmax()])
        found.append((action, chance))


def accurate_name(accuracy: float) -> str:
    """What a policy of this accuracy is called in tables."""
    return f"{100 * accuracy:g} % accurate"


def describe_records(
    table: CostTable, prevalence: float, accuracies: Sequence[float] = (0.85, 0.95)
) -> list[tuple[str, float]]:
    """Rows to print before training: what policies earn a step, and the optimal thresholds.

    The thresholds are those from which an action is better than to allow.
    """
    rows = list(expected_rewards(table, prevalence, accuracies=accuracies).items())
    rows += [
        (f"threshold of {ACTION_NAMES[action]} on P(threat)", optimal_threshold(table, action))
        for action in (ALERT, BLOCK)
    ]
    return rows
