"""The pages hang together: links, navigation, names of functions, the picture, the built site."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from standing_orders.version import VERSION
from tests.docs.pages import PAGES, README, ROOT, name_of
from tests.test_architecture import LAYERS

SOURCE = ROOT / "src" / "standing_orders"
WALKS = re.findall(
    r"^## (From an .*?)$(.*?)(?=^## )",
    (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"),
    flags=re.DOTALL | re.MULTILINE,
)


def test_readme_fits_on_a_page() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 150
    assert f"version {VERSION}" in README.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        assert not target.startswith(("http:", "/")), target
        if target.startswith("https:"):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.is_file(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", linked.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in [re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings]


def test_every_page_is_in_the_navigation() -> None:
    project = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
    named = re.findall(r"[\w-]+\.md", str(project["nav"]))
    assert sorted(named) == sorted(page.name for page in PAGES if page != README)


def names_in(path: Path) -> set[str]:
    """Functions, classes and methods of a file."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = (inner for inner in node.body if isinstance(inner, ast.FunctionDef))
            names |= {f"{node.name}.{inner.name}" for inner in methods}
    return names


@pytest.mark.parametrize(("title", "walk"), WALKS, ids=[title for title, _ in WALKS])
def test_walk_names_functions_that_exist_and_never_goes_back(title: str, walk: str) -> None:
    steps = re.findall(r"^\| `([\w/]+\.py)` \| `([\w.]+)` \|", walk, flags=re.MULTILINE)
    assert len(steps) > 8
    assert len(set(steps)) == len(steps)
    for file, name in steps:
        assert name in names_in(SOURCE / file), f"{file}: {name}"
    files = [file for file, _ in steps]
    entered = [file for place, file in enumerate(files) if file != files[place - 1] or not place]
    assert len(set(entered)) == len(entered), "a file that was left is entered again"


def test_picture_of_the_layers_is_the_enforced_one() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    picture = page.split("```text\n")[1].split("```")[0].splitlines()
    shown = tuple(set(line.partition("#")[0].split()) for line in picture)
    assert shown == tuple(layer for layer in LAYERS if layer != {"__main__"})


def test_both_walks_are_there() -> None:
    assert len(WALKS) == 2


def test_pictures_are_those_that_their_script_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import pictures

    for name, draw in pictures.PICTURES.items():
        assert (ROOT / "docs" / name).read_text() == draw(), name


@pytest.mark.slow
@pytest.mark.parametrize("dead_link", ["", "[x](nowhere.md)", "[x](orders.md#nowhere)"])
def test_site_is_built_unless_a_link_is_dead(dead_link: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    (tmp_path / "src").symlink_to(ROOT / "src")
    with (tmp_path / "docs" / "index.md").open("a") as page:
        page.write(f"\n{dead_link}\n")
    build = [sys.executable, "-m", "zensical", "build", "--strict"]
    result = subprocess.run(build, cwd=tmp_path, check=False, capture_output=True)
    assert (result.returncode == 0) == (not dead_link), result.stderr.decode()
