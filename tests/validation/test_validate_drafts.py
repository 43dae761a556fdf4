"""The draft of a report for a broker's project: what a stranger needs, of what was recorded, under names of the program's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs.runner import Bounds, Runner
from rocketproof_properties.judging.verdicts import ProgramFinding
from rocketproof_properties.programs.program import Program
from rocketproof_properties.programs.settings import ENDED, at_start
from rocketproof_properties.reports.choices import InputError
from rocketproof_properties.validation import drafts, report
from rocketproof_properties.validation.validate import mark
from rocketproof_traces.history import Writer, read

PROFILE = "P494"
STEPS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("send", {"topic": "A", "body": "hello"}),
    ("send", {"topic": "A", "body": "more", "one_way": True}),
    ("send", {"topic": "値" * 100, "body": "a | b"}),
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A folder with the history of a program, its file name, and the prefix of its names. The history contains a crash."""
    folder, begin = tmp_path_factory.mktemp("draft"), mark()
    with InProcess(PROFILE).open() as running:
        runner = Runner(running, folder, {"profile": PROFILE}, Bounds(1), begin)
        header, events = read(runner.perform(Program(1, "", STEPS)))
        runner.close()
    with Writer(folder / "history.ndjson", header) as written:
        for event in events:
            written.add(event.type, event.process, event.op, event.value, event.time)
            if event.type == "ok" and event.seq == 1:
                written.add("crash", "broker-a", "crash", {}, event.time)
    return folder, "history.ndjson", begin


def found(made: tuple[Path, str, str], **more: Any) -> report.ValidationFinding:
    _, history, begin = made
    verdict = ProgramFinding(
        "reference", "send.queueId", f"event 0 (send {begin}1-A): queueId is 7, and the reference implementation has 0", rules=("SEND-11",)
    )
    return report.ValidationFinding(verdict, Program(1, "", STEPS, ENDED), history, **{"again": 3, "repeats": 3, **more})


def told(made: tuple[Path, str, str], *findings: report.ValidationFinding) -> str:
    whole = report.ValidationReport({"name": "apache:4.9.4", "version": "4.9.4"}, PROFILE, 5, 1, tool="0.1.0", findings=[*findings])
    return drafts.draft(whole, findings, made[0])


def test_draft_states_requests_responses_and_expectation(made: tuple[Path, str, str]) -> None:
    text = told(made, found(made))
    rows = [line for line in text.splitlines() if line.startswith("| ") and line[2].isdigit()]
    assert text.startswith("# send.queueId: queueId is 7, and the reference implementation has 0\n")
    settings = ", ".join(f"`{name}={value}`" for name, value in sorted(at_start(ENDED).items()))
    assert f"**Broker**: apache:4.9.4, with {settings}" in text
    assert "- SEND-11: Region and trace flag are in every answer of this path, errors included." in text
    assert [row.split(" | ")[2].split()[0] for row in rows] == ["SEND\\_MESSAGE\\_V2", "its", "SEND\\_MESSAGE\\_V2", "SEND\\_MESSAGE\\_V2"]
    assert "topic=A" in rows[0] and "a body of 5 bytes" in rows[0] and "0 SUCCESS" in rows[0]
    assert "killed" in rows[1]
    assert rows[2].endswith("| (one-way) |")
    assert "… (110 characters, 310 bytes)" in rows[3]  # on the wire, with the prefix
    assert "done again, 3 of 3 times" in text


def test_draft_omits_run_names_and_lists_findings_of_cause(made: tuple[Path, str, str]) -> None:
    other = found(made, file="programs/finding-2.py")
    text = told(made, found(made), other)
    assert made[2] not in text
    assert "## Seen of the same cause\n\n- event 0 (send A): queueId is 7" in text


def test_drafts_cover_only_open_findings_and_old_ones_disappear(made: tuple[Path, str, str]) -> None:
    folder = made[0]
    (folder / drafts.DRAFTS).mkdir()
    (folder / drafts.DRAFTS / "cause-9.md").write_text("old")
    whole = report.ValidationReport({"name": "x"}, PROFILE, 5, 1, findings=[found(made), found(made, again=0)])
    whole.findings[0].cause, whole.findings[1].cause = "a", "b"
    drafts.write(whole, folder)
    assert [path.name for path in (folder / drafts.DRAFTS).iterdir()] == ["cause-1.md"]


def test_unwritable_draft_is_reported(made: tuple[Path, str, str], tmp_path: Path) -> None:
    (tmp_path / drafts.DRAFTS).write_text("a file")
    (tmp_path / made[1]).write_bytes((made[0] / made[1]).read_bytes())
    with pytest.raises(InputError, match="a draft cannot be written"):
        drafts.write(report.ValidationReport({"name": "x"}, PROFILE, 5, 1, findings=[found(made)]), tmp_path)
