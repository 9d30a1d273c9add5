"""The presets say what they claim."""

from pathlib import Path

from standing_orders.config import read_toml
from standing_orders.detect.config import DetectConfig

CONFIGS = Path(__file__).parents[2] / "src" / "standing_orders" / "presets"


def test_the_default_preset_is_the_defaults_written_out() -> None:
    assert DetectConfig(**read_toml(CONFIGS / "detect.toml")) == DetectConfig()


def test_the_published_preset_has_every_published_setting() -> None:
    config = DetectConfig(**read_toml(CONFIGS / "detect-published.toml"))
    learn = config.learn
    assert (learn.iterations, learn.steps) == (300, 2_048)
    assert (learn.entropy, learn.value, learn.learning_rate) == (0.15, 1.0, 1e-3)
    assert (learn.returns, learn.advantages) == ("running", "agent")
    assert (config.rules.mode, config.rules.target) == ("lagrange", 0.95)
    assert learn.gradient == "sampled"


def test_the_mappo_preset_is_what_makes_the_team_a_multi_agent_learner() -> None:
    config = DetectConfig(**read_toml(CONFIGS / "detect-mappo.toml"))
    assert (config.team.critic, config.learn.credit) == ("shared", "vote")
    assert config.learn.gradient == "sampled"
