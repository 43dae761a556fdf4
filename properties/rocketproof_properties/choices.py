"""Names that a user typed: found, or refused in one line that offers the nearest valid ones."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from rocketproof_model import RocketproofError


class InputError(RocketproofError):
    """Something given on the command line or in a file cannot be used; `str(error)` is one line, the exit code is 2."""


def known(what: str, given: str, names: Iterable[str]) -> str:
    """The name `given` if it is one of `names` (in whatever case it was typed), else an InputError that offers others."""
    choices = list(dict.fromkeys(names))
    if given in choices:
        return given
    same = [name for name in choices if name.lower() == given.lower()]
    if len(same) == 1:
        return same[0]
    raise InputError(f"unknown {what} {given!r}; {offer(given, choices)}")


def offer(given: str, names: Iterable[str]) -> str:
    """What to use instead: all names if they are few, else the nearest."""
    choices = list(dict.fromkeys(names))
    if not choices:
        return "there is none to choose from"
    lower = {name.lower(): name for name in choices}
    near = [lower[n] for n in difflib.get_close_matches(given.lower(), lower, n=3, cutoff=0.5)]
    number = re.fullmatch(r"([A-Za-z]+)-?0*(\d+)", given)
    if number is not None:  # ids are meant by their numbers: haz-3 is HAZ-03
        meant = [name for name in choices if re.fullmatch(rf"{number[1]}-0*{number[2]}", name, re.IGNORECASE)]
        near = [*meant, *(name for name in near if name not in meant)][:3]
    if len(choices) <= 8:
        rest = [name for name in choices if name not in near]
        return f"use {', '.join(near + rest)}"
    shown = near or choices[:5]
    return f"the nearest of {len(choices)} are {', '.join(shown)}"


def split(setting: str, example: str = "autoCreateTopicEnable=false") -> tuple[str, str]:
    """Name and value of a setting of a broker, given as name=value. Raises InputError, which shows an example."""
    name, equals, value = setting.partition("=")
    if not name or not equals:
        raise InputError(f"--set {setting}: is not a setting; give name=value, such as {example}")
    return name, value
