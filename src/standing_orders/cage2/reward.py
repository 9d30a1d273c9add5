"""Blue's reward, in tenths of a point so that sums are exact."""

from standing_orders.cage2.actions import KIND_OF_ACTION, RESTORE
from standing_orders.cage2.scenario import (
    HOSTS_WORTH_A_TENTH,
    HOSTS_WORTH_ONE,
    RESTORE_TENTHS,
    SERVICE_DOWN_TENTHS,
)
from standing_orders.cage2.state import Environment
from standing_orders.compiled import count_bits, jit

TENTHS_PER_POINT = 10


@jit
def reward_tenths(env: Environment) -> int:
    """Reward of the step just played, times ten: privileged hosts, service down, Restore."""
    lost = TENTHS_PER_POINT * count_bits(env.privileged & HOSTS_WORTH_ONE)
    lost += count_bits(env.privileged & HOSTS_WORTH_A_TENTH)
    if not env.ot_up:
        lost += SERVICE_DOWN_TENTHS
    if KIND_OF_ACTION[env.blue_action] == RESTORE:
        lost += RESTORE_TENTHS
    return -lost
