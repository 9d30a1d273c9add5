"""Run folders with made-up journals, and a real browser to look at pages with."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from standing_orders.compare.config import CompareConfig
from standing_orders.compare.published import grid
from standing_orders.compare.run import compare
from standing_orders.config import SearchConfig, TrainConfig
from standing_orders.report.reading import Record
from standing_orders.rules.compliance import OrderCompliance
from standing_orders.rules.orders import Order
from standing_orders.runs.folder import RunFolder

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


def made_up_update(update: int, *, order: int = 6, passed: bool = False) -> Record:
    """A record as a training run writes it."""
    share = update / (update + 10)
    return {
        "update": update, "order_id": order, "order": str(Order(order)), "episodes": 100,
        "total_episodes": 100 * update, "gate_episodes": 0,
        "reward": {"environment": -100 * (1 - share), "alignment": 5.0, "total": -95.0},
        "compliance": {
            "compliance": share, "strict": share, "contested": share, "response": 0.5, "aim": 0.9,
        },
        "loss": {"entropy": 4.0 - share, "approx_kl": 0.01, "clipfrac": 0.1},
        "gate": {
            "passed": passed, "return": -20.5, "episodes": 200, "strict": 0.97, "contested": 0.95,
            "response": 0.5, "aim": 0.9, "compliant": 970, "violations": 30,
        } if passed else None,
        "stopped": "gate passed" if passed else None,
    }  # fmt: skip


def make_run(path: Path, kind: str, config: dict[str, Any], records: list[Record]) -> Path:
    folder = RunFolder.create(path, config, kind)
    with folder.lock(), folder.journal() as journal:
        for record in records:
            journal.append(record)
    return path


def train_config(**values: Any) -> dict[str, Any]:
    return TrainConfig(order="critical_first", **values).model_dump(mode="json") | {"start": None}


@pytest.fixture
def train_run(tmp_path: Path) -> Path:
    records = [made_up_update(update, passed=update == 30) for update in range(1, 31)]
    return make_run(tmp_path / "trained", "train", train_config(seed=3), records)


KEPT = OrderCompliance(
    episodes=100, fixes=1_000, neutral=100, compliant=870, violations=30, contested_compliant=90,
    contested_violations=10, held_steps=1_500, answered_steps=900, aimed=850,
)  # fmt: skip
MADE_UP = {
    "strict_interval95": [0.9, 1.0], "contested_interval95": [0.8, 1.0], **KEPT.to_json(),
}  # fmt: skip


def made_up_visit(iteration: int, order: int, value: float) -> Record:
    return {
        "event": "result", "iteration": iteration, "round": iteration, "order_id": order,
        "order": str(Order(order)), "visit": 1, "policy": f"{order:03d}", "start": "base",
        "score": 0.0, "decided_by": "ucb", "mean": value, "std": 1.0, "chance": 0.8,
        "passed": True, "verdict": "passed", "reason": "made up", "reward": value,
        "std_error": 0.5, "compliance": MADE_UP,
        "gp_updated": True, "stopped": "gate passed", "updates": [0, 1],
        "episodes": {"training": 100, "gate": 200, "evaluation": 200},
        "total_episodes": 500 * iteration,
    }  # fmt: skip


def make_search_run(path: Path) -> Path:
    orders = range(0, 120, 10)
    results = [made_up_visit(i, order, -50 - order / 4) for i, order in enumerate(orders, 1)]
    final = {
        "event": "final", "order_id": 0, "order": str(Order(0)), "policy": "000",
        "start": "base", "passed": True, "episodes": {"final": 100}, "total_episodes": 6100,
        "measured": {
            "return": -50.2, "std_error": 0.4, "passed": True, "verdict": "passed",
            "reason": "made up", **MADE_UP,
        },
    }  # fmt: skip
    config = SearchConfig(budget=6100).model_dump(mode="json") | {"base_run": None}
    return make_run(path, "search", config, [*results, final])


@pytest.fixture
def search_run(tmp_path: Path) -> Path:
    return make_search_run(tmp_path / "searched")


def make_compare_run(path: Path) -> Path:
    """A comparison of three scripted defenders, and of a run that is not there."""
    names = ("sleep", "random", "heuristic", str(path / "lost"))
    compare(CompareConfig(contestants=names, seeds=2, episodes=5), path)
    return path


def make_published_run(path: Path) -> Path:
    """Two orders of every setting of the published grid, made up."""
    made = [
        {
            "event": "published", "setting": setting.name, "order": str(Order(order)),
            "reached": 900 if order else None, "passed": bool(order), "best": 0.96, "last": 0.9,
            "episodes": 4_000, "budget": 4_000,
        }
        for order in range(2)
        for setting in grid()
    ]  # fmt: skip
    return make_run(path, "published", CompareConfig().model_dump(mode="json"), made)


@pytest.fixture(scope="module")  # its event loop runs all the while: no other module can have one
def browser() -> Iterator[Any]:
    """Headless Chromium; skipped, and said so, where it cannot be had."""
    if CHROMIUM is None:
        pytest.skip("no chromium: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield found
        found.close()


class Opened:
    """A page in the browser, and everything that went wrong with it."""

    def __init__(self, browser: Any, path: Path, link: str = "", **options: Any) -> None:
        self.page = browser.new_page(**{"viewport": {"width": 1440, "height": 900}, **options})
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda said: self.errors.append(f"{said.type}: {said.text}"))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda asked: self.requests.append(asked.url))
        self.page.goto(f"file://{path}{link}")
        self.page.wait_for_selector("html[data-ready]")
        self.page.wait_for_timeout(150)  # charts are drawn in the next frame

    def text(self, selector: str) -> str:
        return str(self.page.inner_text(selector))


@pytest.fixture
def look(browser: Any) -> Iterator[Any]:
    """Opens pages; each must have loaded nothing but itself, and complained about nothing."""
    opened: list[Opened] = []

    def open_page(path: Path, link: str = "", **options: Any) -> Opened:
        opened.append(Opened(browser, path, link, **options))
        return opened[-1]

    yield open_page
    for one in opened:
        one.page.close()
        assert one.errors == []
        assert all(url.startswith("file://") for url in one.requests)
        assert len(one.requests) == 1
