"""Recorded episodes as plain data for the page: compact, and with every name it needs."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.actions import HOST_OF_ACTION
from standing_orders.cage2.info import true_state
from standing_orders.cage2.narrate import narrate_blue, narrate_red
from standing_orders.cage2.reward import TENTHS_PER_POINT
from standing_orders.cage2.scenario import (
    ACTIVITIES,
    ACTIVITY_BITS,
    BELIEFS,
    DECOYS,
    HOST_VALUE_TENTHS,
    HOSTS,
    NUM_UNIT_TYPES,
    SUBNET_OF_HOST,
    SUBNETS,
    UNIT_TYPE_OF_HOST,
    UNIT_TYPES,
    USER0,
    WAY_OF_RED,
)
from standing_orders.report.record import Recording
from standing_orders.rules.compliance import NO_FIX, VERDICTS, judge, top_held
from standing_orders.rules.orders import ORDERS, Order

_MAX_SESSIONS_SHOWN = 9


def game_names() -> dict[str, Any]:
    """The fixed facts that the page draws the network with."""
    return {
        "hosts": list(HOSTS),
        "subnets": [SUBNETS[i] for i in WAY_OF_RED],
        "subnet_of_host": [WAY_OF_RED.index(int(s)) for s in SUBNET_OF_HOST],
        "subnet_column": [WAY_OF_RED.index(s) for s in range(len(SUBNETS))],
        "types": list(UNIT_TYPES),
        "type_of_host": [int(t) for t in UNIT_TYPE_OF_HOST],
        "values": [value / TENTHS_PER_POINT for value in HOST_VALUE_TENTHS.tolist()],
        "decoys": list(DECOYS),
        "activities": list(ACTIVITIES),
        "beliefs": list(BELIEFS),
        "verdicts": list(VERDICTS),
        "foothold": USER0,
    }


@dataclass(frozen=True)
class Fork:
    """The same attack with another future."""

    step: int  # from which it differs
    label: str
    recording: Recording
    place: int  # of the episode in the recording
    order: int | None  # that it is judged by


@dataclass(frozen=True)
class Episode:
    """One recorded episode, what to call it, and its forks."""

    label: str
    recording: Recording
    place: int  # of the episode in the recording
    order: int | None  # that it is judged by; None: by none
    forks: tuple[Fork, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """Plain data for the page."""
        forks = [
            {"at": fork.step, **_track(fork.recording, fork.place, fork.order, fork.label)}
            for fork in self.forks
        ]
        config = self.recording.config
        return {
            "number": self.recording.numbers[self.place],
            "red": config.red,
            "horizon": config.horizon,
            "head_start": config.head_start,
            "red_tempo": config.red_tempo,
            "rules": config.rules,
            **_track(self.recording, self.place, self.order, self.label),
            "forks": forks,
        }


def _track(recording: Recording, place: int, order: int | None, label: str) -> dict[str, Any]:
    """One way that an episode goes: T + 1 moments and the T steps between them."""
    states, actions = recording.states[:, place], recording.actions[:, place]
    truth = true_state(states)
    seen = recording.observations[:, place].reshape(len(states), len(HOSTS), 4)
    masks = truth["held_types"].astype(np.int64) @ (1 << np.arange(NUM_UNIT_TYPES))
    sessions = np.minimum(truth["red_sessions"], _MAX_SESSIONS_SHOWN)
    return {
        "label": label,
        "policy": recording.policy,
        "order": None if order is None else list(ORDERS[order]),
        "order_text": None if order is None else str(Order(order)),
        "access": _digits(truth["red_access"]),
        "sessions": _digits(sessions),
        "activity": _digits(_activity(seen)),
        "belief": _digits(seen[:, :, 2] + 2 * seen[:, :, 3]),
        "decoys": _changes(truth["decoys"]),
        "held": masks.tolist(),
        "service": [int(up) for up in states["ot_up"]],
        "blue_text": [narrate_blue(states[t + 1], int(a)) for t, a in enumerate(actions)],
        "blue_host": [int(HOST_OF_ACTION[a]) for a in actions],
        "red_text": [narrate_red(s, red_tempo=recording.config.red_tempo) for s in states[1:]],
        "red_target": [int(target) for target in states["red_target"][1:]],
        "red_success": [int(success) for success in states["red_success"][1:]],
        "verdict": _verdicts(masks[:-1], actions, order),
        "reward": recording.rewards[:, place].tolist(),
        "chance": _percent(recording.held_chance, place),
    }


def _activity(seen: NDArray[np.int8]) -> NDArray[np.int8]:  # (T + 1, 13)
    """Index into `ACTIVITIES`: both bits add up, as (0, 0), (1, 0) and (1, 1) stand for 0, 1, 2."""
    return np.asarray(seen[:, :, 0] + seen[:, :, 1])


def _digits(rows: NDArray[Any]) -> list[str]:
    """Each row of small numbers as a string of digits."""
    return ["".join(map(str, row)) for row in rows.tolist()]


def _changes(rows: NDArray[np.int16]) -> list[list[int]]:
    """[moment, host, value] wherever a value changes; all are 0 before the first moment."""
    before = np.vstack([np.zeros_like(rows[:1]), rows[:-1]])
    return [[int(t), int(h), int(rows[t, h])] for t, h in np.argwhere(rows != before)]


def _verdicts(masks: NDArray[np.int64], actions: NDArray[np.int64], order: int | None) -> list[int]:
    if order is None:
        return [NO_FIX] * len(actions)
    return [
        int(judge(top_held(int(mask), order), int(action)))
        for mask, action in zip(masks, actions, strict=True)
    ]


def _percent(chance: NDArray[np.float64] | None, place: int) -> list[list[int]] | None:
    if chance is None:
        return None
    return np.rint(100 * chance[:, place]).astype(int).tolist()  # type: ignore[no-any-return]


assert ACTIVITY_BITS == ((0, 0), (1, 0), (1, 1))  # what `_activity` rests on
