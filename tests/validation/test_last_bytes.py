"""Records that reach the last bytes of a file: eight are left free (APP-07), and one byte more or less is another file."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketproof_lab.mutation.patch import Text, prepare
from rocketproof_profiles import PROFILES
from rocketproof_properties.brokers.deployment import Setup
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs.runner import Bounds, Runner
from rocketproof_properties.judging.judging import judge_file
from rocketproof_properties.programs.boundaries import BOUNDARIES, SIDES
from rocketproof_properties.programs.call import Context
from rocketproof_properties.programs.names import ProgramNames
from rocketproof_properties.programs.program import Program, ProgramOptions, generate
from rocketproof_properties.programs.requests import batch_items, stored_bytes
from rocketproof_properties.programs.settings import ALONE, at_start
from rocketproof_properties.programs.vocabulary import request_of

LEFT = [boundary for boundary in BOUNDARIES if boundary.needs == ALONE]
LOG = "rocketproof_impl.store.commitlog:CommitLog"


def performed(profile: str, folder: Path) -> Path:
    """Return the history of the programs that approach the last bytes of a file from both sides, one after the other."""
    steps = [step for boundary in LEFT for side in boundary.sides for step in boundary.at(side, PROFILES[profile])]
    with InProcess(profile).open(Setup(settings=at_start(ALONE))) as running:
        runner = Runner(running, folder, {"profile": profile}, Bounds(1), "r000000-", clean=True)
        path = runner.perform(Program(1, "", tuple(steps), ALONE))
        runner.close()
    return path


@pytest.mark.behaviour("APP-07")
@pytest.mark.parametrize("profile", ["P40", "P494", "P533"])
def test_record_and_batch_leave_seven_eight_and_nine_bytes(profile: str, tmp_path: Path) -> None:
    found = judge_file(performed(profile, tmp_path), profile)
    assert "reference" in found.by and not found.findings and not found.unconfirmed
    assert {met for met in found.done.boundaries if "leaves" in met[0]} == {(one.name, SIDES[side]) for one in LEFT for side in one.sides}


@pytest.mark.behaviour("APP-07", "BAT-04")
@pytest.mark.parametrize("size", ["parts.size", "size"], ids=["a record", "a batch"])
@pytest.mark.parametrize("wrong", ["{} + BLANK_SIZE >=", "{} + BLANK_SIZE - 1 >"], ids=["one byte less", "one byte more"])
def test_one_byte_difference_is_noticed(size: str, wrong: str, tmp_path: Path) -> None:
    where = "_append_message" if size == "parts.size" else "_append_batch"
    planted = Text(f"{LOG}.{where}", f"if {size} + BLANK_SIZE >", f"if {wrong.format(size)}")
    with prepare([planted]).applied():
        path = performed("P494", tmp_path)
    assert judge_file(path, "P494").deviations


def test_batch_fills_file_by_its_last_message() -> None:
    where = Context(ProgramNames("p1-", 1), "broker-a", file_size=65_536, profile=PROFILES["P494"])
    where.end = 65_536 + 300
    call = request_of(("send", {"items": [("a", {}), ("b", {"TAGS": "t"})], "leave": 9}), where)
    assert call is not None and call.body is not None
    assert 300 + stored_bytes(where, call) == 65_536 - 9
    assert [(body[:1], named) for body, named in batch_items(call.body)] == [(b"a", b""), (b"b", b"TAGS\1t")]


@pytest.mark.slow
def test_some_programs_of_three_hundred_fill_files() -> None:
    programs = generate(ProgramOptions("P494", 300, 1, configure=True, start=True, end=True))
    left = [args["leave"] for program in programs if program.needs == ALONE for _, args in program.steps if "leave" in args]
    assert {7, 8, 9} <= set(left)
    batches = [args["leave"] for program in programs for _, args in program.steps if "leave" in args and "items" in args]
    assert {7, 8, 9} <= set(batches)
