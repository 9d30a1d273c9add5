"""What `import standing_orders` offers, and what it costs."""

import inspect
import subprocess
import sys

import pytest

import standing_orders

HEAVY = ("torch", "numba", "scipy", "sklearn", "pydantic", "rich", "tyro", "ray")


def in_a_new_process(code: str) -> str:
    words = [sys.executable, "-c", code]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def test_importing_the_package_loads_nothing_heavy() -> None:
    loaded = in_a_new_process("import sys, standing_orders; print(*sys.modules)").split()
    assert not set(HEAVY) & set(loaded)


def test_a_preset_loads_neither_torch_nor_numba() -> None:
    code = "import sys, standing_orders; standing_orders.preset('search'); print(*sys.modules)"
    assert not {"torch", "numba"} & set(in_a_new_process(code).split())


@pytest.mark.parametrize("name", standing_orders.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    value = getattr(standing_orders, name)
    assert name in dir(standing_orders)
    assert name == "__version__" or inspect.getdoc(value)


@pytest.mark.parametrize("name", ["search", "evaluate"])
def test_a_function_is_not_hidden_by_the_room_of_its_name(name: str) -> None:
    code = (
        f"import standing_orders.{name}, standing_orders\n"
        f"from standing_orders import {name}\n"
        f"print(callable({name}), callable(standing_orders.{name}))"
    )
    assert in_a_new_process(code) == "True True"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'sing'"):
        standing_orders.sing  # noqa: B018
