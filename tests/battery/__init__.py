"""The battery: attacks on run folders, settings, data, names and processes, each case by a number.

`python -m tests.battery short` (or `make battery`) runs all of them; see `__main__`.
"""
