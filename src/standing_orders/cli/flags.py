"""From the words of a command line to a command: flags made from its model, help, presets."""

import inspect
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import tyro
from pydantic.fields import FieldInfo
from tyro.constructors import (
    ConstructorRegistry,
    StructConstructorSpec,
    StructFieldSpec,
    StructTypeInfo,
)

from standing_orders.cli.command import Command, Resumable, WithPreset
from standing_orders.config import Config, read_toml
from standing_orders.errors import ConfigError
from standing_orders.presets import find_preset
from standing_orders.tables import printable

HELP, HELP_ALL = ("-h", "--help"), "--help-all"


def parse(model: type[Command], words: list[str], *, name: str) -> Command:
    """A command with all its flags.

    Args:
        model: of the command.
        words: that follow its name.
        name: such as `detect train`.

    Raises:
        ConfigError: a value is not acceptable.
        DataError: the file of --config cannot be read.
        SystemExit: a flag does not exist, or help was wanted and has been printed.
    """
    if "red_agent" in model.model_fields:
        words = _own_red(words)
    is_brief = any(word in HELP for word in words) and HELP_ALL not in words and bool(model.BASIC)
    default = _defaults(model, words)
    with _heard_complaints():
        command: Any = tyro.cli(
            model,
            prog=f"standing-orders {name}",
            description=_describe(model, is_brief=is_brief),
            args=[HELP[1] if word == HELP_ALL else word for word in words],
            default=default,
            config=(tyro.conf.FlagCreatePairsOff,),
            registry=_registry(shown=frozenset(model.BASIC) if is_brief else None),
        )
    checked: Command = command()
    checked.note_given(_flags(words))
    if isinstance(checked, Resumable):
        checked.check_resume()
    return checked


@contextmanager
def _heard_complaints() -> Iterator[None]:
    """What the parser says about the words of a command line, without what a terminal obeys."""
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            yield
    finally:
        print(printable(said.getvalue()), end="", file=sys.stderr)


def _flags(words: list[str]) -> set[str]:
    """Flags that were typed, in one spelling."""
    flags = (word.partition("=")[0] for word in words if word.startswith("--"))
    return {flag.replace("_", "-") for flag in flags}


def _own_red(words: list[str]) -> list[str]:
    """`--red module:attribute` means `--red-agent module:attribute`."""
    found = list(words)
    for i, (word, following) in enumerate(zip_longest(words, words[1:], fillvalue="")):
        flag, _, value = word.partition("=")
        if flag == "--red" and ":" in (value or following):
            found[i] = word.replace("--red", "--red-agent", 1)
    return found


def _describe(model: type[Command], *, is_brief: bool) -> str:
    parts = [inspect.getdoc(model) or ""]
    if model.EXAMPLES:
        parts.append("\n".join(["examples:", *(f"  standing-orders {e}" for e in model.EXAMPLES)]))
    if is_brief:
        parts.append(f"These are the common options; {HELP_ALL} shows all of them.")
    return "\n\n".join(parts)


def _given(words: list[str], flag: str) -> str | None:
    """The last value that a flag has been given, in either spelling."""
    found = None
    for word, following in zip_longest(words, words[1:]):
        if word == flag:
            found = following
        elif word.startswith(f"{flag}="):
            found = word.partition("=")[2]
    return found


def _defaults(model: type[Command], words: list[str]) -> Command | None:
    """Defaults of the flags: those of the preset or file that is named."""
    if not issubclass(model, WithPreset):
        return None
    name, file = _given(words, "--preset"), _given(words, "--config")
    if name is not None and file is not None:
        raise ConfigError(f"--preset {name} and --config {file}: give one of them")
    if name is None and file is None:
        name = model.preset_for(_given(words, f"--{model.DECIDES}") if model.DECIDES else None)
    try:
        if name is not None:
            return model(**find_preset(name, model.KIND).values, preset=name)
        return model() if file is None else model(**_settings(Path(file)), config=Path(file))
    except ConfigError as err:
        raise err if file is None else ConfigError(f"{file}: {err}") from err


def _settings(path: Path) -> dict[str, Any]:
    """Values of a TOML file, which must not name another."""
    values = read_toml(path)
    for name in WithPreset.__annotations__.keys() & values:
        raise ConfigError(f"{name}: no such option in a file")
    return values


def _registry(*, shown: frozenset[str] | None) -> ConstructorRegistry:
    """How models become flags; `shown` are the fields of the command that its help is to show."""
    registry = ConstructorRegistry()

    @registry.struct_rule
    def gather_flags(info: StructTypeInfo) -> StructConstructorSpec | None:
        """Flags of a model without checking them: a command checks all of its own at once.

        The parser would check each nested model alone, and name it by a name of its own.
        """
        if not (isinstance(info.type, type) and issubclass(info.type, Config)):
            return None
        model, hints = info.type, get_type_hints(info.type, include_extras=True)

        def gather(**values: Any) -> Any:
            return partial(model, **values) if issubclass(model, Command) else values

        gather.__doc__ = model.__doc__
        is_hiding = shown is not None and issubclass(model, Command)
        fields = tuple(
            _flag(name, field, hints[name], info.default)
            for name, field in model.model_fields.items()
            if not is_hiding or name in (shown or ())
        )
        return StructConstructorSpec(instantiate=gather, fields=fields)

    return registry


def _flag(name: str, field: FieldInfo, hint: Any, defaults: Any) -> StructFieldSpec:
    default = getattr(defaults, name, tyro.MISSING if field.is_required() else field.default)
    text = field.description or ""
    if default is True:  # the flag is --no-..., so it must say what that does
        text = f"Switch off: {text[:1].lower()}{text[1:]}"
    return StructFieldSpec(name=name, type=hint, default=default, helptext=text)


def complete(models: dict[str, type[Command]], words: list[str]) -> None:
    """Print or install shell completion: tyro's --tyro-print-completion and its like."""
    groups: dict[str, dict[str, type[Command]]] = {}
    for name, model in models.items():
        first, _, rest = name.partition(" ")
        groups.setdefault(first, {})[rest] = model
    parts = [_group(first, members) for first, members in groups.items()]
    tyro.cli(
        _union(parts),
        prog="standing-orders",
        args=words,
        config=(tyro.conf.FlagCreatePairsOff,),
        registry=_registry(shown=None),
    )


def _group(first: str, members: dict[str, type[Command]]) -> Any:
    alone = members.get("")
    if alone is not None:
        return Annotated[alone, tyro.conf.subcommand(first)]
    inner: Any = _union(
        [Annotated[model, tyro.conf.subcommand(name)] for name, model in members.items()]
    )

    def choose(command: Annotated[inner, tyro.conf.arg(name="")]) -> Any:
        return command

    return Annotated[Any, tyro.conf.subcommand(first, constructor=choose)]


def _union(parts: list[Any]) -> Any:
    whole = parts[0]
    for part in parts[1:]:
        whole = whole | part
    return whole
