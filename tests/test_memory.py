import re
import resource
import subprocess
import sys

import pytest

from standing_orders import memory
from standing_orders.errors import ResourceError
from standing_orders.memory import free_bytes, require_memory


def test_the_machine_says_what_it_has() -> None:
    free = free_bytes()
    assert free is not None
    assert 10**7 < free < 10**14


def test_what_fits_is_let_through_and_what_does_not_is_refused_with_both_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda: 2 * 10**9)
    require_memory(2e9, "x")
    message = "update_episodes = 7: takes about 3.0 GB of memory, but 2.0 GB are free"
    with pytest.raises(ResourceError, match=re.escape(message)):
        require_memory(3e9, "update_episodes = 7")
    monkeypatch.setattr(memory, "free_bytes", lambda: None)
    require_memory(1e30, "x")  # a system that does not say


def test_a_limit_of_the_process_counts() -> None:
    code = (
        "import resource\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({2 * 10**9}, resource.RLIM_INFINITY))\n"
        "from standing_orders.memory import free_bytes\n"
        "print(free_bytes())"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert 0 < int(answer.stdout) < 2 * 10**9
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
