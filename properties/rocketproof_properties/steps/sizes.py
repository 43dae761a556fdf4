"""How long the properties of a message are in its record: the broker adds its own to the sender's (SEND-25, SEND-03)."""

from __future__ import annotations

from collections.abc import Mapping

from rocketproof_impl.broker.hooks import traced
from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.message import properties_text
from rocketproof_profiles import Profile
from rocketproof_protocol.properties import CLUSTER, UNIQ_KEY

_UNIQUE_KEY = "0" * 32  # as long as one that a broker makes


def stored_length(properties: Mapping[str, str], settings: BrokerSettings, profile: Profile) -> int:
    """Characters of the stored text, without hooks."""
    stored = dict(properties)
    if not profile.stores_parsed:
        return len(properties_text(stored, trailing=False))
    if profile.always_traced:
        stored |= traced(settings)
    if profile.makes_unique_key:
        stored.setdefault(UNIQ_KEY, _UNIQUE_KEY)
    stored[CLUSTER] = settings.broker_cluster_name
    return len(properties_text(stored, trailing=profile.ends_properties))
