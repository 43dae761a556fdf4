"""Settings of brokers and name servers as users type them: `name=value`, by RocketMQ's names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Final, Literal, get_args, get_origin, get_type_hints

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.broker.settingstext import FIELDS, property_name, update_settings
from rocketproof_impl.nameserversettings import NameServerSettings
from rocketproof_protocol.numbers import INT, java_boolean, java_long

from ..reports.choices import InputError, offer

LEAST: Final = {
    "mappedFileSizeCommitLog": 1,
    "mappedFileSizeConsumeQueue": 20,  # one entry
    "maxHashSlotNum": 1,
    "maxIndexNum": 2,
    "maxMessageSize": 0,
    "listenPort": 0,
    **{name: 1 for name in FIELDS if name.endswith(("ThreadPoolNums", "QueueCapacity"))},
}
"""The smallest working value of settings that are sizes and counts in Java ints."""
NAME_SERVER_FIELDS: Final = {property_name(field.name): field.name for field in fields(NameServerSettings)}
"""The fields of a name server's settings, by RocketMQ's names. All are true or false."""
NOT_BLANK: Final = ("brokerName", "brokerClusterName", "brokerIP1", "storePathRootDir")


def change(settings: BrokerSettings, name: str, value: str) -> None:
    """Change one setting. Raises InputError for an unknown name, a value of another type, or a value with which no broker works."""
    field = FIELDS.get(name)
    if field is None:
        raise InputError(f"unknown broker setting {name!r}; {offer(name, FIELDS)}")
    current = getattr(settings, field)
    words = _words(field)
    if words:
        fits = value in words
    elif isinstance(current, bool):
        fits = value.lower() in ("true", "false")
    elif isinstance(current, int):
        fits = _is_number(name, value)
    else:
        fits = name not in NOT_BLANK or bool(value.strip())
    if not (fits and value.isprintable()):
        example = words[0] if words else str(current).lower()
        least = f"; the smallest is {LEAST[name]}" if name in LEAST else ""
        shown = value if value.isprintable() else repr(value)
        raise InputError(f"{name}={shown} does not fit; give a value like {name}={example}{least}")
    update_settings(settings, f"{name}={value}")


def name_server_settings(given: Mapping[str, str]) -> NameServerSettings:
    """Return a name server's settings. Raises InputError for an unknown name or a value that is not true or false."""
    for name, value in given.items():
        if name not in NAME_SERVER_FIELDS:
            raise InputError(f"unknown name server setting {name!r}; {offer(name, NAME_SERVER_FIELDS)}")
        if value.lower() not in ("true", "false"):
            raise InputError(f"{name}={value!r} does not fit; give {name}=true or {name}=false")
    return NameServerSettings(**{NAME_SERVER_FIELDS[name]: java_boolean(value) for name, value in given.items()})


def _is_number(name: str, value: str) -> bool:
    """Return whether a value is a Java number that the setting can have."""
    number = java_long(value)
    return number is not None and (name not in LEAST or LEAST[name] <= number < INT.stop)


def _words(field: str) -> tuple[str, ...]:
    """Return the words that a setting can have, () if it is not an enumeration."""
    kind = get_type_hints(BrokerSettings)[field]
    return get_args(kind) if get_origin(kind) is Literal else ()
