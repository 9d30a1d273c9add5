"""`standing-orders presets`: settings that come with the package."""

from typing import Any

from standing_orders.cli.command import Reporting
from standing_orders.presets import list_presets
from standing_orders.tables import Column, Table

_COLUMNS = (
    Column("preset", is_text=True),
    Column("command", is_text=True),
    Column("what it is", is_text=True),
)
_COMMANDS = {"detect": "detect train"}


class Presets(Reporting):
    """List the settings that come with the package; use one with --preset NAME."""

    EXAMPLES = ("presets", "presets --json", "train --preset fast --red meander")

    def run(self) -> int:
        """Run the command."""
        self.report(self)
        return 0

    def tables(self) -> list[Table]:
        """Name, command and purpose."""
        rows = tuple(
            (preset.name, _COMMANDS.get(preset.kind, preset.kind), preset.summary)
            for preset in list_presets()
        )
        return [Table("presets: standing-orders COMMAND --preset NAME", _COLUMNS, rows)]

    def to_json(self) -> list[dict[str, Any]]:
        """Also what each sets."""
        return [
            {"preset": one.name, "kind": one.kind, "summary": one.summary, "values": one.values}
            for one in list_presets()
        ]
