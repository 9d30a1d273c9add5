"""Watch one episode in the terminal: what happens, who holds what, what blue is shown."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from standing_orders.cage2 import actions, observe
from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.info import describe_red, true_state
from standing_orders.cage2.policy import Policy
from standing_orders.cage2.reward import TENTHS_PER_POINT
from standing_orders.cage2.scenario import (
    BASE_EXPLOITABLE,
    DECOY_EXPLOITABLE,
    DECOYS,
    DISCOVER_SERVICES,
    DISCOVER_SYSTEMS,
    ESCALATE,
    EXPLOIT,
    EXPLOITS,
    FAILED,
    HOST_VALUE_TENTHS,
    HOSTS,
    IMPACT,
    NO_EXPLOIT,
    SUBNET_OF_HOST,
    SUBNETS,
    SUCCEEDED,
    USER0,
    VSFTPD,
)
from standing_orders.config import SimConfig
from standing_orders.seeding import child_seed, environment_seeds
from standing_orders.tables import printable

INTRODUCTION = """\
CAGE Challenge 2. A red attacker starts on User0 and works its way User -> Enterprise -> \
Operational, where it tries to stop the service on Op_Server0. A blue defender sees only alerts \
and may Analyse, Remove (user-level shells), Restore (costs 1) or place decoys.
Blue loses, each step: 1 for Op_Server0 and for each Enterprise host that red controls as \
administrator, 0.1 for any other host (User0: nothing), and 10 while the service is down."""

_ACCESS = ("", "user shell", "ADMIN")
_ACCESS_STYLE = ("dim", "yellow", "bold red")
_SUCCESS = {FAILED: "failed", SUCCEEDED: "done"}
_RED_MEANING = {
    DISCOVER_SYSTEMS: "looks for hosts",
    DISCOVER_SERVICES: "scans its ports",
    EXPLOIT: "attacks a service",
    ESCALATE: "wants to be administrator",
    IMPACT: "wants to stop the service",
}
_SUBNET_ORDER = (2, 0, 1)  # the way red goes: User, Enterprise, Operational


@dataclass(frozen=True)
class HostView:
    """One host at one moment."""

    host: str
    subnet: str
    access: int  # 0 none, 1 user, 2 privileged
    sessions: int
    decoys: str
    activity: str  # what blue is shown
    belief: str  # what blue is shown
    is_target: bool  # of red's last action


@dataclass(frozen=True)
class Frame:
    """One step of an episode, or the start (step 0)."""

    step: int
    horizon: int
    blue: str
    red: str
    reward: float
    total: float
    service: str
    hosts: tuple[HostView, ...]


def play(policy: Policy, config: SimConfig, *, seed: int) -> Iterator[Frame]:
    """Play one episode, a frame at a time; the first one shows the start."""
    batch = Cage2Batch(1, config)
    policy.reset(environment_seeds(child_seed(seed, "play", "policy"), 1))
    observations = batch.reset(child_seed(seed, "play"))
    yield _frame(batch, "-", 0)
    total = 0
    for _ in range(config.horizon):
        action = policy.act(observations)
        observations, rewards = batch.step(action)
        total += int(rewards[0])
        yield _frame(batch, _describe_blue(batch, int(action[0])), total)


def _describe_blue(batch: Cage2Batch, action: int) -> str:
    text = actions.describe(action)
    if batch.states["blue_success"][0] == FAILED:
        return f"{text}: not possible there"
    if action >= actions.encode("Analyse", HOSTS[0]) and batch.states["malware_host"][0] >= 0:
        return f"{text}: malware found"
    return text


def _describe_red(batch: Cage2Batch) -> str:
    state = batch.states[0]
    kind, target = int(state["red_action"]), int(state["red_target"])
    if state["turn"] == 0:
        return "holds User0 from the start"
    text = describe_red(kind, target)
    if batch.config.red_tempo > 1:
        text = f"(last of {batch.config.red_tempo} actions) {text}"
    if kind in _RED_MEANING:
        text = f"{text} ({_RED_MEANING[kind]})"
    outcome = _SUCCESS.get(int(state["red_success"]), "")
    if kind == EXPLOIT and state["exploit"] != NO_EXPLOIT:
        outcome = f"by {EXPLOITS[state['exploit']]}: " + _exploit_outcome(state, target)
    elif kind == ESCALATE and outcome == "done":
        outcome = "administrator now"
    elif kind == IMPACT and outcome == "done":
        outcome = "service stopped" if not state["ot_up"] else "no effect on the service"
    return f"{text} {outcome}".strip() if kind == EXPLOIT else f"{text}: {outcome}".rstrip(": ")


def _exploit_outcome(state: np.void, target: int) -> str:
    if state["red_success"] != SUCCEEDED:
        is_decoy = DECOY_EXPLOITABLE[state["decoys"][target]] & ~BASE_EXPLOITABLE[target]
        return "caught by a decoy" if is_decoy >> state["exploit"] & 1 else "failed"
    level = "administrator shell" if state["privileged"] >> target & 1 else "user shell"
    return f"{level}, unseen by blue" if state["detected"] == 0 else level


def _frame(batch: Cage2Batch, blue: str, total: int) -> Frame:
    state = batch.states[0]
    truth = {name: values[0] for name, values in true_state(batch.states).items()}
    shown = observe.describe(batch.observations[0])
    hosts = tuple(
        HostView(
            host=host,
            subnet=SUBNETS[SUBNET_OF_HOST[i]],
            access=int(truth["red_access"][i]),
            sessions=int(truth["red_sessions"][i]),
            decoys=_decoy_text(int(truth["decoys"][i]), int(state["num_vsftpd"][i])),
            activity=shown[host][0],
            belief=shown[host][1],
            is_target=int(truth["red_target"]) == i,
        )
        for subnet in _SUBNET_ORDER
        for i, host in enumerate(HOSTS)
        if SUBNET_OF_HOST[i] == subnet
    )
    reward = int(batch.rewards[0]) if state["step"] else 0
    return Frame(
        step=int(state["step"]),
        horizon=batch.config.horizon,
        blue=blue,
        red=_describe_red(batch),
        reward=reward / TENTHS_PER_POINT,
        total=total / TENTHS_PER_POINT,
        service="up" if state["ot_up"] else "DOWN",
        hosts=hosts,
    )


def _decoy_text(mask: int, num_vsftpd: int) -> str:
    names = [name for i, name in enumerate(DECOYS) if mask >> i & 1]
    if num_vsftpd > 1:
        names[-1] = f"{DECOYS[VSFTPD]} x{num_vsftpd}"
    return ", ".join(names)


def render(frame: Frame) -> RenderableType:
    """The board of one frame."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("subnet", "host", "worth", "red holds", "decoys", "blue sees", "blue believes"):
        table.add_column(name, no_wrap=name != "decoys")
    subnet = ""
    for view in frame.hosts:
        if subnet and view.subnet != subnet:
            table.add_section()
        worth = HOST_VALUE_TENTHS[HOSTS.index(view.host)] / TENTHS_PER_POINT
        table.add_row(
            "" if view.subnet == subnet else view.subnet,
            Text(view.host + (" <" if view.is_target else ""), "bold" if view.is_target else ""),
            f"{worth:g}",
            Text(_held_text(view), _ACCESS_STYLE[view.access]),
            Text(view.decoys, "green"),
            Text("" if view.activity == "None" else view.activity, "magenta"),
            Text("" if view.belief == "No" else view.belief, "cyan"),
        )
        subnet = view.subnet
    head = f"step {frame.step}/{frame.horizon}   reward {frame.reward:g}   total {frame.total:g}"
    return Group(
        Text(f"{head}   service {frame.service}", "bold"),
        Text.assemble(("blue ", "bold blue"), frame.blue),
        Text.assemble(("red  ", "bold red"), frame.red),
        table,
    )


def _held_text(view: HostView) -> str:
    text = _ACCESS[view.access]
    if view.host == HOSTS[USER0]:
        return f"{text} (foothold)" if view.sessions == 1 else f"{text} x{view.sessions}"
    return f"{text} x{view.sessions}" if view.sessions > 1 else text


def watch(
    policy: Policy,
    config: SimConfig,
    *,
    seed: int,
    speed: float | None,
    is_plain: bool,
) -> None:
    """Show an episode on standard output.

    Args:
        policy: the defender.
        config: the game.
        seed: root seed of the episode.
        speed: steps per second; None waits for Enter after each step.
        is_plain: plain text, one board after the other and no waiting: for pipes and files.
    """
    console = Console(no_color=True, width=110, force_terminal=False) if is_plain else Console()
    head = f"{INTRODUCTION}\nred {config.red}, blue {policy.name}, seed {seed}\n"
    console.print(printable(head), highlight=False, markup=False)
    for frame in play(policy, config, seed=seed):
        if not is_plain and frame.step:
            console.clear()
        console.print(render(frame))
        if is_plain or frame.step == frame.horizon:
            continue
        if speed is not None:
            time.sleep(1 / speed)
        elif _wants_to_quit(console):
            return


def _wants_to_quit(console: Console) -> bool:
    try:
        answer = console.input("[dim]Enter: next step, q and Enter: quit [/dim]")
    except EOFError:
        return True
    return answer.strip() == "q"
