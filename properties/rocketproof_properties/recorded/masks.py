"""What may differ between two runs of one broker, put to one side of a comparison and the other.

A caller's port, how full disks are, where texts of help lie, the line of code that threw, and what a Java machine adds to
the text of a null-pointer error.
"""

from __future__ import annotations

import re

_PORT = re.compile(r"(Producer: [^\s:]+:)\d+")
_DISK = re.compile(r"((?:CL|CQ|INDEX):\s*)-?\d+(?:\.\d+)?")
_HELP = re.compile(r"\nSee \S+ for further details\.")
_FRAME = re.compile(r"([a-z][\w$]*(?:\.[\w$]+)*\.[A-Z][\w$]*(?:Exception|Error)\b.*?), [^\s,]+\([^()]*\)", re.DOTALL)
_NULL_POINTER = re.compile(r"(java\.lang\.NullPointerException)\b.*", re.DOTALL)

NO_ANSWER = "CLIENT:"
"""How a remark starts that the recording's client made itself."""


def remark(text: str | None) -> str | None:
    """A remark without what two runs need not share."""
    if text is None:
        return None
    thrown = _FRAME.fullmatch(text)
    if thrown is not None:
        text = thrown[1]
    text = _NULL_POINTER.sub(r"\1", text) if _NULL_POINTER.match(text) else text
    text = _PORT.sub(r"\1*", text)
    text = re.sub(r"\[CL:.*?\]", lambda found: re.sub(r"\s+", " ", _DISK.sub(r"\1*", found[0])), text)
    return _HELP.sub("\nSee * for further details.", text)


def varies(name: str, version: str) -> bool:
    """Whether a broker of this version makes up the value of an extField or property anew each time."""
    return version.startswith("5.") and name in ("transactionId", "UNIQ_KEY")
