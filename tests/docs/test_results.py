"""`make results` runs what the pages say, goes on after a stop, and names what fails."""

from pathlib import Path
from types import ModuleType

import pytest

from tests.docs.pages import ROOT
from tests.docs.test_scripts import SCRIPTS, load_script

PAGE = """
```bash
python benchmarks/good.py one   # a remark
python benchmarks/bad.py
python benchmarks/good.py one
```
python benchmarks/never.py
"""


@pytest.fixture
def everything() -> ModuleType:
    return load_script(ROOT / "benchmarks" / "all.py")


@pytest.fixture
def place(everything: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two benchmarks, of which one fails, and a page that names them."""
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (folder / "good.py").write_text("import sys\nopen('ran', 'a').write(sys.argv[1] + ' ')\n")
    (folder / "bad.py").write_text("raise SystemExit('no data set at nowhere')\n")
    (tmp_path / "page.md").write_text(PAGE)
    monkeypatch.setattr(everything.results, "pages", lambda: [tmp_path / "page.md"])
    monkeypatch.setattr(everything.results, "ROOT", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_benchmark_of_the_pages_is_run(everything: ModuleType) -> None:
    found = everything.commands(everything.results.pages())
    assert set(found) == set(SCRIPTS)
    assert len({everything.slug(command) for command in found}) == len(found)


def test_what_fails_is_named_and_what_is_done_is_not_done_again(
    everything: ModuleType, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        with pytest.raises(SystemExit, match="1"):
            everything.main(everything.Task())
        said = capsys.readouterr().out
        assert "not made: python benchmarks/bad.py: exit code 1: no data set at nowhere" in said
    assert (place / "ran").read_text() == "one "
    everything.main(everything.Task(again=True, only="good"))
    assert (place / "ran").read_text() == "one one "


def test_a_checkout_is_where_the_user_says(everything: ModuleType, place: Path) -> None:
    (place / "page.md").write_text("```bash\npython benchmarks/good.py CHECKOUT\n```\n")
    everything.main(everything.Task(cyborg_path=Path("my cage")))
    assert (place / "ran").read_text() == "my cage "
