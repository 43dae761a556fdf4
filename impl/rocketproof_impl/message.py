"""A message as the broker and the store handle it, its system flag, and its properties as a map and as a text (SEND-26)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from rocketproof_protocol.flags import TRANSACTION_BITS
from rocketproof_protocol.numbers import java_boolean
from rocketproof_protocol.properties import NAME_END, PROPERTY_END, WAIT

from .copies import copier
from .java import string_hash

CACHED_NAMES = 512
"""Characters of property names whose order is cached: clients choose the names, and 4096 orders are kept."""

Host = tuple[str, int]  # IPv4 address as text, port


@dataclass(slots=True)
class Message:
    """MessageExtBrokerInner and MessageExt in one: what is put, and what is read back.

    `properties` is the map, `properties_text` what is stored (None: nothing, SEND-25). Times are milliseconds.
    The store sets `store_timestamp`, `body_crc`, `queue_offset` and `physical_offset`; a message read back has `msg_id`
    and `store_size` too.
    """

    topic: str
    queue_id: int = 0
    body: bytes | None = None
    flag: int = 0
    properties: dict[str, str] = field(default_factory=dict)
    properties_text: str | None = None
    sys_flag: int = 0
    born_timestamp: int = 0
    born_host: Host = ("127.0.0.1", 0)
    store_host: Host = ("127.0.0.1", 10911)
    reconsume_times: int = 0
    prepared_transaction_offset: int = 0
    store_timestamp: int = 0
    body_crc: int = 0
    queue_offset: int = 0
    physical_offset: int = 0
    store_size: int = 0
    msg_id: str = ""

    @property
    def transaction(self) -> int:
        """NOT, PREPARED, COMMIT or ROLLBACK."""
        return self.sys_flag & TRANSACTION_BITS

    @property
    def waits(self) -> bool:
        """Whether the sender waits for flush and replica: WAIT absent or "true" (FLU-02)."""
        text = self.properties.get(WAIT)
        return text is None or java_boolean(text)

    def shallow_copy(self) -> Message:
        """A message of its own, with the same map."""
        return _copied(self)

    def copy(self) -> Message:
        """A message of its own, with a map of its own."""
        found = self.shallow_copy()
        found.properties = dict(self.properties)
        return found


_copied = copier(Message)


def hash_map_order(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names in the order of Java's HashMap: by slot, and those of one slot as they came. A quarter of the slots stays empty."""
    return _short_order(names) if sum(map(len, names)) <= CACHED_NAMES else _order(names)


def _order(names: tuple[str, ...]) -> tuple[str, ...]:
    slots = 16
    while len(names) * 4 > slots * 3:
        slots *= 2
    return tuple(sorted(names, key=lambda name: _spread(name) & slots - 1))


_short_order = lru_cache(maxsize=4096)(_order)


def _spread(name: str) -> int:
    """HashMap.hash: the upper half of the hash code counts too."""
    code = string_hash(name) & 0xFFFFFFFF
    return code ^ code >> 16


def properties_text(properties: dict[str, str], *, trailing: bool) -> str:
    """The map as text: name, byte 1, value, byte 2; the last byte 2 only if `trailing` (SEND-26).

    The order is that of Java's HashMap, as real brokers store it.
    """
    names = hash_map_order(tuple(properties))
    text = PROPERTY_END.join([f"{name}{NAME_END}{properties[name]}" for name in names])
    return text + PROPERTY_END if trailing and properties else text


def parse_properties(text: str | None, *, exact: bool) -> dict[str, str]:
    """The text as a map; the last of equal names wins (SEND-26).

    With `exact` an item must split at byte 1 into a name and a non-empty value, two parts and no more, where Java's split
    takes no notice of empty parts at the end; otherwise it must have at least 3 characters with its first byte 1 inside, and
    further bytes 1 belong to the value.
    """
    found: dict[str, str] = {}
    if not text:
        return found
    for item in text.split(PROPERTY_END):
        if exact:
            parts = item.rstrip(NAME_END).split(NAME_END)
            if len(parts) == 2:
                found[parts[0]] = parts[1]
        else:
            at = item.find(NAME_END)
            if len(item) >= 3 and 0 < at < len(item) - 1:
                found[item[:at]] = item[at + 1 :]
    return found
