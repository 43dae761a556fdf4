"""A message in the broker and the store, its system flag, and its properties as a map and as text (SEND-26)."""

from __future__ import annotations

from dataclasses import dataclass, field

from rocketproof_protocol.flags import TRANSACTION_BITS
from rocketproof_protocol.numbers import java_boolean
from rocketproof_protocol.properties import NAME_END, PROPERTY_END, WAIT

from .copies import copier
from .java import hash_map_order

Host = tuple[str, int]  # IPv4 address as text, port


@dataclass(slots=True)
class Message:
    """MessageExtBrokerInner and MessageExt combined: a message to put, and a message read back.

    `properties` is the map, `properties_text` the stored text (None: nothing is stored, SEND-25). Times are milliseconds. The store sets
    `store_timestamp`, `body_crc`, `queue_offset` and `physical_offset`. A message read back also has `msg_id` and `store_size`.
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
        """Whether the sender waits for the flush and the replica: WAIT is absent or "true" (FLU-02)."""
        text = self.properties.get(WAIT)
        return text is None or java_boolean(text)

    def shallow_copy(self) -> Message:
        """Return a copy that shares the property map."""
        return _shallow_copy(self)

    def copy(self) -> Message:
        """Return a copy with its own property map."""
        copy = self.shallow_copy()
        copy.properties = dict(self.properties)
        return copy


_shallow_copy = copier(Message)


def properties_text(properties: dict[str, str], *, trailing: bool) -> str:
    """Return the map as text: name, byte 1, value, byte 2. The final byte 2 is present only if `trailing` (SEND-26).

    The order is the iteration order of Java's HashMap, as real brokers store it.
    """
    names = hash_map_order(tuple(properties))
    text = PROPERTY_END.join([f"{name}{NAME_END}{properties[name]}" for name in names])
    return text + PROPERTY_END if trailing and properties else text


def parse_properties(text: str | None, *, exact: bool) -> dict[str, str]:
    """Return the text as a map; the last of equal names wins (SEND-26).

    With `exact` an item must split at byte 1 into exactly a name and a non-empty value. As in Java's split, empty parts at the end are
    ignored. Otherwise an item must have at least 3 characters with its first byte 1 inside, and further bytes 1 belong to the value.
    """
    properties: dict[str, str] = {}
    if not text:
        return properties
    for item in text.split(PROPERTY_END):
        if exact:
            parts = item.rstrip(NAME_END).split(NAME_END)
            if len(parts) == 2:
                properties[parts[0]] = parts[1]
        else:
            at = item.find(NAME_END)
            if len(item) >= 3 and 0 < at < len(item) - 1:
                properties[item[:at]] = item[at + 1 :]
    return properties
