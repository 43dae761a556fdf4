"""The reference implementation as a target in this process: its nodes on an event loop of their own, with real sockets and files.

It starts quickly and can be debugged. It cannot show the effects of a killed process.
"""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.system.background import Background
from rocketproof_impl.system.clock import SystemClock
from rocketproof_impl.system.disk import SystemDisk, VolatileDisk
from rocketproof_impl.system.node import BrokerNode, NameServerNode, NotLoaded
from rocketproof_protocol.numbers import whole_number

from ..programs.parts import NAME_SERVER, Capability
from ..reports.choices import known
from . import guardian
from .deployment import (
    DEFAULT,
    FILE_SIZES,
    OF_TARGETS,
    Deployment,
    NotOffered,
    Setup,
    TargetError,
    ValidationTarget,
)
from .ports import AROUND_BROKER, HOST, Addresses
from .processes import PortTaken, configure, opened
from .settings import change, name_server_settings

LACKS: Final = frozenset({"flushDelayOffsetInterval", "registerNameServerPeriod", "syncFlushTimeout", "enableScheduleAsyncDeliver"})
"""Settings of RocketMQ that the implementation does not have."""


class InProcess(ValidationTarget):
    """The reference implementation with the behaviour of a profile. `volatile`: its brokers can lose power; they are a little slower."""

    offers = OF_TARGETS - {Capability.KILL} | {Capability.SET_CLOCK}
    lacks = LACKS

    def __init__(self, profile: str = "P494", *, volatile: bool = False) -> None:
        self.name = f"inprocess:{profile}"
        self.version = profile
        self.profile = profile
        self.disk: type[SystemDisk] = VolatileDisk if volatile else SystemDisk

    def open(self, setup: Setup = DEFAULT) -> InProcessDeployment:
        return opened(lambda: InProcessDeployment(self, setup))


class InProcessDeployment(Deployment):
    """Nodes on one event loop in a thread of this process."""

    def __init__(self, target: InProcess, setup: Setup) -> None:
        self.name, self.offers = target.name, target.offers
        self._disk = target.disk
        self._profile = target.profile
        self._folder = Path(tempfile.mkdtemp(prefix="rocketproof-"))
        guardian.guard_folder(self._folder)
        self._stores = {name: Path(store).absolute() for name, store in setup.stores.items()}
        self._running: dict[str, NameServerNode | BrokerNode] = {}
        self._clocks: dict[str, int] = {}
        self._closed = False
        self._background = Background("rocketproof-target")
        self._background.__enter__()
        try:
            fresh = Addresses()
            self.name_server = fresh.take()
            self.brokers = {name: fresh.take(AROUND_BROKER) for name in setup.names}
            self._name_server_settings = name_server_settings(setup.name_server)
            self._settings = {name: self._settings_of(name, setup.settings_of(name)) for name in setup.names}
            for part in (NAME_SERVER, *self.brokers):
                self._start(part)
        except BaseException:
            self.close()
            raise

    def stop(self, part: str) -> None:
        node = self._running.pop(self._known(part), None)
        if node is not None:
            self._background.complete(node.stop())

    def kill(self, part: str) -> None:
        raise NotOffered(self.name, Capability.KILL)

    def cut_off(self, part: str) -> None:
        """Stop a part abruptly, like a kill: it sends and writes nothing more, and written data stay."""
        node = self._running.pop(self._known(part), None)
        if node is not None:
            self._background.complete(_end_node(node.kill) if isinstance(node, BrokerNode) else node.stop())

    def lose_power(self, broker: str) -> None:
        """End a broker like a machine without power: it keeps only synced data. Raises TargetError unless the target is `volatile`."""
        node = self._running.get(known("part", broker, self.brokers))
        if self._disk is SystemDisk:
            raise TargetError(f"{self.name} cannot lose power; open InProcess(volatile=True)")
        if isinstance(node, BrokerNode):
            del self._running[broker]
            self._background.complete(_end_node(node.lose_power))

    def restart(self, part: str, settings: Mapping[str, str] | None = None) -> None:
        self.stop(part)
        for name, value in (settings or {}).items():
            change(self._settings[part], name, value)
        self._start(part)

    def set_clock(self, broker: str, ahead: int) -> None:
        self._clocks[known("part", broker, self.brokers)] = ahead

    def configure(self, broker: str, settings: Mapping[str, str]) -> None:
        configure(self.brokers[self._known(broker)], settings)

    def store(self, broker: str) -> Path:
        return Path(self._settings[known("part", broker, self._settings)].store_path_root_dir)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            for part in reversed(tuple(self._running)):
                node = self._running[part]
                # A graceful stop waits a second for the last puts. A temporary store does not need that.
                if isinstance(node, BrokerNode) and part not in self._stores:
                    self._background.complete(_end_node(node.kill))
                else:
                    self.stop(part)
        finally:
            self._background.__exit__(None, None, None)
            shutil.rmtree(self._folder, ignore_errors=True)
            guardian.release_folder(self._folder)

    def _known(self, part: str) -> str:
        return known("part", part, (NAME_SERVER, *self.brokers))

    def _settings_of(self, part: str, wanted: Mapping[str, str]) -> BrokerSettings:
        settings = BrokerSettings(
            broker_name=part,
            broker_ip1=HOST,
            listen_port=whole_number(self.brokers[part].rpartition(":")[2]),
            name_servers=(str(self.name_server),),
            store_path_root_dir=str(self._stores.get(part, self._folder / part)),
        )
        for name, value in {**FILE_SIZES, **wanted}.items():
            change(settings, name, value)
        return settings

    def _start(self, part: str) -> None:
        node: NameServerNode | BrokerNode
        if part == NAME_SERVER:
            port = whole_number(str(self.name_server).rpartition(":")[2])
            node = NameServerNode(host=HOST, port=port, profile=self._profile, settings=self._name_server_settings)
        else:
            clock = SystemClock(self._clocks.get(part, 0))
            node = BrokerNode(self._settings[part], profile=self._profile, host=HOST, disk=self._disk, clock=clock)
        try:
            self._background.complete(node.start())
        except (OSError, NotLoaded) as problem:
            taken = isinstance(problem, OSError) and problem.errno == errno.EADDRINUSE
            raise (PortTaken if taken else TargetError)(f"{self.name}: {part} does not start: {problem}") from None
        self._running[part] = node


async def _end_node(end: Callable[[], None]) -> None:
    """End a broker in the thread of its loop, as asyncio servers require."""
    end()
