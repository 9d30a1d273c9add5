"""An order that changes within an episode."""

from typing import Any

import pytest

from standing_orders.api.policies import load_policy, switch_order
from standing_orders.cage2.defenders import ScriptedDefender
from standing_orders.config import SimConfig
from standing_orders.errors import ConfigError
from standing_orders.evaluate.switching import measure_switch
from standing_orders.report.record import record
from standing_orders.rules.lawful import LawfulPolicy
from standing_orders.rules.orders import Order
from standing_orders.tables import to_text

FIRST = Order.parse("critical_first")
ORDERS = (FIRST.index, FIRST.backwards().index)
LATE = SimConfig(head_start=20, horizon=30)


def test_the_new_order_is_kept_and_the_old_one_is_not() -> None:
    policy = LawfulPolicy(ScriptedDefender("react_restore"), [FIRST.index], LATE)
    found = measure_switch(policy, LATE, orders=ORDERS, step=0, num_episodes=40, seed=0)
    assert found.judged.sum() > 20
    assert found.contested.value is not None
    assert found.contested.value >= 0.95
    ignored = measure_switch(policy, LATE, orders=ORDERS[::-1], step=0, num_episodes=40, seed=0)
    wrongly = measure_switch(policy, LATE, orders=(ORDERS[0], ORDERS[0]), step=0,
                             num_episodes=40, seed=0)  # fmt: skip
    assert (found.returns["switched"] == found.returns["second"]).all()  # told from the start on
    assert (ignored.returns["switched"] == wrongly.returns["switched"]).all()
    assert found.to_json()["contested_fixes"] == found.judged.sum()
    assert "from step 0" in to_text(found.tables())


def test_a_trained_policy_is_told_the_new_order_at_its_step() -> None:
    policy: Any = load_policy("zoo/any-b_line-late", order="critical_first", greedy=True)
    config = policy.home().model_copy(update={"horizon": 12})
    switched = switch_order(policy, 1)
    assert switched.switch == (1, ORDERS[1])
    played = [record(one, config, range(5)).actions for one in (policy, switched)]
    assert (played[0][:1] == played[1][:1]).all()
    assert not (played[0][1:] == played[1][1:]).all()


def test_what_cannot_be_switched_is_refused() -> None:
    policy = LawfulPolicy(ScriptedDefender("sleep"), [0], LATE)
    with pytest.raises(ConfigError, match="must be below 28"):
        measure_switch(policy, LATE, orders=(0, 1), step=28, num_episodes=2, seed=0)
    with pytest.raises(ConfigError, match="told one order"):
        switch_order(ScriptedDefender("sleep"), 5)
