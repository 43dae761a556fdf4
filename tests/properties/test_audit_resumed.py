"""A resumed audit uses saved results only if everything that they depend on is unchanged."""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from damaged_stores import SMALL, made

from rocketproof_properties.catalogue.stored import stored_rules
from rocketproof_properties.commands.audits import command
from rocketproof_properties.commands.audits.brokerconf import of_broker
from rocketproof_traces.audit import run as running
from rocketproof_traces.audit.programs import AuditPlan
from rocketproof_traces.audit.rules import Rule

LEVELS = "messageDelayLevel=1s 5s 10s 30s 1m"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root, _ = made(tmp_path_factory.mktemp("sound") / "store", replace(SMALL, topics=2, queues=1))
    (root / "config" / "subscriptionGroup.json").write_text('{"subscriptionGroupTable": {}}')
    return root


@pytest.fixture
def store(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "store"))


def plan_of(profile: str = "P494", property: tuple[str, ...] = (), limit: int = 100, *given: str, every: bool = False) -> AuditPlan:
    return command.plan_of(profile, property, limit, of_broker(None, given), every=every)


def audited(store: Path, out: Path, plan: AuditPlan, *, stops: bool) -> int:
    """Return the number of ranges that an audit read. It is stopped after the last range, or completes."""
    asked: list[str] = []

    def spread(function: Callable[[str], str], items: Sequence[str]) -> Iterator[str]:
        for item in items:
            asked.append(item)
            yield function(item)
        if stops:
            raise KeyboardInterrupt

    command.run((str(store),), plan, "P494", out, spread, lambda done, all_: None, size=100_000)
    return len(asked)


def keep(path: Path, text: bytes) -> None:
    """Replace the bytes of a file, keeping its size and times."""
    status = path.stat()
    data = text + path.read_bytes()[len(text) :]
    assert len(data) == status.st_size
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def other_rules() -> tuple[Rule, ...]:
    """Return the rules, one with another formula."""
    first, *rest = stored_rules()
    return replace(first, claim=replace(first.claim, formula=~first.claim.formula)), *rest


FILES: dict[str, Callable[[Path], object]] = {
    "an entry of a queue": lambda p: keep(next(p.glob("consumequeue/topic*/*/*")), struct.pack(">q", 77)),
    "a queue more": lambda p: shutil.copytree(next(p.glob("consumequeue/topic*/0")), next(p.glob("consumequeue/topic*")) / "7"),
    "a queue's file less": lambda p: next(p.glob("consumequeue/topic*/0/*")).unlink(),
    "topics.json": lambda p: (p / "config" / "topics.json").write_text('{"topicConfigTable": {}}'),
    "subscriptionGroup.json": lambda p: keep(p / "config" / "subscriptionGroup.json", b'{"subscriptionGrouptable"'),
    "the checkpoint": lambda p: (p / "checkpoint").write_bytes(bytes(4096)),
    "a broker that was killed": lambda p: (p / "abort").touch(),
    "a byte of the log": lambda p: keep(min((p / "commitlog").iterdir()), b"\0"),
    "a file of the log less": lambda p: max((p / "commitlog").iterdir()).unlink(),
    "queues of another kind": lambda p: (
        (p / "batchconsumequeue" / "T").mkdir(parents=True) or (p / "batchconsumequeue" / "T" / "0").touch()
    ),
}
PLANS: dict[str, AuditPlan] = {
    "the profile": plan_of("P45"),
    "the property": plan_of("P494", ("INV-37",)),
    "the limit": plan_of("P494", (), 7),
    "a setting of the broker": plan_of("P494", (), 100, "maxMessageSize=200"),
    "its delays": plan_of("P494", (), 100, LEVELS),
    "how hosts are read": replace(plan_of(), hosts_by_flag=not plan_of().hosts_by_flag),
    "the rules": replace(plan_of(), source=other_rules),
}


def test_unchanged_files_are_not_read_again(store: Path, tmp_path: Path) -> None:
    """This also holds if the results folder is inside the store, or if only the output format changes."""
    for out in (tmp_path / "found", store / "found", store):
        ranges = audited(store, out, plan_of(), stops=True)
        assert ranges > 7
        assert audited(store, out, plan_of(every=True), stops=False) == 0


@pytest.mark.parametrize("name", FILES)
def test_file_of_store_that_changed_is_noticed(name: str, store: Path, tmp_path: Path) -> None:
    audited(store, tmp_path / "found", plan_of(), stops=True)
    FILES[name](store)
    again = audited(store, tmp_path / "found", plan_of(), stops=False)
    assert again == audited(store, tmp_path / "fresh", plan_of(), stops=False) > 0


@pytest.mark.parametrize("name", PLANS)
def test_another_plan_is_noticed(name: str, store: Path, tmp_path: Path) -> None:
    ranges = audited(store, tmp_path / "found", plan_of(), stops=True)
    assert audited(store, tmp_path / "found", PLANS[name], stops=False) == ranges


def test_other_code_is_noticed(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version may read files differently."""
    ranges = audited(store, tmp_path / "found", plan_of(), stops=True)
    monkeypatch.setattr(running, "_code", lambda: "of a later version")
    assert audited(store, tmp_path / "found", plan_of(), stops=False) == ranges


def test_unreadable_files_are_read_again(store: Path, tmp_path: Path) -> None:
    """They may be readable next time."""
    ranges = audited(store, tmp_path / "found", plan_of(), stops=True)
    text = (tmp_path / "found" / command.KEPT).read_text()
    assert text.count("\n") == ranges
    (store / "config" / "topics.json").write_text("{")
    assert audited(store, tmp_path / "others", plan_of(), stops=True) == ranges
    assert not (tmp_path / "others" / command.KEPT).exists()
