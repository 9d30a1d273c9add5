"""What an agent can do about an event; severity grows with the number."""

ALLOW, ALERT, BLOCK, QUARANTINE = range(4)
NUM_ACTIONS = 4
ACTION_NAMES = ("allow", "alert", "block", "quarantine")
