"""CybORG v2.1 as the user has installed it, played through the interface of our own simulator.

`CyborgBatch` is to CybORG what `cage2.batch.Cage2Batch` is to our simulator; `record.py` makes
recordings that `cage2.parity` replays.
"""

from standing_orders.cage2.cyborg.batch import Built, CyborgBatch
from standing_orders.cage2.cyborg.install import CyborgSource

__all__ = ["Built", "CyborgBatch", "CyborgSource"]
