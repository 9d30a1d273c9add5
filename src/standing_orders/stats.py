"""Confidence intervals."""

NORMAL_95 = 1.959964  # half-width of a 95 % interval in standard errors
