"""What may differ between two runs of one broker, put to one side of a comparison and the other.

A caller's port, how full disks are, the line of code that threw, what a Java machine adds to the text of
a null-pointer error, in which time zone a broker gives the time from which it serves, and the second in which a timer is due.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode

from rocketproof_protocol.properties import NAME_END, TIMER_OUT_MS

_PORT = re.compile(r"(Producer: [^\s:]+:|consumer:\[/[^\s:]+:)\d+")
_DISK = re.compile(r"((?:CL|CQ|INDEX):\s*)-?\d+(?:\.\d+)?")
_DISKS = re.compile(r"\[CL:.*?\]")
_SERVES = re.compile(r"(unable to service, until )\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d,\d{3})")  # zones differ by whole minutes
_FRAME = re.compile(r"([a-z][\w$]*(?:\.[\w$]+)*\.[A-Z][\w$]*(?:Exception|Error)\b.*?), [^\s,]+\([^()]*\)", re.DOTALL)
_ID = re.compile(r"[0-9A-F]{32}(,[0-9A-F]{32})*")
_DUE = re.compile(rf"({TIMER_OUT_MS}{NAME_END})\d+(000)")
_FOUND_AT = re.compile(r"(look message by offset failed to check the topic name)\d+")
_BARE = re.compile(r"java(\.\w+)+")
_NULL = "java.lang.NullPointerException"
_NULL_ALONE = re.compile(r'Cannot invoke ".*" because .* is null', re.DOTALL)
"""The error's text without its class, as some processors of 5.x answer it."""
_NULL_POINTER = re.compile(rf"({re.escape(_NULL)}).*", re.DOTALL)


def remark(text: str | None) -> str | None:
    """A remark without what two runs need not share."""
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
    """Whether two remarks say the same. A Java machine that has thrown an exception often leaves out its message and frame."""
    if recorded is not None and found is not None and _BARE.fullmatch(recorded):
        return found == recorded or found.startswith((f"{recorded}:", f"{recorded},"))
    return remark(recorded) == remark(found)


def varies(name: str, version: str) -> bool:
    """Whether a broker of this version makes up the value of an extField or property anew each time, if the sender gave none."""
    return version.startswith("5.") and name in ("transactionId", "__transactionId__", "UNIQ_KEY")


def same_time(name: str, recorded: str | None, found: str | None) -> bool:
    """Whether these are a timer's second, or a handle to take it back that says the same but for its second and a made up id."""
    if recorded is None or found is None:
        return False
    if name == TIMER_OUT_MS:
        return recorded.endswith("000") and found.endswith("000")
    if name != "recallHandle":
        return False
    (*before, due, key), (*after, later, other) = (urlsafe_b64decode(text).decode().split(" ") for text in (recorded, found))
    return before == after and (key == other or made_up(key, other)) and due[-3:] == later[-3:]


def made_up(*values: str | None) -> bool:
    """Whether these values look like ids that a broker made up."""
    return all(value is not None and _ID.fullmatch(value) for value in values)


def without_own(text: str | None) -> str | None:
    """A text of properties without what a broker makes up itself: what looks like its ids, and the second in which a timer is due."""
    return None if text is None else _DUE.sub(r"\1*\2", _ID.sub("*", text))
