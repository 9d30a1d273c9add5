"""The long battery of attacks as one of the results: an hour of one core, or its rest.

python benchmarks/battery.py                                      # what is left of it
python benchmarks/battery.py --attack damage-train --seconds 500  # a part
python benchmarks/battery.py --quick                              # a case of each; nothing is kept
"""

import runpy
import sys
from pathlib import Path


def main() -> None:
    """Run it."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    sys.argv[1:] = ["long", *sys.argv[1:]]
    runpy.run_module("tests.battery", run_name="__main__")


if __name__ == "__main__":
    main()
