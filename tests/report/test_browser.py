"""What a person sees: the page in a real browser."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from standing_orders.cage2.defenders import ScriptedDefender
from standing_orders.cage2.policy import Policy
from standing_orders.config import SimConfig
from standing_orders.report import document as doc
from standing_orders.report.build import write_report
from standing_orders.report.page import MAX_BYTES, write_page
from standing_orders.report.replays import OtherFuture, find_episodes
from standing_orders.report.train import FIGURES, REWARDS
from tests.report.conftest import (
    made_up_update,
    make_compare_run,
    make_published_run,
    make_run,
    make_search_run,
    train_config,
)

GAME = SimConfig(horizon=40, head_start=12)
ORDER = 58
HOSTILE = "<script>alert(1)</script></script> =cmd|' /C calc'!A0 \x1b[31mred"
PLAYER = ".replay"


def restoring(order: int | None = None) -> Policy:
    return ScriptedDefender("react_restore")


@pytest.fixture(scope="module")
def replay_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    others = [OtherFuture("asleep", lambda: ScriptedDefender("sleep"), ORDER)]
    episodes = find_episodes(restoring, GAME, order=ORDER, num_episodes=20, others=others)
    path = tmp_path_factory.mktemp("page") / "replay.html"
    write_page(path, doc.document("Replay", "", [doc.section("Replay", doc.replay(episodes))]))
    return path


@pytest.fixture(scope="module")
def search_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    write_report([make_search_run(folder / "searched")], folder / "r.html", num_episodes=0)
    return folder / "r.html"


# Pages, and the kind and number of the runs on each.
KINDS = {
    "train": ("train", 1), "two trains": ("train", 2), "search": ("search", 1),
    "two searches": ("search", 2), "compare": ("compare", 1), "two compares": ("compare", 2),
    "published": ("published", 1),
}  # fmt: skip


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of every kind of run, of one and of two."""
    folder = tmp_path_factory.mktemp("pages")
    updates = [made_up_update(update, passed=update == 9) for update in range(1, 10)]
    runs: dict[str, list[Path]] = {
        "train": [make_run(folder / f"t{i}", "train", train_config(seed=i), updates)
                  for i in range(2)],
        "search": [make_search_run(folder / f"s{i}") for i in range(2)],
        "compare": [make_compare_run(folder / f"c{i}") for i in range(2)],
        "published": [make_published_run(folder / "p")],
    }  # fmt: skip
    made = {}
    for number, (name, (kind, count)) in enumerate(KINDS.items()):
        made[name] = folder / f"{number}.html"
        write_report(runs[kind][:count], made[name], num_episodes=0)
    return made


def charts(opened: Any) -> list[tuple[str, int]]:
    """Kind of each chart, and how many marks it has."""
    found = opened.page.eval_on_selector_all(
        "[data-chart]", "all => all.map(one => [one.dataset.chart, one.querySelectorAll("
        "'svg path.series, svg circle, svg rect:not(.hit)').length])"
    )  # fmt: skip
    return [(kind, marks) for kind, marks in found]


@pytest.mark.parametrize("kind", KINDS)
def test_every_chart_of_every_kind_of_run_is_drawn(
    look: Any, pages: dict[str, Path], kind: str
) -> None:
    found = charts(look(pages[kind]))
    assert found
    assert all(marks > 0 for _, marks in found)


def test_every_reward_and_every_figure_of_several_runs_can_be_picked(
    look: Any, pages: dict[str, Path]
) -> None:
    opened = look(pages["two trains"])
    for place, names in enumerate((REWARDS, FIGURES)):
        picker = opened.page.locator(".choice select").nth(place)
        chart = opened.page.locator(".choice [data-chart=lines]").nth(place)
        for name in names.values():
            picker.select_option(label=name)
            # A flat line has no height, so it is never "visible".
            chart.locator("path.series").first.wait_for(state="attached")
            assert chart.locator("path.series").count() == 2
            assert name in chart.locator("h3").inner_text()


def test_two_searches_are_laid_over_each_other(look: Any, pages: dict[str, Path]) -> None:
    opened = look(pages["two searches"])
    assert "Runs side by side" in opened.text("section:first-of-type")
    assert opened.page.locator("section:first-of-type circle").count() >= 2 * 10
    assert opened.page.locator("section:first-of-type path.series").count() == 2


def test_a_run_that_is_missing_is_named_on_the_page(look: Any, pages: dict[str, Path]) -> None:
    assert "no run folder is there" in look(pages["compare"]).text(".warn")


def test_claims_stand_beside_what_was_measured(look: Any, pages: dict[str, Path]) -> None:
    text = look(pages["published"]).text("main")
    assert "lambda 30, linear: claimed" in text
    assert "Of 4 published claims" in text


def step(opened: Any) -> int:
    return int(opened.text(".when").split()[1])


def test_a_search_has_every_kind_of_chart(look: Any, search_page: Path) -> None:
    kinds = {kind for kind, _ in charts(look(search_page))}
    assert kinds == {"intervals", "heat", "parallel", "surrogate", "lines"}


def test_pointing_at_a_row_lights_the_order_up_in_the_charts(look: Any, search_page: Path) -> None:
    page = look(search_page).page
    row = page.locator("tr[data-key]").nth(2)
    key = row.get_attribute("data-key")
    row.hover()
    assert page.locator(f"[data-chart=parallel] path.lit[data-key='{key}']").count() == 1
    assert page.locator("[data-chart=parallel] path.faint").count() == 11


def test_the_surrogate_is_scrubbed_by_iteration(look: Any, search_page: Path) -> None:
    opened = look(search_page)
    slider = opened.page.locator("[data-chart=surrogate] input")
    slider.focus()
    assert "after 12 visits" in opened.text("[data-chart=surrogate]")
    slider.press("Home")
    assert "after 1 visit," in opened.text("[data-chart=surrogate]")


def test_the_replay_plays_to_the_end(look: Any, replay_page: Path) -> None:
    opened = look(replay_page)
    opened.page.select_option(".time select", "20")
    opened.page.click(".play")
    opened.page.wait_for_selector(f".when:has-text('step {GAME.horizon} /')")
    assert opened.text(".play") == "Play"
    assert step(opened) == GAME.horizon


def test_the_replay_scrubs_to_both_ends_on_first_load(look: Any, replay_page: Path) -> None:
    opened = look(replay_page)
    box = opened.page.locator(".time input").bounding_box()
    for share, wanted in ((0.999, GAME.horizon), (0.001, 0)):
        opened.page.mouse.click(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
        assert step(opened) == wanted


def test_the_keyboard_moves_the_replay(look: Any, replay_page: Path) -> None:
    opened = look(replay_page)
    opened.page.locator(PLAYER).focus()
    for key, wanted in (("ArrowRight", 1), ("PageDown", 11), ("ArrowLeft", 10), ("End", 40),
                        ("Home", 0)):  # fmt: skip
        opened.page.keyboard.press(key)
        assert step(opened) == wanted, key
    opened.page.keyboard.press(" ")
    assert opened.text(".play") == "Pause"
    opened.page.keyboard.press(" ")
    assert opened.text(".play") == "Play"


def test_a_click_on_the_timeline_goes_there(look: Any, replay_page: Path) -> None:
    opened = look(replay_page)
    chart = opened.page.locator(".timeline svg")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    opened.page.mouse.click(box["x"] + 0.6 * box["width"], box["y"] + 40)
    assert 18 <= step(opened) <= 28


def test_a_link_opens_its_episode_and_step(look: Any, replay_page: Path) -> None:
    opened = look(replay_page, "#ep=2&t=37")
    assert step(opened) == 37
    assert opened.page.eval_on_selector(".replay .bar select", "one => one.value") == "2"
    opened.page.evaluate("location.hash = '#ep=1&t=5'")
    opened.page.wait_for_timeout(50)
    assert step(opened) == 5


@pytest.mark.parametrize("link", ["#ep=99&t=9999", "#ep=-1&t=x", "#ep=1e9&t=", "#t=<b>"])
def test_a_link_that_leads_nowhere_does_no_harm(look: Any, replay_page: Path, link: str) -> None:
    assert 0 <= step(look(replay_page, link)) <= GAME.horizon


def test_a_fork_shows_two_futures_that_part_at_its_step(look: Any, replay_page: Path) -> None:
    opened = look(replay_page)
    page = opened.page
    assert page.locator("[data-future]").count() == 1
    page.select_option(".bar label:nth-child(2) select", "0")
    assert page.locator("[data-future]").count() == 2
    assert page.locator("[data-panel]").count() == 4
    page.locator(PLAYER).focus()
    page.keyboard.press("End")
    futures = page.locator("[data-future] .said").all_inner_texts()
    assert futures[0] != futures[1]


def test_hostile_names_are_shown_as_text(look: Any, tmp_path: Path) -> None:
    config = train_config() | {"order": HOSTILE, "red": HOSTILE}
    run = make_run(tmp_path / "<b>run", "train", config, [made_up_update(1)])
    write_report([run], tmp_path / "r.html", num_episodes=0)
    opened = look(tmp_path / "r.html")
    assert "<script>alert(1)</script>" in opened.text("main")
    assert opened.page.title().endswith("<b>run")
    assert "\x1b" not in opened.page.content()


@pytest.mark.slow
def test_a_journal_of_100_000_rows_opens_in_under_3_seconds(
    look: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)  # nobody pulls the plug meanwhile
        updates = [made_up_update(update) for update in range(1, 100_001)]
        run = make_run(tmp_path / "long", "train", train_config(), updates)
    size = write_report([run], tmp_path / "r.html", num_episodes=0)
    assert size < MAX_BYTES
    began = time.perf_counter()
    look(tmp_path / "r.html")
    assert time.perf_counter() - began < 3


@pytest.mark.parametrize(
    "widths", [(390,), pytest.param((1440, 768), marks=pytest.mark.slow)], ids=str
)
def test_no_page_is_wider_than_the_screen(
    look: Any, replay_page: Path, pages: dict[str, Path], widths: tuple[int, ...]
) -> None:
    first, *others = ({"width": width, "height": 800} for width in widths)
    for path, link in ((replay_page, "#ep=0&t=9&fork=0"), *((page, "") for page in pages.values())):
        page = look(path, link, viewport=first).page
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        for size in others:  # as whoever makes the window narrower
            page.set_viewport_size(size)
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_the_theme_follows_the_system_and_the_button(look: Any, replay_page: Path) -> None:
    page = look(replay_page, color_scheme="dark").page
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"


AXE = Path(os.environ.get("AXE_CORE", "node_modules/axe-core/axe.min.js"))


@pytest.mark.skipif(not AXE.is_file(), reason="no axe-core: npm install axe-core, or set AXE_CORE")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(
    browser: Any, replay_page: Path, pages: dict[str, Path], theme: str
) -> None:
    for path in (replay_page, *pages.values()):
        context = browser.new_context(color_scheme=theme, bypass_csp=True)
        page = context.new_page()
        page.goto(f"file://{path}")
        page.wait_for_selector("html[data-ready]")
        page.wait_for_timeout(200)
        page.add_script_tag(content=AXE.read_text())
        found = page.evaluate("axe.run().then(said => said.violations)")
        serious = [one for one in found if one["impact"] in ("serious", "critical")]
        assert [(one["id"], one["nodes"][0]["html"]) for one in serious] == []
        context.close()
