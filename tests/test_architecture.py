"""The house: imports point downwards, rooms say what they are for, nothing grows too long."""

import ast
from functools import cache
from pathlib import Path

import pytest

import standing_orders

PACKAGE = Path(standing_orders.__file__).parent
ROOT = "standing_orders"
# From the top: a module may import from its own room and from the layers below. A module named here
# lives below the rest of its room: a gate is checked while learning, on the one measurement; a
# config is read as carefully as a file of a run.
LAYERS = (
    {"__main__"},
    {"cli"},
    {"api"},
    {"report"},
    {"compare"},
    {"search", "detect"},
    {"evaluate"},
    {"learn", "voting"},
    {"evaluate.measure"},
    {"collect", "envs"},
    {"rules"},
    {"belief"},
    {"cage2"},
    {"runs", "presets"},
    {"config", "plugins", "seeding", "stats", "compiled", "tables"},
    {"runs.files", "memory"},
    {"errors", "version"},
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
MAX_FILE, MAX_FUNCTION = 600, 60  # lines


@cache
def modules() -> dict[str, Path]:
    """Every module by its dotted name inside the package; the package itself is not one."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name:
            found[name] = path
    return found


def place(module: str) -> str:
    """The part of the picture that a module belongs to."""
    parts = module.split(".")
    whole = ".".join(parts[:2])
    return whole if whole in LEVEL else parts[0]


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Everything that a file is made of."""
    return tuple(ast.walk(ast.parse(path.read_text())))


@cache
def imported_names(path: Path) -> set[str]:
    """Everything that a file imports, wherever in it."""
    names: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def imports_of(module: str) -> set[str]:
    """Modules of the package that a module imports; of a name in a module, that module."""
    inside = {
        name.removeprefix(f"{ROOT}.") for name in imported_names(modules()[module])
        if name.startswith(f"{ROOT}.")
    }  # fmt: skip
    return {name for name in inside if name in modules()} - {module}


def test_every_module_has_a_place_in_the_picture() -> None:
    assert {place(module) for module in modules()} <= set(LEVEL)


def test_a_module_imports_from_below_only() -> None:
    wrong = [
        f"{module} imports {other}"
        for module in modules()
        for other in imports_of(module)
        if place(other) != place(module) and not module.startswith(f"{other}.")  # its own room
        if LEVEL[place(other)] <= LEVEL[place(module)]
    ]
    assert wrong == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join((*trail[trail.index(module) :], module))
        if module not in done:
            for other in sorted(imports_of(module)):
                # A room's `__init__` runs before its modules; that it names them is no circle.
                if not module.startswith(f"{other}."):
                    visit(other, (*trail, module))
            done.add(module)

    for module in modules():
        visit(module, ())


@pytest.mark.parametrize(
    "room", sorted(name for name, path in modules().items() if path.stem == "__init__")
)
def test_a_room_says_what_it_is_for_in_a_sentence(room: str) -> None:
    purpose = ast.get_docstring(ast.parse(modules()[room].read_text()))
    assert purpose, f"{room} does not say what it is for"
    assert purpose.split("\n\n")[0].endswith(".")


def test_no_file_is_too_long() -> None:
    lengths = {name: path.read_text().count("\n") for name, path in modules().items()}
    assert {name: length for name, length in lengths.items() if length > MAX_FILE} == {}


def test_no_function_is_too_long() -> None:
    lengths = {
        f"{name}:{node.lineno}:{node.name}": (node.end_lineno or 0) - node.lineno + 1
        for name, path in modules().items()
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_compiled(node)
    }
    assert len(lengths) > 1_000
    assert {name: length for name, length in lengths.items() if length > MAX_FUNCTION} == {}


def _is_compiled(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(decorator) == "jit" for decorator in node.decorator_list)


def importing(packages: set[str]) -> dict[str, set[str]]:
    """Modules that import one of these packages, and which."""
    outside = {
        module: {name.split(".")[0] for name in imported_names(path)}
        for module, path in modules().items()
    }
    return {module: names & packages for module, names in outside.items() if names & packages}


def test_the_game_needs_numpy_numba_and_gymnasium_only() -> None:
    others = importing({"torch", "stable_baselines3", "pydantic", "rich", "tyro", "scipy"})
    assert any(place(module) == "learn" for module in others)  # what is not the game may
    assert [module for module in others if place(module) == "cage2"] == []


def test_no_module_reads_or_writes_executable_data() -> None:
    assert importing({"pickle", "shelve", "marshal", "dill", "yaml"}) == {}
