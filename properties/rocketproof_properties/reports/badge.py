"""A badge of a run for a README: an SVG file, or JSON for an endpoint that draws it (shields.io), by the file's suffix."""

from __future__ import annotations

import json
from html import escape
from typing import Final

from .results import Run

_COLOURS: Final = {0: ("brightgreen", "#3a7d1e"), 1: ("orange", "#a8550a"), 3: ("lightgrey", "#666666")}
"""By exit code: the colour's name for an endpoint, and a background colour for white text."""
_LETTER: Final = 6.6  # average width in pixels of a character at 11 px
_PAD: Final = 10


def write(run: Run, suffix: str) -> str:
    """Return the badge for a file of this suffix."""
    return svg(run) if suffix == ".svg" else endpoint(run)


def label(run: Run) -> str:
    """Return the left text."""
    return f"rocketproof {run.profile}".strip()


def message(run: Run) -> str:
    """Return the right text."""
    return run.short or run.counts


def endpoint(run: Run) -> str:
    """Return the JSON for an endpoint."""
    name, _ = _COLOURS.get(run.exit, _COLOURS[3])
    return json.dumps({"schemaVersion": 1, "label": label(run), "message": message(run), "color": name}) + "\n"


def svg(run: Run) -> str:
    """Return the image."""
    left, right = label(run), message(run)
    a, b = (round(len(text) * _LETTER) + _PAD for text in (left, right))
    _, colour = _COLOURS.get(run.exit, _COLOURS[3])
    title = escape(f"{left}: {right}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{a + b}" height="20" role="img" aria-label="{title}"><title>{title}</title>'
        f'<clipPath id="r"><rect width="{a + b}" height="20" rx="3"/></clipPath>'
        f'<g clip-path="url(#r)"><rect width="{a}" height="20" fill="#444"/><rect x="{a}" width="{b}" height="20" fill="{colour}"/></g>'
        '<g fill="#fff" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{a / 2:g}" y="14" textLength="{a - _PAD}">{escape(left)}</text>'
        f'<text x="{a + b / 2:g}" y="14" textLength="{b - _PAD}">{escape(right)}</text></g></svg>\n'
    )
