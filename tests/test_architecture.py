"""Imports point downwards only."""

import ast
from pathlib import Path

import pytest

import standing_orders

PACKAGE = Path(standing_orders.__file__).parent
# From the top: a module may import from its own layer (a folder's own modules) and from below.
LAYERS = (
    {"__main__"},
    {"cli"},
    {"evaluate", "search", "detect"},
    {"voting"},
    {"learn"},
    {"rules"},
    {"cage2"},
    {"runs", "config", "seeding", "stats", "compiled", "errors", "version", "presets"},
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
# Small modules of the lowest layers build on each other, errors first.
ALLOWED_SIDEWAYS = {
    ("config", "errors"),
    ("seeding", "errors"),
    ("runs", "config"),
    ("runs", "errors"),
    ("runs", "version"),
    ("search", "evaluate"),
}


def modules() -> list[Path]:
    return sorted(
        path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.stem != "__init__"
    )


def part_of(module: Path) -> str:
    return module.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_names(module: Path) -> set[str]:
    """Everything a module imports, wherever in the file."""
    names = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def parts_imported(module: Path) -> set[str]:
    inside = {
        name.split(".")[1]
        for name in imported_names(module)
        if name.count(".") and name.startswith("standing_orders.")
    }
    return inside & set(LEVEL)


@pytest.mark.parametrize("module", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_module_imports_from_below_only(module: Path) -> None:
    part = part_of(module)
    assert part in LEVEL, f"{part} has no place in the picture yet"
    for other in parts_imported(module) - {part}:
        assert LEVEL[other] > LEVEL[part] or (part, other) in ALLOWED_SIDEWAYS, (
            f"{part} imports {other}"
        )


@pytest.mark.parametrize(
    "module", sorted((PACKAGE / "cage2").glob("*.py")), ids=lambda path: path.stem
)
def test_the_game_needs_numpy_numba_and_gymnasium_only(module: Path) -> None:
    outside = {name.split(".")[0] for name in imported_names(module)}
    assert not outside & {"torch", "stable_baselines3", "pydantic", "rich", "tyro", "scipy"}


@pytest.mark.parametrize("module", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_module_reads_or_writes_executable_data(module: Path) -> None:
    assert not {"pickle", "shelve", "marshal", "dill", "yaml"} & {
        name.split(".")[0] for name in imported_names(module)
    }
