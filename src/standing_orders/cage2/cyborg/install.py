"""Find the user's CybORG, import it, and check that its game is CAGE-2's."""

import contextlib
import importlib
import io
import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from standing_orders.cage2.actions import KINDS
from standing_orders.cage2.scenario import HOSTS, SUBNETS
from standing_orders.config import RuleSet
from standing_orders.errors import ConfigError
from standing_orders.plugins import load_attribute

RED_CLASSES = {"b_line": "B_lineAgent", "meander": "RedMeanderAgent", "sleep": "SleepAgent"}
_SCENARIO = "Shared/Scenarios/Scenario2.yaml"
_HOW_TO_INSTALL = (
    "clone https://github.com/cage-challenge/cage-challenge-2, give its folder with --cyborg-path "
    "(or pip install -e its folder CybORG), and pip install gym paramiko prettytable docutils "
    "pyyaml"
)


@dataclass(frozen=True)
class CyborgSource:
    """Which CybORG to play in. Plain data, so that it can be sent to a worker."""

    path: str | None = None  # folder of a checkout; None: the installed module `CybORG`
    scenario: str | None = None  # a scenario file of the user's own; None: Scenario2
    red: str | None = None  # a red agent of the user's own, module:attribute


def import_cyborg(path: str | None = None) -> ModuleType:
    """The module `CybORG`.

    Args:
        path: a checkout, its folder `CybORG`, or the package itself.

    Raises:
        ConfigError: it is not there, is broken, or is not v2.1; the message says what to install.
    """
    if path is not None:
        _put_on_path(Path(path))
    try:
        module = import_quietly("CybORG")
        import_quietly("CybORG.Agents")
    except ImportError as err:
        raise ConfigError(f"CybORG cannot be imported ({err}): {_HOW_TO_INSTALL}") from err
    except Exception as err:
        raise ConfigError(
            f"CybORG is broken: importing it raised {type(err).__name__}: {err}; {_HOW_TO_INSTALL}"
        ) from err
    if not hasattr(module, "CybORG") or not hasattr(sys.modules["CybORG.Agents"], "B_lineAgent"):
        raise ConfigError(f"{module.__file__}: not CybORG v2.1; {_HOW_TO_INSTALL}")
    return module


def import_quietly(name: str) -> ModuleType:
    """Import a part of CybORG, whose dependencies are of 2022 and say so."""
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        return importlib.import_module(name)


def _put_on_path(path: Path) -> None:
    """Let `import CybORG` find the one in this folder."""
    folder = path.resolve()
    for parent in (folder, folder / "CybORG", folder.parent):
        package = parent / "CybORG"
        if (package / "CybORG.py").is_file():
            break
    else:
        raise ConfigError(f"cyborg-path = {path}: no CybORG in this folder; {_HOW_TO_INSTALL}")
    loaded = getattr(sys.modules.get("CybORG"), "__file__", None)
    if loaded is not None and Path(loaded).resolve().parent != package:
        raise ConfigError(f"cyborg-path = {path}: this process already plays in {loaded}")
    if str(parent) not in sys.path:
        sys.path.insert(0, str(parent))


def installed_rules() -> RuleSet:
    """Which rule set the imported CybORG plays: only the later one forgets scanned ports."""
    session = importlib.import_module("CybORG.Simulator.Session").RedAbstractSession
    return "head" if hasattr(session, "clearports") else "leaderboard-2022"


def build(module: ModuleType, source: CyborgSource, red: str) -> Any:
    """A simulation with an external blue agent, checked to be CAGE-2's game.

    Raises:
        ConfigError: the scenario or the red agent cannot be used; the message names why.
    """
    scenario = Path(source.scenario) if source.scenario else Path(str(module.__file__)).parent
    scenario = scenario if source.scenario else scenario / _SCENARIO
    if not scenario.is_file():
        raise ConfigError(f"scenario {scenario}: no such file")
    name = source.red or RED_CLASSES[red]
    try:
        simulation = module.CybORG(str(scenario), "sim", agents={"Red": _red_class(source, red)})
        simulation.reset("Blue")
    except ConfigError:
        raise
    except Exception as err:
        raise ConfigError(
            f"CybORG cannot play {scenario.name} with the red agent {name}: "
            f"{type(err).__name__}: {err}"
        ) from err
    _check_game(scenario.name, simulation)
    return simulation


def _red_class(source: CyborgSource, red: str) -> Callable[[], Any]:
    if source.red is None:
        return getattr(sys.modules["CybORG.Agents"], RED_CLASSES[red])
    agent = load_attribute(source.red, "red agent")
    for method in ("get_action", "end_episode", "set_initial_values", "train"):
        if not callable(getattr(agent, method, None)):
            raise ConfigError(
                f"red agent {source.red}: has no {method}: in CybORG it must be a BaseAgent"
            )
    return agent


def _check_game(scenario: str, simulation: Any) -> None:
    controller = simulation.environment_controller
    space = controller.agent_interfaces["Blue"].action_space
    _compare(scenario, "hosts", controller.state.hosts, HOSTS)
    _compare(scenario, "subnets", controller.state.subnet_name_to_cidr, SUBNETS)
    _compare(scenario, "blue actions", (action.__name__ for action in space.actions), KINDS)


def _compare(scenario: str, what: str, found: Iterable[str], wanted: tuple[str, ...]) -> None:
    found = set(found)
    missing, strange = sorted(set(wanted) - found), sorted(found - set(wanted))
    if missing or strange:
        parts = [f"lacks {', '.join(missing)}"] * bool(missing)
        parts += [f"has {', '.join(strange)} besides"] * bool(strange)
        raise ConfigError(f"{scenario}: its {what} are not CAGE-2's: it {' and '.join(parts)}")
