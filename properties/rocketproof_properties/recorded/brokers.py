"""Which broker a `cfg` of a recording stands for: the settings that all recorded brokers have, and its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rocketproof_impl.broker.admin import FIELDS, update_settings
from rocketproof_impl.broker.settings import BrokerSettings

from ..choices import InputError, offer
from .cases import Recorded

_ALL = {"brokerIP1": "127.0.0.1", "mappedFileSizeCommitLog": "1048576", "mappedFileSizeConsumeQueue": "20000"}
_OWN: dict[str, dict[str, str]] = {
    "N": {"autoCreateTopicEnable": "false", "autoCreateSubscriptionGroup": "false"},
    "M": {"brokerRole": "SYNC_MASTER", "flushDiskType": "SYNC_FLUSH"},
    "L": {"brokerRole": "SLAVE", "brokerId": "1"},
}
"""What is not the default, by `cfg`; one that is not named here is the default broker."""


def settings_of(cfg: str, cases: Sequence[Recorded], recorded: Mapping[str, str], given: Sequence[str]) -> BrokerSettings:
    """The settings of a broker: those of its `cfg` at the address that its answers show, then what the recording says, then
    what the user gave.

    Raises InputError for an unknown name or a value that does not fit.
    """
    settings = BrokerSettings()
    for source in (_ALL, _address(cases), _OWN.get(cfg, {}), recorded, _given(cfg, given)):
        for name, value in source.items():
            _set(settings, name, value)
    return settings


def _address(cases: Sequence[Recorded]) -> dict[str, str]:
    host = next((case.store_host for case in cases if case.store_host is not None), None)
    return {} if host is None else {"brokerIP1": host[0], "listenPort": str(host[1])}


def known_cfg(text: str, cfgs: Sequence[str]) -> None:
    """Refuse a setting for a broker that the recording has not. Raises InputError."""
    where = text.partition("=")[0].rpartition(":")[0]
    if where and where not in cfgs:
        raise InputError(f"--set {text}: the recording has no broker {where!r}; {offer(where, cfgs)}")


def _given(cfg: str, texts: Sequence[str]) -> dict[str, str]:
    """The user's settings for this `cfg`: `name=value` for every broker, `cfg:name=value` for one."""
    found = {}
    for text in texts:
        where, _, rest = text.rpartition(":") if ":" in text.partition("=")[0] else ("", "", text)
        name, equals, value = rest.partition("=")
        if not name or not equals:
            raise InputError(f"--set {text}: is no setting; give name=value, such as autoCreateTopicEnable=false")
        if where in ("", cfg):
            found[name] = value
    return found


def _set(settings: BrokerSettings, name: str, value: str) -> None:
    field = FIELDS.get(name)
    if field is None:
        raise InputError(f"unknown broker setting {name!r}; {offer(name, FIELDS)}")
    current = getattr(settings, field)
    if isinstance(current, bool):
        fits = value.lower() in ("true", "false")
    else:
        fits = not isinstance(current, int) or value.lstrip("-").isdecimal()
    if not fits:
        raise InputError(f"{name}={value} does not fit; give a value like {name}={str(current).lower()}")
    update_settings(settings, f"{name}={value}")
