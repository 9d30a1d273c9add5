"""How a search divides its episodes, so that all of them are used and none twice."""

from dataclasses import dataclass

from standing_orders.config import SearchConfig
from standing_orders.errors import ConfigError
from standing_orders.rules.orders import NUM_ORDERS

_MIN_MEASURED = 2  # episodes that have a standard error
_FINAL_SHARE = 10  # at most a tenth of what the orders get is kept for the last score
_PRIOR_SHARE = 3  # at most a third of what the base policy leaves is spent on the prior


@dataclass(frozen=True)
class Allowance:
    """What one visit of an order may use."""

    training: int  # gate checks included
    evaluation: int  # 0: too few are left to measure anything

    @property
    def total(self) -> int:
        """All of it."""
        return self.training + self.evaluation


def for_prior(config: SearchConfig, *, is_base_given: bool) -> int:
    """Episodes of each order that the base policy is asked about; 0: it is not asked."""
    if not config.has_prior:
        return 0
    left = config.budget - (0 if is_base_given else config.base.episodes)
    each = min(config.prior_episodes, left // (_PRIOR_SHARE * NUM_ORDERS))
    return each if each >= _MIN_MEASURED else 0


def for_orders(config: SearchConfig, *, is_base_given: bool) -> int:
    """Episodes that are left when the base policy has been trained and asked.

    Raises:
        ConfigError: nothing is left.
    """
    asked = NUM_ORDERS * for_prior(config, is_base_given=is_base_given)
    if config.start != "base" or is_base_given:
        return config.budget - asked
    left = config.budget - config.base.episodes - asked
    if left <= 0:
        raise ConfigError(
            f"budget = {config.budget}: must be greater than base.episodes = {config.base.episodes}"
        )
    return left


def final_reserve(config: SearchConfig, *, is_base_given: bool) -> int:
    """Episodes kept for the last score of the best policy."""
    whole = for_orders(config, is_base_given=is_base_given)
    return min(config.final_episodes, whole // _FINAL_SHARE)


def next_allowance(config: SearchConfig, free: int, *, is_first: bool) -> Allowance | None:
    """What the next visit may use.

    Args:
        config: of the search.
        free: episodes that neither the last score nor other visits need.
        is_first: no order has been visited yet; then even very little is used for one.

    Returns:
        None if too little is left for an update and an evaluation: what is left then goes to the
        last score.

    Example:
        >>> next_allowance(SearchConfig(), 1_000, is_first=False)
        Allowance(training=800, evaluation=200)
        >>> next_allowance(SearchConfig(), 299, is_first=False) is None
        True
    """
    if free < config.evaluation_episodes + config.update_episodes and not (is_first and free > 0):
        return None
    evaluation = min(config.evaluation_episodes, free // 2)
    evaluation = evaluation if evaluation >= _MIN_MEASURED else 0
    return Allowance(min(config.order_episodes, free - evaluation), evaluation)
