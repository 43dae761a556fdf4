"""Replication over real sockets and files: a slave's log equals its master's, also after the connection was cut."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from marks import behaviour
from storing import message

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.store.result import PutMessageStatus
from rocketproof_impl.store.service import MessageStore
from rocketproof_impl.system.disk import SystemDisk
from rocketproof_impl.system.links import LinkServer, dial
from rocketproof_impl.system.listening import listening_socket
from rocketproof_impl.system.threads import Threads
from rocketproof_profiles import PROFILES

SIZE = 100_000


class Side:
    """A store on real files with its threads."""

    def __init__(self, threads: Threads, folder: Path, **settings: Any) -> None:
        self.threads = threads
        self.folder = folder
        self.disk = SystemDisk(folder)
        chosen = BrokerSettings(
            store_path_root_dir=str(folder), mapped_file_size_commit_log=SIZE, mapped_file_size_consume_queue=2000, **settings
        )
        self.store = MessageStore(chosen, PROFILES["P494"], threads.clock, self.disk)
        assert self.store.load()

    def run(self) -> None:
        for service in self.store.services(lambda address: dial(self.threads, address)):
            self.threads.spawn(service.run(), service.name)

    def log(self) -> list[bytes]:
        return [path.read_bytes() for path in sorted((self.folder / "commitlog").iterdir())]


async def until(true: Any) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.01)


async def replicate(tmp_path: Path) -> None:
    threads = Threads()
    patient = {"slave_timeout": 60_000, "sync_flush_timeout": 60_000}
    master = Side(threads, tmp_path / "master", broker_role="SYNC_MASTER", flush_disk_type="SYNC_FLUSH", **patient)
    slave = Side(threads, tmp_path / "slave", broker_role="SLAVE", ha_send_heartbeat_interval=50)
    ha = master.store.ha

    def accept(link: Any) -> None:
        for service in ha.accept(link):
            threads.spawn(service.run(), service.name)

    server = LinkServer(threads, accept)
    listening = listening_socket("127.0.0.1", 0)
    port = listening.getsockname()[1]
    server.start(listening)
    try:
        master.run()
        slave.store.ha_client.update_master_address(f"127.0.0.1:{port}")
        slave.run()
        # An empty slave gets the log from the last file at the time of the master's check, so no message is put before.
        await until(lambda: any(connection.writer.next_transfer_from_where >= 0 for connection in ha.connection_list))
        for cut in (True, False):
            tasks = [threads.spawn(master.store.put_message(message(body=b"x" * (1 + n * 97 % 9000)))) for n in range(60)]
            results = [await threads.outcome(task.done) for task in tasks]
            assert {result.status for result in results} == {PutMessageStatus.PUT_OK}
            if cut:
                ha.connection_list[0].close()
                await until(lambda: any(connection.request_offset > 0 for connection in ha.connection_list))
        await until(lambda: slave.store.behind() == 0 and slave.store.max_phy_offset == master.store.max_phy_offset)
        assert slave.log() == master.log()
        assert len(slave.log()) > 2
        assert slave.store.max_offset("TopicTest", 0) == 120
    finally:
        server.stop()
        threads.close()
        master.disk.close()
        slave.disk.close()


@behaviour("FLU-07", "FLU-03")
def test_a_slave_follows_over_real_sockets(tmp_path: Path) -> None:
    asyncio.run(replicate(tmp_path))
