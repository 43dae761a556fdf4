"""Decide whether a mutant changes a claim's verdict, by searching the instance with the mutant.

The search ends as soon as one claim's verdict is final and differs from the specification's. A refuted claim stays refuted, and a claim
shown reachable stays reachable, whatever follows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from rocketproof_model import EvaluationError, Instance, Property, liveness, search
from rocketproof_model.faults import ModelFault
from rocketproof_model.result import LIVE, SEARCHED, Limits, Outcome, Verdict

from .instances import Catalogued

IMPLEMENTATION: Final = "implementation"
TYPES: Final = "types"


@dataclass(frozen=True)
class Notice:
    """What notices a mutant. `by`: the id of a property, IMPLEMENTATION, or TYPES if the search ends since a value is not in its type.
    `where`: the instance. `how`: the observation in words."""

    by: str
    where: str
    how: str


_MORE = 2, 20_000  # limit of a mutant's search: factor for the specification's states, and an additional number


def changed(instance: Catalogued, mutant: Instance, states: int) -> Notice | None:
    """Return the first claim whose verdict changes, None if there is none. `states`: the specification's number of states there."""
    claims = [claim for claim in instance.source.subject().properties if (claim.id, claim.kind) in instance.expected]
    searched, live = ([claim for claim in claims if claim.kind in kinds] for kinds in (SEARCHED, LIVE))
    if not claims:
        return None

    def enough(decided: Collection[Property]) -> bool:
        every = len(decided) == len(searched) and not live
        return every or any(_expected(instance, claim) != ("holds" if claim.kind == "reachable" else "violated") for claim in decided)

    factor, more = _MORE
    try:
        exploration = search.explore(mutant, searched, limits=Limits(states=factor * states + more), enough=enough, symmetry=not live)
        notice = _other(instance, _decided(exploration.outcomes))
        if notice is None and live and exploration.finished:
            notice = _other(instance, liveness.verdicts(exploration, live))
    except EvaluationError as error:
        before = _decided(error.outcomes) if isinstance(error, ModelFault) else {}
        notice = _other(instance, before) or Notice(TYPES, str(instance), str(error))
    return notice


def _decided(outcomes: Iterable[Outcome]) -> dict[Property, Verdict]:
    return {outcome.property: outcome.verdict for outcome in outcomes}


def _other(instance: Catalogued, verdicts: Mapping[Property, Verdict]) -> Notice | None:
    for claim, verdict in verdicts.items():
        expected = _expected(instance, claim)
        if verdict in ("holds", "violated") and verdict != expected:
            return Notice(claim.id, str(instance), f"{verdict}, and {expected} was expected")
    return None


def _expected(instance: Catalogued, claim: Property) -> str:
    return instance.expected[claim.id, claim.kind]
