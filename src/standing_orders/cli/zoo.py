"""`standing-orders zoo`: the policies that come with the package."""

from typing import ClassVar

from standing_orders.cli.command import Reporting


class ListZoo(Reporting):
    """List the trained policies that come with the package, with their figures.

    Each can be played, scored and compared by its name wherever a policy is taken, and training
    can go on from it (`train --start`, `search --base-run`).
    """

    EXAMPLES: ClassVar[tuple[str, ...]] = (
        "zoo",
        "play --policy zoo/any-b_line --order user_priority",
        "evaluate --policy zoo/any-b_line --order all --red b_line",
    )

    def run(self) -> int:
        """Run the command."""
        from standing_orders.api.zoo import zoo

        self.report(zoo())
        return 0
