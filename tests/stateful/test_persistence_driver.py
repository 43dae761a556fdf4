"""The topic table's file on the simulated disk: both ways to write it, and planted errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from performed import FEW, GIVEN, found

from rocketproof_impl import persistence
from rocketproof_properties.conformance.stateful.follow import ConformanceError
from rocketproof_properties.conformance.stateful.replay import replay

behaviour = pytest.mark.behaviour


@behaviour("PER-10")
def test_release_overwriting_in_place_follows_specification() -> None:
    assert found("persistence", "P533", programs=FEW) is None


def no_backup(disk: Any, text: str, path: str) -> None:
    disk.write(path + ".tmp", text.encode())
    disk.delete(path)
    disk.rename(path + ".tmp", path)


def in_place(disk: Any, text: str, path: str) -> None:
    disk.write(path, text.encode())


def loud(disk: Any, text: str, path: str, *, in_place: bool) -> None:
    """Let persist raise its error, which ends the topic's creation."""
    persistence.string_to_file(disk, text, path)


def from_temporary(disk: Any, path: str, decode: Callable[[str], None]) -> bool:
    for name in (path, path + ".tmp", path + ".bak"):
        content = disk.read(name)
        if content:
            decode(content.decode())
            return True
    return True


PERSISTENCE = {
    "no backup": ("string_to_file", no_backup),
    "the file is overwritten in place": ("string_to_file", in_place),
}
WRITE = ["truncate_tmp()", "half_tmp()", "fill_tmp()", "truncate_bak()", "half_bak()", "fill_bak()", "delete_main()"]


@behaviour("PER-02", "PER-05", "PER-06", "PER-07", "INV-26", "INV-27", "INV-28", "INV-29")
@pytest.mark.parametrize("name", PERSISTENCE)
def test_another_way_to_write_table_is_finding(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, planted = PERSISTENCE[name]
    monkeypatch.setattr(persistence, function, planted)
    assert found("persistence") is not None


@behaviour("PER-03", "PER-05", "PER-08")
def test_start_from_temporary_file_is_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = ["create(t=1)", *WRITE, "crash()", "start()"]
    replay("persistence", "P49", steps, GIVEN["persistence"])
    monkeypatch.setattr(persistence, "load", from_temporary)
    with pytest.raises(ConformanceError, match="memory"):
        replay("persistence", "P49", steps, GIVEN["persistence"])


@behaviour("PER-01", "TCM-18")
def test_error_that_leaves_persist_is_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(persistence, "persist", loud)
    steps = ["create(t=1)", "truncate_tmp()", "disk_full()"]
    with pytest.raises(ConformanceError, match="persist raises"):
        replay("persistence", "P49", steps, GIVEN["persistence"])


@behaviour("PER-06")
def test_second_order_loss_happens_on_broker() -> None:
    """An emptied main file, its copy in the backup, an end before the rename: a start finds nothing."""
    steps = ["create(t=1)", *WRITE, "rename_tmp()", "power_loss(main=emptied, bak=kept)", "start()"]
    steps += ["create(t=2)", *WRITE, "crash()", "start()"]
    followed = replay("persistence", "P49", steps, GIVEN["persistence"])
    state = followed.instance.model.variables
    names = {v.name: code for v, code in zip(state, followed.state, strict=True)}
    assert names["memory"] == 0
    assert names["promised"] == 0b11
