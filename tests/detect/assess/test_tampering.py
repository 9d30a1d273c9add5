"""What a compromised sensor costs: the right sensor is blamed, and knowing the agents helps."""

import numpy as np
import pytest

from standing_orders.detect.actions import ALERT, ALLOW
from standing_orders.detect.assess.tampering import ALL_ATTACKS, HIDING, assess_tampering
from standing_orders.detect.config import DetectConfig, TeamConfig
from standing_orders.detect.data.events import DataSet, Events
from standing_orders.detect.team import Decisions

NAMES = ("a", "b", "c", "d")


def part(count: int, seed: int) -> Events:
    """Threats are high in every column."""
    rng = np.random.default_rng(seed)
    threat = np.arange(count) % 5 == 0
    features = (rng.normal(size=(count, 4)) + 4 * threat[:, None]).astype(np.float32)
    return Events(features, NAMES, NAMES, np.where(threat, 0, -1), ("scan",), np.arange(count + 1))


@pytest.fixture(scope="module")
def data() -> DataSet:
    return DataSet("toy", "records", part(500, 0), part(200, 1), part(400, 2), {})


class Threshold:
    """Flags events whose columns, weighted, sum up to enough."""

    def __init__(self, weights: tuple[float, ...]) -> None:
        self.weights = np.array(weights)

    def judge(self, events: Events) -> Decisions:
        scores = events.features @ self.weights
        return Decisions(scores, np.where(scores >= 2 * self.weights.sum(), ALERT, ALLOW))


def config() -> DetectConfig:
    return DetectConfig(team=TeamConfig()).settled("records")


def test_the_sensor_that_is_relied_on_is_the_worst_one(data: DataSet) -> None:
    for place, name in enumerate(NAMES):
        weights = tuple(float(name == other) for other in NAMES)
        for one in assess_tampering(Threshold(weights), data, config()):
            assert set(one.by_sensor) == {f"sensor {index}" for index in range(4)}
            if one.when == "threats" and one.kind in ("benign", "replayed"):
                assert one.worst == one.by_sensor[f"sensor {place}"]
                assert one.lost > 0.5
            others = [value for sensor, value in one.by_sensor.items() if sensor[-1] != str(place)]
            assert others == [one.honest] * 3  # it does not look at them


def test_who_looks_at_everything_loses_less_and_the_knowing_attacker_takes_more(
    data: DataSet,
) -> None:
    random, knowing = assess_tampering(Threshold((1, 1, 1, 1)), data, config(), attacks=HIDING)
    assert (random.attacker, knowing.attacker) == ("random", "knowing")
    assert random.honest > 0.95
    assert random.lost < 0.3
    assert knowing.lost > random.lost
    assert knowing.to_json()["lost"] == knowing.lost


def test_every_way_of_lying_is_tried() -> None:
    assert len(set(ALL_ATTACKS)) == 16


def test_the_same_seed_gives_the_same_lies(data: DataSet) -> None:
    one, two = (
        assess_tampering(Threshold((1, 1, 1, 1)), data, config(), attacks=HIDING) for _ in range(2)
    )
    assert [found.to_json() for found in one] == [found.to_json() for found in two]
