"""The forms in which a user names a target or a profile. This module imports nothing heavy, so that an invalid name is rejected at once."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, NamedTuple

from rocketproof_profiles import PAIR, PROFILES
from rocketproof_profiles.releases import is_release, nearest_profile
from rocketproof_protocol.numbers import java_int

KNOWN: Final = Path(__file__).with_name("known")
"""The folder with descriptions of other brokers. A file's stem is the target's name."""
KINDS: Final = ("4.9.4", "apache:4.9.4", "apache:4.9.4+apache:5.3.3", "served", "inprocess", "rust", "alibaba", "FILE.toml")
"""Examples of the targets that can be started."""
_PORTS: Final = 65_536


class TargetForm(NamedTuple):
    """The kind of a target and the text after its colon, such as a release or profile. For an address, file or pair: the whole text."""

    kind: Literal["address", "apache", "pair", "served", "inprocess", "file"]
    rest: str


def form_of(text: str) -> TargetForm | None:
    """Return the form of a text, None if it names no target. The number of a release means apache:RELEASE."""
    if is_release(text):
        return TargetForm("apache", text)
    kind, colon, rest = text.partition(":")
    if PAIR in text and any(part.startswith("apache:") for part in text.split(PAIR)):
        return TargetForm("pair", text)
    if kind == "apache" and rest:
        return TargetForm("apache", rest)
    if kind == "served" and (rest or not colon):
        return TargetForm("served", rest)
    if kind == "inprocess" and (rest or not colon):
        return TargetForm("inprocess", rest)
    if text.endswith(".toml"):
        return TargetForm("file", text)
    if text.isidentifier() and (KNOWN / f"{text}.toml").is_file():
        return TargetForm("file", str(KNOWN / f"{text}.toml"))
    try:
        host_and_port(text)
    except ValueError:
        return None
    return TargetForm("address", text)


def profile_named(text: str) -> str:
    """Return the profile of a text: its name, or a release such as 4.9.4. Raises InputError with suggestions."""
    if is_release(text):
        return nearest_profile(text)
    from ..reports.choices import known

    return known("profile", text, PROFILES)


def parts_of(pair: str) -> tuple[str, str]:
    """Return the releases of a pair's broker and name server. Raises ValueError unless both are of Apache RocketMQ."""
    forms = [form_of(part) for part in pair.split(PAIR)]
    releases = [form.rest for form in forms if form is not None and form.kind == "apache"]
    if len(releases) != len(forms) or len(releases) != 2:
        raise ValueError("a pair is a broker and a name server of two releases, such as apache:4.9.4+apache:5.3.3")
    return releases[0], releases[1]


def is_address(text: str) -> bool:
    """Return whether a text is the address of a broker or a name server."""
    form = form_of(text)
    return form is not None and form.kind == "address"


def host_and_port(address: str) -> tuple[str, int]:
    """Split `host:port`. Raises ValueError."""
    host, _, port = address.rpartition(":")
    if not host or any(sign in host for sign in "/@ ") or (number := java_int(port)) is None or not 0 < number < _PORTS:
        raise ValueError(f"{address!r} is not an address; give host:port, such as 127.0.0.1:10911")
    return host, number


__all__ = ["KINDS", "TargetForm", "form_of", "host_and_port", "is_address", "parts_of", "profile_named"]
