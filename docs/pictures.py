"""Make the pictures of the README from real runs: python docs/pictures.py."""

import io
import re
from pathlib import Path

from rich.console import Console

from standing_orders.cage2.defenders import ScriptedDefender
from standing_orders.cli.play_view import play
from standing_orders.config import SimConfig
from standing_orders.envs.board import TEXT_WIDTH, render

FOLDER = Path(__file__).parent
SHOWN_STEP = 33


def board() -> str:
    """The board of one step of one episode, as SVG."""
    frames = list(play(ScriptedDefender("heuristic"), SimConfig(red="meander"), seed=4))
    console = Console(record=True, width=TEXT_WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(render(frames[SHOWN_STEP], TEXT_WIDTH, 40))
    title = "standing-orders play --red meander --policy heuristic --seed 4"
    picture = console.export_svg(title=title, unique_id="board")
    return re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)  # loaded from elsewhere


if __name__ == "__main__":
    (FOLDER / "play.svg").write_text(board())
