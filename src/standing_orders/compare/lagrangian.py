"""PPO with a learned price on violations: what keeping an order costs where nothing is masked.

The price of a violation follows its share of judged fixes (Stooke et al. 2020, the integral part):
it rises while the share is above what the gate allows and falls below it, never under zero.
"""

import numpy as np
from numpy.typing import NDArray

from standing_orders.config import TrainConfig
from standing_orders.learn.rollout import Rollout
from standing_orders.learn.trainer import Trainer
from standing_orders.rules.alignment import alignment_bonus


def next_price(price: float, share: float | None, *, allowed: float, rate: float) -> float:
    """The price after an update, by the share of violations; it stays where nothing was judged.

    Example:
        >>> next_price(1.0, 0.25, allowed=0.05, rate=5.0)
        2.0
    """
    if share is None:
        return price
    return max(0.0, price + rate * (share - allowed))


class LagrangianTrainer(Trainer):
    """Trains with a price that changes after every update.

    Args:
        config: of one order; its own `violation_cost` is where the price begins.
        rate: by how much the price rises for a share of 1.
    """

    def __init__(self, config: TrainConfig, *, rate: float = 5.0) -> None:
        super().__init__(config)
        self.price = config.alignment.violation_cost
        self._rate = rate

    def _bonus(self, rollout: Rollout, weight: float) -> NDArray[np.float64]:
        priced = self.config.alignment.model_copy(update={"violation_cost": self.price})
        strict = rollout.counts.strict_compliance
        self.price = next_price(
            self.price,
            None if strict is None else 1 - strict,
            allowed=1 - self.config.gate.threshold,
            rate=self._rate,
        )
        return alignment_bonus(rollout.verdicts, rollout.num_held, priced, weight=weight)
