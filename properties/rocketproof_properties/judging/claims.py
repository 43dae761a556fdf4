"""Judge a program by the claims of the catalogue.

A case of the catalogue has a condition: what its programs do. A generated program may do several of these things and then has all their
conditions. A broken claim is known if a case with one of the program's conditions expects the violation. It is a finding if a case expects
the claim to hold in every program, or in programs of this program's source.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from rocketproof_profiles import lineage
from rocketproof_traces.checker.left_out import BUSY

from ..brokers.runs.transport import NOBODY, SILENT, TWICE
from ..catalogue import conditions as about
from ..catalogue.claim import SEEDS, Case
from ..catalogue.table import CASES, HISTORY_CLAIMS, HistoryClaim
from ..programs.parts import Capability
from .exchanges import HELD, ProgramExchanges
from .promises import judge_promises
from .verdicts import Expected, JudgeResult, ProgramFinding

ENOUGH: Final = 30
"""A known violation has vanished if none of this many programs with its condition shows it."""

HIDDEN: Final = frozenset({"INV-54", "INV-55", "INV-56", "LIV-01", "LIV-02", "LIV-06", "INV-38.records"})
"""Claims about facts that a program on the wire cannot observe: statistics, hooks, client state, time spans of hours."""

OF_QUEUES: Final = frozenset({"INV-34.records", "INV-35.records", "INV-36.records"})
"""Claims that need every record of a queue from its beginning."""
OF_PLACES: Final = frozenset({"INV-06.records", "INV-43", "INV-44", "INV-45", "INV-51"})
"""Claims that need every record that a request stored."""
OF_ORIGINS: Final = frozenset({"INV-07.records", "INV-46", "INV-47", "INV-48", "INV-49", "INV-50"})
"""Claims about the origin of a record: a request or an earlier record."""
OF_QUESTIONS: Final = frozenset({"AUX-33.asked"})
"""Claims about the broker's own check requests. A check request can be lost too."""
OF_SETTINGS: Final[Mapping[str, frozenset[str]]] = {
    "mappedFileSizeCommitLog": frozenset({"INV-37", "INV-38.records", "INV-39"}) | OF_PLACES,
    "maxMessageSize": frozenset({"INV-40"}),
    "transactionCheckInterval": OF_QUESTIONS,
}
"""Claims that depend on a setting of the broker. They are not decided if the setting's value is unknown."""
IN_DOUBT: Final = OF_QUEUES | OF_PLACES | OF_ORIGINS | OF_QUESTIONS
"""Claims that are not decided if responses were lost: it is unknown then what those requests stored."""

OF_FRAMES: Final[Mapping[str, tuple[str, ...]]] = {"INV-01": (SILENT, TWICE), "INV-02": (TWICE,), "INV-04": (NOBODY,)}
"""Claims about the number of responses, with the transport faults that look like a violation by the broker."""
_ANSWERING: Final = frozenset({BUSY, HELD})

ON_THE_WIRE: Final[Mapping[str, Capability | None]] = {
    **dict.fromkeys((about.DELAYED, about.HALF_ONES, about.HALF_DELAYED, about.AT_LIMIT, about.LOCKED, about.BY_NAME)),
    **dict.fromkeys((about.SENT_BACK, about.GIVEN_UP, about.NO_RETRY, about.BATCHED, about.UNKNOWN, about.REGISTERED, about.MOVED)),
    about.TOO_LARGE: Capability.START,
}
"""Conditions that programs of clients create, with the capability that the target needs for them."""


@cache
def cases(profile: str) -> tuple[Case, ...]:
    """Return the cases about histories: the profile's own cases, then those of the profiles it refines, up to P49 or an earlier seed."""
    inherited: list[Case] = []
    names = lineage(profile)
    for name in names[: 1 + min(names.index(seed) for seed in SEEDS if seed in names)]:
        named = {(case.claim, case.condition) for case in inherited}
        inherited += [
            case for case in CASES if case.kind == "history" and case.profile == name and (case.claim, case.condition) not in named
        ]
    return tuple(inherited)


def expected(profile: str, claim: str, conditions: frozenset[str], source: str) -> tuple[Expected, Case | None]:
    """Return the catalogue's expected verdict for a claim in a program with these conditions, and the case that states it."""
    if is_undecidable(claim, conditions):
        return "open", None
    mine = [case for case in cases(profile) if case.claim == claim]
    for case in mine:
        if case.expected == "violated" and case.condition in conditions:
            return "violated", case
    for case in mine:
        if case.expected == "holds" and case.condition in (about.ANYTHING, source):
            return "holds", case
    return "open", None


def is_undecidable(claim: str, conditions: frozenset[str]) -> bool:
    """Whether a program with these conditions does not decide a claim, in any release."""
    if claim == "INV-03" and not conditions.isdisjoint(_ANSWERING):
        return True  # HAZ-26: a broker answers one-way callers if it is busy or held their pulls
    if about.CORRUPTED in conditions and claim in OF_PLACES | OF_QUEUES:
        return True  # a start may drop the record, or what follows from a table
    if about.TOO_LARGE in conditions and claim in OF_PLACES and claim != "INV-06.records":
        return True  # INV-06: the lost message is not stored
    # nor can records after it be read
    return not conditions.isdisjoint(about.UNREAD) and claim in OF_PLACES | OF_QUEUES and claim != "INV-06.records"


def judge_claims(program: ProgramExchanges) -> JudgeResult:
    """Judge a program by each claim and each promise that its responses and the records read back can decide."""
    deviations, unconfirmed, claims, exercised = [], [], dict[str, tuple[bool, Expected, str]](), set[str]()
    open_texts = dict[str, str]()
    for claim in HISTORY_CLAIMS:
        if not _judgeable(claim, program):
            continue
        verdict, case = expected(program.profile, claim.id, program.conditions, program.history.program.source)
        history = program.stored.own if claim.id in OF_QUEUES else program.stored.whole
        violation = claim.violation(history)
        text = None if violation is None else str(violation)
        fault = None if text is None else next((each for each in program.faults if each.kind in OF_FRAMES.get(claim.id, ())), None)
        if fault is not None and verdict != "violated":
            unconfirmed.append(ProgramFinding("claims", claim.id, f"{claim.sentence}: {fault}", seq=fault.seq, at=fault.at))
            continue
        if text is not None or claim.exercised(history):
            exercised.add(claim.id)
        claims[claim.id] = (text is None, verdict, "" if case is None else case.condition)
        if text is not None and verdict == "open" and not is_undecidable(claim.id, program.conditions):
            open_texts[claim.id] = text
        if text is None or verdict == "open":
            continue
        known = verdict == "violated"
        reason = case.reason if case is not None else ""
        condition = case.condition if case is not None and known else ""
        difference = None if isinstance(violation, str) else violation
        deviations.append(ProgramFinding("claims", claim.id, f"{claim.sentence}: {text}", known, condition, reason, difference=difference))
    kept = judge_promises(program, claims, open_texts)
    return JudgeResult(
        "claims",
        [*deviations, *kept.deviations],
        unconfirmed,
        claims={**claims, **kept.claims},
        exercised=frozenset(exercised) | kept.exercised,
    )


def _judgeable(claim: HistoryClaim, program: ProgramExchanges) -> bool:
    """Whether the responses and the records read back are sufficient to decide a claim."""
    history, stored = program.history, program.stored
    if claim.id in HIDDEN or (program.in_doubt and claim.id in IN_DOUBT):
        return False
    if any(claim.id in OF_SETTINGS.get(name, ()) for name in history.unreadable):
        return False
    if claim.id in OF_QUEUES:
        return stored.pulled and stored.complete and history.whole
    if claim.id in OF_PLACES:
        return stored.viewed and (stored.pulled or stored.lost) and history.whole
    return True
