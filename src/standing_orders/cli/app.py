"""The command line: find the command, run it, and turn errors into messages and exit codes."""

import difflib
import io
import os
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

from standing_orders.errors import StandingOrdersError, is_memory_fault
from standing_orders.runs.stopping import Stopped, heeding_signals
from standing_orders.tables import printable
from standing_orders.version import VERSION

if TYPE_CHECKING:
    from standing_orders.cli.command import Command

BAD_FILE, FAILED, INTERRUPTED = 3, 4, 130  # exit codes besides those of the errors
# Each command: where it is (module of this folder and class), and what it does in a few words.
COMMANDS = {
    "search": ("search:Search", "find the best of the 120 repair orders, and its policy"),
    "train": ("train:Train", "train a defender that follows an order, any order, or none"),
    "evaluate": ("evaluate:Evaluate", "score a policy, and measure how it follows orders"),
    "compare": ("compare:Compare", "defenders, presets and runs side by side"),
    "report": ("report:Report", "run folders as one HTML file"),
    "replay": ("replay:Replay", "episodes as a page: truth beside view, forked at will"),
    "runs show": ("runs:ShowRun", "one run folder, and how to repeat it"),
    "runs verify": ("runs:VerifyRuns", "whether every file is as written; --repair cuts back"),
    "runs diff": ("runs:DiffRuns", "settings in which two run folders differ"),
    "runs": ("runs:Runs", "list run folders: finished, resumable or damaged"),
    "play": ("play:Play", "watch one episode in the terminal"),
    "falsify": ("falsify:Falsify", "search for the attack that a policy stands worst"),
    "parity": ("parity:Parity", "replay recorded CybORG episodes and count differences"),
    "equivalence": ("equivalence:Equivalent", "test a policy in both simulators"),
    "bench": ("bench:Bench", "measure the speed on this machine"),
    "zoo": ("zoo:ListZoo", "list the trained policies that come with the package"),
    "presets": ("presets:Presets", "list the settings that come with the package"),
    "detect train": ("detect:TrainTeam", "train a team that judges events"),
    "detect evaluate": ("detect:EvaluateTeam", "every figure of a trained team"),
    "detect score": ("detect:ScoreTeam", "judge new events, from a file or a stream"),
    "detect compare": ("detect:CompareTeam", "the team beside baselines and its own parts"),
}


def describe_commands(group: str = "") -> str:
    """Help of the whole command line, or of the commands that begin with a word."""
    shown = {name: text for name, (_, text) in COMMANDS.items() if name.startswith(group)}
    width = max(map(len, shown)) + 2
    lines = [
        f"usage: standing-orders {group or 'COMMAND'} [options]\n",
        "Cyber-defence agents that follow orders.\n",
        "commands:",
        *(f"  {name:{width}}{text}" for name, text in shown.items()),
        "",
        "standing-orders COMMAND --help      common options and examples",
        "standing-orders COMMAND --help-all  every option",
        "standing-orders --version",
    ]
    return "\n".join(lines)


def load(name: str) -> "type[Command]":
    """The model of a command."""
    module, _, model = COMMANDS[name][0].partition(":")
    found: type[Command] = getattr(import_module(f"standing_orders.cli.{module}"), model)
    return found


def _dispatch(words: list[str]) -> int:
    if words == ["--version"]:
        print(f"standing-orders {VERSION}")
        return 0
    name = next((n for n in COMMANDS if words[: n.count(" ") + 1] == n.split()), None)
    if name is not None:
        from standing_orders.cli.flags import parse

        return parse(load(name), words[name.count(" ") + 1 :], name=name).run()
    if words and words[0].startswith("--tyro-"):
        from standing_orders.cli.flags import complete

        complete({name: load(name) for name in COMMANDS}, words)
    first = words[0] if words else ""
    group = first if any(name.startswith(f"{first} ") for name in COMMANDS) else ""
    rest = words[1:] if group else words
    print_to = sys.stdout
    if not rest or rest[0] not in ("-h", "--help", "--help-all"):
        print_to = sys.stderr
        if rest:
            print(f"error: {_unknown(' '.join(filter(None, (group, rest[0]))))}\n", file=print_to)
    print(describe_commands(group), file=print_to)
    return 0 if print_to is sys.stdout else 2


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name, COMMANDS, n=1)
    return f"no command {name!r}" + (f": did you mean {near[0]!r}?" if near else "")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and give its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        for stream in (sys.stdout, sys.stderr):  # a name that it cannot encode is shown as escapes
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        with heeding_signals():
            code = _dispatch(words)
            sys.stdout.flush()
    except SystemExit as end:  # of the parser: help, or a flag that does not exist
        code = end.code if isinstance(end.code, int) else 0
    except BrokenPipeError:  # `| head`: whoever reads has seen enough
        code = 0
    except (Exception, KeyboardInterrupt) as err:
        code = _explain(err, is_debug="--debug" in words)
    _let_go_of_output()
    return code


def _explain(err: BaseException, *, is_debug: bool) -> int:
    """Print one message about what ended a command, and give its exit code."""
    if is_debug:
        traceback.print_exc()
    code = FAILED
    if isinstance(err, KeyboardInterrupt):
        message = str(err) or "interrupted"
        code = err.exit_code if isinstance(err, Stopped) else INTERRUPTED
    elif isinstance(err, StandingOrdersError):
        message, code = f"error: {err}", err.exit_code
    elif is_memory_fault(err):
        message = "error: out of memory: ask for less at once, or use a machine with more"
    elif isinstance(err, OSError):
        where = f"{err.filename}: " if err.filename else "standard output, or a file: "
        message, code = f"error: {where}{err.strerror or err}", BAD_FILE
    else:  # none of what is foreseen
        message = f"error: {type(err).__name__}: {err}; this is a fault of the program: please "
        message += "report it with what --debug shows"
    with suppress(OSError):
        print(printable(message), file=sys.stderr, flush=True)
    return code


def _let_go_of_output() -> None:
    """Without an error when Python ends: what cannot be written any more is dropped."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream.fileno())
                os.close(nowhere)


if __name__ == "__main__":
    sys.exit(main())
