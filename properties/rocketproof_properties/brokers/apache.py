"""Apache RocketMQ, any release: a name server and brokers in Java, with small files and bounded memory.

The name server may be of another release than the brokers; its switches are then those of its own release.

Settings that differ from a release's defaults are those of the recordings in `tests/data`. For 5.x some settings also keep a broker small
and on the local machine. All of them can be overridden.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from rocketproof_profiles import PAIR
from rocketproof_profiles.releases import is_recorded, line_of, nearest_profile
from rocketproof_protocol.flags import READ, WRITE

from ..programs.parts import NAME_SERVER, Capability
from . import faketime, jars, probe
from .deployment import DEFAULT, FILE_SIZES, OF_TARGETS, SMALL_INDEX, Setup, TargetError, ValidationTarget
from .javaprograms import QUICK
from .ports import AROUND_BROKER, HOST, Addresses
from .processes import Launch, Processes, configure, opened

_SETTINGS = {
    "brokerClusterName": "DefaultCluster",
    "brokerId": "0",
    "brokerIP1": HOST,
    "brokerIP2": HOST,
    "bindAddress": HOST,
    **FILE_SIZES,
    **SMALL_INDEX,
}
_SOCKET_BYTES = 1 << 20
_FLAGS = (
    "-Xms64m",
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:MaxDirectMemorySize=256m",
    "-Djava.net.preferIPv4Stack=true",
    # Early releases have buffers of 65,535 bytes, less than two segments of the loopback device. 4.1.0's name server then read 8 KiB in
    # 200 ms, and the registrations of a hundred new topics were seconds to minutes late.
    f"-Dcom.rocketmq.remoting.socket.sndbuf.size={_SOCKET_BYTES}",
    f"-Dcom.rocketmq.remoting.socket.rcvbuf.size={_SOCKET_BYTES}",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
)
_PERMISSION: Final = "brokerPermission"
_REGISTERS: Final = 0.5
"""Seconds within which a broker that answers has registered, unless it waits for its first period of ten seconds."""
_LOGBACK = """<configuration>
  <appender name="out" class="{package}core.ConsoleAppender">
    <encoder><pattern>%d{{HH:mm:ss.SSS}} %p %logger - %m%n</pattern></encoder>
  </appender>
  <root level="ERROR"><appender-ref ref="out"/></root>
</configuration>
"""


class Apache(ValidationTarget):
    """A release of Apache RocketMQ, or a pair: brokers of one release with a name server of another.

    `quick`: starting takes two thirds of the CPU time, but the broker is slower after many thousands of requests. Raises TargetError for an
    invalid version.
    """

    def __init__(self, version: str, *, name_server: str | None = None, profile: str | None = None, quick: bool = True) -> None:
        self.flags = (*_FLAGS, QUICK) if quick else _FLAGS
        self.offers = OF_TARGETS | ({Capability.SET_CLOCK} if faketime.library() is not None else frozenset())
        self.releases = _Releases(jars.known_version(version), jars.known_version(name_server or version))
        both = tuple(dict.fromkeys(self.releases))
        self.version = PAIR.join(both)
        self.name = PAIR.join(f"apache:{release}" for release in both)
        nearest = {release: nearest_profile(release) for release in both}
        self.profile = profile or PAIR.join(dict.fromkeys(nearest.values()))
        self.note = "; ".join(
            f"no profile was recorded of {release}: what this release does otherwise than those of {near} is a finding"
            for release, near in nearest.items()
            if not is_recorded(release)
        )

    def open(self, setup: Setup = DEFAULT) -> Processes:
        return opened(lambda: Processes(_Builder(self, jars.java()), setup).begin())


class _Releases(NamedTuple):
    """The versions of the parts."""

    brokers: str
    name_server: str

    def of(self, part: str) -> str:
        return self.name_server if part == NAME_SERVER else self.brokers


class _Builder:
    """Commands and files of one deployment."""

    def __init__(self, target: Apache, java: str) -> None:
        self.name, self.offers = target.name, target.offers
        self._java, self._flags, self._releases = java, target.flags, target.releases
        self._libraries = {version: jars.folder(version) for version in target.releases}

    def addresses(self, setup: Setup) -> tuple[str | None, dict[str, str]]:
        fresh = Addresses()
        return fresh.take(), {name: fresh.take(AROUND_BROKER) for name in setup.names}

    def launch(self, running: Processes, part: str) -> Launch:
        home = running.home(part)
        version = self._releases.of(part)
        _write_logging(home, version)
        assert running.name_server is not None
        if part == NAME_SERVER:
            address = running.name_server
            port = address.rpartition(":")[2]
            own = {"listenPort": port, "bindAddress": HOST, "kvConfigPath": str(home / "kvConfig.json")}
            _write_properties(home / "server.conf", {**own, **running.name_server_settings})
            return self._launch(home, version, line_of(version).start.name_server, lambda: name_server_ready(address))
        settings = self._settings(running, part)
        _write_properties(home / "server.conf", settings)
        launch = self._launch(home, version, line_of(version).start.broker, _Registering(running, part, settings))
        ahead = running.clocks.get(part, 0)
        return replace(launch, env={**launch.env, **faketime.environment(ahead)}) if ahead else launch

    def _settings(self, running: Processes, part: str) -> dict[str, str]:
        store = running.store_folder(part)
        settings = {
            **_SETTINGS,
            **dict(line_of(self._releases.brokers).start.settings),
            "brokerName": part,
            "namesrvAddr": str(running.name_server),
            "listenPort": running.brokers[part].rpartition(":")[2],
            "storePathRootDir": str(store),
            "storePathCommitLog": str(store / "commitlog"),
            **running.settings[part],
        }
        # Up to 4.5.1 these names are misspelt; a release ignores unknown names.
        misspelt = {name.replace("mapped", "maped", 1): value for name, value in settings.items() if name.startswith("mapped")}
        return settings | misspelt

    def _launch(self, home: Path, version: str, main: str, ready: Callable[[], None]) -> Launch:
        places = (f"-Duser.home={home}", f"-Drmq.logback.configurationFile={home / 'conf' / 'logback.xml'}")
        command = (self._java, *self._flags, *places, "-cp", f"{self._libraries[version]}/*", main, "-c", str(home / "server.conf"))
        # Use the address in the file, not the one in the caller's environment.
        env = {"ROCKETMQ_HOME": str(home), "NAMESRV_ADDR": ""}
        return Launch(command, ready, env, home)


def _write_logging(home: Path, version: str) -> None:
    """Write one logging configuration for all parts. 5.x contains its own copy of the library."""
    folder = home / "conf"
    folder.mkdir(exist_ok=True)
    package = line_of(version).start.logback
    for name in ("logback.xml", "logback_namesrv.xml", "logback_broker.xml"):
        (folder / name).write_text(_LOGBACK.format(package=package), "utf-8")


def _write_properties(path: Path, values: Mapping[str, str]) -> None:
    escaped = {name: value.replace("\\", "\\\\") for name, value in values.items()}
    path.write_text("".join(f"{name}={value}\n" for name, value in escaped.items()), "utf-8")


def name_server_ready(address: str) -> None:
    """Raise TargetError unless the name server answers. It need not know a broker yet."""
    with contextlib.suppress(probe.NoBrokers):
        probe.cluster(address)


class _Registering:
    """Like `broker_ready`, but makes a broker register that has not registered by itself.

    From 5.1.1 on a broker registers with the name servers found so far and looks them up in another thread. A broker that starts fast has
    found none and registers ten seconds later. It registers at once if its permission is set, even to the same value.
    """

    def __init__(self, running: Processes, part: str, settings: Mapping[str, str]) -> None:
        self._running, self._part, self._settings = running, part, settings
        self._answers: float | None = None

    def __call__(self) -> None:
        try:
            broker_ready(self._running, self._part, self._settings)
        except probe.NoBrokers:
            now = time.monotonic()
            self._answers = self._answers or now
            if now - self._answers > _REGISTERS:
                self._answers = math.inf
                with contextlib.suppress(TargetError):
                    configure(self._running.brokers[self._part], {_PERMISSION: self._settings.get(_PERMISSION, str(READ | WRITE))})
            raise


def broker_ready(running: Processes, part: str, settings: Mapping[str, str]) -> None:
    """Raise TargetError unless the broker answers and, if it is a master, its first name server knows it."""
    address, server = running.brokers[part], settings["namesrvAddr"].partition(";")[0]
    probe.broker(address)
    if settings["brokerId"] == probe.MASTER and probe.cluster(server).get(settings["brokerName"]) != address:
        raise probe.NoBrokers(f"the name server at {server} does not know {part} yet")
