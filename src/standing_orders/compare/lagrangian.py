"""PPO with a learned price on violations: what keeping an order costs where nothing is masked.

The price of a violation follows its share of judged fixes (Stooke et al. 2020, the integral part),
as that of a rule does; see `rules.prices`.
"""

import math

import numpy as np
from numpy.typing import NDArray

from standing_orders.config import TrainConfig
from standing_orders.learn.rollout import Rollout
from standing_orders.learn.trainer import Trainer
from standing_orders.rules.alignment import alignment_bonus
from standing_orders.rules.prices import Multiplier
from standing_orders.rules.temporal import PricedRule


class LagrangianTrainer(Trainer):
    """Trains with a price that changes after every update.

    Args:
        config: of one order; its own `violation_cost` is where the price begins.
        rate: by how much the price rises for a share of 1.
    """

    def __init__(self, config: TrainConfig, *, rate: float = 5.0) -> None:
        super().__init__(config)
        self._multiplier = Multiplier.begin(PricedRule(
            "violations", price=config.alignment.violation_cost, target=config.gate.threshold,
            price_rate=rate, max_price=math.inf,
        ))  # fmt: skip

    @property
    def price(self) -> float:
        """What a violation costs in the next update."""
        return self._multiplier.price

    def _bonus(self, rollout: Rollout, weight: float) -> NDArray[np.float64]:
        priced = self.config.alignment.model_copy(update={"violation_cost": self.price})
        strict = rollout.counts.strict_compliance
        self._multiplier = self._multiplier.update(None if strict is None else 1 - strict)
        return alignment_bonus(rollout.verdicts, rollout.num_held, priced, weight=weight)
