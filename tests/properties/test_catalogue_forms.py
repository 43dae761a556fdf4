"""One formula for each id and form, and all forms of a property in one file."""

from __future__ import annotations

import pkgutil
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

from rocketproof_properties import catalogue
from rocketproof_properties.catalogue.table import HISTORY_CLAIMS, rules
from rocketproof_spec import Specification

PROGRAMS = {"AUX-33.asked", "LIV-01", "LIV-02", "LIV-06"}
"""Claims about histories that relate many rows to each other: no rule over a row can say them."""


def themes() -> Iterator[ModuleType]:
    for module in pkgutil.iter_modules(catalogue.__path__):
        if module.name != "table":  # it lists what the themes state
            yield import_module(f"{catalogue.__name__}.{module.name}")


def forms(module: ModuleType) -> Iterator[tuple[str, str]]:
    """Yield the ids that a file states, each with its domain: states, or rows of a kind."""
    for claim in getattr(module, "CLAIMS", ()):
        yield claim.id, f"{claim.part.__name__} {claim.kind}"
    for rule in getattr(module, "RULES", ()):
        yield rule.id, rule.over
    for claim in getattr(module, "HISTORY", ()):
        yield from ((claim.id, rule.over) for rule in claim.rules if rule.id == claim.id and rule not in getattr(module, "RULES", ()))
        if claim.program is not None:
            yield claim.id, "program"


def test_each_id_has_one_formula_per_form() -> None:
    stated = Counter(form for module in themes() for form in forms(module))
    assert [form for form, times in stated.items() if times > 1] == []
    assert [id_ for id_, times in Counter(rule.id for rule in rules()).items() if times > 1] == []


def _of_sending(module: ModuleType) -> Iterator[str]:
    """Return the ids that a file states about sending, stores and histories. A statement about another part may be next to that part's
    claims.
    """
    apart = {claim.id for claim in getattr(module, "CLAIMS", ()) if claim.part is not Specification}
    yield from (id_.partition(".")[0] for id_, _ in forms(module) if id_ not in apart)


ELSEWHERE = {"REC-04": "the index lies beside the log, as other files do", "INV-48": "what a send-back makes of a record is of retries"}


def test_forms_of_property_are_in_one_file() -> None:
    files: dict[str, set[str]] = {}
    for module in themes():
        for id_ in _of_sending(module):
            files.setdefault(id_, set()).add(module.__name__)
    assert {id_ for id_, names in files.items() if len(names) > 1} == ELSEWHERE.keys()
    assert len(files) > 90


def test_history_claim_consists_of_rules_or_states_why_not() -> None:
    assert {claim.id for claim in HISTORY_CLAIMS if claim.program is not None} == PROGRAMS
    assert all((claim.program is None) == bool(claim.rules) for claim in HISTORY_CLAIMS)
