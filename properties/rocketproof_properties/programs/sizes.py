"""Sizes of the records of plain messages and batches: brokers add properties of their own (APP-06, SEND-03, SEND-25, BAT-03)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rocketproof_impl.java import utf8
from rocketproof_impl.message import parse_properties, properties_text
from rocketproof_impl.store.record import FIXED_SIZE
from rocketproof_profiles import Profile
from rocketproof_protocol.properties import CHECK_TIMES, CLUSTER, MSG_REGION, REAL_QID, REAL_TOPIC, TRACE_ON, TRANSACTION_ID, UNIQ_KEY, WAIT

_UNIQUE_KEY = "0" * 32  # same length as a key that a broker makes


def stored_length(
    properties: Mapping[str, str], profile: Profile, *, cluster: str = "DefaultCluster", region: str = "DefaultRegion", traced: bool = True
) -> int:
    """Return the bytes of the stored text of a message's properties on a broker without hooks.

    `cluster`, `region` and `traced`: the broker's settings brokerClusterName, regionId and traceOn, which it writes into properties.
    """
    stored = _stored(properties, profile, cluster, region, traced)
    trailing = profile.stores_parsed and profile.ends_properties
    return len(properties_text(stored, trailing=trailing).encode())


def half_length(properties: Mapping[str, str], topic: str, queue: str, profile: Profile, *, cluster: str = "DefaultCluster") -> int:
    """Return the bytes of a half message's stored properties after its first check (TRX-04). `topic` and `queue`: its real ones."""
    stored = _stored(properties, profile, cluster)
    if profile.names_transaction and stored.get(UNIQ_KEY):
        stored[TRANSACTION_ID] = stored[UNIQ_KEY]
    stored |= {REAL_TOPIC: topic, REAL_QID: queue, CHECK_TIMES: "1"}
    return len(properties_text(stored, trailing=profile.ends_properties).encode())


def _stored(
    properties: Mapping[str, str], profile: Profile, cluster: str, region: str = "DefaultRegion", traced: bool = True
) -> dict[str, str]:
    """Return a message's properties with those that the broker adds."""
    stored = dict(properties)
    if profile.stores_parsed:
        if profile.always_traced:
            stored |= {MSG_REGION: region, TRACE_ON: "true" if traced else "false"}
        if profile.makes_unique_key:
            stored[UNIQ_KEY] = stored.get(UNIQ_KEY) or _UNIQUE_KEY
        stored[CLUSTER] = cluster
        if not profile.stores_wait:
            stored.pop(WAIT, None)
    return stored


def overhead(topic: str, stored: int) -> int:
    """Return the bytes of a record without its body (APP-06). `stored`: bytes of its properties."""
    return FIXED_SIZE + len(topic.encode()) + stored


def left_of_file(end: int, file_size: int) -> int:
    """Return the bytes between the end of a log and the end of its file."""
    return file_size - end % file_size


def added_length(
    text: str | None, profile: Profile, *, cluster: str = "DefaultCluster", region: str = "DefaultRegion", traced: bool = True
) -> int:
    """Return the bytes that a batch with these properties appends to the properties of each message (BAT-03)."""
    if not profile.stores_parsed:
        return 0
    added = parse_properties(text, exact=profile.exact_properties) | {CLUSTER: cluster}
    if profile.always_traced:
        added |= {MSG_REGION: region, TRACE_ON: "true" if traced else "false"}
    return len(utf8(properties_text(added, trailing=profile.ends_properties)))


def item_length(properties: bytes, added: int) -> int:
    """Return the bytes of the stored properties of a batch's message. `added`: bytes that each message gets."""
    return len(properties) + added + (bool(properties and added) and properties[-1:] != b"\2")


def batch_length(items: Iterable[tuple[bytes, bytes]], topic: str, added: int) -> int:
    """Return the bytes of the records of a batch. `items`: body and properties of each message."""
    return sum(overhead(topic, item_length(properties, added)) + len(body) for body, properties in items)
