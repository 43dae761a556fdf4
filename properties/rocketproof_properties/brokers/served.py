"""The reference implementation as a target: `rocketproof serve`, a process for the name server and one for each broker."""

from __future__ import annotations

import os
import sys

from ..programs.parts import NAME_SERVER, Capability
from . import probe
from .apache import broker_ready, name_server_ready
from .deployment import DEFAULT, FILE_SIZES, OF_TARGETS, Setup, ValidationTarget
from .inprocess import LACKS
from .ports import AROUND_BROKER, Addresses
from .processes import Launch, Processes, opened

_COMMAND = (sys.executable, "-c", "from rocketproof_properties.commands import main; main()", "serve", "--quiet")


class Served(ValidationTarget):
    """The reference implementation with the behaviour of a profile."""

    offers = OF_TARGETS | {Capability.SET_CLOCK}
    lacks = LACKS
    command: tuple[str, ...] = _COMMAND

    def __init__(self, profile: str = "P494") -> None:
        self.name = f"rocketproof:{profile}"
        self.version = profile
        self.profile = profile

    def open(self, setup: Setup = DEFAULT) -> Processes:
        return opened(lambda: Processes(_Builder(self), setup).begin())


class _Builder:
    """The commands of one deployment."""

    def __init__(self, target: Served) -> None:
        self.name, self.offers = target.name, target.offers
        self._profile = target.profile
        self._command = target.command

    def addresses(self, setup: Setup) -> tuple[str | None, dict[str, str]]:
        fresh = Addresses()
        return fresh.take(), {name: fresh.take(AROUND_BROKER) for name in setup.names}

    def launch(self, running: Processes, part: str) -> Launch:
        server = running.name_server
        assert server is not None
        if part == NAME_SERVER:
            options = ["--brokers", "0", "--nameserver-port", _port(server), "--profile", self._profile]
            for name, value in running.name_server_settings.items():
                options += ["--set-nameserver", f"{name}={value}"]
            return self._launch(options, running, part)
        settings = {"brokerName": part, **FILE_SIZES, **running.settings[part]}
        options = ["--no-nameserver", "--nameserver", server, "--port", _port(running.brokers[part])]
        options += ["--store", str(running.store_folder(part)), "--profile", self._profile]
        if running.clocks.get(part):
            options += ["--clock", str(running.clocks[part])]
        for name, value in settings.items():
            options += ["--set", f"{name}={value}"]
        return self._launch(options, running, part)

    def _launch(self, options: list[str], running: Processes, part: str) -> Launch:
        """Return how a command is started; it imports the packages from where this process imported them."""

        def ready() -> None:
            if part == NAME_SERVER:
                name_server_ready(str(running.name_server))
            else:
                settings = {"brokerId": probe.MASTER, "brokerName": part, "namesrvAddr": str(running.name_server), **running.settings[part]}
                broker_ready(running, part, settings)

        return Launch((*self._command, *options), ready, {"PYTHONPATH": os.pathsep.join(sys.path)}, running.home(part))


def _port(address: str) -> str:
    return address.rpartition(":")[2]
