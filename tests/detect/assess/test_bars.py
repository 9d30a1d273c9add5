"""What a team must reach, on splits that no setting was chosen on."""

from pathlib import Path

import pytest

from standing_orders.detect.assess.baselines import Baselines
from standing_orders.detect.assess.figures import assess
from standing_orders.detect.assess.liars import assess_liars
from standing_orders.detect.compare import seeded, train_team
from standing_orders.detect.config import DetectConfig, LearnConfig
from standing_orders.detect.data.events import DataSet
from standing_orders.detect.data.load import load
from standing_orders.detect.data.synthetic import make_sessions
from standing_orders.detect.team import Team
from standing_orders.learn.ppo import use_one_thread


def trained(config: DetectConfig, data: DataSet) -> Team:
    use_one_thread()
    return train_team(config, data)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least_f1"), [("nsl-kdd", 0.94), ("unsw-nb15", 0.865)])
def test_records(real_data: Path, name: str, least_f1: float) -> None:
    config = DetectConfig(data=(real_data / name,), format=name, prevalence=0.089)
    config = seeded(config, 11)
    data = load(config.data_config())
    team = trained(config, data)
    judged = team.judge(data.test)
    honest = assess(team, data, config, judged=judged)["f1"]
    assert honest >= least_f1
    rows = assess_liars(team, judged, data)
    lied_to = [row.main.worst for row in rows if row.num_liars == 1]
    assert honest - min(lied_to) <= 0.02


def check_sessions(config: DetectConfig, data: DataSet) -> None:
    """The team costs less than gradient boosting that judges once, after k events."""
    found, baselines = assess(trained(config, data), data, config), Baselines(data, config)
    best = baselines.fixed_prefix()
    alike = baselines.fixed_prefix(mean_events=found["mean_events_seen"])
    for rule in (best, alike):
        assert found["mean_cost"] < assess(rule, data, config)["mean_cost"]


def test_a_few_synthetic_sessions() -> None:
    config = DetectConfig(seed=1, learn=LearnConfig(iterations=12))
    check_sessions(config, make_sessions(1, num_sessions=400))


@pytest.mark.slow
def test_synthetic_sessions() -> None:
    check_sessions(DetectConfig(seed=11), make_sessions(11))


@pytest.mark.slow
def test_adfa_ld_sessions(real_data: Path) -> None:
    config = seeded(DetectConfig(data=(real_data / "adfa-ld",), format="adfa-ld"), 11)
    check_sessions(config, load(config.data_config()))
