"""Standing Orders: cyber-defence agents that follow orders.

Importing this package registers its Gymnasium environments and loads nothing heavy.
"""

import gymnasium

from standing_orders.version import VERSION

__all__ = ["__version__", "register_environments"]

__version__ = VERSION
CAGE2_ID = "standing_orders/Cage2-v1"


def register_environments() -> None:
    """Register the environments with Gymnasium; more than once does no harm."""
    if CAGE2_ID not in gymnasium.registry:
        gymnasium.register(
            id=CAGE2_ID,
            entry_point="standing_orders.cage2.env:Cage2Env",
            vector_entry_point="standing_orders.cage2.vector:Cage2VectorEnv",
        )


register_environments()
