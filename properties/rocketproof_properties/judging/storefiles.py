"""Judge the files of a broker's store by the audit's rules after all programs have run.

Only rules of severity error count: no broker of the profile writes files that break them. The audit's result becomes a `state` event
`audit` of a history without requests, so it can be judged again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rocketproof_model import interrupts
from rocketproof_profiles import PROFILES
from rocketproof_protocol.topics import HALF_TOPIC
from rocketproof_traces.audit.rules import Rule
from rocketproof_traces.common.errors import TraceError

from ..brokers.runs.parsed import ParsedHistory
from ..brokers.runs.recording import HistoryRecorder
from ..catalogue import conditions as about
from ..catalogue.stored import settings, stored_rules
from ..catalogue.table import HISTORY_CLAIMS
from ..programs.program import Program
from ..programs.settings import ALONE
from .claims import expected
from .known import why_not
from .verdicts import JudgedProgram, ProgramFinding

if TYPE_CHECKING:
    from rocketproof_traces.audit.findings import AuditFinding
    from rocketproof_traces.audit.run import AuditOutcome

SOURCE: Final = "the files of the store"
STATE: Final = "audit"
_KEPT: Final = 50  # findings of a rule
_STILL: Final = 0.05
"""Seconds between two audits of files that a running broker may change."""
_AUDITS: Final = 20
_ANEW: Final = ("INV-44.offset", "INV-44.back")
"""Rules that a queue may break if a restart rebuilt it from all records of a topic, including those from before the topic's deletion
(HAZ-18). The first record after the deletion has number 0 again but follows the earlier records in the queue."""
_ELSEWHERE: Final = ("ledger", "ledgers")
"""Rows that exist only in DLedger logs."""


def rules() -> list[Rule]:
    """Return the rules for files of any broker, without those that single programs are judged by."""
    known = {claim.id for claim in HISTORY_CLAIMS}
    return [rule for rule in stored_rules() if rule.severity == "error" and rule.over not in _ELSEWHERE and rule.id not in known]


def record(store: Path, path: Path, broker: str, needs: str, origin: Mapping[str, Any], profile: str) -> bool:
    """Audit a store directory and save the result as a history. Returns False if there is no store. Raises KeyboardInterrupt.

    A running broker may change a file between two reads of it. So a broken rule counts only if two successive audits find the same.
    """
    from rocketproof_traces.audit.programs import AuditPlan
    from rocketproof_traces.audit.run import SavedAnswers, audit
    from rocketproof_traces.common.pools import on_threads

    ids = tuple(rule.id for rule in rules())
    plan = AuditPlan(stored_rules, tuple(sorted(settings(profile).items())), ids, _KEPT, hosts_by_flag=PROFILES[profile].hosts_by_flag)
    try:
        outcome, still = _settled(lambda: audit(plan, [str(store)], on_threads(1), SavedAnswers(None)))
    except TraceError:
        return False
    (totals,) = outcome.totals
    problems = [*totals.problems]
    program = Program(0, SOURCE, (), needs)
    path.parent.mkdir(exist_ok=True)
    recording = HistoryRecorder(path, {**origin, "program": program.data(), "broker": broker})
    loses = needs == ALONE and expected(profile, "INV-06.records", frozenset({about.TOO_LARGE}), SOURCE)[0] == "violated"
    # A program on small files may send a message that fits none. If it is lost (HAZ-22), a file without a record is correct.
    # If clients can send to the half topic by its name, its records are not all half messages.
    named = HALF_TOPIC not in PROFILES[profile].forbidden
    left_out = {id_ for id_ in ids if (loses and id_ == "INV-06.stored") or (named and id_.startswith("TRX-"))}
    counts = {id_: totals.counts.get(id_, 0) for id_ in ids if id_ not in left_out}
    rebuilt = [row for row in totals.findings if row.property in _ANEW and row.topic in origin.get("anew", ())]
    for finding in rebuilt:
        counts[finding.property] -= 1
    if not still:
        counts = dict.fromkeys(counts, 0)
        problems.append(f"the files in {store} go on changing; stop what writes to the broker, and run it again")
    fields = {rule.id: rule.field for rule in rules()}
    sentences = {
        finding.property: f"{finding.file} at {finding.offset:,}: "
        f"{fields[finding.property]}: expected {finding.expected}, found {finding.found}"
        for finding in sorted(totals.findings, reverse=True)
        if finding not in rebuilt
    }
    recording.add("state", broker, STATE, {"records": totals.records, "counts": counts, "said": sentences, "problems": problems})
    recording.close()
    return True


def _settled(audited: Callable[[], AuditOutcome]) -> tuple[AuditOutcome, bool]:
    """Return an audit that finds nothing, or the same as the one before it, and True; the last of many others, and False.

    Raises KeyboardInterrupt for an audit that was stopped.
    """
    found: list[tuple[Mapping[str, int], list[AuditFinding]]] = []
    while True:
        outcome = audited()
        if outcome.stopped:
            raise KeyboardInterrupt
        (totals,) = outcome.totals
        found.append((totals.counts, sorted(totals.findings)))
        still = not any(totals.counts.values()) or found[-1:] == found[-2:-1]
        if still or len(found) == _AUDITS:
            return outcome, still
        interrupts.pause(_STILL)


def judge(parsed: ParsedHistory, path: Path, profile: str) -> JudgedProgram:
    """Judge a saved audit result under a profile with its known violations. If the audit could not read a file, only broken rules are
    judged. The others stay open."""
    state = parsed.states[STATE]
    judged = JudgedProgram(0, path, SOURCE, frozenset(), events=len(parsed.events), by=("claims",))
    sentences = {rule.id: rule.claim.sentence for rule in rules()}
    for id_, count in state["counts"].items():
        reason = why_not(id_, profile)
        if count or not state["problems"]:
            judged.claims[id_] = (not count, "violated" if reason else "holds", "")
        else:
            judged.left_open[id_] = str(state["problems"][0])
        if count:
            text = f"{sentences.get(id_, id_)}: {state['said'].get(id_, '')} ({count:,} in {SOURCE})"
            judged.deviations.append(ProgramFinding("claims", id_, text, known=bool(reason), reason=reason))
    judged.exercised = frozenset(id_ for id_, (held, _, _) in judged.claims.items() if state["records"] or not held)
    return judged
