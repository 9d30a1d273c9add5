"""The presets say what they claim."""

from standing_orders.api.settings import preset
from standing_orders.detect.config import DetectConfig


def test_the_default_preset_is_the_defaults_written_out() -> None:
    assert preset("detect") == DetectConfig()


def test_the_published_preset_has_every_published_setting() -> None:
    config = preset("detect-published")
    learn = config.learn
    assert (learn.iterations, learn.steps) == (300, 2_048)
    assert (learn.entropy, learn.value, learn.learning_rate) == (0.15, 1.0, 1e-3)
    assert learn.advantages == "team"  # over all agents; returns are never normalised
    assert (config.team.trees, learn.tamper, learn.patience) == (0, 0.0, 0)
    assert (config.rules.mode, config.rules.target) == ("lagrange", 0.95)
    assert learn.gradient == "sampled"


def test_the_mappo_preset_is_what_makes_the_team_a_multi_agent_learner() -> None:
    config = preset("detect-mappo")
    assert (config.team.critic, config.learn.credit) == ("shared", "vote")
    assert config.learn.gradient == "sampled"
