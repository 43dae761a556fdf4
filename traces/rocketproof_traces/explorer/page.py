"""The page as one file: the built page with a document inside, which loads nothing and asks nobody.

The page's script and style are named by their hashes in its Content-Security-Policy, so nothing that a document holds can be run, and
nothing but the document is put into the page. A document stands there as JSON in which `<` is written `\\u003c`, so that no text of a
trace can end the script that holds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

from rocketproof_protocol.shown import json_text

from ..common.errors import TraceError
from ..common.files import replace_text

NAME: Final = "page.html"
_OPENS: Final = '<script type="application/json" id="document">'
_EMPTY: Final = f"{_OPENS}null</script>"


def html(document: Mapping[str, Any] | None = None) -> str:
    """The page with this document; without one it is the page that a running explorer serves."""
    built = template()
    if document is None:
        return built
    text = json_text(document, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    before, _, after = built.partition(_EMPTY)
    return f"{before}{_OPENS}{text}</script>{after}"


@cache
def template() -> str:
    """The page as it was built, with one place for a document. Raises TraceError in a clone in which it was not built."""
    try:
        text = resources.files("rocketproof_traces.explorer").joinpath(NAME).read_text(encoding="utf-8")
    except OSError:
        raise TraceError(NAME, "the page was not built", "run `npm ci && npm run build` in traces/explorer") from None
    if text.count(_EMPTY) != 1:
        raise TraceError(NAME, "has no place for a document", "build it anew: `npm run build` in traces/explorer")
    return text


def write(path: str | Path, document: Mapping[str, Any]) -> None:
    """Write the page with a document, at once. Raises TraceError where the file cannot be written."""
    replace_text(path, html(document))


__all__ = ["html", "template", "write"]
