"""Compiled code that is kept: damage is noticed, and nobody else's is run."""

import os
import random
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from standing_orders import compiled
from standing_orders.compiled import _SealedFiles, check_private
from standing_orders.errors import ConfigError

COUNT = "from standing_orders.compiled import count_bits; print(count_bits(0b1011))"


def count(folder: Path) -> str:
    """What a compiled function says in a process of its own, with its cache there."""
    told = {**os.environ, "STANDING_ORDERS_CACHE_DIR": str(folder)}
    command = [sys.executable, "-c", COUNT]
    answer = subprocess.run(command, env=told, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.strip()


def cache_hits(folder: Path) -> int:
    """How often a process that has not called the function yet finds it in the cache there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "_FOLDER", folder)
        fresh: Any = compiled.jit(compiled.count_bits.py_func)  # type: ignore[attr-defined]
    assert fresh(0b1011) == 3
    return sum(fresh.stats.cache_hits.values())


def test_a_damaged_cache_is_compiled_anew(tmp_path: Path) -> None:
    assert count(tmp_path) == "3"  # in a process of its own
    (folder,) = tmp_path.iterdir()
    assert cache_hits(folder) == 1
    files = [path for path in tmp_path.rglob("*.nb?") if path.suffix in (".nbi", ".nbc")]
    assert len(files) == 2
    rng = random.Random(0)
    for damage in (b"", b"\x80\x04N.", None):
        for path in files:
            content = bytearray(path.read_bytes())
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
            path.write_bytes(bytes(content) if damage is None else damage)
        assert cache_hits(folder) == 0
    before = [path.stat().st_mtime_ns for path in files]
    assert cache_hits(folder) == 1
    assert [path.stat().st_mtime_ns for path in files] == before  # loaded, not compiled again


@pytest.mark.parametrize("mode", [0o777, 0o722])
def test_a_cache_that_others_may_write_is_refused(tmp_path: Path, mode: int) -> None:
    inner = tmp_path / "open" / "inner"
    inner.mkdir(parents=True)
    check_private(inner)
    inner.parent.chmod(mode)
    check_private.cache_clear()
    with pytest.raises(ConfigError, match=r"open: others may write there.*CACHE_DIR"):
        check_private(inner)


def test_what_was_compiled_for_a_module_that_is_gone_is_compiled_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("gone")
    module.__dict__["Key"] = type("Key", (), {"__module__": "gone"})
    files = _SealedFiles(str(tmp_path), "kernel", "stamp")  # type: ignore[no-untyped-call]
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "gone", module)
        files.save(module.Key(), "machine code")  # type: ignore[no-untyped-call]
    assert files.load("another") is None  # type: ignore[no-untyped-call]
    files.save("another", "other code")  # type: ignore[no-untyped-call]
    assert files.load("another") == "other code"  # type: ignore[no-untyped-call]
