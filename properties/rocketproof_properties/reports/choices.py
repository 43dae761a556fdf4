"""Read what a user typed on the command line or in a TOML file. Errors are one line that states what to give instead."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Container, Iterable, Mapping
from pathlib import Path
from textwrap import shorten
from typing import Any, NoReturn, TypeVar

from rocketproof_model import RocketproofError

MESSAGES = "messages"
"""The scope of cases about histories: programs of messages."""
_Value = TypeVar("_Value")
_AT = re.compile(r"\(at line ([0-9]+), column [0-9]+\)|\(at end of document\)")


class InputError(RocketproofError):
    """A value on the command line or in a file cannot be used. `str(error)` is one line, the exit code is 2."""


def known(what: str, given: str, names: Iterable[str]) -> str:
    """Return `given` if it is one of `names`, ignoring case. Raises InputError with suggestions otherwise."""
    if isinstance(names, Container) and given in names:
        return given
    choices = list(dict.fromkeys(names))
    if given in choices:
        return given
    same = [name for name in choices if name.lower() == given.lower()]
    if len(same) == 1:
        return same[0]
    raise InputError(f"unknown {what} {given!r}; {offer(given, choices)}")


def offer(given: str, names: Iterable[str]) -> str:
    """Return a suggestion: all names if there are few, else the nearest, else some of them."""
    choices = list(dict.fromkeys(names))
    if not choices:
        return "there is none to choose from"
    lower = {name.lower(): name for name in choices}
    near = [lower[n] for n in difflib.get_close_matches(given.lower(), lower, n=3, cutoff=0.5)]
    number = re.fullmatch(r"([A-Za-z]*)-?0*([0-9]+)", given)
    if number is not None:  # an id may be given by its number: haz-3 and 3 mean HAZ-03
        meant = [name for name in choices if re.fullmatch(rf"{number[1] or '[a-z]+'}-0*{number[2]}", name, re.IGNORECASE)]
        near = [*meant, *(name for name in near if name not in meant)][:3]
    if len(choices) <= 9:
        rest = [name for name in choices if name not in near]
        return f"use {', '.join(near + rest)}"
    if not near:
        return f"there are {len(choices)}, such as {', '.join(choices[:5])}"
    return f"the nearest of {len(choices)} are {', '.join(near)}"


def split(setting: str, example: str = "autoCreateTopicEnable=false") -> tuple[str, str]:
    """Split a broker's setting name=value. Raises InputError with an example."""
    name, equals, value = setting.partition("=")
    if not name or not equals:
        raise InputError(f"--set {setting}: is not a setting; give name=value, such as {example}")
    return name, value


def read_toml(path: Path, shown: str, what: str) -> tuple[str, dict[str, Any]]:
    """Read a TOML file as text and as data. `shown` is its name in errors, `what` the kind of file expected. Raises InputError."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a text"
        raise InputError(f"{shown}: cannot be read ({reason}); give {what}") from None
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = _AT.search(str(error))
        line = at[1] if at is not None and at[1] else str(len(text.splitlines()) or 1)
        raise InputError(f"{shown}:{line}: is not TOML: {_AT.sub('', str(error)).strip()}; give {what}") from None


class TomlTable:
    """A table of a TOML file. Each value is returned with the expected type, or an InputError of one line is raised.

    `place` returns the beginning of an error from the table's name and a key; the key is "" for the table itself. `keys` are the allowed
    keys, None for any.
    """

    def __init__(
        self, data: Mapping[str, Any], place: Callable[[str, str], str], keys: Iterable[str] | None = None, name: str = ""
    ) -> None:
        self.data, self.name, self._place = data, name, place
        names = None if keys is None else tuple(keys)
        for key in data:
            if names is not None and key not in names:
                self.refuse(key, f"unknown key {key!r}{f' in [{name}]' if name else ''}; {offer(key, names)}")

    def __contains__(self, key: str) -> bool:
        return key in self.data

    def get(
        self,
        key: str,
        kind: type[_Value],
        expected: str,
        remedy: str,
        *,
        default: _Value | None = None,
        fits: Callable[[_Value], bool] = lambda _: True,
    ) -> _Value:
        """Return the value of a key, or its default.

        `expected` describes the value, `remedy` what to write. An integer is accepted as a float.
        """
        value = self.data.get(key, default)
        if value is None:
            self.refuse(key, f"{key} is missing; {remedy}")
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind or not fits(value):  # exact type: true is no integer, and a datetime is no date
            self.refuse(key, f"{key} is not {expected} but {_written(self.data.get(key))}; {remedy}")
        return value

    def many(
        self, key: str, kind: type[_Value], expected: str, remedy: str, fits: Callable[[_Value], bool] = lambda _: True
    ) -> list[_Value]:
        """Return a list of values of one type; empty if the key is missing."""
        return self.get(
            key, list, expected, remedy, default=[], fits=lambda all_: all(type(value) is kind and fits(value) for value in all_)
        )

    def text(self, key: str, default: str) -> str:
        return self.get(key, str, "a text", "put it into quotes", default=default)

    def pattern(self, key: str) -> re.Pattern[str] | None:
        """Return a regular expression; None if the key is missing."""
        text = self.text(key, "")
        try:
            return re.compile(text) if text else None
        except re.error as error:
            self.refuse(key, f"{key} is not a regular expression: {error}; put a backslash before what is meant literally")

    def inner(self, key: str, keys: Iterable[str] | None = None) -> TomlTable:
        """Return a table inside this table; empty if the key is missing."""
        name = f"{self.name}.{key}" if self.name else key
        return TomlTable(self.get(key, dict, "a table", f"write [{name}] with lines below", default={}), self._place, keys, name)

    def refuse(self, key: str, problem: str) -> NoReturn:
        """Raise InputError for a key."""
        raise InputError(f"{self._place(self.name, key)}: {problem}")


def _written(value: Any) -> str:
    """Return a value approximately as written in the file."""
    if isinstance(value, dict):
        return "a table"
    return str(value).lower() if isinstance(value, bool) else shorten(repr(value) if isinstance(value, str | list) else str(value), 60)
