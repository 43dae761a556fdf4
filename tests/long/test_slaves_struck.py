"""A slave beside its master under load, on the reference implementation whatever strikes: minutes, most of them waits."""

from __future__ import annotations

import pytest

from rocketproof_impl.store.commitlog import CommitLog
from rocketproof_impl.store.delay import ScheduleMessageService
from rocketproof_impl.store.ha import GroupTransferService, HAConnection, TransferRequest
from rocketproof_lab.mutation.generated.target import Forked
from rocketproof_properties.validation.faults import slaves
from rocketproof_properties.validation.faults.found import FaultTests
from rocketproof_properties.validation.faults.kinds import SLAVE
from rocketproof_properties.validation.faults.slaves import SETTINGS, STRIKES


def struck() -> FaultTests:
    """All strikes on the implementation as this process has it now, until one finds something."""
    target, found = Forked("P494"), FaultTests(SLAVE)
    try:
        slaves.run(target, found, len(STRIKES), seed=3, over=lambda: bool(found.wrong))
    finally:
        target.end()
    return found


@pytest.mark.behaviour("FLU-07", "NS-08", "STO-01", "INV-06", "INV-27", "INV-36")
def test_a_slave_is_as_its_master_whatever_strikes() -> None:
    found = struck()
    assert (found.wrong, found.unknown, found.rounds, found.states) == ([], [], len(STRIKES), len(STRIKES) + 1)
    assert found.acknowledged > 100


async def believes(self: GroupTransferService, request: TransferRequest) -> bool:
    """A master that takes every slave for as far as it is itself."""
    del self, request
    return True


@pytest.mark.behaviour("FLU-07")
def test_a_master_that_does_not_wait_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GroupTransferService, "_transferred", believes)
    assert "copied" in {one.claim for one in struck().wrong}


async def loses(self: CommitLog, where: int, data: bytes) -> bool:
    """A slave whose bodies are others."""
    return await append(self, where, data.replace(b"r0c", b"r1c"))


append = CommitLog.append_data


@pytest.mark.behaviour("FLU-07", "AUX-55")
def test_a_slave_that_has_other_bytes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CommitLog, "append_data", loses)
    assert {"copied", "prefix"} <= {one.claim for one in struck().wrong}


@pytest.mark.behaviour("REC-05")
def test_a_slave_that_takes_no_delay_offsets_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ScheduleMessageService, "take", lambda self, text: None)
    assert {one.claim for one in struck().wrong} == {"delay offset"}


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


@pytest.mark.behaviour("FLU-07", "AUX-55")
def test_a_slave_that_has_its_first_file_alone_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CommitLog, "append_data", begins_anew)
    assert "follows" in {one.claim for one in struck().wrong}
