import importlib.metadata
import platform
import subprocess
from pathlib import Path

import pytest

from standing_orders.runs.versions import software_versions
from standing_orders.version import VERSION


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    command = ("git", "-C", str(folder), *identity, *arguments)
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    package = tmp_path / "src" / "package"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "first")
    return package


def test_versions_are_those_in_use() -> None:
    versions = software_versions()
    assert versions["standing_orders"] == VERSION
    assert versions["python"] == platform.python_version()
    assert versions["numpy"] == importlib.metadata.version("numpy")


def test_commit_and_changes_of_a_checkout(checkout: Path) -> None:
    commit = git(checkout, "rev-parse", "HEAD").strip()
    assert software_versions(checkout)["git"] == {"commit": commit, "is_dirty": False}
    (checkout / "new.py").touch()
    assert software_versions(checkout)["git"] == {"commit": commit, "is_dirty": True}


def test_sources_outside_a_checkout_have_no_commit(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").touch()
    assert software_versions(tmp_path)["git"] is None


def test_sources_installed_in_somebody_elses_checkout_have_no_commit(checkout: Path) -> None:
    installed = checkout / "site-packages" / "other"
    installed.mkdir(parents=True)
    (installed / "__init__.py").touch()
    assert software_versions(installed)["git"] is None


def test_no_git_and_missing_libraries_are_fine(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(importlib.metadata, "version", missing)
    versions = software_versions(checkout)
    assert versions["git"] is None
    assert "torch" not in versions
