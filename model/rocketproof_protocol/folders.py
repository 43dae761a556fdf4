"""The folder of a topic below `consumequeue`: its name, wherever that is the name of one folder.

A real broker joins the two as they are, and a name is not checked that comes from a consumer group (`%RETRY%` and `%DLQ%` before it).
So "/" makes a folder in a folder, which a start does not find again; ".." leaves it, and a start finds a folder where it expects the
log's files; NUL is refused by the system, and no queue is written any more. Here such a name has one folder of its own.
"""

from __future__ import annotations

import base64
import binascii

MARK = "~"
"""What the folder of such a name begins with: no legal topic begins so."""
LONGEST = 255
"""Bytes in the name of a folder, on the file systems that there are."""


def folder_of(topic: str) -> str:
    """The folder of a topic, for each topic another one: a name without "/" that is neither ".", ".." nor empty."""
    if _is_folder(topic):
        return topic
    return MARK + base64.urlsafe_b64encode(topic.encode("utf-8", "surrogatepass")).decode().rstrip("=")


def topic_of(folder: str) -> str:
    """The topic that has this folder; for one that `folder_of` never gives, the name itself, as a real broker reads it."""
    if not folder.startswith(MARK):
        return folder
    text = folder[len(MARK) :]
    try:
        topic = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True).decode("utf-8", "surrogatepass")
    except (binascii.Error, ValueError):
        return folder
    return topic if folder_of(topic) == folder else folder


def _is_folder(name: str) -> bool:
    if name in ("", ".", "..") or name.startswith(MARK) or "/" in name or "\0" in name:
        return False
    try:
        return len(name.encode()) <= LONGEST
    except UnicodeEncodeError:
        return False
