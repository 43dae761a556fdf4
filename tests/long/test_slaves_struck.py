"""A slave of a master under load and injected faults, on the reference implementation. It takes minutes, most of them waits."""

from __future__ import annotations

from collections.abc import Callable

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
    """Inject all strikes into the current implementation until one finds something."""
    target, found = Forked("P494"), FaultTests(SLAVE)
    try:
        slaves.run(target, found, len(STRIKES), seed=3, over=lambda: bool(found.wrong))
    finally:
        target.end()
    return found


@pytest.mark.behaviour("FLU-07", "NS-08", "STO-01", "INV-06", "INV-27", "INV-36")
def test_slave_equals_its_master_under_every_strike() -> None:
    found = struck()
    assert (found.wrong, found.unknown, found.rounds, found.states) == ([], [], len(STRIKES), len(STRIKES) + 1)
    assert found.acknowledged > 100


async def believes(self: GroupTransferService, request: TransferRequest) -> bool:
    """A master that treats every slave as fully caught up."""
    del self, request
    return True


async def loses(self: CommitLog, where: int, data: bytes) -> bool:
    """A slave that stores other bodies."""
    return await append(self, where, data.replace(b"r0c", b"r1c"))


append = CommitLog.append_data


@pytest.mark.behaviour("REC-05")
def test_slave_without_delay_offsets_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ScheduleMessageService, "take", lambda self, text: None)
    assert {one.claim for one in struck().wrong} == {"delay offset"}


@pytest.mark.behaviour("FLU-07")
def test_master_that_counts_a_disconnected_slave_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    def remembers(self: HAConnection) -> None:
        counted = self in self.service.connection_list
        close(self)
        self.service.connections += counted

    close = HAConnection.close
    monkeypatch.setattr(HAConnection, "close", remembers)
    assert "without" in {one.claim for one in struck().wrong}


async def begins_anew(self: CommitLog, where: int, data: bytes) -> bool:
    """A slave that accepts nothing after its first file."""
    return await append(self, where, data) if where < int(SETTINGS["mappedFileSizeCommitLog"]) else False


@pytest.mark.behaviour("FLU-07", "AUX-55")
@pytest.mark.parametrize(
    ("owner", "method", "planted", "claims"),
    [
        (GroupTransferService, "_transferred", believes, {"copied"}),
        (CommitLog, "append_data", loses, {"copied", "prefix"}),
        (CommitLog, "append_data", begins_anew, {"follows"}),
    ],
)
def test_planted_fault_of_replication_is_detected(
    owner: type, method: str, planted: Callable[..., object], claims: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, method, planted)
    assert claims <= {finding.claim for finding in struck().wrong}
