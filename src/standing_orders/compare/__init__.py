"""Defenders side by side: same seeds, same budget, one measurement."""
