"""Settings of a broker as users type them: `name=value`, by RocketMQ's names."""

from __future__ import annotations

from typing import Literal, get_args, get_origin, get_type_hints

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.broker.settingstext import FIELDS, update_settings

from .choices import InputError, offer


def change(settings: BrokerSettings, name: str, value: str) -> None:
    """Set one. Raises InputError for an unknown name or a value that does not fit."""
    field = FIELDS.get(name)
    if field is None:
        raise InputError(f"unknown broker setting {name!r}; {offer(name, FIELDS)}")
    current = getattr(settings, field)
    words = _words(field)
    if words:
        fits = value in words
    elif isinstance(current, bool):
        fits = value.lower() in ("true", "false")
    else:
        fits = not isinstance(current, int) or value.lstrip("-").isdecimal()
    if not fits:
        raise InputError(f"{name}={value} does not fit; give a value like {name}={words[0] if words else str(current).lower()}")
    update_settings(settings, f"{name}={value}")


def _words(field: str) -> tuple[str, ...]:
    """The words that a setting can be, () if it is not one of a few words."""
    kind = get_type_hints(BrokerSettings)[field]
    return get_args(kind) if get_origin(kind) is Literal else ()
