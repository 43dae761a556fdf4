"""Delivery times that a sender names: they follow from the request alone, and of two of them one applies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from performing import judged, performed

from rocketproof_impl.store import timers
from rocketproof_properties.brokers.deployment import Deployment, Setup
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.judging.judging import judge_file
from rocketproof_properties.programs.call import Context
from rocketproof_properties.programs.names import ProgramNames
from rocketproof_properties.programs.settings import STARTED, WHEEL
from rocketproof_properties.programs.values import TIMED
from rocketproof_properties.programs.vocabulary import Step, request_of
from rocketproof_protocol.properties import TIMER_DELIVER_MS

PROFILE = "P533"
WAIT: Step = ("time", {"millis": 2500})
OWN: tuple[Step, ...] = (("send", {"properties": {"UNIQ_KEY": "U1"}, "due": 0}), WAIT, WAIT, ("pull", {}))
TWO: tuple[Step, ...] = (("send", {"properties": TIMED[-3]}), WAIT, ("pull", {}))


def later_second(millis: int) -> int:
    """Return the whole second at or after a time."""
    return -(-(millis + 1) // 1000) * 1000


WRONG: dict[str, tuple[tuple[Step, ...], str, Any]] = {
    "a whole second is rounded up": (OWN, "_second", later_second),
    "the second of two names applies": (TWO, "TIMES", (*reversed(timers.TIMES),)),
}


@pytest.fixture(scope="module")
def running() -> Iterator[Deployment]:
    with InProcess(PROFILE).open(Setup(settings=STARTED[WHEEL])) as made:
        yield made


@pytest.mark.parametrize("due", [0, 1, 999])
def test_due_is_counted_from_a_whole_second(due: int) -> None:
    context = Context(ProgramNames("", 0), "", now=lambda: 1_700_000_000_123)
    call = request_of(("send", {"due": due}), context)
    assert call is not None
    assert f"{TIMER_DELIVER_MS}\x01{1_700_000_002_000 + due}" in call.fields["properties"]


@pytest.mark.slow
@pytest.mark.parametrize("program", [OWN, TWO], ids=["its own time", "two times"])
def test_correct_times_have_no_findings(program: tuple[Step, ...], running: Deployment, tmp_path: Path) -> None:
    found = judged(running, tmp_path, *program)
    assert "reference" in found.by and not found.findings and not found.unconfirmed


@pytest.mark.slow
def test_timer_may_be_sent_back_from_wheel_and_after_delivery(running: Deployment, tmp_path: Path) -> None:
    """It has two first records: in the timer wheel, and in its topic. The first send-back names one, the second the other."""
    timer: Step = ("send", {"topic": "A", "properties": {"UNIQ_KEY": "U1", "TIMER_DELAY_MS": "1100"}})
    wait: Step = ("time", {"millis": 2500})
    backs: tuple[Step, ...] = (("back", {"level": 1}), wait, ("pull", {"topic": "%RETRY%g"}), ("back", {"level": 1, "pulled": True}))
    found = judged(running, tmp_path, timer, wait, wait, ("pull", {"topic": "A"}), *backs)
    assert not [finding for finding in found.findings if finding.property.startswith("INV-49")]


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_wrong_times_are_found(name: str, running: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, attribute, otherwise = WRONG[name]
    with monkeypatch.context() as changed:
        changed.setattr(timers, attribute, otherwise)
        path = performed(running, tmp_path, *program)
    assert judge_file(path, PROFILE).findings
