"""A target in a TOML file: the commands that start its parts, their requirements, and their capabilities.

Texts may contain placeholders in braces, which `PLACEHOLDERS` explains; `{{` is a literal brace. Every error is an InputError of one line
that begins with the file and the line number.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rocketproof_profiles import PROFILES
from rocketproof_protocol.numbers import whole_number

from ..programs.parts import Capability
from ..reports.choices import InputError, TomlTable, known, offer, read_toml
from .deployment import OF_TARGETS

PLACEHOLDERS: Final[Mapping[str, str]] = {
    "port": "the port to listen on; {port+1} and {port-2} are free ports beside it",
    "host": "the host to listen on",
    "name_server": "host:port of the name server; empty without one",
    "name": "the broker's name",
    "store": "the directory for its files",
    "settings": "a file with its settings, a line name=value for each",
    "home": "an empty folder of its own, which goes away",
    "folder": "the folder of the description",
    "cache": "the folder of what is fetched or built once",
}

_NEXT_PORT = re.compile(r"port([+-][1-9][0-9]{0,2})")
_TOP = ("name", "version", "profile", "note", "install", "needs", "programs", "name-server", "broker", "limits", "without")
_PART = ("start", "stop", "kill", "ready", "env", "around", "settings")
_LIMITS = ("ready", "stop")


@dataclass(frozen=True)
class Commands:
    """The commands of a part.

    `ready`: a pattern in its output; None: a request checks it. `around`: distances from its port to further ports that must be free.
    """

    start: tuple[str, ...]
    stop: tuple[str, ...]
    kill: tuple[str, ...]
    ready: re.Pattern[str] | None
    env: Mapping[str, str]
    around: tuple[int, ...]
    settings: Mapping[str, str]

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts that may contain placeholders."""
        return (*self.start, *self.stop, *self.kill, *self.env.values(), *self.settings.values())

    def uses(self, placeholder: str) -> bool:
        return any(placeholder in _names(text) for text in self.texts)

    @property
    def ports(self) -> tuple[int, ...]:
        """The distances of all ports that it needs."""
        further = [whole_number(match[1]) for text in self.texts for name in _names(text) if (match := _NEXT_PORT.fullmatch(name))]
        return tuple({*self.around, *further})

    def beside(self, port: int) -> dict[str, str]:
        """Return the values of the port placeholders."""
        return {"port": str(port), **{f"port{distance:+d}": str(port + distance) for distance in self.ports if distance}}


@dataclass(frozen=True)
class Description:
    """The content of a target's file. Limits are in seconds.

    - `programs`: folders that are searched for its programs before those of PATH.
    - `needs`: files that must exist.
    - `install`: how to install both.
    - `note`: information for readers of its reports.
    """

    path: Path
    name: str
    version: str
    profile: str
    note: str
    install: str
    needs: tuple[str, ...]
    programs: tuple[str, ...]
    name_server: Commands | None
    broker: Commands
    ready_seconds: float
    stop_seconds: float
    without: frozenset[Capability]


def read(path: Path) -> Description:
    """Return the description in a file. Raises InputError."""
    text, data = read_toml(path, str(path), "a TOML file that describes a target")
    lines = text.splitlines()
    return _description(path, TomlTable(data, lambda where, key: f"{path}:{_line(lines, where, key)}", _TOP))


def fill(text: str, values: Mapping[str, str]) -> str:
    """Return a text with its placeholders replaced."""
    return text.format_map(values)


def _names(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def _description(path: Path, top: TomlTable) -> Description:
    limits = top.inner("limits", _LIMITS)
    if "broker" not in top:
        top.refuse("", "the table [broker] with its start command is missing")
    return Description(
        path=path,
        name=top.text("name", path.stem),
        version=top.text("version", ""),
        profile=_profile(top),
        note=top.text("note", ""),
        install=_template(top, "install", top.text("install", "")),
        needs=_command(top, "needs", 'give needs = ["file"]'),
        programs=_command(top, "programs", 'give programs = ["folder"]'),
        name_server=_commands(top.inner("name-server", _PART)) if "name-server" in top else None,
        broker=_commands(top.inner("broker", _PART)),
        ready_seconds=_seconds(limits, "ready", 60.0),
        stop_seconds=_seconds(limits, "stop", 30.0),
        without=_capabilities(top),
    )


def _commands(table: TomlTable) -> Commands:
    if "start" not in table:
        table.refuse("", f'[{table.name}] has no start command; give start = ["program", "argument"]')
    start = _command(table, "start")
    if not start:
        table.refuse("start", "start is empty; give the program and its arguments")
    return Commands(
        start=start,
        stop=_command(table, "stop"),
        kill=_command(table, "kill"),
        ready=table.pattern("ready"),
        env=_texts(table.inner("env")),
        around=_around(table),
        settings=_texts(table.inner("settings")),
    )


def _command(table: TomlTable, key: str, remedy: str = "") -> tuple[str, ...]:
    texts = table.many(key, str, "a list of texts", remedy or f'give {key} = ["program", "argument"]')
    return tuple(_template(table, key, text) for text in texts)


def _texts(table: TomlTable) -> dict[str, str]:
    """Return the values of a table with arbitrary keys. Each is a text, a number or a boolean."""
    texts = {}
    for name, value in table.data.items():
        if not isinstance(value, str | int | float):
            table.refuse(name, f"{name} is not a text or a number; put it into quotes")
        texts[name] = _template(table, name, str(value).lower() if isinstance(value, bool) else str(value))
    return texts


def _template(table: TomlTable, key: str, text: str) -> str:
    try:
        names = _names(text)
    except ValueError as problem:
        table.refuse(key, f"{text!r}: {problem}; write {{{{ for a brace")
    for name in [unknown for unknown in names if unknown not in PLACEHOLDERS and not _NEXT_PORT.fullmatch(unknown)]:
        table.refuse(key, f"unknown placeholder {{{name}}}; {offer(name, PLACEHOLDERS)}")
    return text


def _around(table: TomlTable) -> tuple[int, ...]:
    distances = table.many(
        "around", int, "a list of distances from the port", "give around = [-2, 1]", lambda distance: abs(distance) < 1000
    )
    return tuple({0, *distances})


def _capabilities(top: TomlTable) -> frozenset[Capability]:
    names = [capability.value for capability in Capability if capability in OF_TARGETS]
    excluded = top.many("without", str, "a list of texts", offer("", names))
    for name in excluded:
        if name not in names:
            top.refuse("without", f"unknown capability {name!r}; {offer(name, names)}")
    return frozenset(Capability(name) for name in excluded)


def _seconds(limits: TomlTable, key: str, default: float) -> float:
    return limits.get(
        key, float, "a number of seconds above 0", f"give {key} = {default:g}", default=default, fits=lambda value: 0 < value < float("inf")
    )


def _profile(top: TomlTable) -> str:
    try:
        return known("profile", top.text("profile", "P49"), PROFILES)
    except InputError as problem:
        top.refuse("profile", str(problem))


def _line(lines: Sequence[str], where: str, key: str) -> int:
    """Return the line number of a key: below the table's head, in an inline table, or the head itself."""
    head = re.compile(rf"\s*\[\s*{re.escape(where)}\s*\]") if where else None
    start = 0 if head is None else next((n for n, line in enumerate(lines) if head.match(line)), 0)
    if not key:
        return start + 1
    here = re.compile(rf"\s*\[\s*{re.escape(f'{where}.{key}' if where else key)}\s*\]|\s*[\"']?{re.escape(key)}[\"']?\s*=")
    inner = re.compile(rf"[{{,]\s*[\"']?{re.escape(key)}[\"']?\s*=")
    return next((n for n in range(start, len(lines)) if here.match(lines[n]) or inner.search(lines[n])), start) + 1
