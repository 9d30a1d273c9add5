"""The zoo: trained policies that come with the package, each with its score card."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from standing_orders.runs.files import read_regular
from standing_orders.runs.shipped import CARD_NAME, ZOO, shipped_names
from standing_orders.tables import Column, Table

_COLUMNS = (
    Column("policy", is_text=True),
    Column("what it is", is_text=True),
    Column("figure", is_text=True),
    Column("value", ".2f"),
    Column("std error", ".2f", drop=3),
    Column("n", ",", drop=4),
    Column("orders kept", is_text=True, drop=1),
    Column("contested", ".2%", drop=2),
)


@dataclass(frozen=True)
class ZooCard:
    """What a policy of the zoo is, how it was made and what it was measured to be worth.

    Args:
        name: as it is typed, such as `zoo/any-b_line`.
        data: all of the card, see `to_json`; nothing before `make zoo` has measured it.
    """

    name: str
    data: dict[str, Any]

    @property
    def figures(self) -> dict[str, Any]:
        """What was measured, by name."""
        found: dict[str, Any] = self.data.get("figures", {})
        return found

    def to_json(self) -> dict[str, Any]:
        """`what`, `kind`, `made_by` (the command), `measured_by`, `seed`, `figures`."""
        return {"name": self.name, **self.data}


@dataclass(frozen=True)
class Zoo:
    """All cards, by name."""

    cards: Sequence[ZooCard]

    def tables(self) -> list[Table]:
        """A row for each policy."""
        rows = []
        for card in self.cards:
            found, orders = card.figures, card.figures.get("orders", {})
            kept = f"{orders['passed']:.0f} of {orders['orders']:.0f}" if orders else "-"
            rows.append(
                (card.name, card.data.get("what", "not measured yet: make zoo"), found.get("name"),
                 found.get("value"), found.get("std_error"), found.get("n"), kept,
                 orders.get("contested"))
            )  # fmt: skip
        notes = ("--json shows how each was made and measured",) if rows else ()
        return [Table("policies that come with the package", _COLUMNS, tuple(rows), notes=notes)]

    def to_json(self) -> list[dict[str, Any]]:
        """Plain data."""
        return [card.to_json() for card in self.cards]


def zoo() -> Zoo:
    """The policies that come with the package.

    Example:
        >>> from standing_orders import load_policy
        >>> load_policy(zoo().cards[0].name).orders != ()
        True
    """
    names = shipped_names()
    folders = [ZOO / name.rpartition("/")[2] for name in names]
    cards = [folder / CARD_NAME for folder in folders]
    data = [json.loads(read_regular(card)) if card.exists() else {} for card in cards]
    return Zoo([ZooCard(name, one) for name, one in zip(names, data, strict=True)])
