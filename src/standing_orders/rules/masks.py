"""Rules about blue's own actions, kept by construction: what would break one is forbidden."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from standing_orders.errors import ConfigError
from standing_orders.rules.stl import robustness
from standing_orders.rules.temporal import (
    GROUP_OF_ACTION,
    GROUPS,
    IDLE,
    TemporalRule,
    own_signals,
)


class RuleMask:
    """Which kinds of action keep the rules, in environments in lock step.

    Where no kind keeps a rule it gives way: it forbids nothing in that step.

    Args:
        rules: about blue's own actions; see `TemporalRule.is_own`.
        num_envs: how many environments.

    Raises:
        ConfigError: a rule is about something else.

    Example:
        >>> mask = RuleMask([TemporalRule.read("restore -> not once[1,1] restore")], 1)
        >>> bool(mask.allowed()[0, GROUPS.index("restore")])
        True
        >>> mask.note(np.array([139]))  # Restore Op_Server0
        >>> bool(mask.allowed()[0, GROUPS.index("restore")])
        False
    """

    def __init__(self, rules: Sequence[TemporalRule], num_envs: int) -> None:
        for rule in rules:
            if not rule.is_own:
                raise ConfigError(
                    f"rule `{rule.name}`: `{rule.formula}`: cannot be kept by construction: it "
                    "must be about blue's own actions and look back only (once, historically)"
                )
        self.rules = tuple(rules)
        memory = max((rule.memory for rule in rules), default=0)
        self._past = np.full((num_envs, memory), IDLE)  # groups of the last actions, oldest first
        self._num_noted = 0

    def allowed(self) -> NDArray[np.bool_]:  # (num_envs, 5)
        """Which of `GROUPS` may be played now."""
        count, memory = self._past.shape
        known = min(memory, self._num_noted)
        tried = np.empty((count, len(GROUPS), known + 1), dtype=np.int64)
        tried[:, :, :known] = self._past[:, None, memory - known :]
        tried[:, :, known] = np.arange(len(GROUPS))
        found = np.ones((count, len(GROUPS)), dtype=np.bool_)
        for rule in self.rules:
            margins = robustness(rule.body, own_signals(tried, rule.names))[..., -1]
            keeps = margins >= 0
            found &= keeps | ~keeps.any(axis=1, keepdims=True)
        return found | ~found.any(axis=1, keepdims=True)

    def note(self, actions: NDArray[np.int64]) -> None:  # (num_envs,)
        """Remember what blue is about to do."""
        self._num_noted += 1
        if self._past.shape[1]:
            self._past[:, :-1] = self._past[:, 1:]
            self._past[:, -1] = GROUP_OF_ACTION[actions]
