"""A file that was made and has no length yet: some releases do not start with it, and then they are started without it (HAZ-59)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest

from rocketproof_properties.brokers.comeback import NotBack, come_back
from rocketproof_properties.brokers.deployment import Deployment, Setup
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_properties.validation.faults.found import FaultTests
from rocketproof_properties.validation.faults.store import PromisedStore
from rocketproof_protocol import codes

BROKER = "broker-a"
SECOND = "0/00000000000006000000"
LARGE: Mapping[str, str] = {"flushDiskType": "SYNC_FLUSH"}


def sent(running: Deployment) -> int:
    with running.connect(BROKER) as line:
        return line.ask(plain("send", topic="T", queue=0)).code


def left(running: Deployment, size: int = 0) -> Path:
    """End the broker, and leave the next file of its queue like a kill."""
    assert sent(running) == codes.SUCCESS
    running.stop(BROKER)
    file = running.store(BROKER) / "consumequeue" / "T" / SECOND
    file.write_bytes(bytes(size))
    return file


@pytest.mark.behaviour("REC-02", "HAZ-59")
@pytest.mark.parametrize(
    ("profile", "taken", "stays"), [("P494", [SECOND], False), ("P500", [SECOND], False), ("P492", [], True), ("P533", [], False)]
)
def test_broker_refusing_empty_file_starts_without_it(profile: str, taken: list[str], stays: bool) -> None:
    with InProcess(profile).open(Setup(settings=LARGE)) as running:
        file = left(running)
        come_back(running, BROKER)
        assert running.unsized.get(BROKER, []) == taken
        assert file.exists() == stays
        assert sent(running) == codes.SUCCESS


@pytest.mark.behaviour("REC-02")
@pytest.mark.parametrize("profile", ["P494", "P533"])
def test_file_of_another_length_stays_and_ends_start(profile: str) -> None:
    with InProcess(profile).open(Setup(settings=LARGE)) as running:
        file = left(running, 100)
        with pytest.raises(NotBack, match="does not start again"):
            come_back(running, BROKER)
        assert file.stat().st_size == 100 and not running.unsized


@pytest.mark.behaviour("REC-02")
@pytest.mark.parametrize("profile", ["P494", "P533"])
def test_empty_file_is_not_blamed_for_other_start_failure(profile: str) -> None:
    with InProcess(profile).open(Setup(settings=LARGE)) as running:
        other = left(running, 100).parents[1] / "1" / "00000000000000000000"
        other.parent.mkdir(exist_ok=True)
        other.touch()
        with pytest.raises(NotBack):
            come_back(running, BROKER)
        assert not running.unsized


@pytest.mark.parametrize(("profile", "known"), [("P494", True), ("P533", False)])
def test_file_without_length_is_reported_after_fault(profile: str, known: bool, tmp_path: Path) -> None:
    """It is a finding if the profile states that the broker starts with such a file."""
    with InProcess("P494").open(Setup(settings=LARGE)) as running:
        store = PromisedStore(running, profile, Random(1), FaultTests("kill"), tmp_path)
        left(running)
        assert store.restart()
        (wrong,) = store.results.wrong
        assert (wrong.claim, bool(wrong.reason)) == ("unsized", known) and SECOND in wrong.text
