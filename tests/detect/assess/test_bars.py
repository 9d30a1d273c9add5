"""What a team must reach, on splits that no setting was chosen on."""

from pathlib import Path

import pytest

from standing_orders.detect.assess.assess import Team, assess, assess_liars
from standing_orders.detect.assess.contest import seeded, train_team
from standing_orders.detect.assess.stopping import fit_fixed_prefix
from standing_orders.detect.config import DetectConfig, LearnConfig
from standing_orders.detect.data.events import DataSet
from standing_orders.detect.data.load import load
from standing_orders.detect.data.synthetic import make_sessions
from standing_orders.learn.run import use_one_thread


def trained(config: DetectConfig, data: DataSet) -> tuple[Team, DetectConfig]:
    use_one_thread()
    own = config.settled(data.task)
    return train_team(own, data), own


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least_f1"), [("nsl-kdd", 0.94), ("unsw-nb15", 0.865)])
def test_records(real_data: Path, name: str, least_f1: float) -> None:
    config = DetectConfig(data=(real_data / name,), format=name, prevalence=0.089)
    config = seeded(config, 11)
    data = load(config.data_config())
    team, config = trained(config, data)
    honest = assess(team, data, config)["f1"]
    assert honest >= least_f1
    lied_to = [row.worst for row in assess_liars(team, data, config) if row.num_liars == 1]
    assert honest - min(lied_to) <= 0.02


def check_sessions(config: DetectConfig, data: DataSet) -> None:
    """The team costs less than gradient boosting that judges once, after k events."""
    team, config = trained(config, data)
    found = assess(team, data, config)
    parts, costs = (data.train, data.validation, config.seed), config.session_costs
    best = fit_fixed_prefix(*parts, costs=costs)
    alike = fit_fixed_prefix(*parts, costs=costs, mean_events=found["mean_events_seen"])
    for rule in (best, alike):
        assert found["mean_cost"] < assess(rule, data, config)["mean_cost"]


def test_a_few_synthetic_sessions() -> None:
    config = DetectConfig(seed=1, learn=LearnConfig(iterations=40))
    check_sessions(config, make_sessions(1, num_sessions=1_500))


@pytest.mark.slow
def test_synthetic_sessions() -> None:
    check_sessions(DetectConfig(seed=11), make_sessions(11))


@pytest.mark.slow
def test_adfa_ld_sessions(real_data: Path) -> None:
    config = seeded(DetectConfig(data=(real_data / "adfa-ld",), format="adfa-ld"), 11)
    check_sessions(config, load(config.data_config()))
