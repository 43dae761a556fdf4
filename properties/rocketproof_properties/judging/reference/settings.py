"""Which broker a `cfg` of a recording stands for: the settings that all recorded brokers have, and its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rocketproof_impl.broker.settings import BrokerSettings

from ...brokers.settings import change
from ...reports.choices import InputError, offer, split
from .cases import RecordedCase

SHARED = {"brokerIP1": "127.0.0.1", "mappedFileSizeCommitLog": "1048576", "mappedFileSizeConsumeQueue": "20000"}
OWN: dict[str, dict[str, str]] = {
    "N": {"autoCreateTopicEnable": "false", "autoCreateSubscriptionGroup": "false"},
    "M": {"brokerRole": "SYNC_MASTER", "flushDiskType": "SYNC_FLUSH"},
    "L": {"brokerRole": "SLAVE", "brokerId": "1"},
    "S": {"brokerRole": "SLAVE", "brokerId": "1", "timerWheelEnable": "false"},
    "T": {"timerWheelEnable": "true"},
    "W": {"timerWheelEnable": "false"},
}
"""What is not the default, in each `cfg` and by `cfg`; one that is not named here is the default broker."""


def settings_of(cfg: str, cases: Sequence[RecordedCase], recorded: Mapping[str, str], options: Sequence[str]) -> BrokerSettings:
    """The settings of a broker: those of its `cfg` at the address that its answers show, then what the recording has, then
    what the user gave.

    Raises InputError for an unknown name or a value that does not fit.
    """
    settings = BrokerSettings()
    for source in (SHARED, _address(cases), OWN.get(cfg, {}), recorded, _chosen(cfg, options)):
        for name, value in source.items():
            change(settings, name, value)
    return settings


def _address(cases: Sequence[RecordedCase]) -> dict[str, str]:
    host = next((case.answer.host for case in cases if case.answer.host is not None), None)
    return {} if host is None else {"brokerIP1": host[0], "listenPort": str(host[1])}


def known_cfg(text: str, cfgs: Sequence[str]) -> None:
    """Refuse a setting for a broker that the recording has not. Raises InputError."""
    where = text.partition("=")[0].rpartition(":")[0]
    if where and where not in cfgs:
        raise InputError(f"--set {text}: the recording has no broker {where!r}; {offer(where, cfgs)}")


def _chosen(cfg: str, texts: Sequence[str]) -> dict[str, str]:
    """The user's settings for this `cfg`: `name=value` for every broker, `cfg:name=value` for one."""
    found = {}
    for text in texts:
        where, _, rest = text.rpartition(":") if ":" in text.partition("=")[0] else ("", "", text)
        name, value = split(rest)
        if where in ("", cfg):
            found[name] = value
    return found
