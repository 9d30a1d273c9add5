"""CAGE Challenge 2 as compiled functions; needs numpy and Numba only."""
