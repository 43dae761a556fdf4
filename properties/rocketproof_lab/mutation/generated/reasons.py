"""Compute why a change that survived or is not reached need not be noticed: it is equivalent, or it is not visible over the wire.

These reasons are computed, in addition to those of `arguments`:

- the profile's switches make both versions equal;
- nothing calls the function;
- no program sets such a value;
- a time changes by one millisecond.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from rocketproof_profiles import PROFILES

from .. import arguments
from ..results import EQUIVALENT, SURVIVED, UNREACHED, UNSEEN, MutantOutcome
from .constant_folding import same_under, uncalled
from .sampling import GeneratedMutant
from .switched import SwitchMutant, WireMutant


def argued(row: MutantOutcome, change: WireMutant, profile: str) -> MutantOutcome:
    """Return the row with its argument if it needs one and one exists."""
    if row.verdict not in (SURVIVED, UNREACHED) or isinstance(change, SwitchMutant):
        return row
    if same_under(PROFILES[profile], *change.trees):
        return replace(row, verdict=EQUIVALENT, how=f"the switches of {profile} make the same of both")
    if change.function.rpartition(".")[2] in uncalled(PROFILES[profile]):
        return replace(row, verdict=EQUIVALENT, how=f"nothing calls it under {profile}")
    if same_under(PROFILES[profile], *change.trees, words=True):
        return replace(row, verdict=UNSEEN, how="no broker that is validated has a setting with such a value")
    if _is_of_a_moment(change):
        return replace(row, verdict=UNSEEN, how="nobody asks at this very millisecond")
    if reason := arguments.of_implementation(arguments.UNSEEN, row.id, profile):
        return replace(row, verdict=UNSEEN, how=reason)
    if reason := arguments.of_implementation(arguments.EQUIVALENT, row.id, profile):
        return replace(row, verdict=EQUIVALENT, how=reason)
    return row


def _is_of_a_moment(change: GeneratedMutant) -> bool:
    """Whether the change moves a comparison with the clock by one millisecond."""
    before = ast.parse(change.before, mode="eval").body if change.kind == "boundary" else None
    match before:
        case ast.Compare(ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()]):
            return any(
                (isinstance(part, ast.Attribute) and part.attr == "now") or (isinstance(part, ast.Name) and part.id == "now")
                for part in ast.walk(before)
            )
    return False
