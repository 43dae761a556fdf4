"""Trials of generated changes: a few programs detect a change that any message shows, and a run resumes from its file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from rocketproof_lab.mutation.generated import by_wire, sampling
from rocketproof_lab.mutation.generated.by_wire import TrialByWire
from rocketproof_lab.mutation.generated.switched import switch_mutant
from rocketproof_lab.mutation.results import NOTICED, SURVIVED, UNREACHED, read_known
from rocketproof_lab.mutation.runner import MutationRun
from rocketproof_profiles.differing import SwitchChange
from rocketproof_properties.reports.choices import InputError

SCHEMAS = Path(__file__).parents[2] / "properties" / "docs" / "schemas"


def test_few_programs_detect_reachable_changes_only(tmp_path: Path) -> None:
    found = sampling.changes("store/record", "store")
    shown = next(one for one in found if one.function == "encode" and one.kind == "dropped")
    hidden = next(
        one for one in sampling.changes("broker/transactioncheck", "broker") if one.kind == "dropped" and "discard" in one.function
    )
    kept: list[int] = []
    told: list[str] = []
    trial = TrialByWire("P494", programs=8, seed=2)
    report = MutationRun(
        trial, workers=1, progress=lambda what, done, of: told.append(what), keep=lambda so_far: kept.append(len(so_far.rows))
    ).report([shown, hidden])
    assert {row.id: row.verdict for row in report.rows} == {shown.id: NOTICED, hidden.id: UNREACHED}
    assert report.rows[0].by and report.exit_code == 1 and kept and told[-1] == "changes"
    path = tmp_path / "changes.json"
    path.write_text(json.dumps(report.record()))
    schema = json.loads((SCHEMAS / "generated-changes.schema.json").read_text("utf-8"))
    assert not list(Draft202012Validator(schema).iter_errors(report.record()))
    known = read_known(path, by_wire.FORMAT, report.options)
    again = MutationRun(trial, workers=1, known=known).report([shown, hidden])
    assert [by_wire.FORMAT.record(row) for row in again.rows] == [by_wire.FORMAT.record(row) for row in report.rows]
    with pytest.raises(InputError, match="of a run with another seed"):
        read_known(path, by_wire.FORMAT, {**report.options, "seed": 3})
    path.write_text("[]")
    with pytest.raises(InputError, match="is no result of mutate --generated"):
        read_known(path, by_wire.FORMAT, report.options)


def test_few_programs_detect_broker_switches_only() -> None:
    shown, hidden = switch_mutant("P494", SwitchChange("stores_parsed", False)), switch_mutant("P494", SwitchChange("notices_ends", True))
    report = MutationRun(TrialByWire("P494", programs=8, seed=2), workers=1).report([shown, hidden])
    assert {row.id: row.verdict for row in report.rows} == {"stores_parsed True → False": NOTICED, "notices_ends False → True": SURVIVED}
    assert report.rows[0].by
