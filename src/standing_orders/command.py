"""What every command of the command line shares."""

import sys
from typing import Annotated, TypeVar

from pydantic import Field

from standing_orders.config import Config

Part = TypeVar("Part", bound=Config)
Seed = Annotated[int, Field(ge=0, le=2**63 - 1, strict=True)]


class Command(Config):
    """Flags of every command."""

    debug: bool = Field(False, description="Show the traceback of an error.")

    def part(self, model: type[Part]) -> Part:
        """The fields of one of the models that a command is made of."""
        return model(**{name: getattr(self, name) for name in model.model_fields})

    def run(self) -> int:
        """Do it, and give the exit code."""
        raise NotImplementedError


def tell(message: str) -> None:
    """Say something that is not part of the result."""
    print(message, file=sys.stderr)
