"""Without CybORG, or with one that is broken, a message says what to do; a small fake stands in."""

import sys
from pathlib import Path
from typing import Any

import pytest

from standing_orders.cage2.cyborg.install import import_cyborg
from standing_orders.errors import ConfigError


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of CybORG is imported or on the path."""
    for name in [name for name in sys.modules if name.split(".")[0] == "CybORG"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", list(sys.path))


def fake(tmp_path: Path, source: str, agents: str = "") -> str:
    package = tmp_path / "CybORG" / "CybORG"
    (package / "Agents").mkdir(parents=True)
    (package / "CybORG.py").write_text("class CybORG: pass\n")
    (package / "__init__.py").write_text(source)
    (package / "Agents" / "__init__.py").write_text(agents)
    return str(tmp_path)


def imported(path: str) -> Any:
    try:
        return import_cyborg(path)
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "CybORG"]:
            del sys.modules[name]


GOOD = "from CybORG.CybORG import CybORG\n"


@pytest.mark.parametrize("below", ["", "CybORG", "CybORG/CybORG"])
def test_a_checkout_is_found_by_any_of_its_folders(tmp_path: Path, below: str) -> None:
    path = fake(tmp_path, GOOD, "class B_lineAgent: pass\n")
    assert hasattr(imported(str(Path(path) / below)), "CybORG")


def test_a_folder_without_it_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no CybORG in this folder; clone https://"):
        import_cyborg(str(tmp_path))


def test_a_missing_dependency_is_named_with_what_to_install(tmp_path: Path) -> None:
    path = fake(tmp_path, "import a_module_that_is_not_there\n")
    with pytest.raises(ConfigError, match=r"a_module_that_is_not_there.*pip install gym paramiko"):
        imported(path)


def test_one_that_breaks_as_it_is_imported_is_broken(tmp_path: Path) -> None:
    path = fake(tmp_path, "raise TypeError('of another time')\n")
    with pytest.raises(ConfigError, match=r"broken.*TypeError: of another time"):
        imported(path)


def test_another_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"not CybORG v2\.1"):
        imported(fake(tmp_path, GOOD))


def test_two_of_them_cannot_be_played_in_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents = "class B_lineAgent: pass\n"
    first, second = tmp_path / "a", tmp_path / "b"
    import_cyborg(fake(first, GOOD, agents))
    try:
        with pytest.raises(ConfigError, match="already plays in"):
            import_cyborg(fake(second, GOOD, agents))
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "CybORG"]:
            del sys.modules[name]
