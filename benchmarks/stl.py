"""How fast temporal rules are checked: recorded traces, and one step of the online monitor.

Run: python benchmarks/stl.py
"""

import statistics
import time

import numpy as np

from standing_orders.rules.stl import Monitor, parse, robustness

RULE = "always[0,100] (a -> eventually[0,5] b)"
NUM_REPEATS = 20


def offline_seconds(text: str, shape: tuple[int, ...]) -> float:
    """Median time of one evaluation of 0/1 traces."""
    rng = np.random.default_rng(0)
    formula = parse(text)
    signals = {name: rng.integers(0, 2, shape).astype(np.float64) for name in ("a", "b")}
    times = []
    for _ in range(NUM_REPEATS):
        began = time.perf_counter()
        robustness(formula, signals)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def online_seconds(text: str, batch_size: int, num_steps: int = 5_000) -> float:
    """Mean time of one update."""
    rng = np.random.default_rng(0)
    samples = rng.integers(0, 2, (num_steps, 2, batch_size)).astype(np.float64)
    monitor = Monitor(text, batch_size)
    began = time.perf_counter()
    for a, b in samples:
        monitor.update({"a": a, "b": b})
    return (time.perf_counter() - began) / num_steps


def main() -> None:
    """Measure and print."""
    for text, shape in (
        (RULE, (100_000,)),
        (RULE.replace("100", "10000"), (100_000,)),
        (RULE, (1_000, 100)),
        ("a until[0,100] b", (100_000,)),
    ):
        print(f"offline {text:42} {shape!s:12} {1e3 * offline_seconds(text, shape):7.2f} ms")
    for text, batch_size in (
        (RULE, 1),
        (RULE.replace("100", "1000"), 1),
        (RULE, 1_000),
        ("historically (a -> once[0,5] b)", 1_000),
    ):
        microseconds = 1e6 * online_seconds(text, batch_size)
        print(f"online  {text:42} {f'({batch_size},)':12} {microseconds:7.1f} us a step")


if __name__ == "__main__":
    main()
