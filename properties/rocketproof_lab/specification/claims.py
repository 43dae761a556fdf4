"""Is a claim's verdict another one for a mutant? The instance is searched with it, as far as the claims that have a verdict there need.

What ends a search early is a claim that is decided otherwise than the specification's: a claim that is refuted at some state, or shown
reachable by one, is so whatever comes later.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from rocketproof_model import EvaluationError, Instance, Property, liveness, search
from rocketproof_model.faults import ModelFault
from rocketproof_model.result import LIVE, SEARCHED, Limits, Outcome, Verdict

from .instances import Catalogued
from .notice import TYPES, Notice

_MORE = 2, 20_000  # times the specification's states, and so many more, in which a mutant is searched


def changed(one: Catalogued, mutant: Instance, states: int) -> Notice | None:
    """The first claim whose verdict is another one, if any; the specification has so many states there."""
    claims = [claim for claim in one.source.subject().properties if (claim.id, claim.kind) in one.expected]
    asked, live = ([claim for claim in claims if claim.kind in kinds] for kinds in (SEARCHED, LIVE))
    if not claims:
        return None

    def enough(decided: Collection[Property]) -> bool:
        every = len(decided) == len(asked) and not live
        return every or any(_expected(one, claim) != ("holds" if claim.kind == "reachable" else "violated") for claim in decided)

    times, more = _MORE
    try:
        found = search.explore(mutant, asked, limits=Limits(states=times * states + more), enough=enough, symmetry=not live)
        notice = _other(one, _decided(found.outcomes))
        if notice is None and live and found.finished:
            notice = _other(one, liveness.verdicts(found, live))
    except EvaluationError as error:
        before = _decided(error.outcomes) if isinstance(error, ModelFault) else {}
        notice = _other(one, before) or Notice(TYPES, str(one), str(error))
    return notice


def _decided(outcomes: Iterable[Outcome]) -> dict[Property, Verdict]:
    return {outcome.property: outcome.verdict for outcome in outcomes}


def _other(one: Catalogued, found: Mapping[Property, Verdict]) -> Notice | None:
    for claim, verdict in found.items():
        usual = _expected(one, claim)
        if verdict in ("holds", "violated") and verdict != usual:
            return Notice(claim.id, str(one), f"{verdict}, and {usual} was expected")
    return None


def _expected(one: Catalogued, claim: Property) -> str:
    return one.expected[claim.id, claim.kind]
