"""Programs around a graceful restart: what was acknowledged or begun before goes on afterwards, and a broker that forgets it is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from performing import judged, performed

from nonempty import nonempty
from proportion import few
from rocketproof_impl.broker.groups import SubscriptionGroupManager
from rocketproof_impl.broker.offsets import ConsumerOffsetManager
from rocketproof_impl.broker.topics import TopicConfigManager
from rocketproof_impl.store.delay import ScheduleMessageService
from rocketproof_impl.store.index import IndexService
from rocketproof_impl.store.service import MessageStore
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.judging.judging import judge_file
from rocketproof_properties.programs.program import SPLIT, ProgramOptions, generate
from rocketproof_properties.programs.settings import WHEEL
from rocketproof_properties.programs.vocabulary import ENDS_PROCESS, Step
from rocketproof_properties.validation.memory import numbered

PROFILE = "P494"
RESTART: Step = ("restart", {})
LATER: Step = ("time", {"millis": 2500})
PROGRAMS: dict[str, tuple[Step, ...]] = {
    "delayed message": (("send", {"properties": {"DELAY": "1"}}), RESTART, LATER, ("pull", {})),
    "delivered message": (("send", {"properties": {"DELAY": "1"}}), LATER, RESTART, LATER, ("pull", {})),
    "message sent back": (("send", {}), ("back", {"level": 1}), RESTART, LATER, ("pull", {"topic": "%RETRY%g"})),
    "half message": (("send", {"properties": {"TRAN_MSG": "true", "PGROUP": "p"}}), RESTART, ("end", {"commit": True}), ("pull", {})),
    "committed offset": (("group", {}), ("send", {}), ("commit", {"offset": 1}), RESTART, ("progress", {})),
    "key": (("send", {"properties": {"KEYS": "k"}}), RESTART, ("find", {"key": "k"})),
    "offsets": (("send", {}), RESTART, ("send", {}), ("max_offset", {}), ("pull", {})),
    "group": (("group", {"retries": 0}), ("send", {}), RESTART, ("back", {"level": 0})),
    "topic": (("topic", {"topic": "A", "perm": 4}), RESTART, ("send", {})),
    "deleted topic": (("send", {}), ("delete", {}), ("send", {"topic": "B"}), RESTART, ("topic", {}), ("pull", {})),
}


def forgotten(*_: Any, **__: Any) -> bool:
    """Replace what reads a file, or writes it."""
    return True


WRONG: dict[str, tuple[str, type, str, Callable[..., Any]]] = {
    "positions of delayed messages": ("delivered message", ScheduleMessageService, "load", forgotten),
    "consumers' offsets": ("committed offset", ConsumerOffsetManager, "load", forgotten),
    "index": ("key", IndexService, "load", forgotten),
    "next offsets": ("offsets", MessageStore, "_recover_topic_queue_table", forgotten),
    "groups": ("group", SubscriptionGroupManager, "load", forgotten),
    "topics": ("topic", TopicConfigManager, "load", forgotten),
    "a clean stop": ("deleted topic", MessageStore, "behind", lambda _: 1),
}


def test_some_programs_begin_phrases_before_a_restart_and_end_them_after_it() -> None:
    options = ProgramOptions("P533", 400, start=True, stop=True)
    around = [program for program in generate(options) if program.restarts]
    for program in nonempty(around):
        (at,) = (number for number, (name, _) in enumerate(program.steps) if name in ENDS_PROCESS)
        assert 0 < at < len(program.steps) - 1
        assert not program.concurrent
    assert {program.source for program in around if not program.needs} == {SPLIT}
    assert WHEEL in {program.needs for program in around}, "timers arrive after a restart too"


def test_target_that_cannot_stop_gets_no_program_around_a_restart() -> None:
    around = [program for program in generate(ProgramOptions(PROFILE, 60, start=True, stop=True)) if program.restarts]
    assert not [program for program in generate(ProgramOptions(PROFILE, 60, start=True)) if program.restarts]
    assert numbered(around, 0, configure=True, start=True, stop=True) and not numbered(around, 0, configure=True, start=True)


@pytest.mark.slow
@pytest.mark.behaviour("REC-03", "REC-04", "PER-04")
@pytest.mark.parametrize("name", PROGRAMS)
def test_correct_restart_has_no_findings(name: str, tmp_path: Path) -> None:
    with InProcess(PROFILE).open() as running:
        found = judged(running, tmp_path, *PROGRAMS[name])
    assert "reference" in found.by and not found.findings and not found.unconfirmed


@pytest.mark.slow
@pytest.mark.parametrize("name", few(WRONG, 3))
def test_what_a_restart_forgets_is_found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, owner, attribute, otherwise = WRONG[name]
    with InProcess(PROFILE).open() as running, monkeypatch.context() as changed:
        changed.setattr(owner, attribute, otherwise)
        path = performed(running, tmp_path, *PROGRAMS[program])
    judged = judge_file(path, PROFILE)
    assert [*judged.findings, *judged.unconfirmed]
