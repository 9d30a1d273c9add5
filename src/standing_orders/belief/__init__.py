"""What blue can know: the true states that its own history leaves, each with its probability."""

from standing_orders.belief.belief import Belief

__all__ = ["Belief"]
