"""Attributes of topics: the text of a change, and the attributes after it (TCM-01, TCM-30).

A change is a list such as `+message.type=FIFO,-reserve.time`: `+` adds or replaces an attribute, `-` removes one. Each text in an error is
the broker's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rocketproof_profiles import Profile

from ..java import LONG_MAX, JavaError, hash_map_order, parse_long

ADD, REMOVE = "+", "-"
MESSAGE_TYPE: Final = "message.type"
MIXED: Final = "MIXED"
RUNTIME: Final = "java.lang.RuntimeException"
FIXED: Final[Mapping[str, tuple[str, ...]]] = {"queue.type": ("SimpleCQ", "BatchCQ"), "cleanup.policy": ("DELETE", "COMPACTION")}
"""Attributes that only the creation of a topic sets, with their values."""


class MalformedChange(JavaError):
    """The text of a change is malformed."""


def parsed_change(text: str | None) -> dict[str, str]:
    """Return the names of a change, each with its sign, and their values; "" for a removed one. Raises MalformedChange."""
    change: dict[str, str] = {}
    for item in _split(text or "", ","):
        name, value = item, ""
        if "=" in item:
            parts = _split(item, "=")
            if len(parts) < 2:
                index = len(parts)
                raise MalformedChange("java.lang.ArrayIndexOutOfBoundsException", f"Index {index} out of bounds for length {index}")
            name, value = parts[:2]
            if ADD not in name:
                raise MalformedChange(RUNTIME, f"add/alter attribute format is wrong: {name}")
        elif REMOVE not in name:
            raise MalformedChange(RUNTIME, f"delete attribute format is wrong: {name}")
        if name in change:
            raise MalformedChange(RUNTIME, f"key duplication: {name}")
        change[name] = value
    return change


def altered(current: Mapping[str, str] | None, change: Mapping[str, str], profile: Profile) -> dict[str, str]:
    """Return a topic's attributes after a change. `current`: None for a topic that is created.

    Raises JavaError for a change that the release does not accept. The first error is the one that the broker finds first.
    """
    signed = _by_kind(current, change)
    for kind, names in signed.items():
        for name in hash_map_order(tuple(names)):
            if name not in profile.attribute_names:
                raise _wrong(f"unsupported key: {name}")
            if kind != "init" and name in FIXED:
                raise _wrong(f"attempt to update an unchangeable attribute. key: {name}")
            if kind != "delete":
                _check_value(name, names[name], profile)
    after = {**(current or {}), **signed["init"], **signed["add"], **signed["update"]}
    return {name: after[name] for name in hash_map_order(tuple(after)) if name not in signed["delete"]}


def _by_kind(current: Mapping[str, str] | None, change: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the changed attributes by kind, in the order in which the kinds are checked."""
    kinds: dict[str, dict[str, str]] = {"init": {}, "add": {}, "update": {}, "delete": {}}
    seen: set[str] = set()
    for signed in hash_map_order(tuple(change)):
        name = signed[1:]
        if not name or ADD in name or REMOVE in name:
            raise _wrong("kv string format wrong.")
        if name in seen:
            raise _wrong(f"alter duplication key. key: {name}")
        seen.add(name)
        adds = signed.startswith(ADD)
        if current is None and not adds:
            raise _wrong(f"only add attribute is supported while creating topic. key: {name}")
        if current is not None and not adds and name not in current:
            raise _wrong(f"attempt to delete a nonexistent key: {name}")
        kind = "init" if current is None else ("update" if name in current else "add") if adds else "delete"
        kinds[kind][name] = change[signed]
    return kinds


def _check_value(name: str, value: str, profile: Profile) -> None:
    values = profile.message_types if name == MESSAGE_TYPE else FIXED.get(name)
    if values is None:
        if not -1 <= parse_long(value) <= LONG_MAX:
            raise _wrong(f"value is not in range(-1, {LONG_MAX})")
    elif value not in values:
        raise _wrong(f"value is not in set: [{', '.join(values)}]")


def _split(text: str, separator: str) -> list[str]:
    """String.split: without the empty parts at the end."""
    parts = text.split(separator)
    while parts and not parts[-1]:
        parts.pop()
    return parts


def _wrong(message: str) -> JavaError:
    return JavaError(RUNTIME, message)
