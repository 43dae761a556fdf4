"""Mask what may differ between two runs of one broker, on both sides of a comparison:

- a caller's port and the disk usage;
- the line of code that threw, and what a Java machine adds to the text of a null-pointer error;
- the time zone of the service start time;
- times of the broker's own clock in records and responses.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode

from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.properties import NAME_END

from .compared import PROPERTIES, How, how

_PORT = re.compile(r"(Producer: [^\s:]+:|consumer:\[/[^\s:]+:)[0-9]+")
_DISK = re.compile(r"((?:CL|CQ|INDEX):\s*)-?[0-9]+(?:\.[0-9]+)?")
_DISKS = re.compile(r"\[CL:.*?\]")
_SERVES = re.compile(
    r"(unable to service, until )[0-9]{4}-[0-9][0-9]-[0-9][0-9] [0-9][0-9]:[0-9][0-9](:[0-9][0-9],[0-9]{3})"
)  # zones differ by whole minutes
_FRAME = re.compile(r"([a-z][\w$]*(?:\.[\w$]+)*\.[A-Z][\w$]*(?:Exception|Error)\b.*?), [^\s,]+\([^()]*\)", re.DOTALL)
_ID = re.compile(r"[0-9A-F]{32}(,[0-9A-F]{32})*")
_MILLIS = re.compile(r"[0-9]{1,18}", re.ASCII)
_CLOCKS = "|".join(name for name, kind in PROPERTIES.items() if kind in (How.SECOND, How.MOMENT))
_TIMES = re.compile(rf"((?:{_CLOCKS}){NAME_END})[0-9]+")
_HANDLE_PARTS = 5
"""A version, a topic, a broker, a time, and a unique key."""
SECOND = 1000
_FOUND_AT = re.compile(r"(look message by offset failed to check the topic name)[0-9]+")
_BARE = re.compile(r"java(\.\w+)+")
_NULL = "java.lang.NullPointerException"
_NULL_ALONE = re.compile(r'Cannot invoke ".*" because .* is null', re.DOTALL)
"""The error's text without its class, as some processors of 5.x answer it."""
_NULL_POINTER = re.compile(rf"({re.escape(_NULL)}).*", re.DOTALL)


def remark(text: str | None) -> str | None:
    """Return a remark without the parts that two runs need not share."""
    if text is None:
        return None
    thrown = _FRAME.fullmatch(text)
    masked = text if thrown is None else thrown.group(1)
    masked = _NULL_POINTER.sub(r"\1", masked, count=1) if masked.startswith(_NULL) else _NULL_ALONE.sub(_NULL, masked)
    masked = _PORT.sub(r"\1*", masked)
    masked = _FOUND_AT.sub(r"\1*", masked)
    masked = _SERVES.sub(r"\1*\2", masked)
    return _DISKS.sub(lambda found: re.sub(r"\s+", " ", _DISK.sub(r"\1*", found.group())), masked)


def same_remark(recorded: str | None, found: str | None) -> bool:
    """Whether two remarks are equal. A Java machine that has thrown an exception often omits its message and frame."""
    if recorded is not None and found is not None and _BARE.fullmatch(recorded):
        return found == recorded or found.startswith((f"{recorded}:", f"{recorded},"))
    return remark(recorded) == remark(found)


def varies(name: str, version: str) -> bool:
    """Whether a broker of this version generates a new value for a response field or property each time if the sender gave none."""
    return version.startswith("5.") and how(name) is How.MADE_UP


def same_time(name: str, recorded: str | None, found: str | None, apart: int | None = None) -> bool:
    """Whether two values are times of the two brokers' clocks, or handles that differ only in such a time and in a generated id.

    `apart`: the largest difference of the two times (ms); None if the clocks show different days.
    """
    if recorded is None or found is None:
        return False
    kind = how(name)
    if kind is How.HANDLE:
        return _same_handle(recorded, found, apart)
    return kind in (How.SECOND, How.MOMENT) and _near(recorded, found, apart, whole=kind is How.SECOND)


def _near(recorded: str, found: str, apart: int | None, *, whole: bool) -> bool:
    if not (_MILLIS.fullmatch(recorded) and _MILLIS.fullmatch(found)):
        return False
    if whole and whole_number(recorded) % SECOND != whole_number(found) % SECOND:
        return False
    return apart is None or abs(whole_number(recorded) - whole_number(found)) <= apart


def _same_handle(recorded: str, found: str, apart: int | None) -> bool:
    """Whether two handles name the same message. Their time is one millisecond after a whole second."""
    theirs, ours = _handle(recorded), _handle(found)
    if theirs is None or ours is None:
        return False
    (*before, due, key), (*after, later, other) = theirs, ours
    return before == after and (key == other or made_up(key, other)) and _near(due, later, apart, whole=True)


def _handle(text: str) -> list[str] | None:
    """Return the parts of a handle, None for a text that is not a handle."""
    try:
        parts = urlsafe_b64decode(text).decode().split(" ")
    except ValueError:
        return None
    return parts if len(parts) >= _HANDLE_PARTS else None


def made_up(*values: str | None) -> bool:
    """Whether these values look like ids that a broker generated."""
    return all(value is not None and _ID.fullmatch(value) for value in values)


def without_own(text: str | None) -> str | None:
    """Return a properties text without generated ids and times of the broker's clock. Each of these is compared separately."""
    return None if text is None else _TIMES.sub(r"\1*", _ID.sub("*", text))
