"""Judge a program by the promises: what users rely on in every release.

A broken promise is known if a documented violation names the release and a condition of the program. Otherwise it is a finding. A promise
whose formula is a claim of the catalogue is judged here only where no case of the claim decides it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..catalogue import conditions as about
from ..catalogue.promises.broken import known_breach
from ..catalogue.promises.promise import Promise
from ..catalogue.promises.statements import promises
from .exchanges import FORGED_RETRY, UNINDEXED, ProgramExchanges
from .verdicts import Expected, JudgeResult, ProgramFinding

UNREADABLE: Final = frozenset({*about.UNREAD, about.TOO_LARGE, about.CORRUPTED})
"""Conditions under which records cannot be read, or are lost for a reason outside of the broker."""
LEFT_OPEN: Final[Mapping[str, str]] = {"PRO-57": FORGED_RETRY, "PRO-68": UNINDEXED}
"""The condition under which a program does not decide a promise."""


def judge_promises(program: ProgramExchanges, claims: Mapping[str, tuple[bool, Expected, str]], texts: Mapping[str, str]) -> JudgeResult:
    """Judge a program by each promise that it decides.

    `claims`: the verdicts on the catalogue's claims. `texts`: the violations of those whose verdict is open.
    """
    if not program.history.whole or program.in_doubt or program.history.unreadable or not program.conditions.isdisjoint(UNREADABLE):
        return JudgeResult("claims")
    deviations, verdicts, exercised = [], dict[str, tuple[bool, Expected, str]](), set[str]()
    for promise in promises():
        text = _violation(promise, program, texts)
        if text is None and not _exercised(promise, program, claims):
            continue
        breach = known_breach(promise.id, program.profile, program.conditions)
        expected: Expected = "holds" if breach is None else "open" if text is None else "violated"
        verdicts[promise.id] = (text is None, expected, "" if breach is None else breach.condition)
        exercised.add(promise.id)
        if text is not None:
            known = breach is not None
            condition, reason = ("", "") if breach is None else (breach.condition, breach.reason)
            deviations.append(ProgramFinding("claims", promise.id, f"{promise.sentence} {text}", known, condition, reason))
    return JudgeResult("claims", deviations, claims=verdicts, exercised=frozenset(exercised))


def _violation(promise: Promise, program: ProgramExchanges, texts: Mapping[str, str]) -> str | None:
    if LEFT_OPEN.get(promise.id) in program.conditions:
        return None
    if promise.own is not None:
        return promise.own.check(program.stored.whole)
    return next((texts[id_] for id_ in promise.refers if id_ in texts), None)


def _exercised(promise: Promise, program: ProgramExchanges, claims: Mapping[str, tuple[bool, Expected, str]]) -> bool:
    """Whether a program exercises a promise that it keeps. Formulas of the catalogue count as exercised where they are open."""
    if promise.own is not None:
        return promise.own.exercised(program.stored.whole)
    mine = [claims[id_] for id_ in promise.refers if id_ in claims]
    return bool(mine) and all(held and expected == "open" for held, expected, _ in mine)
