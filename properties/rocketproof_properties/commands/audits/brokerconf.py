"""The settings of the broker that wrote a store, as far as rules use them: from its configuration file, or from options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rocketproof_protocol.numbers import INT, whole_number
from rocketproof_spec.bounds import delays_of
from rocketproof_traces.audit.segment import LEVELS

from ...reports.choices import InputError, known, split

_LONGEST = (1 << 61) - 1  # milliseconds, as rules compute with them


def of_broker(file: Path | None, options: Sequence[str]) -> dict[str, Any]:
    """Return an audit's settings from a file such as broker.conf and from texts NAME=VALUE, which override the file. Raises InputError."""
    result: dict[str, Any] = {}
    for source, settings in ((str(file), _in_file(file)), ("--set", _from_options(options))):
        for name in settings.keys() & _READ.keys():
            try:
                result |= _READ[name](settings[name])
            except (KeyError, ValueError):
                raise InputError(f"{source}: {name}={settings[name]} is no value that a broker takes; {_FORMS[name]}") from None
    return result


def _from_options(options: Sequence[str]) -> Mapping[str, str]:
    return {known("setting", name, _READ): value for name, value in (split(text, "maxMessageSize=8388608") for text in options)}


def _in_file(file: Path | None) -> Mapping[str, str]:
    if file is None:
        return {}
    from rocketproof_impl.broker.settingstext import properties_of

    try:
        return properties_of(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
        raise InputError(f"--broker-conf {file}: cannot be read ({why}); give the file that the broker is started with") from None


def _delay_levels(value: str) -> dict[str, Any]:
    waits = delays_of(value.strip('"'))
    if not waits or max(waits) > _LONGEST:
        raise ValueError
    return {LEVELS: waits, "max_delay_level": len(waits)}


def _size(value: str) -> dict[str, Any]:
    return {"max_message_size": whole_number(value, range(INT.stop))}


_READ: Mapping[str, Callable[[str], dict[str, Any]]] = {"messageDelayLevel": _delay_levels, "maxMessageSize": _size}
_FORMS = {"messageDelayLevel": 'give numbers with s, m, h or d, such as "1s 5s 1m"', "maxMessageSize": "give bytes, at most 2147483647"}
