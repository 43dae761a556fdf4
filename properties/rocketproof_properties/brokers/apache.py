"""Apache RocketMQ itself, any release: a name server and brokers in Java, with small files and bounded memory.

A name server may be of another release than its brokers: then its switches are those of its own release.

Settings that differ from a release's defaults are those of the recordings in `tests/data`, and for 5.x what keeps a broker
small and on this machine. They can be set otherwise like any other.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from rocketproof_profiles import PAIR, PROFILES
from rocketproof_profiles.releases import nearest_profile
from rocketproof_protocol.flags import READ, WRITE

from ..programs.parts import NAME_SERVER
from . import jars, probe
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
_SETTINGS_5 = {"timerWheelEnable": "false"}
_SOCKET_BYTES = 1 << 20
_FLAGS = (
    "-Xms64m",
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:MaxDirectMemorySize=256m",
    "-Djava.net.preferIPv4Stack=true",
    # Buffers of 65,535 bytes, as early releases have them, are less than two segments of the loopback device: 4.1.0's name server read
    # 8 KiB in 200 ms then, and the registrations of a hundred topics, one for each new topic, were seconds and minutes late.
    f"-Dcom.rocketmq.remoting.socket.sndbuf.size={_SOCKET_BYTES}",
    f"-Dcom.rocketmq.remoting.socket.rcvbuf.size={_SOCKET_BYTES}",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
)
_PERMISSION: Final = "brokerPermission"
_REGISTERS: Final = 0.5
"""Seconds in which a broker that answers has registered, if it does so before its first ten seconds are over."""
_NAME_SERVER = "org.apache.rocketmq.namesrv.NamesrvStartup"
_BROKER = "org.apache.rocketmq.broker.BrokerStartup"
_LOGBACK = """<configuration>
  <appender name="out" class="{package}core.ConsoleAppender">
    <encoder><pattern>%d{{HH:mm:ss.SSS}} %p %logger - %m%n</pattern></encoder>
  </appender>
  <root level="ERROR"><appender-ref ref="out"/></root>
</configuration>
"""


class Apache(ValidationTarget):
    """A release of Apache RocketMQ, or a pair: brokers of a release beside a name server of another one. `quick`: it starts with two
    thirds of the CPU time, and is slower than it could be once it has served many thousands of requests. Raises
    TargetError for a version that is none."""

    offers = OF_TARGETS

    def __init__(self, version: str, *, name_server: str | None = None, profile: str | None = None, quick: bool = True) -> None:
        self.flags = (*_FLAGS, QUICK) if quick else _FLAGS
        self.releases = _Releases(jars.known_version(version), jars.known_version(name_server or version))
        both = tuple(dict.fromkeys(self.releases))
        self.version = PAIR.join(both)
        self.name = PAIR.join(f"apache:{one}" for one in both)
        nearest = {one: nearest_profile(one) for one in both}
        self.profile = profile or PAIR.join(dict.fromkeys(nearest.values()))
        recorded = {one.about for one in PROFILES.values()}
        self.note = "; ".join(
            f"no profile was recorded of {one}: what this release does otherwise than those of {near} is a finding"
            for one, near in nearest.items()
            if f"RocketMQ {one} as recorded" not in recorded
        )

    def open(self, setup: Setup = DEFAULT) -> Processes:
        return opened(lambda: Processes(_Builder(self, jars.java()), setup))


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
            _write_properties(home / "server.conf", {"listenPort": port, "bindAddress": HOST, "kvConfigPath": str(home / "kvConfig.json")})
            return self._launch(home, version, _NAME_SERVER, lambda: name_server_ready(address))
        settings = self._settings(running, part)
        _write_properties(home / "server.conf", settings)
        return self._launch(home, version, _BROKER, _Registering(running, part, settings))

    def _settings(self, running: Processes, part: str) -> dict[str, str]:
        store = running.store_folder(part)
        settings = {
            **_SETTINGS,
            **(_SETTINGS_5 if _is_5(self._releases.brokers) else {}),
            "brokerName": part,
            "namesrvAddr": str(running.name_server),
            "listenPort": running.brokers[part].rpartition(":")[2],
            "storePathRootDir": str(store),
            "storePathCommitLog": str(store / "commitlog"),
            **running.settings[part],
        }
        # Up to 4.5.1 these are misspelt; a release ignores names that it does not know.
        misspelt = {name.replace("mapped", "maped", 1): value for name, value in settings.items() if name.startswith("mapped")}
        return settings | misspelt

    def _launch(self, home: Path, version: str, main: str, ready: Callable[[], None]) -> Launch:
        places = (f"-Duser.home={home}", f"-Drmq.logback.configurationFile={home / 'conf' / 'logback.xml'}")
        command = (self._java, *self._flags, *places, "-cp", f"{self._libraries[version]}/*", main, "-c", str(home / "server.conf"))
        # The address in the file counts, not the one in the caller's environment.
        env = {"ROCKETMQ_HOME": str(home), "NAMESRV_ADDR": ""}
        return Launch(command, ready, env, home)


def _is_5(version: str) -> bool:
    return not version.startswith("4.")


def _write_logging(home: Path, version: str) -> None:
    """5.x has its own copy of the library that 4.x finds beside it, and takes one file for all."""
    folder = home / "conf"
    folder.mkdir(exist_ok=True)
    package = "org.apache.rocketmq.logging.ch.qos.logback." if _is_5(version) else "ch.qos.logback."
    for name in ("logback.xml", "logback_namesrv.xml", "logback_broker.xml"):
        (folder / name).write_text(_LOGBACK.format(package=package), "utf-8")


def _write_properties(path: Path, values: Mapping[str, str]) -> None:
    escaped = {name: value.replace("\\", "\\\\") for name, value in values.items()}
    path.write_text("".join(f"{name}={value}\n" for name, value in escaped.items()), "utf-8")


def name_server_ready(address: str) -> None:
    """It answers; that it knows no broker yet is as it should be."""
    with contextlib.suppress(probe.NoBrokers):
        probe.cluster(address)


class _Registering:
    """The same as `broker_ready`, and a broker is brought to register that has not done it by itself.

    From 5.1.1 on a broker registers with the name servers that it has found by then, and looks for them in another thread. One that starts
    quickly has found none, and registers ten seconds later; it does so at once when its permission is set, though to what it was.
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
    """It answers, and if it is a master its name server knows it, the first one where its settings name some."""
    address, server = running.brokers[part], settings["namesrvAddr"].partition(";")[0]
    probe.broker(address)
    if settings["brokerId"] == probe.MASTER and probe.cluster(server).get(settings["brokerName"]) != address:
        raise probe.NoBrokers(f"the name server at {server} does not know {part} yet")
