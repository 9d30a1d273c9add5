"""One HTML file: our own style and script inside, data as JSON, nothing loaded from anywhere.

The page's policy lets only this style and this script run (by their digests) and forbids every
connection, so that text from a run cannot become code even if it tried.
"""

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from standing_orders.errors import DataError
from standing_orders.runs.files import write_atomically
from standing_orders.tables import printable
from standing_orders.version import VERSION

SCRIPTS = (
    "base.js", "plot.js", "marks.js", "surrogate.js", "network.js", "replay.js", "main.js",
)  # fmt: skip
MAX_BYTES = 8_000_000
_TEMPLATE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="generator" content="standing-orders {version}">
<title>Standing Orders</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top"><div><strong>Standing Orders</strong><nav aria-label="sections"></nav>\
<button type="button" id="theme" title="light or dark">Dark</button></div></header>
<main id="main"><noscript><p>This page draws itself: switch JavaScript on. Nothing is loaded from \
the network.</p></noscript></main>
<footer></footer>
<div id="tip" aria-hidden="true"></div>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


@cache
def _style() -> str:
    return _asset("style.css")


@cache
def _script() -> str:
    inside = "\n".join(_asset(name) for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{inside}}})();\n'


def _asset(name: str) -> str:
    return (files("standing_orders.report") / "assets" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def clean(value: Any) -> Any:
    """Plain data without control characters, terminal escapes or marks that turn text around.

    Example:
        >>> clean({"name": "a\\x1b[31mb"})
        {'name': 'a\\\\x1b[31mb'}
    """
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {str(clean(key)): clean(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [clean(one) for one in value]
    return value


def embed(value: Any) -> str:
    """JSON that can stand in a script element: no character that HTML would read.

    Raises:
        DataError: a number is not finite, or a value is not plain data.

    Example:
        >>> embed({"name": "</script>"})
        '{"name":"\\\\u003c/script\\\\u003e"}'
    """
    try:
        text = json.dumps(clean(value), separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as err:
        raise DataError(f"the report's data cannot be written as JSON: {err}") from err
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def render(document: dict[str, Any]) -> str:
    """The whole page of a document; see `document`."""
    policy = (
        f"default-src 'none'; style-src {_digest(_style())}; script-src {_digest(_script())}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return _TEMPLATE.format(
        policy=policy,
        version=VERSION,
        style=_style(),
        script=_script(),
        data=embed(document),
    )


def write_page(path: Path, document: dict[str, Any]) -> int:
    """Write the page and give its size in bytes.

    Raises:
        DataError: it would be larger than `MAX_BYTES`, or its data are not plain.
        CheckpointError: it cannot be written.
    """
    content = render(document).encode()
    if len(content) > MAX_BYTES:
        raise DataError(
            f"{path}: the report would have {len(content)} bytes, {MAX_BYTES} at most: name fewer "
            "runs or episodes"
        )
    write_atomically(path.parent.resolve() / path.name, content)
    return len(content)
