"""One moment of an episode: all that there is to see of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2 import observe
from standing_orders.cage2.actions import HOST_OF_ACTION
from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.info import true_state
from standing_orders.cage2.narrate import narrate_blue, narrate_red
from standing_orders.cage2.reward import TENTHS_PER_POINT
from standing_orders.cage2.scenario import (
    DECOYS,
    HOSTS,
    SUBNET_OF_HOST,
    UNIT_TYPES,
    USER0,
    VSFTPD,
    WAY_OF_RED,
)
from standing_orders.envs.referee import Referee
from standing_orders.rules.compliance import NO_FIX, VERDICTS, OrderCompliance
from standing_orders.rules.orders import ORDERS, Order

_ACCESS = ("", "user shell", "ADMIN")
_SHORT = {"Defender": "Def", "Enterprise": "Ent", "Op_Host": "OpH", "Op_Server": "OpS"}


@dataclass(frozen=True)
class HostView:
    """One host at one moment."""

    index: int
    access: int  # 0 none, 1 user, 2 privileged
    sessions: int
    decoys: tuple[str, ...]
    activity: str  # what blue is shown: None, Scan or Exploit
    table: str  # what blue is shown: No, Unknown, User or Privileged
    held_chance: float | None  # what blue can know: P(red holds it); None: no belief is kept
    admin_chance: float | None
    is_red_target: bool
    is_blue_target: bool

    @property
    def name(self) -> str:
        """Of the host."""
        return HOSTS[self.index]

    @property
    def short_name(self) -> str:
        """A name that stays different from the others: Ent0, OpS0."""
        kind = self.name.rstrip("0123456789")
        return _SHORT.get(kind, kind) + self.name.removeprefix(kind)

    @property
    def held(self) -> str:
        """What red holds there, in words."""
        text = _ACCESS[self.access]
        if self.index == USER0 and self.sessions == 1:
            return f"{text} (foothold)"
        return f"{text} x{self.sessions}" if self.sessions > 1 else text


@dataclass(frozen=True)
class Frame:
    """One step of an episode, or its start (step 0)."""

    step: int
    horizon: int
    blue: str
    red: str
    reward: float
    total: float
    is_service_up: bool
    order: Order | None  # that fixes are judged by
    verdict: str | None  # on blue's action; None if it is no fix
    held_types: tuple[str, ...]  # now, that is, before blue's next action
    kept: OrderCompliance | None  # so far; None without an order
    hosts: tuple[HostView, ...]  # the way red goes
    red_target: int  # a host, 20 + a subnet, or -1
    rules: tuple[str, ...] = ()  # how each rule that is watched has been kept so far


def make_frame(batch: Cage2Batch, referee: Referee, action: int | None, tenths: int) -> Frame:
    """The present moment of the first environment of a batch.

    Args:
        batch: the game.
        referee: who watches it.
        action: blue's last one; None at the start.
        tenths: return so far.
    """
    state = batch.states[0]
    truth = {name: values[0] for name, values in true_state(batch.states).items()}
    verdict = VERDICTS[referee.verdicts[0]] if referee.verdicts[0] != NO_FIX else None
    return Frame(
        step=int(state["step"]),
        horizon=batch.config.horizon,
        blue="-" if action is None else narrate_blue(state, action),
        red=narrate_red(state, red_tempo=batch.config.red_tempo),
        reward=int(batch.rewards[0]) / TENTHS_PER_POINT if state["step"] else 0.0,
        total=tenths / TENTHS_PER_POINT,
        is_service_up=bool(state["ot_up"]),
        order=None if referee.order is None else Order(referee.order),
        verdict=verdict,
        held_types=_ranked(truth["held_types"], referee.order),
        kept=None if referee.order is None else referee.kept,
        hosts=tuple(
            _host_view(host, batch, referee, action, truth)
            for subnet in WAY_OF_RED
            for host in np.flatnonzero(SUBNET_OF_HOST == subnet).tolist()
        ),
        red_target=int(truth["red_target"]),
        rules=tuple(map(str, referee.watches)),
    )


def _ranked(held: NDArray[np.int8], order: int | None) -> tuple[str, ...]:  # (5,)
    """Names of held types, first to repair first."""
    ranking = range(len(UNIT_TYPES)) if order is None else ORDERS[order]
    return tuple(UNIT_TYPES[unit_type] for unit_type in ranking if held[unit_type])


def _host_view(
    host: int,
    batch: Cage2Batch,
    referee: Referee,
    action: int | None,
    truth: dict[str, NDArray[Any]],
) -> HostView:
    shown, belief = observe.describe(batch.observations[0]), referee.belief
    return HostView(
        index=host,
        access=int(truth["red_access"][host]),
        sessions=int(truth["red_sessions"][host]),
        decoys=_decoys(int(truth["decoys"][host]), int(batch.states["num_vsftpd"][0, host])),
        activity=shown[HOSTS[host]][0],
        table=shown[HOSTS[host]][1],
        held_chance=None if belief is None else float(belief.held[0, host]),
        admin_chance=None if belief is None else float(belief.privileged[0, host]),
        is_red_target=int(truth["red_target"]) == host,
        is_blue_target=action is not None and int(HOST_OF_ACTION[action]) == host,
    )


def _decoys(mask: int, num_vsftpd: int) -> tuple[str, ...]:
    names = [name for i, name in enumerate(DECOYS) if mask >> i & 1]
    if num_vsftpd > 1:
        names[-1] = f"{DECOYS[VSFTPD]} x{num_vsftpd}"
    return tuple(names)
