"""Make the pictures of the pages from real runs.

python docs/pictures.py              # play.svg
python docs/pictures.py runs/demo    # report.png and replay.png too, of that search, in Chromium
"""

import io
import re
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from standing_orders.cage2.defenders import ScriptedDefender
from standing_orders.cli.play_view import play, render
from standing_orders.config import SimConfig
from standing_orders.report.build import write_report
from standing_orders.report.page import write_page
from standing_orders.report.replay import ReplayTask, replay_document

FOLDER = Path(__file__).parent
SHOWN_STEP = 33
SIZE = {"width": 1440, "height": 1180}


def board() -> str:
    """The board of one step of one episode, as SVG."""
    frames = list(play(ScriptedDefender("heuristic"), SimConfig(red="meander"), seed=4))
    console = Console(record=True, width=106, file=io.StringIO(), force_terminal=True)
    console.print(render(frames[SHOWN_STEP]))
    title = "standing-orders play --red meander --policy heuristic --seed 4"
    picture = console.export_svg(title=title, unique_id="board")
    return re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)  # loaded from elsewhere


def photograph(search: Path) -> None:
    """The report of a search, and a replay of its best policy that is forked at step 10."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # of the test extra

    fork = ReplayTask(str(search), numbers=(7,), fork_at=10, order="reverse")
    with TemporaryDirectory() as folder, sync_playwright() as driver:
        pages = {"report": "", "replay": "#ep=0&t=25&fork=0"}
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


if __name__ == "__main__":
    (FOLDER / "play.svg").write_text(board())
    for name in sys.argv[1:2]:
        photograph(Path(name))
