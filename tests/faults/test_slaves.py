"""A slave beside its master, on the reference implementation in a process of its own, and the way between the two."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rocketproof_impl.store.commitlog import CommitLog
from rocketproof_impl.store.delay import ScheduleMessageService
from rocketproof_impl.store.ha import GroupTransferService, HAConnection, TransferRequest
from rocketproof_properties.changes.target import Forked
from rocketproof_properties.faults import slaves
from rocketproof_properties.faults.found import FaultTests
from rocketproof_properties.faults.kinds import ROUNDS, SLAVE
from rocketproof_properties.faults.slaves import SETTINGS, STRIKES, offsets
from rocketproof_properties.faults.wire import Wire


@contextmanager
def connected(wire: Wire) -> Iterator[tuple[socket.socket, socket.socket]]:
    """A socket that is connected by a wire, and the other one."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        wire.to(f"127.0.0.1:{port}", (f"127.0.0.1:{port}", "127.0.0.9:00000"[: len(f"127.0.0.1:{port}")]))
        host, _, at = wire.address.partition(":")
        near = socket.create_connection((host, int(at)), timeout=5)
        far, _ = server.accept()
        far.settimeout(5)
        with near, far:
            yield near, far


def test_a_wire_carries_bytes_and_names_another_address() -> None:
    with Wire() as wire, connected(wire) as (near, far):
        near.sendall(b"hello")
        assert far.recv(5) == b"hello"
        said = f"127.0.0.1:{far.getsockname()[1]}".encode()
        far.sendall(b"at " + said)
        assert near.recv(40) == b"at 127.0.0.9:00000"[: 3 + len(said)]


def test_a_wire_that_is_held_keeps_connections_and_bytes() -> None:
    with Wire() as wire, connected(wire) as (near, far):
        wire.hold()
        near.sendall(b"late")
        far.settimeout(0.2)
        with pytest.raises(TimeoutError):
            far.recv(4)
        wire.mend()
        far.settimeout(5)
        assert far.recv(4) == b"late"


def ended(one: socket.socket) -> bool:
    """Whether a connection is at its end."""
    try:
        return one.recv(1) == b""
    except ConnectionError:
        return True


def test_a_wire_that_is_cut_ends_connections_and_lets_nobody_through_until_it_is_mended() -> None:
    with Wire() as wire, connected(wire) as (near, far):
        place = near.getpeername()
        wire.cut()
        assert ended(near) and ended(far)
        with socket.create_connection(place, timeout=5) as again:
            assert ended(again)
        wire.mend()
        with socket.create_connection(place, timeout=0.2) as again, pytest.raises(TimeoutError):
            ended(again)


def test_offsets_are_those_of_a_file_and_none_of_one_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    assert offsets(path) is None
    path.write_text('{"offsetTable":{"T@g":{0:3,1:4}}}', "utf-8")
    assert offsets(path) == {"T@g 0": 3, "T@g 1": 4}
    path.write_text('{"offsetTable":{1:7}}', "utf-8")
    assert offsets(path) == {"1": 7}
    path.write_text('{"offsetTable":{}}', "utf-8")
    assert offsets(path) == {}
    path.write_text('{"offset', "utf-8")
    assert offsets(path) is None


def test_all_strikes_come_unless_another_number_is_given() -> None:
    assert len(STRIKES) == ROUNDS[SLAVE] and STRIKES[-1].promoted


def struck() -> FaultTests:
    """All strikes on the implementation as this process has it now, until one finds something."""
    target, found = Forked("P494"), FaultTests(SLAVE)
    try:
        slaves.run(target, found, len(STRIKES), seed=3, over=lambda: bool(found.wrong))
    finally:
        target.end()
    return found


@pytest.mark.slow
@pytest.mark.behaviour("FLU-07", "NS-08", "STO-01", "INV-06", "INV-27", "INV-36")
def test_a_slave_is_as_its_master_whatever_strikes() -> None:
    found = struck()
    assert (found.wrong, found.unknown, found.rounds, found.states) == ([], [], len(STRIKES), len(STRIKES) + 1)
    assert found.acknowledged > 100


async def believes(self: GroupTransferService, request: TransferRequest) -> bool:
    """A master that takes every slave for as far as it is itself."""
    del self, request
    return True


@pytest.mark.slow
@pytest.mark.behaviour("FLU-07")
def test_a_master_that_does_not_wait_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GroupTransferService, "_transferred", believes)
    assert "copied" in {one.claim for one in struck().wrong}


async def loses(self: CommitLog, where: int, data: bytes) -> bool:
    """A slave whose bodies are others."""
    return await append(self, where, data.replace(b"r0c", b"r1c"))


append = CommitLog.append_data


@pytest.mark.slow
@pytest.mark.behaviour("FLU-07", "AUX-55")
def test_a_slave_that_has_other_bytes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CommitLog, "append_data", loses)
    assert {"copied", "prefix"} <= {one.claim for one in struck().wrong}


@pytest.mark.slow
@pytest.mark.behaviour("REC-05")
def test_a_slave_that_takes_no_delay_offsets_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ScheduleMessageService, "take", lambda self, text: None)
    assert {one.claim for one in struck().wrong} == {"delay offset"}


@pytest.mark.slow
@pytest.mark.behaviour("FLU-07")
def test_a_master_that_still_counts_a_slave_that_has_gone_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def remembers(self: HAConnection) -> None:
        counted = self in self.service.connection_list
        close(self)
        self.service.connections += counted

    close = HAConnection.close
    monkeypatch.setattr(HAConnection, "close", remembers)
    assert "without" in {one.claim for one in struck().wrong}


async def begins_anew(self: CommitLog, where: int, data: bytes) -> bool:
    """A slave that takes nothing that lies behind its first file."""
    return await append(self, where, data) if where < int(SETTINGS["mappedFileSizeCommitLog"]) else False


@pytest.mark.slow
@pytest.mark.behaviour("FLU-07", "AUX-55")
def test_a_slave_that_has_its_first_file_alone_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CommitLog, "append_data", begins_anew)
    assert "follows" in {one.claim for one in struck().wrong}
