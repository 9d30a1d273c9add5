"""What every command of the command line shares."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import tyro
from pydantic import Field
from pydantic.fields import FieldInfo
from tyro.constructors import StructConstructorSpec, StructFieldSpec, StructTypeInfo

from standing_orders.config import Config
from standing_orders.runs.folder import is_run

Seed = Annotated[int, Field(ge=0, le=2**63 - 1, strict=True)]


class Command(Config):
    """Flags of every command."""

    debug: bool = Field(False, description="Show the traceback of an error.")

    def run(self) -> int:
        """Do it, and give the exit code."""
        raise NotImplementedError


REGISTRY = tyro.constructors.ConstructorRegistry()


@REGISTRY.struct_rule
def _gather(info: StructTypeInfo) -> StructConstructorSpec | None:
    """Flags of a model without checking them: a command checks all of its own at once.

    The parser would check each nested model alone, and name it by a name of its own.
    """
    if not (isinstance(info.type, type) and issubclass(info.type, Config)):
        return None
    model, hints = info.type, get_type_hints(info.type, include_extras=True)

    def gather(**values: Any) -> Any:
        return partial(model, **values) if issubclass(model, Command) else values

    gather.__doc__ = model.__doc__
    return StructConstructorSpec(
        instantiate=gather,
        fields=tuple(
            StructFieldSpec(
                name=name,
                type=hints[name],
                default=getattr(info.default, name, _default(field)),
                helptext=field.description,
            )
            for name, field in model.model_fields.items()
        ),
    )


def _default(field: FieldInfo) -> Any:
    return tyro.MISSING if field.is_required() else field.default


def tell(message: str) -> None:
    """Say something that is not part of the result."""
    print(message, file=sys.stderr)


@contextmanager
def resumable(name: str, folder: Path) -> Iterator[None]:
    """While a command writes a run: if the user stops it, say how to go on.

    Args:
        name: of the command, such as `detect train`.
        folder: of the run.
    """
    try:
        yield
    except KeyboardInterrupt as stop:
        if not is_run(folder):
            raise
        again = f"standing-orders {name} --resume --run {shlex.quote(str(folder))}"
        raise KeyboardInterrupt(f"stopped; to go on: {again}") from stop
