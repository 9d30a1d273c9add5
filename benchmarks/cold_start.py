"""How long a user waits: `--help`, the first compile, and the same start from the cache.

Run: python benchmarks/cold_start.py
"""

import os
import subprocess
import sys
import tempfile
import time

EPISODES = ("evaluate", "--policy", "heuristic", "--episodes", "2", "--json")


def seconds(arguments: tuple[str, ...], cache: str) -> float:
    """Wall time of one command with its own cache folder."""
    environment = os.environ | {"STANDING_ORDERS_CACHE_DIR": cache}
    began = time.perf_counter()
    command = [sys.executable, "-m", "standing_orders", *arguments]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as cache:
        print(f"standing-orders --help        {seconds(('--help',), cache):5.2f} s")
        print(f"first score, nothing compiled {seconds(EPISODES, cache):5.2f} s")
        print(f"the same from the cache       {seconds(EPISODES, cache):5.2f} s")


if __name__ == "__main__":
    main()
