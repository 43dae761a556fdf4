"""A target as a file: the commands that start its parts, what they need, and what they offer, in TOML.

Texts may hold placeholders in braces, which `PLACEHOLDERS` explains; `{{` is a brace. Whatever is wrong is an InputError of
one line that begins with the file and the line.
"""

from __future__ import annotations

import re
import string
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

from rocketproof_profiles import PROFILES

from ..choices import InputError, known, offer
from ..steps.parts import Capability
from .deployment import OF_TARGETS

PLACEHOLDERS: Final[Mapping[str, str]] = {
    "port": "the port to listen on",
    "host": "the host to listen on",
    "name_server": "host:port of the name server; empty without one",
    "name": "the broker's name",
    "store": "the directory for its files",
    "settings": "a file with its settings, a line name=value for each",
    "home": "an empty folder of its own, which goes away",
    "folder": "the folder of the description",
}

_TOP = {"name", "version", "profile", "name-server", "broker", "limits", "without"}
_SERVER = {"start", "stop", "kill", "ready", "env", "around"}
_BROKER = _SERVER | {"settings"}
_LIMITS = {"ready", "stop"}
_AT = re.compile(r"\(at line (\d+), column \d+\)|\(at end of document\)")


@dataclass(frozen=True)
class Commands:
    """The commands of a part. `ready` is a pattern in its output, without one it is asked; `around`: ports that have to be free, by their
    distance from its own."""

    start: tuple[str, ...]
    stop: tuple[str, ...]
    kill: tuple[str, ...]
    ready: re.Pattern[str] | None
    env: Mapping[str, str]
    around: tuple[int, ...]
    settings: Mapping[str, str]

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts that may hold placeholders."""
        return (*self.start, *self.stop, *self.kill, *self.env.values(), *self.settings.values())

    def uses(self, placeholder: str) -> bool:
        return any(placeholder in _names(text) for text in self.texts)


@dataclass(frozen=True)
class Description:
    """What a file says of a target. Limits are seconds."""

    path: Path
    name: str
    version: str
    profile: str
    name_server: Commands | None
    broker: Commands
    ready_seconds: float
    stop_seconds: float
    without: frozenset[Capability]


def read(path: Path) -> Description:
    """The description in a file. Raises InputError."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise InputError(f"{path} cannot be read as a target ({getattr(problem, 'strerror', None) or 'it is not a text'})") from None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        at = _AT.search(str(problem))
        line = at[1] if at is not None and at[1] else str(len(text.splitlines()) or 1)
        raise InputError(f"{path}:{line}: {_AT.sub('', str(problem)).strip()}") from None
    return _Reader(path, text).description(data)


def fill(text: str, values: Mapping[str, str]) -> str:
    """A text with its placeholders replaced."""
    return text.format_map(values)


def _names(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


class _Reader:
    """Values of the right kind, or an error with the line that they stand in."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._lines = text.splitlines()

    def description(self, data: Mapping[str, Any]) -> Description:
        self._keys(data, "", _TOP)
        limits = self._table(data, "", "limits")
        self._keys(limits, "limits", _LIMITS)
        if "broker" not in data:
            self._refuse("", "", "the table [broker] with its start command is missing")
        return Description(
            path=self._path,
            name=self._text(data, "", "name", self._path.stem),
            version=self._text(data, "", "version", ""),
            profile=self._one_of(data, "profile", "P49", PROFILES),
            name_server=self._commands(data, "name-server", _SERVER) if "name-server" in data else None,
            broker=self._commands(data, "broker", _BROKER),
            ready_seconds=self._seconds(limits, "ready", 60.0),
            stop_seconds=self._seconds(limits, "stop", 30.0),
            without=self._capabilities(data),
        )

    def _commands(self, data: Mapping[str, Any], where: str, names: set[str]) -> Commands:
        table = self._table(data, "", where)
        self._keys(table, where, names)
        if "start" not in table:
            self._refuse(where, "", f'[{where}] has no start command; give start = ["program", "argument"]')
        start = self._command(table, where, "start")
        if not start:
            self._refuse(where, "start", "start is empty; give the program and its arguments")
        return Commands(
            start=start,
            stop=self._command(table, where, "stop"),
            kill=self._command(table, where, "kill"),
            ready=self._pattern(table, where),
            env=self._texts(table, where, "env"),
            around=self._around(table, where),
            settings=self._texts(table, where, "settings"),
        )

    def _command(self, table: Mapping[str, Any], where: str, key: str) -> tuple[str, ...]:
        value = table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            self._refuse(where, key, f'{key} is not a list of texts; give {key} = ["program", "argument"]')
        return tuple(self._template(one, where, key) for one in value)

    def _texts(self, table: Mapping[str, Any], where: str, key: str) -> dict[str, str]:
        value = self._table(table, where, key)
        found = {}
        for name, one in value.items():
            if isinstance(one, bool):
                one = str(one).lower()
            if not isinstance(one, str | int | float):
                self._refuse(f"{where}.{key}", name, f"{name} is not a text or a number")
            found[name] = self._template(str(one), f"{where}.{key}", name)
        return found

    def _template(self, text: str, where: str, key: str) -> str:
        try:
            names = _names(text)
        except ValueError as problem:
            self._refuse(where, key, f"{text!r}: {problem}; write {{{{ for a brace")
        for name in names - PLACEHOLDERS.keys():
            self._refuse(where, key, f"unknown placeholder {{{name}}}; {offer(name, PLACEHOLDERS)}")
        return text

    def _pattern(self, table: Mapping[str, Any], where: str) -> re.Pattern[str] | None:
        text = self._text(table, where, "ready", "")
        try:
            return re.compile(text) if text else None
        except re.error as problem:
            self._refuse(where, "ready", f"ready is not a regular expression: {problem}")

    def _around(self, table: Mapping[str, Any], where: str) -> tuple[int, ...]:
        value = table.get("around", [])
        if not isinstance(value, list) or not all(isinstance(one, int) and not isinstance(one, bool) and abs(one) < 1000 for one in value):
            self._refuse(where, "around", "around is not a list of distances from the port; give around = [-2, 1]")
        return tuple({0, *value})

    def _capabilities(self, data: Mapping[str, Any]) -> frozenset[Capability]:
        value = data.get("without", [])
        names = [one.value for one in Capability if one in OF_TARGETS]
        if not isinstance(value, list):
            self._refuse("", "without", f"without is not a list; {offer('', names)}")
        for one in value:
            if one not in names:
                self._refuse("", "without", f"unknown capability {one!r}; {offer(str(one), names)}")
        return frozenset(Capability(one) for one in value)

    def _seconds(self, limits: Mapping[str, Any], key: str, default: float) -> float:
        value = limits.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
            self._refuse("limits", key, f"{key} is not a number of seconds above 0")
        return float(value)

    def _one_of(self, data: Mapping[str, Any], key: str, default: str, names: Mapping[str, Any]) -> str:
        try:
            return known(key, self._text(data, "", key, default), names)
        except InputError as problem:
            self._refuse("", key, str(problem))

    def _text(self, table: Mapping[str, Any], where: str, key: str, default: str) -> str:
        value = table.get(key, default)
        if not isinstance(value, str):
            self._refuse(where, key, f"{key} is not a text; put it into quotes")
        return value

    def _table(self, data: Mapping[str, Any], where: str, key: str) -> Mapping[str, Any]:
        value = data.get(key, {})
        if not isinstance(value, dict):
            self._refuse(where, key, f"{key} is not a table; write [{f'{where}.' if where else ''}{key}] with lines below")
        return value

    def _keys(self, table: Mapping[str, Any], where: str, names: set[str]) -> None:
        for key in table:
            if key not in names:
                self._refuse(where, key, f"unknown key {key!r}{f' in [{where}]' if where else ''}; {offer(key, sorted(names))}")

    def _refuse(self, where: str, key: str, problem: str) -> NoReturn:
        raise InputError(f"{self._path}:{self._line(where, key)}: {problem}")

    def _line(self, where: str, key: str) -> int:
        """Where a key of a table stands: below the table's head, or in a table that is written in one line, or the head itself."""
        head = re.compile(rf"\s*\[\s*{re.escape(where)}\s*\]") if where else None
        start = 0 if head is None else next((n for n, line in enumerate(self._lines) if head.match(line)), 0)
        here = (
            re.compile(rf"\s*\[\s*{re.escape(f'{where}.{key}' if where else key)}\s*\]|\s*[\"']?{re.escape(key)}[\"']?\s*=")
            if key
            else None
        )
        inner = re.compile(rf"[{{,]\s*[\"']?{re.escape(key)}[\"']?\s*=")
        if here is None:
            return start + 1
        for number in range(start, len(self._lines)):
            if here.match(self._lines[number]) or inner.search(self._lines[number]):
                return number + 1
        return start + 1
