"""The broker settings of a `cfg` of a recording: settings shared by all recorded brokers, and its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rocketproof_impl.broker.settings import BrokerSettings

from ...brokers.settings import change
from ...reports.choices import InputError, offer, split
from .cases import ReplayCase

SHARED = {"brokerIP1": "127.0.0.1", "mappedFileSizeCommitLog": "1048576", "mappedFileSizeConsumeQueue": "20000"}
OWN: dict[str, dict[str, str]] = {
    "N": {"autoCreateTopicEnable": "false", "autoCreateSubscriptionGroup": "false"},
    "M": {"brokerRole": "SYNC_MASTER", "flushDiskType": "SYNC_FLUSH"},
    "L": {"brokerRole": "SLAVE", "brokerId": "1"},
    "S": {"brokerRole": "SLAVE", "brokerId": "1", "timerWheelEnable": "false"},
    "T": {"timerWheelEnable": "true"},
    "W": {"timerWheelEnable": "false"},
}
"""The settings of each `cfg` that differ from the default. An unlisted `cfg` is the default broker."""


def settings_of(cfg: str, cases: Sequence[ReplayCase], recorded: Mapping[str, str], options: Sequence[str]) -> BrokerSettings:
    """Return a broker's settings. Later sources override earlier ones: the shared settings, the address in its responses, its `cfg`, the
    recording, the user's options.

    Raises InputError for an unknown name or an invalid value.
    """
    settings = BrokerSettings()
    for source in (SHARED, _address(cases), OWN.get(cfg, {}), recorded, _chosen(cfg, options)):
        for name, value in source.items():
            change(settings, name, value)
    return settings


def _address(cases: Sequence[ReplayCase]) -> dict[str, str]:
    host = next((case.answer.host for case in cases if case.answer.host is not None), None)
    return {} if host is None else {"brokerIP1": host[0], "listenPort": str(host[1])}


def known_cfg(text: str, cfgs: Sequence[str]) -> None:
    """Reject a setting for a broker that is not in the recording. Raises InputError."""
    where = text.partition("=")[0].rpartition(":")[0]
    if where and where not in cfgs:
        raise InputError(f"--set {text}: the recording has no broker {where!r}; {offer(where, cfgs)}")


def _chosen(cfg: str, texts: Sequence[str]) -> dict[str, str]:
    """Return the user's settings for this `cfg`: `name=value` applies to every broker, `cfg:name=value` to one."""
    chosen = {}
    for text in texts:
        where, _, rest = text.rpartition(":") if ":" in text.partition("=")[0] else ("", "", text)
        name, value = split(rest)
        if where in ("", cfg):
            chosen[name] = value
    return chosen
