"""Generated mutants of the implementation: which code they change, how they are drawn, and the outcomes of a few."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nonempty import nonempty
from rocketproof_lab.mutation import arguments
from rocketproof_lab.mutation.generated import baseline, by_wire, called, constant_folding, operators, reasons, sampling, switched
from rocketproof_lab.mutation.generated.target import _done
from rocketproof_lab.mutation.results import (
    EQUIVALENT,
    NOTICED,
    SURVIVED,
    UNDECIDED,
    UNREACHED,
    UNSEEN,
    MutantOutcome,
    MutantVerdict,
    MutationReport,
)
from rocketproof_profiles import PROFILES
from rocketproof_profiles.differing import values
from rocketproof_properties.brokers.deployment import OF_TARGETS, TargetError
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.programs import coverplan
from rocketproof_properties.programs.program import Program
from rocketproof_properties.programs.settings import ENDED
from rocketproof_properties.reports.choices import InputError
from rocketproof_properties.validation.report import ValidationReport
from rocketproof_properties.validation.validate import CTRL_C, ValidationRequest

_REFUSED = "nameserver:_register attribute response.code → response.queue_id #2"
SOURCE = '''
@property
def told(self, a: int = 3) -> str | None:
    """A docstring stays."""
    log.info("so do words", a)
    if a < 2 and self.ready:
        raise ValueError("words of an exception")
    self.names[a] = given(a, b, key=1)
    for one in self.rows:
        if not one:
            continue
    return f"text {a + 1}"
'''


def all_edits() -> list[operators.Edit]:
    (node,) = ast.parse(SOURCE).body
    assert isinstance(node, ast.FunctionDef)
    return list(operators.edits(node, {"names": ("rows",)}))


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("negated", "a < 2 and self.ready", "not (a < 2 and self.ready)"),
        ("negated", "not one", "one"),
        ("fixed", "a < 2 and self.ready", "False"),
        ("part", "a < 2 and self.ready", "self.ready"),
        ("part", "a < 2 and self.ready", "a < 2 or self.ready"),
        ("boundary", "a < 2", "a <= 2"),
        ("boundary", "a < 2", "a < 3"),
        ("constant", "2", "3"),
        ("arithmetic", "a + 1", "a - 1"),
        ("dropped", "continue", ""),
        ("dropped", "self.names[a] = given(a, b, key=1)", ""),
        ("swapped", "given(a, b, key=1)", "given(b, a, key=1)"),
        ("lost", "given(a, b, key=1)", "given(a, b)"),
        ("attribute", "self.names", "self.rows"),
    ],
)
def test_function_is_changed_in_one_place(kind: str, before: str, after: str) -> None:
    (edit,) = [edit for edit in all_edits() if (edit.kind, edit.before, edit.after) == (kind, before, after)]
    (node,) = ast.parse(SOURCE).body
    assert isinstance(node, ast.FunctionDef)
    whole = ast.unparse(node)
    made = ast.unparse(operators.changed(node, edit))
    assert ast.unparse(node) == whole and made != whole and "@property" not in made
    assert not after or after.removeprefix("not ") in made


def test_texts_signatures_and_log_arguments_are_unchanged() -> None:
    said = {edit.before for edit in all_edits()}
    assert not said & {"3", "'so do words'", "'words of an exception'", "log.info('so do words', a)", "'A docstring stays.'"}
    assert {edit.kind for edit in all_edits()} <= operators.KINDS.keys()


def test_change_knows_lines_of_its_statement() -> None:
    lines = {(edit.before, edit.first, edit.last) for edit in all_edits()}
    assert {("a < 2", 6, 6), ("continue", 11, 11), ("a + 1", 12, 12)} <= lines


@pytest.mark.slow
def test_sample_is_even_over_modules_seeded_and_nested() -> None:
    few, more = (sampling.sample(count, 7, ("name server", "producer")) for count in (20, 40))
    assert few == sampling.sample(20, 7, ("name server", "producer")) != sampling.sample(20, 8, ("name server", "producer"))
    assert set(few) < set(more)
    counts = Counter(change.module for change in more)
    assert len(counts) >= 8 and max(counts.values()) <= 2 * min(counts.values()) + 2
    assert len({change.id for change in more}) == 40
    for sampled in few:
        assert sampled.ready().swaps and sampling.chosen([sampled.id], 1, 0) == [sampled]


def test_part_or_module_can_be_chosen() -> None:
    assert {mutant.module for mutant in sampling.chosen(["route"], 5, 1)} == {"route"}
    assert {mutant.part for mutant in sampling.chosen(["name server"], 5, 1)} == {"name server"}
    with pytest.raises(InputError, match="is no change; give a part"):
        sampling.chosen(["nowhere"], 5, 1)


def rows(*verdicts: MutantVerdict) -> MutationReport:
    return MutationReport(by_wire.FORMAT, [MutantOutcome(f"broker/x:{number}", verdict) for number, verdict in enumerate(verdicts)])


@pytest.mark.parametrize(
    ("verdicts", "code", "share"),
    [
        ((NOTICED, NOTICED), 0, 1.0),
        ((NOTICED, SURVIVED), 1, 0.5),
        ((NOTICED, UNREACHED, UNSEEN), 1, 0.5),
        ((NOTICED, UNDECIDED), 3, 1.0),
        ((UNSEEN,), 0, None),
    ],
)
def test_exit_code_states_whether_mutant_survived(verdicts: tuple[MutantVerdict, ...], code: int, share: float | None) -> None:
    assert (rows(*verdicts).exit_code, rows(*verdicts).share) == (code, share)


def row_of(change: sampling.GeneratedMutant, verdict: MutantVerdict) -> MutantOutcome:
    return MutantOutcome(change.id, verdict)


@pytest.mark.slow
def test_argument_applies_only_to_unnoticed_mutants() -> None:
    one = sampling.changes("producer/send", "producer")[0]
    found = reasons.argued(row_of(one, SURVIVED), one, "P494")
    assert found.verdict == UNSEEN and found.how
    noticed = row_of(one, NOTICED)
    assert reasons.argued(noticed, one, "P494") is noticed


def test_equivalence_by_switches_holds_only_under_that_profile() -> None:
    of_hooks = sampling.changes("broker/hooks", "broker")
    change = next(
        each for each in of_hooks if each.before == "not hooks.send and (not profile.always_traced)" and each.after == "not hooks.send"
    )
    assert not PROFILES["P494"].always_traced and PROFILES["P533"].always_traced
    assert reasons.argued(row_of(change, SURVIVED), change, "P494").verdict == EQUIVALENT
    assert reasons.argued(row_of(change, SURVIVED), change, "P533").verdict != EQUIVALENT


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("if profile.always_traced:\n  f()", "if profile.always_traced:\n  g()", True),
        ("if profile.null_fields:\n  f()", "if profile.null_fields:\n  g()", False),
        ("if profile.null_fields:\n  return 1\nf()", "if profile.null_fields:\n  return 1\ng()", True),
        ("if a() and profile.null_fields:\n  f()", "if a():\n  f()", True),
        ("if a() or profile.null_fields:\n  f()", "f()", False),
        ("if a.b or profile.null_fields:\n  f()", "f()", True),
        ("return a and profile.null_fields", "return a", False),
        ("return profile.null_fields and a", "return a", True),
        ("x = 1 if self.profile.always_traced else 2", "x = 2", True),
        ("x = self._broker.profile.always_traced is None", "x = False", True),
        ("x = other.always_traced", "x = False", False),
        ("while not profile.null_fields:\n  f()", "pass", False),
    ],
)
def test_functions_equal_if_only_profile_settled_code_differs(one: str, other: str, same: bool) -> None:
    trees = [ast.parse("def f():\n" + "\n".join(f"  {line}" for line in text.splitlines())).body[0] for text in (one, other)]
    first, second = (each for each in trees if isinstance(each, ast.FunctionDef))
    assert constant_folding.same_under(PROFILES["P494"], first, second) is same


def _idle(profile: str, *, traced: bool) -> SimpleNamespace:
    """Return a target that reaches no lines."""
    return SimpleNamespace(lines=frozenset, closed=0, end=lambda: None, open=lambda setup: SimpleNamespace(close=lambda: None))


@pytest.mark.parametrize(
    ("stopped", "raised"), [(CTRL_C, KeyboardInterrupt), ("it does not answer any more", TargetError), ("", TargetError)]
)
def test_unperformed_programs_do_not_count_as_unreached_lines(
    stopped: str, raised: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(baseline, "Forked", _idle)
    monkeypatch.setattr(baseline.Forked, "offers", frozenset(), raising=False)
    monkeypatch.setattr(baseline, "validate", lambda request, progress: ValidationReport({}, "P494", 0, 0, stopped=stopped))
    with pytest.raises(raised):
        baseline.baseline("P494", 2, 1, lambda what, done, of: None)


def test_process_ending_programs_are_tried_on_mutants(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[ValidationRequest]()

    def performed(request: ValidationRequest, progress: object) -> ValidationReport:
        asked.append(request)
        return ValidationReport({}, "P494", 0, 0)

    monkeypatch.setattr(baseline, "Forked", _idle)
    monkeypatch.setattr(baseline.Forked, "offers", OF_TARGETS, raising=False)
    monkeypatch.setattr(baseline, "validate", performed)
    with pytest.raises(TargetError):
        baseline.baseline("P494", 20, 1, lambda what, done, of: None)
    assert ENDED in {program.needs for request in asked for program in request.remembered}


def test_lines_between_two_brokers_and_after_the_last_are_shared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The second program has the same broker as the first, and the third another."""
    programs = [Program(number, "free", ()) for number in (1, 2, 3)]
    reached = iter([set(), {("a", 1)}, {("b", 2)}, {("c", 3)}, {("d", 4)}])
    target, over = SimpleNamespace(lines=lambda: frozenset(next(reached)), closed=0), list[Program]()
    (tmp_path / baseline.HISTORIES).mkdir()
    (tmp_path / baseline.HISTORIES / "1.ndjson").touch()

    def performed(target: Any, folder: Path, programs: Sequence[Program], workers: int, seconds: float | None, progress: Any) -> Any:
        for program in programs:
            target.closed = int(program.number == 3)
            over.append(program)
            progress("program", program.number, 3)
        return SimpleNamespace(stopped="", open=(), judged=programs)

    monkeypatch.setattr(baseline, "perform", performed)
    monkeypatch.setattr(baseline, "load", lambda path: SimpleNamespace(program=over[-1]))
    monkeypatch.setattr(baseline, "judge_file", lambda path, profile: None)
    base = baseline.Baseline("P494", programs)
    baseline._perform(target, base, tmp_path, [0, 1, 2], lambda what, done, of: None, together=False)
    assert base.reached == {0: {("a", 1)}, 1: {("b", 2)}, 2: {("c", 3)}}
    assert base.shared == {("c", 3), ("d", 4)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "before", "after", "profile", "other"),
    [
        ("broker/batch", "topic.startswith(RETRY_PREFIX) and (not batch_retry)", "False", "P494", "P40"),
        ("broker/queue_id", "signed", "False", "P494", "P45"),
        ("message", "exact", "False", "P494", "P45"),
    ],
)
def test_parameter_always_given_switch_is_folded(module: str, before: str, after: str, profile: str, other: str) -> None:
    part = "broker"
    found = [each for each in sampling.changes(module, part) if (each.before, each.after, each.kind) == (before, after, "fixed")]
    verdicts = [{reasons.argued(row_of(one, SURVIVED), one, name).verdict for one in found} for name in (profile, other)]
    assert EQUIVALENT in verdicts[0] and EQUIVALENT not in verdicts[1]


@pytest.mark.parametrize(("profile", "verdict"), [("P494", EQUIVALENT), ("P533", UNREACHED)])
def test_code_called_only_by_other_profile_is_equivalent(profile: str, verdict: str) -> None:
    """Only 5.x tests which field of a request is null when 4.9.4 does not; both test whether a field is null."""
    of_nulls = [each for each in sampling.changes("remoting/headers", "broker") if each.function == "WithNulls.lacks"]
    assert of_nulls and {reasons.argued(row_of(one, UNREACHED), one, profile).verdict for one in of_nulls} == {verdict}
    assert "is_null" in {one.name for one in called.functions()} - constant_folding.uncalled(PROFILES[profile])


@pytest.mark.slow
@pytest.mark.parametrize(("profile", "verdict"), [("P494", EQUIVALENT), ("P533", UNREACHED)])
@pytest.mark.parametrize(
    ("module", "function"), [("persistence", "overwrite"), ("broker/registration", "Registration.queues_of")], ids=["attribute", "setting"]
)
def test_attributes_that_keep_switch_are_folded(module: str, function: str, profile: str, verdict: str) -> None:
    """Callers of `persist` keep the switch in an attribute. One release registers single topics, if a setting is on."""
    found = [each for each in sampling.changes(module, "broker") if each.function == function]
    assert found and {reasons.argued(row_of(one, UNREACHED), one, profile).verdict for one in found} == {verdict}


def test_argument_about_earlier_releases_does_not_hold_for_later() -> None:
    (change,) = [each for each in sampling.changes("nameserver", "name server") if each.id.startswith(_REFUSED)]
    assert reasons.argued(row_of(change, UNREACHED), change, "P494").verdict == EQUIVALENT
    assert reasons.argued(row_of(change, UNREACHED), change, "P533").verdict == UNREACHED


def test_keyword_equal_to_default_is_optional() -> None:
    lost = [each for each in sampling.changes("broker/sending", "broker") if each.kind == "lost" and "prepare(" in each.before]
    (one,) = [each for each in lost if "named=" not in ast.unparse(each.trees[1])]
    assert reasons.argued(row_of(one, SURVIVED), one, "P494").verdict == EQUIVALENT
    assert reasons.argued(row_of(one, SURVIVED), one, "P533").verdict == SURVIVED, "half messages have the property there"


def test_validated_broker_has_only_words_given_by_programs() -> None:
    of_slave = [each for each in sampling.changes("broker/admin", "broker") if each.function.endswith("_is_slave")]
    verdicts = {each.after: reasons.argued(row_of(each, SURVIVED), each, "P494").verdict for each in of_slave}
    assert verdicts["''"] == UNSEEN and SURVIVED in verdicts.values()


def test_one_millisecond_is_invisible_but_moment_is_visible() -> None:
    of_start = [each for each in sampling.changes("broker/checking", "broker") if each.before == "broker.clock.now() < starts"]
    verdicts = {each.kind: reasons.argued(row_of(each, SURVIVED), each, "P494").verdict for each in of_start}
    assert verdicts["boundary"] == UNSEEN and verdicts["negated"] == SURVIVED


def test_startup_mutants_try_all_programs_reaching_ones_first() -> None:
    change = sampling.changes("broker/batch", "broker")[0]
    programs = [Program(number, "", ()) for number in range(3)]
    there = (change.path, change.first)
    through = {1: frozenset({there})}
    assert [p.number for p in baseline.Baseline("P494", programs, through).programs_for(change)] == [1]
    assert [p.number for p in baseline.Baseline("P494", programs, through, frozenset({there})).programs_for(change)] == [1, 0, 2]
    assert baseline.Baseline("P494", programs).programs_for(change) == []


@pytest.mark.parametrize(
    ("noticing", "performed", "verdict", "by"),
    [
        ("programs", ["programs"], NOTICED, "programs"),
        ("cover", ["programs", "cover"], NOTICED, "cover"),
        ("", ["programs", "cover"], SURVIVED, ""),
    ],
)
def test_cover_follows_programs_that_notice_nothing(
    noticing: str, performed: list[str], verdict: MutantVerdict, by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[str]()

    def perform(target: object, folder: object, programs: Sequence[Program], *rest: object) -> ValidationReport:
        asked.extend({"cover" if baseline.is_of_cover(program) else "programs" for program in programs})
        if noticing == asked[-1]:
            raise TargetError("it does not answer")
        return ValidationReport({}, "P494", 0, 0)

    monkeypatch.setattr(by_wire, "Forked", lambda *given: SimpleNamespace(end=lambda: None))
    monkeypatch.setattr(by_wire, "perform", perform)
    monkeypatch.setattr(sampling.GeneratedMutant, "ready", lambda self: None)
    programs = [Program(1, "a chain", ()), Program(2, f"{coverplan.SOURCE}names blank", ())]
    attempt = by_wire.ForkedAttempt(sampling.changes("broker/batch", "broker")[0], programs, "P494", tmp_path)
    outcome = attempt.attempt()
    assert (asked, outcome.verdict, outcome.more["with"], outcome.more["worth"]) == (performed, verdict, by, 2)


def test_lines_are_reported_once_while_threads_run() -> None:
    lines = {("a.py", 1), ("b.py", 2)}
    assert sorted(_done(InProcess("P494"), [], lines, "lines", [])) == [("a.py", 1), ("b.py", 2)]
    assert not lines


def test_every_argument_concerns_existing_mutants() -> None:
    of = {module: part for part in sampling.PARTS for module in sampling.modules(part)}
    for begin in nonempty([begin for table in (arguments.UNSEEN, arguments.EQUIVALENT) for begins in table.values() for begin in begins]):
        named = [module for module in of if module.startswith(begin.partition(":")[0])]
        assert any(change.id.startswith(begin) for module in named[:1] for change in sampling.changes(module, of[module])), begin


@pytest.mark.parametrize("profile", ["P420", "P494", "P550"])
def test_switches_are_drawn_with_value_of_nearest_release(profile: str) -> None:
    all_ = switched.sample(profile, 1000, 0)
    assert {mutant.change.switch for mutant in all_} == {switch for switch, known in values().items() if len(known) > 1}
    assert all(mutant.change.value != getattr(PROFILES[profile], mutant.change.switch) for mutant in all_)
    few = switched.sample(profile, 5, 1)
    assert len(few) == 5 and set(few) <= set(all_) and few != switched.sample(profile, 5, 2)
    before = PROFILES[profile]
    with few[0].ready().applied():
        assert getattr(PROFILES[profile], few[0].change.switch) == few[0].change.value
    assert PROFILES[profile] is before
