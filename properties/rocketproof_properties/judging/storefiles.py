"""The files of a broker's store, judged by the audit's rules when the programs on it are done.

Only rules count of which a breach is an error: that no broker of the profile writes such files. What the audit says becomes a `state` event
`audit` of a history without requests, so that it can be judged again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

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
from .engines import spreading
from .expected import expected
from .judging import JudgedProgram, ProgramFinding
from .known import why_not

SOURCE: Final = "the files of the store"
STATE: Final = "audit"
_KEPT: Final = 50  # findings of a rule
_ANEW: Final = ("INV-44.offset", "INV-44.back")
"""What a queue may break that a start has built again from all records of a topic, those from before its deletion too (HAZ-18): the first
record behind that has number 0 again, and stands wherever the queue has come to."""
_ELSEWHERE: Final = ("ledger", "ledgers")
"""Rows that only DLedger's logs have."""


def rules() -> list[Rule]:
    """The rules that files of any broker have to keep, but for those that programs are judged by as well."""
    known = {claim.id for claim in HISTORY_CLAIMS}
    return [one for one in stored_rules() if one.severity == "error" and one.over not in _ELSEWHERE and one.id not in known]


def record(store: Path, path: Path, broker: str, needs: str, origin: Mapping[str, Any], profile: str) -> bool:
    """Audit a store directory and write down what came of it; False where there is no store. Raises KeyboardInterrupt."""
    from rocketproof_traces.audit.programs import AuditPlan
    from rocketproof_traces.audit.run import SavedAnswers, audit

    ids = tuple(one.id for one in rules())
    plan = AuditPlan(stored_rules, tuple(sorted(settings(profile).items())), ids, _KEPT, hosts_by_flag=PROFILES[profile].hosts_by_flag)
    try:
        outcome = audit(plan, [str(store)], spreading("local", 1, None, None, short=True), SavedAnswers(None, plan))
    except TraceError:
        return False
    if outcome.stopped:
        raise KeyboardInterrupt
    (found,) = outcome.totals
    program = Program(0, SOURCE, (), needs)
    path.parent.mkdir(exist_ok=True)
    recording = HistoryRecorder(path, {**origin, "program": program.data(), "broker": broker})
    loses = needs == ALONE and expected(profile, "INV-06.records", frozenset({about.TOO_LARGE}), SOURCE)[0] == "violated"
    # A program on small files may send what fits none; where such a message is lost (HAZ-22), a file without a record is as it should be.
    # Where anybody may send to the half topic by its name, what lies there is no half message.
    named = HALF_TOPIC not in PROFILES[profile].forbidden
    counts = {
        id_: found.counts.get(id_, 0) for id_ in ids if not (loses and id_ == "INV-06.stored") and not (named and id_.startswith("TRX-"))
    }
    rebuilt = [each for each in found.findings if each.property in _ANEW and each.topic in origin.get("anew", ())]
    for each in rebuilt:
        counts[each.property] -= 1
    said = {
        each.property: f"{each.file} at {each.offset:,}: expected {each.expected}, found {each.found}"
        for each in sorted(found.findings, reverse=True)
        if each not in rebuilt
    }
    recording.add("state", broker, STATE, {"records": found.records, "counts": counts, "said": said, "problems": found.problems})
    recording.close()
    return True


def judge(parsed: ParsedHistory, path: Path, profile: str) -> JudgedProgram:
    """Judge what an audit said, by what is known of the profile. Where it could not read something, only what it found broken is
    judged, and the rest is left open."""
    state = parsed.states[STATE]
    judged = JudgedProgram(0, path, SOURCE, frozenset(), events=len(parsed.events), by=("claims",))
    sentences = {one.id: one.claim.sentence for one in rules()}
    for id_, count in state["counts"].items():
        reason = why_not(id_, profile)
        if count or not state["problems"]:
            judged.claims[id_] = (not count, "violated" if reason else "holds", "")
        else:
            judged.left_open[id_] = str(state["problems"][0])
        if count:
            text = f"{sentences.get(id_, id_)}: {state['said'].get(id_, '')} ({count:,} in {SOURCE})"
            judged.verdicts.append(ProgramFinding("claims", id_, text, known=bool(reason), reason=reason))
    judged.exercised = frozenset(id_ for id_, (held, _, _) in judged.claims.items() if state["records"] or not held)
    return judged
