"""A target that consists of commands: any broker whose commands are in a TOML file (`description.py`)."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from rocketproof_protocol.numbers import whole_number

from ..programs.parts import NAME_SERVER, Capability
from . import probe
from .deployment import DEFAULT, OF_TARGETS, NotOffered, Setup, TargetError, ValidationTarget
from .description import Commands, Description, fill, read
from .jars import cache
from .ports import HOST, Addresses
from .processes import Launch, Processes, opened


class CommandTarget(ValidationTarget):
    """The target that a file describes. Raises InputError with the file and the line."""

    def __init__(self, path: Path) -> None:
        self.description = description = read(path)
        self.name, self.version, self.profile = description.name, description.version, description.profile
        self.note = description.note
        self.offers = _offers(description)

    def open(self, setup: Setup = DEFAULT) -> Processes:
        changed = any(setup.settings_of(name) for name in setup.names)
        if changed and not self.description.broker.uses("settings"):
            raise NotOffered(f"{self.name} (its start command has no {{settings}})", Capability.START)
        if setup.name_server and Capability.START_NAME_SERVER not in self.offers:
            raise NotOffered(f"{self.name} (its name server's start command has no {{settings}})", Capability.START_NAME_SERVER)
        if setup.stores and not self.description.broker.uses("store"):
            raise NotOffered(f"{self.name} (its start command has no {{store}})", Capability.STORE)
        limits = self.description
        _require_files(limits)
        for commands in filter(None, (limits.name_server, limits.broker)):
            program(limits, commands)
        builder = _Builder(self)
        return opened(lambda: Processes(builder, setup, ready_seconds=limits.ready_seconds, stop_seconds=limits.stop_seconds).begin())


def _offers(description: Description) -> frozenset[Capability]:
    capabilities = set(OF_TARGETS)
    for placeholder, capability in (("store", Capability.STORE), ("settings", Capability.START)):
        if not description.broker.uses(placeholder):
            capabilities.discard(capability)
    if description.name_server is None or not description.name_server.uses("settings"):
        capabilities.discard(Capability.START_NAME_SERVER)
    return frozenset(capabilities - description.without)


def program(description: Description, commands: Commands) -> str:
    """Return the path of a part's program. A name without a slash is searched in the file's folders, then in PATH. Raises TargetError."""
    name = commands.start[0]
    if "/" in name:
        return name
    common = _common_values(description)
    folders = [*(str(Path(fill(folder, common)).expanduser()) for folder in description.programs), os.environ.get("PATH", os.defpath)]
    path = shutil.which(name, path=os.pathsep.join(folders))
    if path is None:
        how = fill(description.install, common) or "install it or give its path"
        raise TargetError(f"{description.name}: there is no {name} in {', '.join([*folders[:-1], 'PATH'])}; {how}")
    return path


def _require_files(description: Description) -> None:
    """Raise TargetError for the first required file that does not exist."""
    common = _common_values(description)
    for needed in (Path(fill(file, common)).expanduser() for file in description.needs):
        if not needed.is_file():
            how = fill(description.install, common) or "put it there"
            raise TargetError(f"{description.name}: there is no {needed}; {how}")


def _common_values(description: Description) -> dict[str, str]:
    """Return the values of the placeholders that are the same for all parts."""
    return {"folder": str(description.path.parent.absolute()), "cache": str(cache())}


class _Builder:
    """Commands and files of one deployment."""

    def __init__(self, target: CommandTarget) -> None:
        self.name, self.offers = target.name, target.offers
        self._description = target.description

    def addresses(self, setup: Setup) -> tuple[str | None, dict[str, str]]:
        fresh = Addresses()
        server, broker = self._description.name_server, self._description.broker
        return None if server is None else fresh.take(server.ports), {name: fresh.take(broker.ports) for name in setup.names}

    def launch(self, running: Processes, part: str) -> Launch:
        server = self._description.name_server if part == NAME_SERVER else None
        commands = server or self._description.broker
        address = str(running.name_server) if part == NAME_SERVER else running.brokers[part]
        home = running.home(part)
        values = {
            **commands.beside(whole_number(address.rpartition(":")[2])),
            "host": HOST,
            "name_server": running.name_server or "",
            "name": part,
            "store": str(running.store_folder(part)),
            "settings": str(home / "settings.properties"),
            "home": str(home),
            **_common_values(self._description),
        }
        own = running.name_server_settings if part == NAME_SERVER else running.settings[part]
        settings = {**{name: fill(text, values) for name, text in commands.settings.items()}, **own}
        (home / "settings.properties").write_text("".join(f"{name}={value}\n" for name, value in settings.items()), "utf-8")
        return Launch(
            command=[fill(text, values) for text in (program(self._description, commands), *commands.start[1:])],
            ready=_ready(commands, running, part, address),
            env={name: fill(text, values) for name, text in commands.env.items()},
            folder=self._description.path.parent.absolute(),
            stop=[fill(text, values) for text in commands.stop],
            kill=[fill(text, values) for text in commands.kill],
        )


def _ready(commands: Commands, running: Processes, part: str, address: str) -> Callable[[], None]:
    """Return a check by the pattern in the output since the start or, without a pattern, by a request."""
    pattern = commands.ready
    if pattern is not None:
        return lambda: _printed(pattern, running.log(part))
    return lambda: _answers(part, address)


def _printed(pattern: re.Pattern[str], printed: str) -> None:
    if not pattern.search(printed):
        raise TargetError(f"it has not printed {pattern.pattern!r}")


def _answers(part: str, address: str) -> None:
    if part != NAME_SERVER:
        probe.broker(address)
        return
    with contextlib.suppress(probe.NoBrokers):
        probe.cluster(address)
