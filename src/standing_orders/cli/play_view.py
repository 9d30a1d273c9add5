"""Watch one episode in the terminal: back and forth, at any size, with a summary at the end."""

import os
import time
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from standing_orders.cage2.attacks import AttackFile
from standing_orders.cage2.policy import Policy, in_game
from standing_orders.cli import keys
from standing_orders.cli.command import explained_after
from standing_orders.config import SimConfig
from standing_orders.envs.board import TEXT_WIDTH, compliance_text, render, to_text
from standing_orders.envs.frame import Frame
from standing_orders.envs.single import Cage2Env
from standing_orders.evaluate.obedience import OrderFollower
from standing_orders.rules.orders import Order
from standing_orders.seeding import child_seed, environment_seeds
from standing_orders.tables import printable

INTRODUCTION = """\
CAGE Challenge 2. A red attacker starts on User0 and works its way User -> Enterprise -> \
Operational, where it tries to stop the service on Op_Server0. A blue defender sees only alerts \
and may Analyse, Remove (user-level shells), Restore (costs 1) or place decoys.
Blue loses, each step: 1 for Op_Server0 and for each Enterprise host that red controls as \
administrator, 0.1 for any other host (User0: nothing), and 10 while the service is down.

"red holds" and "decoys" are the truth. "blue sees" is this step's alert, "table" blue's own note \
of what is compromised: that is all a defender is shown. "blue believes" is the probability that \
red holds the host, by all that blue has seen and done. A fix (Remove, Restore) is judged by the \
order: it must go to the highest-ranked type that is held."""
_KEYS_LINE = "Enter next, b back, 0 start, $ end, space run or pause, h help, q quit"
_LOOK = 0.2  # seconds between looks at the size of the terminal
_PATIENCE = 2.0  # seconds without a sign of life
_OWN_SPEED = 4.0  # steps a second after the space bar


def play(
    policy: Policy,
    config: SimConfig,
    *,
    seed: int,
    red_agent: str | None = None,
    attack: AttackFile | None = None,
    rules: Sequence[str] = (),
) -> Iterator[Frame]:
    """Play one episode, a frame at a time; the first one shows the start.

    A policy that follows orders is judged by the one that it is told. With an attack its draws are
    met, and the policy's own choices are drawn as they were when it was found.
    """
    policy = in_game(policy, config)
    own = child_seed(seed, "play", "policy") if attack is None else attack.policy_seed
    env = Cage2Env(
        **config.model_dump(), red_agent=red_agent, order=_order_of(policy, own),
        attack=None if attack is None else attack.seeds, watched=rules, belief=red_agent is None,
    )  # fmt: skip
    policy.reset(environment_seeds(own, 1))
    observation, _ = env.reset(seed=child_seed(seed, "play"))
    yield env.frame()
    switch = getattr(policy, "switch", None)
    for step in range(config.horizon):
        if switch is not None and step == switch[0]:
            env.tell(switch[1])
        observation, *_ = env.step(int(policy.act(observation[None])[0]))
        yield env.frame()


def _order_of(policy: Policy, seed: int) -> str | None:
    """What a policy is told in the episode of a seed."""
    if not (isinstance(policy, OrderFollower) and policy.orders):
        return None
    return str(Order(policy.orders[seed % len(policy.orders)]))


def watch(
    policy: Policy,
    config: SimConfig,
    *,
    seed: int,
    speed: float | None,
    is_plain: bool,
    red_agent: str | None = None,
    attack: AttackFile | None = None,
    rules: Sequence[str] = (),
) -> None:
    """Show an episode on standard output.

    Args:
        policy: the defender.
        config: the game.
        red_agent: one of the user's own that attacks, module:attribute.
        seed: root seed of the episode.
        speed: steps per second; None waits for a key after each step.
        is_plain: plain text, one board after the other and no waiting: for pipes and files.
        attack: whose draws are met, instead of those of the seed.
        rules: temporal rules that are watched.
    """
    console = Console(highlight=False)
    width = console.width if console.is_terminal else TEXT_WIDTH
    if is_plain:
        console = Console(no_color=True, width=width, force_terminal=False, highlight=False)
    drawn = f"seed {seed}" if attack is None else "draws of a file"
    about = printable(f"red {red_agent or config.red}, blue {policy.name}, {drawn}")
    console.print(f"{INTRODUCTION}\n\n{about}", markup=False)
    frames = play(policy, config, seed=seed, red_agent=red_agent, attack=attack, rules=rules)
    if is_plain:
        for frame in frames:
            console.print(f"\n{to_text(frame, width)}", markup=False)
            last = frame
    else:
        why = "the first time, the simulator is compiled: up to a minute"
        with explained_after(_PATIENCE, why):
            first = list(islice(frames, 2))  # the second compiles what the first does not need
        last = _Player(console, chain(first, frames), about, speed).run()
    console.print("\n".join(["", *summarise(last)]), markup=False)


def summarise(frame: Frame) -> Sequence[str]:
    """What came of an episode, up to a frame."""
    ended = "the episode" if frame.step == frame.horizon else "so far"
    service = "up" if frame.is_service_up else "DOWN"
    held = ", ".join(view.name for view in frame.hosts if view.access and view.sessions)
    came = f"{ended}: return {frame.total:g} in {frame.step} of {frame.horizon} steps; service "
    lines = [f"{came}{service}; red is on {held}"]
    if frame.order is not None and frame.kept is not None:
        lines += [f"order {frame.order.typed}", compliance_text(frame.kept)]
    return [*lines, *(f"rule {rule}" for rule in frame.rules)]


def _size_of(console: Console) -> tuple[int, int]:
    """Columns and lines as they are now: COLUMNS and LINES, if exported, are those of before."""
    try:
        size = os.get_terminal_size(console.file.fileno())
    except (OSError, ValueError):  # it is no terminal
        return console.size
    return size.columns, size.lines


class _Player:
    """Shows frames as the user wants them, in whatever size the terminal has now."""

    def __init__(
        self, console: Console, frames: Iterator[Frame], about: str, speed: float | None
    ) -> None:
        self._console, self._source, self._about = console, frames, about
        self._seen = [next(frames)]
        self._at = 0
        self._is_running = speed is not None
        self._pause = 1 / (speed or _OWN_SPEED)
        self._is_helping = False

    def run(self) -> Frame:
        """Show until the user has enough; gives the furthest frame played."""
        with (
            keys.open_keyboard() as keyboard,
            Live(console=self._console, screen=True, auto_refresh=False) as live,
        ):
            self._show(live)
            while not self._is_over(self._wait(keyboard, live)):
                self._show(live)
        return self._seen[-1]

    def _wait(self, keyboard: keys.Keyboard, live: Live) -> str | None:
        """The next key; a step's time if it runs by itself. Redraws when the size changes."""
        until = time.monotonic() + self._pause
        while True:
            left = until - time.monotonic() if self._is_running else _LOOK
            if self._is_running and left <= 0:
                return keys.NEXT
            wanted = keyboard.wait(min(left, _LOOK))
            if wanted is not None:
                return wanted
            if _size_of(self._console) != self._console.size:
                self._show(live)

    def _is_over(self, wanted: str | None) -> bool:
        """Do what is wanted; whether that was to leave."""
        is_closing = self._is_helping and wanted != keys.QUIT
        self._is_helping = wanted == keys.HELP and not is_closing
        if wanted == keys.QUIT or is_closing or self._is_helping:
            return wanted == keys.QUIT
        if wanted == keys.PAUSE:
            self._is_running = not self._is_running
        elif wanted == keys.NEXT:
            return not self._forward()
        elif wanted == keys.BACK:
            self._is_running, self._at = False, max(self._at - 1, 0)
        elif wanted == keys.FIRST:
            self._is_running, self._at = False, 0
        elif wanted == keys.LAST:
            while self._forward():
                pass
        return False

    def _forward(self) -> bool:
        """Go on by a frame, if there is one."""
        if self._at + 1 == len(self._seen):
            frame = next(self._source, None)
            if frame is None:
                return False
            self._seen.append(frame)
        self._at += 1
        return True

    def _show(self, live: Live) -> None:
        width, height = _size_of(self._console)
        self._console.size = (width, height)
        if self._is_helping:
            live.update(Text(f"{self._about}\n\n{INTRODUCTION}\n\n{_KEYS_LINE}"), refresh=True)
            return
        board = render(self._seen[self._at], width, height)
        live.update(Group(board, Text(_KEYS_LINE, "dim", no_wrap=True)), refresh=True)
