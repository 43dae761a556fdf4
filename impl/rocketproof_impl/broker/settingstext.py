"""A broker's settings as lines of `name=value` with RocketMQ's names, read and changed at run time (requests 25 and 26)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rocketproof_protocol.numbers import java_boolean, whole_number

from ..java import boolean_text
from .log import log
from .settings import BrokerSettings

_SPECIAL_NAMES = {
    "broker_ip1": "brokerIP1",
    "ha_slave_fall_behind_max": "haSlaveFallbehindMax",
    "name_servers": "namesrvAddr",
    "start_accept_send_request_timestamp": "startAcceptSendRequestTimeStamp",
}


def property_name(field: str) -> str:
    """Return RocketMQ's name of a setting."""
    head, *rest = field.split("_")
    return _SPECIAL_NAMES.get(field, head + "".join(part.capitalize() for part in rest))


FIELDS = {property_name(name): name for name in BrokerSettings.__dataclass_fields__}


def update_settings(settings: BrokerSettings, text: str) -> set[str]:
    """Apply the lines to the settings, and return the names in them. Unknown names and invalid values are ignored."""
    changes = properties_of(text)
    for name, value in changes.items():
        field = FIELDS.get(name)
        if field is not None:
            try:
                setattr(settings, field, _converted(getattr(settings, field), value))
            except ValueError:
                log.warning("update config: %s=%s does not fit", name, value)
    return set(changes)


def settings_text(settings: BrokerSettings, fields: Mapping[str, str]) -> str:
    """Return lines of `name=value` in alphabetical order."""
    return "".join(f"{name}={_text(getattr(settings, field))}\n" for name, field in sorted(fields.items()))


def properties_of(text: str) -> dict[str, str]:
    """Parse lines of `name=value`, skipping blank lines and comments."""
    lines = (line.strip() for line in text.splitlines())
    pairs = (line.partition("=") for line in lines if line and line[0] not in "#!")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return boolean_text(value)
    return ";".join(value) if isinstance(value, tuple) else str(value)


def _converted(current: object, value: str) -> Any:
    """Return the text as a value of the setting's current type. Raises ValueError."""
    if isinstance(current, bool):
        return java_boolean(value)
    if isinstance(current, int):
        return whole_number(value)
    if isinstance(current, tuple):
        return tuple(part for part in value.split(";") if part)
    return value
