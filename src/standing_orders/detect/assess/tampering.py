"""What a compromised sensor costs: a team or a baseline, for every sensor in turn.

A *random* attacker draws what the sensor delivers. One that *knows* the agents draws several times
for each session, asks the decider about every draw, and delivers what suits it best: attacks look
harmless, and benign sessions, where it tampers with them, look like attacks.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from standing_orders.detect.assess.baselines import Decider
from standing_orders.detect.assess.figures import LOWER_IS_BETTER, main_figure, vote_figures
from standing_orders.detect.config import DetectConfig
from standing_orders.detect.data.events import DataSet, Events
from standing_orders.detect.tamper import KINDS, WHENS, Kind, When, tamper, tampered_rows
from standing_orders.detect.views import sensors_of
from standing_orders.seeding import child_seed

Attacker = Literal["random", "knowing"]
ATTACKERS: tuple[Attacker, ...] = get_args(Attacker)
NUM_DRAWS = 5  # that an attacker who knows the agents chooses from
Attack = tuple[Kind, When, Attacker]
ALL_ATTACKS: tuple[Attack, ...] = tuple(
    (kind, when, attacker) for attacker in ATTACKERS for when in WHENS for kind in KINDS
)
HIDING: tuple[Attack, ...] = (("benign", "threats", "random"), ("benign", "threats", "knowing"))


@dataclass(frozen=True)
class TamperFigures:
    """The main figure under one attack, with each sensor compromised in turn."""

    kind: Kind
    when: When
    attacker: Attacker
    honest: float  # the main figure with all sensors honest
    by_sensor: dict[str, float]
    worst_sensor: str
    worst: float

    @property
    def lost(self) -> float:
        """What the worst place costs."""
        return abs(self.honest - self.worst)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"lost": self.lost}


def assess_tampering(
    decider: Decider,
    data: DataSet,
    config: DetectConfig,
    *,
    attacks: Iterable[Attack] = ALL_ATTACKS,
) -> list[TamperFigures]:
    """The main figure on the test part under each attack, for the worst of all sensors.

    The attacker has seen the benign events of the training part.
    """
    test, main = data.test, main_figure(data.task)
    game = config.game_of(test, data.task)

    def figure(events: Events) -> float:
        return vote_figures(decider.judge(events).actions, game, data.task)[main]

    honest, found = figure(test), []
    for kind, when, attacker in attacks:
        by_sensor = {}
        for sensor, features in sensors_of(test, config.team).items():
            seed = child_seed(config.seed, "detect", "tampering", kind, when, sensor)
            draws = _draw(
                data, features, kind, when, seed, 1 if attacker == "random" else NUM_DRAWS
            )
            by_sensor[sensor] = figure(draws[0] if len(draws) == 1 else _choose(decider, draws))
        worst = (max if main in LOWER_IS_BETTER else min)(by_sensor, key=by_sensor.__getitem__)
        found.append(
            TamperFigures(kind, when, attacker, honest, by_sensor, worst, by_sensor[worst])
        )
    return found


def _draw(
    data: DataSet, features: NDArray[np.int64], kind: Kind, when: When, seed: int, num: int
) -> list[Events]:
    rng = np.random.Generator(np.random.Philox(seed))
    benign, rows = data.train.features[~data.train.is_threat], tampered_rows(data.test, when)
    return [tamper(data.test, features, kind, rows, benign=benign, rng=rng) for _ in range(num)]


def _choose(decider: Decider, draws: list[Events]) -> Events:
    """Of each session the draw that suits the attacker best."""
    events = draws[0]
    highest = np.stack([one.sessions.fold(np.maximum, decider.judge(one).scores) for one in draws])
    chosen = np.where(events.session_is_threat, highest.argmin(axis=0), highest.argmax(axis=0))
    by_event = chosen[events.sessions.index]
    features = np.stack([one.features for one in draws])[by_event, np.arange(events.num_events)]
    return replace(events, features=features)
