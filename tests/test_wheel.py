"""What `pip install .` gives to a stranger: no file of the repository is needed."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from standing_orders.presets import list_presets
from standing_orders.version import VERSION

ROOT = Path(__file__).parents[1]


def call(*words: object, cwd: Path) -> str:
    """Output of a program that sees nothing of this repository."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    result = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env=clean | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that nothing is left in the repository."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", source / "src", ignore=ignored)
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps")
    call(*pip, "--no-build-isolation", "--wheel-dir", source / "dist", source, cwd=source)
    (built,) = (source / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs of an environment with the wheel and, by reference, what it depends on."""
    place = tmp_path_factory.mktemp("venv")
    venv.create(place, with_pip=False)
    programs = place / "bin"
    paths = sysconfig.get_path("purelib", vars={"base": str(place), "platbase": str(place)})
    pip = (sys.executable, "-m", "pip", "--python", programs / "python", "install", "--quiet")
    call(*pip, "--no-index", "--no-deps", "--no-compile", wheel, cwd=place)
    (Path(paths) / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return programs


def test_the_wheel_holds_every_preset_and_no_test(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    presets = {f"standing_orders/presets/{preset.name}.toml" for preset in list_presets()}
    assert presets | {"standing_orders/py.typed"} <= set(names)
    assert {name.split("/")[0] for name in names} == {
        "standing_orders",
        f"standing_orders-{VERSION}.dist-info",
    }


def test_the_installed_command_knows_its_presets(installed: Path, tmp_path: Path) -> None:
    shown = call(installed / "standing-orders", "presets", cwd=tmp_path)
    assert all(f" {preset.name} " in shown for preset in list_presets())
    code = "import standing_orders as s; print(s.__file__, s.preset('fast').episodes)"
    place, episodes = call(installed / "python", "-c", code, cwd=tmp_path).split()
    assert Path(place).is_relative_to(installed.parent)
    assert episodes == "40000"


@pytest.mark.slow
def test_a_stranger_trains_scores_searches_and_loads_a_policy(
    installed: Path, tmp_path: Path
) -> None:
    def type_in(line: str) -> str:
        return call(installed / "standing-orders", *line.split(), cwd=tmp_path)

    train = "train --preset fast --episodes 200 --update-episodes 100 --run runs/any"
    assert "after 200 episodes" in type_in(train)
    score = "evaluate --policy runs/any --red b_line --episodes 10 --order all --order-episodes 2"
    assert "orders told, against b_line" in type_in(score)
    small = "--budget 300 --base.episodes 100 --order-episodes 50 --evaluation-episodes 10"
    assert "best order: " in type_in(f"search --preset search {small} --run runs/search")
    script = tmp_path / "mine.py"
    script.write_text(
        "from standing_orders import evaluate, load_policy\n"
        "card = evaluate(load_policy('runs/search'), red='meander', episodes=4, order_episodes=2)\n"
        "print(card)\n"
    )
    assert "rules head" in call(installed / "python", script, cwd=tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"runs", "mine.py"}
