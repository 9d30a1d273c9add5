"""What every command of the command line shares: flags, presets, how results are printed."""

import json
import shlex
import shutil
import signal
import sys
import textwrap
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Protocol, TextIO

import tyro
from pydantic import Field, PrivateAttr, field_validator

from standing_orders.config import Config
from standing_orders.errors import ConfigError, ResourceError, is_memory_fault
from standing_orders.runs.folder import is_run
from standing_orders.runs.stopping import Stopped
from standing_orders.tables import Table, printable

Seed = Annotated[int, Field(ge=0, le=2**63 - 1, strict=True)]
_COMMAND = "standing-orders "  # in a message: something to type
WRITERS: dict[str, Callable[[Table], str]] = {".csv": Table.to_csv, ".md": Table.to_markdown}


class Command(Config):
    """Flags of every command."""

    EXAMPLES: ClassVar[tuple[str, ...]] = ()  # what follows `standing-orders`
    BASIC: ClassVar[tuple[str, ...]] = ()  # fields that --help shows; all if empty

    _given: frozenset[str] = PrivateAttr(frozenset())  # flags that were typed, such as --seed

    debug: bool = Field(False, description="Show the traceback of an error.")

    def note_given(self, flags: Iterable[str]) -> None:
        """Remember which flags were typed; all others have their defaults."""
        self._given = frozenset(flags)

    def was_given(self, flag: str) -> bool:
        """Whether a flag such as `--seed` was typed."""
        return flag in self._given

    def given(self, model: type[Config]) -> dict[str, Any]:
        """The values of a model's fields whose flags were typed."""
        names = (name for name in model.model_fields if self.was_given(flag_of(name)))
        return {name: getattr(self, name) for name in names}

    def run(self) -> int:
        """Do it, and give the exit code."""
        raise NotImplementedError


def flag_of(name: str) -> str:
    """The flag of a field."""
    return f"--{name.replace('_', '-')}"


class Resumable(Command):
    """Flags of a command that writes a run."""

    WITH_RESUME: ClassVar[tuple[str, ...]] = ()  # flags that still do something then

    run_folder: Annotated[Path | None, tyro.conf.arg(name="run")] = Field(
        None, description="Run folder; one in runs/ that says what it is if left out."
    )
    resume: bool = Field(
        False,
        description="Go on with the run in --run, with its own config; a larger budget extends it, "
        "no other setting can be changed.",
    )

    def check_resume(self) -> None:
        """Refuse flags that would do nothing beside --resume.

        Raises:
            ConfigError: there is one, or --run is missing.
        """
        if not self.resume:
            return
        known = {"--run", "--resume", "--debug", "--json", "--out", *self.WITH_RESUME}
        idle = sorted(self._given - known)
        if idle:
            raise ConfigError(
                f"{', '.join(idle)}: of no effect with --resume: the run's own config holds; it "
                f"goes with {', '.join(sorted(known - {'--debug', '--resume'}))} only"
            )
        if self.run_folder is None:
            raise ConfigError("--resume: name the run folder with --run")


class WithPreset(Command):
    """Flags of a command whose settings may come from a file."""

    KIND: ClassVar[str]  # of its presets
    DECIDES: ClassVar[str] = ""  # flag that another preset than the defaults may follow from

    preset: str | None = Field(
        None, description="Settings by name (see `standing-orders presets`); flags override them."
    )
    config: Path | None = Field(
        None, description="Settings from a TOML file of your own; flags override them."
    )

    @classmethod
    def preset_for(cls, value: str | None) -> str | None:  # noqa: ARG003 (of the flag DECIDES)
        """Name of the preset that is meant where none is named; None: the plain defaults."""
        return None


class Result(Protocol):
    """What a command reports: the same object that the Python API gives."""

    def tables(self) -> Sequence[Table]:
        """For people; the first is the main one."""

    def to_json(self) -> Any:
        """For programs."""


@dataclass(frozen=True)
class Shown:
    """A result that is made of tables and plain data."""

    shown: Sequence[Table]
    data: Any

    def tables(self) -> Sequence[Table]:
        """For people."""
        return self.shown

    def to_json(self) -> Any:
        """For programs."""
        return self.data


class Reporting(Command):
    """Flags of a command that reports figures."""

    json_output: Annotated[bool, tyro.conf.arg(name="json")] = Field(
        False, description="Print JSON instead of tables."
    )
    out: Path | None = Field(
        None,
        description="Also write the figures into this file: .json, .csv or .md. Of several tables "
        "each but the first gets a file of its own, with a number.",
    )

    @field_validator("out")
    @classmethod
    def _has_known_suffix(cls, value: Path | None) -> Path | None:
        known = (".json", *WRITERS)
        if value is not None and value.suffix not in known:
            raise ValueError(f"must end in {', '.join(known)}")
        return value

    def report(self, result: Result, *, is_full: bool = False) -> None:
        """Print a result, and write it where the user wants it.

        Args:
            result: of the command.
            is_full: print all rows of all tables.
        """
        from standing_orders.cli.tables import wide_console
        from standing_orders.tables import print_tables

        if self.json_output:
            print(json.dumps(result.to_json(), indent=1))
        else:
            tables = [replace(one, shown=None) if is_full else one for one in result.tables()]
            print_tables(tables, wide_console())
        if self.out is not None:
            for path in write_result(result, self.out):
                tell(f"written: {path}")


def _has_rows(table: Table) -> bool:
    return bool(table.rows)


def write_result(result: Result, path: Path) -> list[Path]:
    """Write a result as its file's ending says, and give the files written."""
    from standing_orders.runs.files import write_atomically, writing

    if path.suffix == ".json":
        texts = {path: json.dumps(result.to_json(), indent=1) + "\n"}
    else:
        texts = {
            path.with_stem(f"{path.stem}-{number}") if number > 1 else path: WRITERS[path.suffix](
                table
            )
            for number, table in enumerate(filter(_has_rows, result.tables()), start=1)
        }
    for place, text in texts.items():
        with writing(place):
            place.parent.mkdir(parents=True, exist_ok=True)
            folder = place.parent.resolve()  # the user's own folder may be a link
            write_atomically(folder / place.name, text.encode())
    return list(texts)


def tell(message: str) -> None:
    """Say something that is not part of the result."""
    _print(message, sys.stderr)


def say(message: str) -> None:
    """Say something that is the result, or part of it."""
    _print(message, sys.stdout)


def _print(message: str, file: TextIO) -> None:
    """Print text; a terminal would break words, and a command is to be copied as one line."""
    text = printable(message)
    if file.isatty() and _COMMAND not in text:
        width = shutil.get_terminal_size().columns
        wrap = partial(textwrap.fill, width=width, break_long_words=False, break_on_hyphens=False)
        text = "\n".join(wrap(line) if len(line) > width else line for line in text.split("\n"))
    print(text, file=file)


@contextmanager
def explained_after(seconds: float, message: str) -> Iterator[None]:
    """Say why something takes long, if it does."""
    timer = threading.Timer(seconds, tell, (message,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def resumable(name: str, folder: Path, *, flag: str = "--resume ") -> Iterator[None]:
    """While a command writes a run: if it is stopped or memory gives out, say how to go on.

    Args:
        name: of the command, such as `detect train`.
        folder: of the run.
        flag: that makes the command go on; empty for one that always does.
    """
    again = f"to go on: standing-orders {name} {flag}--run {shlex.quote(str(folder))}"
    try:
        yield
    except KeyboardInterrupt as stop:
        if not is_run(folder):
            raise
        number = stop.number if isinstance(stop, Stopped) else signal.SIGINT
        raise Stopped(f"stopped; {again}", number) from stop
    except BrokenPipeError as err:  # of the progress on standard error: nobody reads it any more
        raise Stopped(f"stopped; {again}", signal.SIGPIPE) from err
    except (MemoryError, RuntimeError) as err:
        if not (is_memory_fault(err) and is_run(folder)):
            raise
        raise ResourceError(
            f"{folder}: out of memory; its last checkpoint is good; with more memory, {again}"
        ) from err
