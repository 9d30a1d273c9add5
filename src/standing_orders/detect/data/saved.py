"""Plain data classes that a checkpoint keeps as JSON, and that are checked when they come back."""

from typing import Any, Self

from pydantic import TypeAdapter, ValidationError

from standing_orders.errors import CheckpointError


class Saved:
    """A data class of numbers, texts, tuples, mappings and others of its kind."""

    def to_json(self) -> dict[str, Any]:
        """Plain data for a checkpoint."""
        plain: dict[str, Any] = TypeAdapter(type(self)).dump_python(self, mode="json")
        return plain

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Read what `to_json` gave.

        Raises:
            CheckpointError: it is something else.
        """
        try:
            found: Self = TypeAdapter(cls).validate_python(data)
        except ValidationError as err:
            first = err.errors(include_url=False)[0]
            where = ".".join(map(str, (cls.__name__.lower(), *first["loc"])))
            raise CheckpointError(f"{where}: {first['msg']}") from err
        return found
