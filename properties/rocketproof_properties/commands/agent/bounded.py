"""Bound an answer: shorten texts and lists until its JSON fits, and list the omitted parts. Invisible characters become dots."""

from __future__ import annotations

import json
import unicodedata
from typing import Any, Final

from rocketproof_protocol.shown import printable

ROOM: Final = 24_000
"""Characters of an answer's JSON, about 6,000 tokens."""
_LEVELS: Final = ((100, 1_000), (60, 600), (40, 400), (20, 300), (10, 200), (5, 120), (2, 80), (1, 40))
"""Items of a list and characters of a text, tried in this order."""
_NOTES: Final = 20
_DEPTH: Final = 8


def bounded(data: dict[str, Any], room: int = ROOM) -> dict[str, Any]:
    """Return an answer whose JSON has at most `room` characters, with `cut`: the lists and the number of texts that were shortened."""
    for items, text in _LEVELS:
        cutter = _Cutter(items, text)
        found: dict[str, Any] = cutter.fit(data, "", 0)
        found["cut"] = cutter.notes()
        if len(json.dumps(found)) <= room:
            return found
    return {name: type(value)() if isinstance(value, list | dict | str) else value for name, value in data.items()} | {
        "cut": ["everything: the answer does not fit; ask for less"]
    }


def visible(text: str) -> str:
    """Return a text with a dot for each invisible character: controls, changes of direction, and hidden letters."""
    shown = printable(text)
    return shown if shown.isascii() else "".join("·" if unicodedata.category(c) == "Cf" else c for c in shown)


class _Cutter:
    def __init__(self, items: int, text: int) -> None:
        self._items, self._text = items, text
        self._lists: list[str] = []
        self._texts = 0

    def fit(self, value: Any, place: str, depth: int) -> Any:
        if isinstance(value, str):
            return self._shown(value)
        if isinstance(value, dict | list | tuple) and depth > _DEPTH:
            return self._shown(json.dumps(value, default=str))
        if isinstance(value, dict):
            kept = list(value.items())[: None if not place else self._items]
            self._note(place, len(kept), len(value))
            return {self._shown(str(name)): self.fit(one, f"{place}.{name}" if place else str(name), depth + 1) for name, one in kept}
        if isinstance(value, list | tuple):
            self._note(place, min(self._items, len(value)), len(value))
            return [self.fit(one, place, depth + 1) for one in value[: self._items]]
        return value

    def notes(self) -> list[str]:
        lists = list(dict.fromkeys(self._lists))[:_NOTES]
        return [*lists, *([f"{self._texts} texts are shortened to {self._text} characters"] if self._texts else [])]

    def _note(self, place: str, kept: int, of: int) -> None:
        if kept < of:
            self._lists.append(f"{self._shown(place)}: the first {kept} of {of}")

    def _shown(self, text: str) -> str:
        shown = visible(text)
        if len(shown) > self._text:
            self._texts += 1
            return shown[: self._text - 1] + "…"
        return shown
