"""Make the pictures of the pages from real runs and results.

python docs/pictures.py              # the drawings
python docs/pictures.py runs/demo    # report.png and replay.png too, of that search, in Chromium
"""

import csv
import io
import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from standing_orders.belief import Belief
from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.defenders import ScriptedDefender
from standing_orders.cage2.scenario import HOSTS, NUM_HOSTS
from standing_orders.cli.play_view import play
from standing_orders.config import SimConfig
from standing_orders.envs.board import TEXT_WIDTH, render
from standing_orders.report.build import write_report
from standing_orders.report.page import write_page
from standing_orders.report.replay import ReplayTask, replay_document

FOLDER = Path(__file__).parent
SHOWN_STEP = 33
SIZE = {"width": 1440, "height": 1180}
LATE = SimConfig(red="b_line", head_start=20, horizon=60)
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd")
_CELL_WIDTH, _CELL_HEIGHT, _MARGIN = 11, 18, 90


def board() -> str:
    """The board of one step of one episode, as SVG."""
    frames = list(play(ScriptedDefender("heuristic"), SimConfig(red="meander"), seed=4))
    console = Console(record=True, width=TEXT_WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(render(frames[SHOWN_STEP], TEXT_WIDTH, 40))
    title = "standing-orders play --red meander --policy heuristic --seed 4"
    picture = console.export_svg(title=title, unique_id="board")
    return re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)  # loaded from elsewhere


def watched() -> tuple[NDArray[np.float64], NDArray[np.bool_]]:  # both (steps, 13)
    """P(held) of each host in one episode that blue enters late, and what red really held."""
    batch, belief = Cage2Batch(1, LATE), Belief(LATE, 1)
    defender = ScriptedDefender("heuristic")
    seeds = np.array([8], dtype=np.uint64)
    defender.reset(seeds)
    belief.reset(batch.reset(seeds))
    said, truth = [], []
    for _ in range(LATE.horizon):
        said.append(belief.held[0].copy())
        truth.append((batch.states["held"][0] >> np.arange(NUM_HOSTS) & 1).astype(np.bool_))
        actions = defender.act(batch.observations).copy()
        batch.step(actions)
        belief.update(actions, batch.observations)
    return np.array(said), np.array(truth)


def belief_over_an_episode() -> str:
    """Shade: the probability that red holds a host; dot: it does."""
    said, truth = watched()
    parts = []
    for host, name in enumerate(HOSTS):
        y = host * _CELL_HEIGHT
        parts.append(_text(_MARGIN - 6, y + 13, name, "end"))
        for step in range(len(said)):
            x = _MARGIN + step * _CELL_WIDTH
            parts.append(
                f'<rect x="{x}" y="{y}" width="{_CELL_WIDTH - 1}" height="{_CELL_HEIGHT - 2}" '
                f'fill="#d62728" fill-opacity="{0.06 + 0.94 * said[step, host]:.3f}"/>'
            )
            if truth[step, host]:
                parts.append(f'<circle cx="{x + 5}" cy="{y + 8}" r="2" fill="#000"/>')
    height = NUM_HOSTS * _CELL_HEIGHT
    for step in range(0, len(said), 10):
        parts.append(_text(_MARGIN + step * _CELL_WIDTH, height + 14, str(step), "start"))
    return _svg(_MARGIN + len(said) * _CELL_WIDTH, height + 22, parts)


def certainty_curve() -> str:
    """Lowest contested compliance of an order, and mean return, by certainty; trained defenders."""
    with (FOLDER.parent / "benchmarks" / "results" / "lawful.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    rows = [row for row in rows if row["policy"] == "trained"]
    levels = list(dict.fromkeys(row["certainty"] for row in rows))
    parts = [_text(40, 16, "lowest contested compliance", "start")]
    parts.append(_text(430, 16, "mean return, as a share of that with no mask", "start"))
    for left, low, high in ((40, 0.0, 1.0), (430, 1.0, 1.7)):
        for at, level in enumerate(levels):
            parts.append(_text(left + 50 * at, 235, level, "middle"))
        for value in (low, (low + high) / 2, high):
            y = 220 - 190 * (value - low) / (high - low)
            parts.append(f'<path d="M{left} {y}h310" stroke="#bbb"/>')
            parts.append(_text(left - 6, y + 4, f"{value:g}", "end"))
    for number, game in enumerate(dict.fromkeys(row["game"] for row in rows)):
        own = [row for row in rows if row["game"] == game]
        free = float(own[0]["mean_return"])
        kept = [float(row["worst_contested"]) for row in own]
        cost = [(float(row["mean_return"]) / free - 1.0) / 0.7 for row in own]
        colour = COLOURS[number]
        parts += [_line(40, kept, colour), _line(430, cost, colour)]
        parts.append(_text(740, 60 + 18 * number, game, "start", colour))
    return _svg(840, 245, parts)


def _line(left: int, shares: Iterable[float], colour: str) -> str:
    points = " ".join(f"{left + 50 * at},{220 - 190 * y:.1f}" for at, y in enumerate(shares))
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'


def _text(x: float, y: float, words: str, anchor: str, colour: str = "#444") -> str:
    return f'<text x="{x}" y="{y:.0f}" text-anchor="{anchor}" fill="{colour}">{words}</text>'


def _svg(width: float, height: float, parts: Iterable[str]) -> str:
    frame = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
    style = 'style="background:#fff" font-family="sans-serif" font-size="12"'
    return "\n".join([f"{frame} {style}>", *parts, "</svg>", ""])


def photograph(search: Path) -> None:
    """The report of a search, and a replay of its best policy that is forked at the start."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # of the test extra

    fork = ReplayTask(str(search), numbers=(7,), fork_at=0, order="reverse")
    with TemporaryDirectory() as folder, sync_playwright() as driver:
        pages = {"report": "", "replay": "#ep=0&t=4&fork=0"}
        write_report([search], Path(folder) / "report.html")
        write_page(Path(folder) / "replay.html", replay_document(fork))
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport=SIZE)
        for name, link in pages.items():
            page.goto(f"file://{folder}/{name}.html{link}")
            page.wait_for_selector("html[data-ready]")
            page.wait_for_timeout(500)  # charts are drawn in the next frame
            page.screenshot(path=FOLDER / f"{name}.png")
        browser.close()


PICTURES = {
    "play.svg": board,
    "belief.svg": belief_over_an_episode,
    "certainty.svg": certainty_curve,
}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (FOLDER / name).write_text(draw())
    for name in sys.argv[1:2]:
        photograph(Path(name))
