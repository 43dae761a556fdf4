"""JSON as the described system writes it: names that are numbers have no quotes, and a name can be an object.

Standard readers refuse that; what is written by others is standard.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final

MAX_VALUES: Final = 500_000
"""Values that a text from another process may have. One takes up to 300 bytes once it is read; a topic in a registration has nine."""

# A string that does not end reaches to the end of the text: so no part of the text is looked at twice.
_STRING_OR_BARE_NAME = re.compile(r'("(?:[^"\\]++|\\.)*+"?)|([{,]\s*)(-?[0-9]+|[A-Za-z_$][\w$]*)(?=\s*:)')


def loads(text: str | bytes, *, most: int | None = MAX_VALUES) -> Any:
    """Read JSON, with every name as a text; standard JSON is read as it is.

    Raises ValueError for other texts, for values nested too deeply, and for a text with more than `most` commas and opening brackets, which
    is at least the number of its values. None: no limit, for files of one's own.
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


def _quoted(found: re.Match[str]) -> str:
    string, before, name = found.groups()
    return string if string is not None else f'{before}"{name}"'


def text_of(value: Any) -> str:
    """What a field that is a text holds: numbers and booleans that clients write as JSON's own mean their texts."""
    return value if isinstance(value, str) else json.dumps(value)


def dumps(data: Any) -> str:
    """Standard JSON, names in alphabetical order, no blanks."""
    return json.dumps(data, separators=(",", ":"), sort_keys=True)


def map_text(entries: Iterable[tuple[Any, Any]]) -> str:
    """A map whose names are no texts: numbers or objects, without quotes."""
    return "{" + ",".join(f"{dumps(name)}:{dumps(value)}" for name, value in entries) + "}"
