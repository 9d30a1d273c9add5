"""Which software a run was made with."""

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from standing_orders.version import VERSION

PACKAGES = ("numpy", "numba", "torch")  # those that decide the bits of a result
_PACKAGE = Path(__file__).parents[1]
_GIT_SECONDS = 5.0


def software_versions(package: Path = _PACKAGE) -> dict[str, Any]:
    """Give versions of this package, Python and the libraries, and the state of the sources.

    Args:
        package: folder of the sources; this package's own if left out.

    Returns:
        Plain data. Libraries that are not installed are left out; `git` is None unless the
        sources are files of a git checkout.

    Example:
        >>> sorted(software_versions())[:3]
        ['git', 'numba', 'numpy']
    """
    versions: dict[str, Any] = {
        "standing_orders": VERSION,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "git": _git_state(package),
    }
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def _git_state(package: Path) -> dict[str, Any] | None:
    # Sources in the site-packages of somebody else's checkout are not files of that checkout.
    if _git(package, "ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    commit = _git(package, "rev-parse", "HEAD")
    changes = _git(package, "status", "--porcelain", "--", ".")
    if commit is None or changes is None:
        return None
    return {"commit": commit.strip(), "is_dirty": bool(changes.strip())}


def _git(folder: Path, *arguments: str) -> str | None:
    """Give what git prints; None if there is no git, no checkout or no answer in time."""
    try:
        answer = subprocess.run(
            ("git", "-C", str(folder), *arguments),
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},  # `status` must not write
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
            timeout=_GIT_SECONDS,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return answer.stdout
