"""Code of the user's own, given as module:attribute."""

import importlib
import sys
from pathlib import Path
from typing import Any

from standing_orders.errors import ConfigError


def load_attribute(name: str, what: str) -> Any:
    """What `module:attribute` names; the current folder is searched too.

    Raises:
        ConfigError: there is no such module or attribute, or importing it fails.
    """
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise ConfigError(f"{what} {name!r}: must be module:attribute")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        found = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except Exception as err:
        advice = ""
        if isinstance(err, ImportError) and (err.name or "").split(".")[0] == "CybORG":
            advice = "; give the folder of your CybORG with --cyborg-path"
        raise ConfigError(f"{what} {name!r}: {type(err).__name__}: {err}{advice}") from err
    return found
