"""JSON as RocketMQ writes it: names that are numbers have no quotes, and a name can be an object.

Standard readers reject that. This module also reads standard JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final

MAX_VALUES: Final = 500_000
"""The maximum number of values in a text from another process. A value takes up to 300 bytes in memory; a registered topic has nine."""

# A string that does not end reaches to the end of the text: so the expression never reads a part of the text twice.
_STRING_OR_BARE_NAME = re.compile(r'("(?:[^"\\]++|\\.)*+"?)|([{,]\s*)(-?[0-9]+|[A-Za-z_$][\w$]*)(?=\s*:)')


def loads(text: str | bytes, *, most: int | None = MAX_VALUES) -> Any:
    """Read JSON in which names may lack quotes, and return every name as a text.

    Raises ValueError for malformed texts, for values that are nested too deeply, and for a text with more than `most` commas and opening
    brackets, an upper bound of its values. `most=None` is no limit, for trusted files.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    if most is not None and (values := text.count(",") + text.count("{") + text.count("[")) > most:
        raise ValueError(f"a JSON text of up to {values} values; at most {most} are read")
    try:
        try:
            return json.loads(text)
        except ValueError:
            return json.loads(_STRING_OR_BARE_NAME.sub(_quoted, text))
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None


def _quoted(match: re.Match[str]) -> str:
    string, before, name = match.groups()
    return string if string is not None else f'{before}"{name}"'


def text_of(value: Any) -> str:
    """Return the text of a field. Numbers and booleans that clients write without quotes become their texts."""
    return value if isinstance(value, str) else json.dumps(value)


def dumps(data: Any) -> str:
    """Return standard JSON, with names in alphabetical order and without blanks."""
    return json.dumps(data, separators=(",", ":"), sort_keys=True)


def map_text(entries: Iterable[tuple[Any, Any]]) -> str:
    """Return the text of a map whose names are not texts, but numbers or objects, without quotes."""
    return "{" + ",".join(f"{dumps(name)}:{dumps(value)}" for name, value in entries) + "}"
