"""The pages of the documentation, cut into what can be run."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
FIRST_PAGES = [README, ROOT / "docs" / "quick-start.md"]  # in a file of tests of their own
SHOWN = {"text", "toml"}  # languages of blocks that are not run
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    page: Path
    line: int
    language: str
    text: str

    @property
    def commands(self) -> list[str]:
        """Commands of a shell block, without comments."""
        lines = (re.sub(r"\s+#.*", "", line).strip() for line in self.text.splitlines())
        return [line for line in lines if line]


def name_of(page: Path) -> str:
    """How a page is called in the names of tests."""
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(page, text.count("\n", 0, found.start()) + 1, found[1], found[2])
        for found in _BLOCK.finditer(text)
    ]


ALL_BLOCKS = [block for page in PAGES for block in blocks(page)]


def all_commands(start: str) -> list[str]:
    """Every command of any page that begins like this, once."""
    found = [
        command
        for block in ALL_BLOCKS
        if block.language == "bash"
        for command in block.commands
        if command.startswith(start)
    ]
    return list(dict.fromkeys(found))
