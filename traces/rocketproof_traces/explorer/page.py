"""The page as one file: the built page with an embedded document, which loads nothing and sends no requests.

The Content-Security-Policy lists the hashes of the page's script and style, so nothing in a document can be executed. Only the document is
inserted into the page. It is JSON in which `<` is written `\\u003c`, so that no text of a trace can end the script element.
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
    """Return the page with this document, or without one the page that a running explorer serves."""
    built = template()
    if document is None:
        return built
    text = json_text(document, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    before, _, after = built.partition(_EMPTY)
    return f"{before}{_OPENS}{text}</script>{after}"


@cache
def template() -> str:
    """Return the built page, with one place for a document. Raises TraceError in a clone without a built page."""
    try:
        text = resources.files("rocketproof_traces.explorer").joinpath(NAME).read_text(encoding="utf-8")
    except OSError:
        raise TraceError(NAME, "the page was not built", "run `npm ci && npm run build` in traces/explorer") from None
    if text.count(_EMPTY) != 1:
        raise TraceError(NAME, "has no place for a document", "build it anew: `npm run build` in traces/explorer")
    return text


def write(path: str | Path, document: Mapping[str, Any]) -> None:
    """Write the page with a document atomically. Raises TraceError if the file cannot be written."""
    replace_text(path, html(document))


__all__ = ["html", "template", "write"]
