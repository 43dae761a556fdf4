"""The result of each entry of a run: none passes untested, a known violation must not disappear, and every finding has an entry."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from rocketproof_profiles import PROFILES
from rocketproof_properties.catalogue.rules import rules
from rocketproof_properties.catalogue.table import HISTORY_CLAIMS
from rocketproof_properties.judging.claims import ENOUGH
from rocketproof_properties.judging.specification import contradicted as stated_by
from rocketproof_properties.judging.specification import guards, rules_of_actions
from rocketproof_properties.judging.verdicts import JudgedProgram, ProgramFinding
from rocketproof_properties.programs.parts import Capability
from rocketproof_properties.programs.program import Program
from rocketproof_properties.validation import text
from rocketproof_properties.validation.accept import Accepted
from rocketproof_properties.validation.entries import SuiteEntry, entries, entry_of, puts_to_the_test
from rocketproof_properties.validation.report import ValidationFinding, ValidationReport
from rocketproof_properties.validation.suite.outcomes import EntryOutcome, outcomes
from rocketproof_traces.checker.shape import MachineShape, model_of
from rocketproof_traces.history import Header, Writer

EVERYTHING = frozenset(Capability)
KNOWN = "INV-44[half messages]"


def entry(id_: str, profile: str = "P494") -> SuiteEntry:
    return next(entry for entry in entries(profile, EVERYTHING) if entry.id == id_)


def judged(path: Path, number: int = 1, **more: Any) -> JudgedProgram:
    return JudgedProgram(number, path, "plain messages", frozenset(), by=("specification", "claims", "reference"), **more)


def half(path: Path, number: int, *, held: bool) -> JudgedProgram:
    claims = {"INV-44": (held, "violated", "half messages")}
    verdicts = [] if held else [ProgramFinding("claims", "INV-44", "the record is elsewhere", known=True)]
    return judged(path, number, claims=claims, exercised=frozenset({"INV-44"}), deviations=verdicts)


def report(*programs: JudgedProgram, **more: Any) -> ValidationReport:
    return ValidationReport({"name": "a broker", "offers": ["start"]}, "P494", 1, len(programs), judged=list(programs), **more)


def outcome(made: ValidationReport, id_: str, folder: Path) -> EntryOutcome:
    return outcomes(made, [entry(id_)], folder)[id_]


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """A history of two sends; the first response has a hostile remark."""
    path = tmp_path / "histories" / "00001.ndjson"
    path.parent.mkdir()
    program = Program(1, "plain messages", (("send", {}), ("send", {})))
    writer = Writer(path, Header({"program": program.data(), "prefix": "rabc-1-", "broker": "broker-a"}, ""))
    for remark in ("\x1b[2J\x07gone", None):
        asked = {"to": "broker-a", "code": 310, "fields": {"topic": "rabc-1-A", "queueId": "0"}, "version": 399, "oneWay": False}
        writer.add("invoke", "client 0", "send", {**asked, "bodySize": 0, "body": None, "at": 0}, 0)
        writer.add(
            "ok", "client 0", "send", {"code": 0, "remark": remark, "fields": {"queueOffset": "0"}, "bodySize": 0, "body": None, "at": 0}, 1
        )
    writer.close()
    return path


# Entries


@pytest.mark.parametrize("profile", PROFILES)
def test_entries_have_unique_ids_and_sentences(profile: str) -> None:
    found = entries(profile, EVERYTHING)
    assert len({entry.id for entry in found}) == len(found) > 60
    assert all(entry.sentence and entry.title.startswith(entry.id) for entry in found)
    assert {entry.kind for entry in found} == {"property", "rule", "specification", "reference", "hazard"}


def test_visible_properties_and_expected_violations_have_entries() -> None:
    found = {entry.id: entry for entry in entries("P494", EVERYTHING)}
    assert {claim.id for claim in HISTORY_CLAIMS} - set(found) <= {"INV-54", "INV-55", "INV-56", "LIV-01", "LIV-02", "LIV-06"}
    assert found["INV-44"].expected == "holds" and found[KNOWN].expected == "violated" and "HAZ-13" in found[KNOWN].reason
    assert found["INV-06.records[records larger than a file]"].needs is Capability.START


@pytest.mark.parametrize("profile", PROFILES)
def test_guards_that_state_rules_are_guards_of_specification(profile: str) -> None:
    actions = {action.name: action for action in model_of(MachineShape(profile, ("template", "ordinary", "retry"), 8))[1].actions}
    stated = guards(profile)
    assert {"CHK-10", "TCM-14"} <= set(stated.values()) <= set(rules())
    for action, guard in stated:
        assert guard in {guard.name for guard in actions[action].guards}
    assert ("CHK-04" in stated.values()) is PROFILES[profile].reserves_template


@pytest.mark.parametrize(
    ("action", "guard", "found"),
    [
        ("accept_queue", "legal queue id", ("CHK-10",)),
        ("look_up_missing", "not: illegal characters", ("CHK-02",)),
        ("refuse_blank", "blank name", ()),  # a response does not show which of several reasons applied
        ("", "", ()),
    ],
)
def test_guard_that_refuses_contradicts_rule_that_it_states(action: str, guard: str, found: tuple[str, ...]) -> None:
    assert stated_by("P494", action, guard) == found


@pytest.mark.parametrize(
    ("verdict", "id_"),
    [
        (ProgramFinding("claims", "INV-43", ""), "INV-43"),
        (ProgramFinding("specification", "specification.send", "", rules=("CHK-10",)), "CHK-10"),
        (ProgramFinding("specification", "specification.send", ""), "specification.send"),
        (ProgramFinding("specification", "specification.max_offset", ""), "specification.topics"),
        (ProgramFinding("reference", "send.code", "", rules=("CHK-03",)), "CHK-03"),
        (ProgramFinding("reference", "send.code", "", rules=("APP-05", "APP-06", "SEND-41")), "reference.send"),
        (ProgramFinding("reference", "batch.remark", ""), "reference.send"),
        (ProgramFinding("reference", "topic.perm", ""), "reference.topic.perm"),
        (ProgramFinding("reference", "topic.the broker's entry", ""), "reference.topic.made"),
        (ProgramFinding("reference", "topic.topicSysFlag", ""), "reference.topic.flags"),
        (ProgramFinding("reference", "record.property WAIT", ""), "reference.record.property"),
        (ProgramFinding("reference", "record.content", ""), "reference.record"),
        (ProgramFinding("reference", "queue.next offset", ""), "reference.queue"),
        (ProgramFinding("reference", "something.new", ""), "reference.other"),
    ],
)
def test_every_finding_contradicts_entry(verdict: ProgramFinding, id_: str) -> None:
    assert entry_of(verdict) == id_
    assert entry(id_).id == id_


# Programs that test an entry


def test_program_tests_whatever_it_could_contradict(tmp_path: Path) -> None:
    plain = judged(tmp_path, claims={"INV-44": (True, "holds", "")}, exercised=frozenset({"INV-44"}))
    assert puts_to_the_test(plain, entry("INV-44"))
    assert not puts_to_the_test(replace(plain, exercised=frozenset()), entry("INV-44"))  # it held because nothing happened
    assert not puts_to_the_test(plain, entry(KNOWN))
    assert puts_to_the_test(half(tmp_path, 1, held=True), entry(KNOWN))
    actions = frozenset({"look_up", "accept_queue"})
    sent = judged(tmp_path, actions=actions, rules_held=rules_of_actions("P494", actions), asked=frozenset({"send"}))
    assert puts_to_the_test(sent, entry("CHK-10")) and puts_to_the_test(sent, entry("reference.send"))
    assert not puts_to_the_test(sent, entry("CHK-02")) and not puts_to_the_test(sent, entry("reference.send_back"))
    assert not puts_to_the_test(replace(sent, by=("claims",)), entry("specification.send"))


def test_nothing_passes_that_no_program_put_to_test(tmp_path: Path) -> None:
    found = outcomes(report(judged(tmp_path)), entries("P494", EVERYTHING), tmp_path)
    assert {outcome.status for outcome in found.values()} == {"skipped"}
    assert all(outcome.words.startswith("not exercised: ") for outcome in found.values())


def test_missing_target_capability_is_reported(tmp_path: Path) -> None:
    made = report(judged(tmp_path))
    assert "does not offer 'store': files are not read" in outcome(made, "INV-38.records", tmp_path).words


# Verdicts


def test_uncontradicted_entry_passes(tmp_path: Path) -> None:
    good = judged(tmp_path, claims={"INV-03": (True, "holds", "")}, exercised=frozenset({"INV-03"}))
    assert outcome(report(good), "INV-03", tmp_path) == EntryOutcome(
        "passed", "nothing contradicts it in 1 program that put it to the test"
    )


@pytest.mark.parametrize(("programs", "status"), [(ENOUGH - 1, "skipped"), (ENOUGH, "failed")])
def test_known_violation_fails_after_enough_programs_without_it(tmp_path: Path, programs: int, status: str) -> None:
    found = outcome(report(*(half(tmp_path, n, held=True) for n in range(programs))), KNOWN, tmp_path)
    assert found.status == status
    assert ("P494 expects a violation (HAZ-13" in found.said) is (status == "failed")


def test_known_violation_that_target_has_fixed_is_accepted(tmp_path: Path) -> None:
    made = report(*(half(tmp_path, n, held=True) for n in range(ENOUGH)))
    made.fixed = {KNOWN.partition("[")[0]: Accepted("INV-*", "ours is right", date(2999, 1, 31), fixed=True)}
    assert outcome(made, KNOWN, tmp_path).status == "accepted" and made.vanished == []


def test_observed_known_violation_passes_and_is_reported(tmp_path: Path) -> None:
    found = outcome(report(half(tmp_path, 1, held=True), half(tmp_path, 2, held=False)), KNOWN, tmp_path)
    assert found.status == "passed"
    assert found.words.startswith("violated, as P494 expects (HAZ-13") and found.words.endswith("in 1 of 2 programs")


def contradicted(history: Path, **more: Any) -> ValidationReport:
    verdict = ProgramFinding("claims", "INV-03", "a one-way request gets no response: request 2 (send, A): expected 0, found 1")
    broken = judged(history, claims={"INV-03": (False, "holds", "")}, exercised=frozenset({"INV-03"}), deviations=[verdict])
    program = Program(1, "plain messages", (("send", {}), ("send", {})))
    finding = ValidationFinding(verdict, program, "histories/00001.ndjson", again=2, repeats=3, **more)
    return report(broken, findings=[finding])


def test_failure_shows_program_as_requests_and_answers(history: Path) -> None:
    found = outcome(contradicted(history), "INV-03", history.parents[1])
    assert found.status == "failed" and found.words == "request 2 (send, A): expected 0, found 1"
    lines = found.said.splitlines()
    assert lines[0] == "INV-03 a one-way request gets no response"
    assert "shown by 1 of 1 program on a broker; reproduced in 2 of 3 repetitions" in lines[1]
    assert "-->  2-3    send A queueId 0  0 SUCCESS, queueOffset 0" in lines
    assert f"history: {history}" in lines
    assert "rabc-1-" not in found.said and "\x1b" not in found.said and "·[2J·gone" in found.said


def test_accepted_difference_is_accepted(history: Path) -> None:
    accepted = Accepted("INV-03", "ours answers", date(2099, 1, 1))
    found = outcome(contradicted(history, accepted=accepted), "INV-03", history.parents[1])
    assert (found.status, found.words) == ("accepted", "accepted: INV-03 (ours answers, until 2099-01-01)")


def test_witness_that_is_not_followed_fails(tmp_path: Path) -> None:
    from rocketproof_properties.conformance.witnesses.known import HazardReplayed

    def replayed(reproduced: bool | None) -> EntryOutcome:
        hazard = HazardReplayed("HAZ-02", "INV-16 INV-18", "sentence", "condition", (), reproduced, ("did this", "and then that"))
        return outcome(report(judged(tmp_path), witnesses=[hazard]), "HAZ-02", tmp_path)

    assert replayed(True).status == "passed"
    made = report(judged(tmp_path), witnesses=[HazardReplayed("HAZ-02", "INV-16 INV-18", "sentence", "condition", (), True, ())])
    of_states = "INV-18[auto-create off, TBW102 from the file]"
    assert entry(of_states).witness == "HAZ-02" and outcome(made, of_states, tmp_path).words.startswith("violated, as P494 expects")
    assert replayed(None) == EntryOutcome("skipped", "not exercised: and then that")
    assert replayed(False).status == "failed" and "    did this" in replayed(False).said


def test_long_table_continues_on_further_lines() -> None:
    rows = list(text._columns([("a", "b c " * 40), ("d", "e")], text.WIDTH))
    assert max(map(len, rows)) <= text.WIDTH and rows[0].startswith("a  b c") and rows[1].startswith("     b") and rows[-1] == "d  e"
