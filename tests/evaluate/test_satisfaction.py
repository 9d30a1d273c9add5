"""In how many episodes rules are broken, and how a policy is made to keep them."""

from typing import Any

import numpy as np
import pytest

from standing_orders.api.policies import keep_rules, load_policy
from standing_orders.cage2.defenders import ScriptedDefender
from standing_orders.errors import ConfigError
from standing_orders.evaluate.satisfaction import measure_rules
from standing_orders.rules.temporal import read_rules
from standing_orders.tables import to_text


def test_rules_are_kept_by_a_policy_that_was_never_trained_for_them() -> None:
    texts = ("calm = restore -> not once[1,1] restore", "ration = restores_10 <= 2")
    policy: Any = load_policy("zoo/any-b_line-late", order="critical_first")
    rules, game = read_rules(texts), policy.home()
    free = measure_rules(policy, game, rules, num_episodes=20, seed=0)
    kept = measure_rules(keep_rules(policy, texts), game, rules, num_episodes=20, seed=0)
    assert [free.judged[rule.name].broken.value for rule in rules] == [1.0, 1.0]
    assert [kept.judged[rule.name].broken.value for rule in rules] == [0.0, 0.0]
    assert np.isfinite(kept.mean_return)
    assert "restores_10 <= 2" in to_text(kept.tables())
    assert kept.to_json()["rules"]["calm"]["broken"] == 0.0
    with pytest.raises(ConfigError, match="cannot be kept by construction"):
        keep_rules(policy, ["enterprise -> restore"])
    with pytest.raises(ConfigError, match="needs a trained policy"):
        keep_rules(ScriptedDefender("sleep"), texts)
