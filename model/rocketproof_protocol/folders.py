"""The folder of a topic below `consumequeue`: the topic's name if that is the name of one folder, otherwise an encoded name.

A real broker uses the topic's name as the path, and does not check names that contain a consumer group (after `%RETRY%` or `%DLQ%`).
"/" makes a nested folder, which a restart does not find. ".." leaves the folder, and a restart finds a folder where it expects log files.
The system refuses NUL, and no queue is written any more. This module gives such a name one folder of its own.
"""

from __future__ import annotations

import base64
import binascii

MARK = "~"
"""The first character of an encoded folder name. No legal topic begins with it."""
LONGEST = 255
"""The maximum number of bytes in a folder's name on common file systems."""


def folder_of(topic: str) -> str:
    """Return the folder of a topic, different for each topic: a name without "/" that is not ".", ".." or empty."""
    if _is_folder(topic):
        return topic
    return MARK + base64.urlsafe_b64encode(topic.encode("utf-8", "surrogatepass")).decode().rstrip("=")


def topic_of(folder: str) -> str:
    """Return the topic of a folder. A folder that `folder_of` never returns is its own topic, as in a real broker."""
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
