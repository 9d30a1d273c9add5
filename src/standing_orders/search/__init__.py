"""Which order is best: what is believed of all 120, and which to try next."""
