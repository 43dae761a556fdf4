"""Hazards in the explorer: the scenario of each, step by step with its facts, and the cases whose counterexamples show it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from rocketproof_traces.explorer.document import SCHEMA
from rocketproof_traces.explorer.opened import OpenedDocument

from .traces import Wish

if TYPE_CHECKING:
    from ...hazards.gallery import Hazard, PerformedHazard

_ID: Final = re.compile(r"haz-?[0-9]+", re.IGNORECASE)
Offered = Sequence[Mapping[str, Any]]
"""The properties that a search decides, each with its cases (`catalogue.properties`)."""


def names_hazard(text: str) -> bool:
    """Return whether a text is the id of a hazard, known or not."""
    return _ID.fullmatch(text) is not None


def listed() -> Sequence[Mapping[str, Any]]:
    """Return all hazards with their properties and the sentences of their scenarios, which are run for that (about a second)."""
    from ...hazards import HAZARDS
    from ...hazards.gallery import perform

    return [
        {
            "id": hazard.id,
            "title": hazard.title,
            "profile": hazard.profiles[0],
            "properties": list(hazard.properties),
            "steps": [step.text for step in perform(hazard, hazard.profiles[0]).steps],
        }
        for hazard in HAZARDS.values()
    ]


def opened(id_: str, profile: str | None, offered: Offered) -> OpenedDocument:
    """Run the scenario of a hazard and return its document. Raises InputError for an unknown id or profile."""
    from ...hazards import chosen
    from ...hazards.gallery import perform

    (hazard,) = chosen([id_])
    performed = perform(hazard, hazard.profile(profile))
    return of_performed(performed, {property_: case_of(hazard, property_, offered) for property_ in hazard.properties}, profile)


def of_performed(
    performed: PerformedHazard, cases: Mapping[str, Mapping[str, str] | None], profile: str | None, pages: Mapping[str, str] | None = None
) -> OpenedDocument:
    """Return the document of a hazard that was run.

    `cases` has for each property the case whose counterexample shows the hazard, None without one. `profile` is the requested one. `pages`
    has the addresses of pages with these counterexamples.
    """
    from ...catalogue.rules import rules
    from ...catalogue.table import CASES

    hazard, addresses = performed.hazard, pages or {}
    sentences = {case.property: case.sentence for case in reversed(CASES)}
    command = f"rocketproof hazard {hazard.id}" + (f" --profile {performed.profile}" if profile else "")
    return OpenedDocument(
        {
            "schema": SCHEMA,
            "kind": "hazard",
            "title": hazard.id,
            "sentence": hazard.title,
            "profile": performed.profile,
            "steps": [{"text": step.text, "facts": [[fact.what, fact.found] for fact in step.facts]} for step in performed.steps],
            "about": list(hazard.about),
            "finding": performed.finding,
            "rules": [[rule, rules()[rule].sentence] for rule in hazard.rules],
            "properties": [
                {"id": id_, "sentence": sentences.get(id_, ""), "case": case, "page": addresses.get(id_, "")} for id_, case in cases.items()
            ],
            "commands": [
                {"label": "run it in a terminal", "command": command},
                {"label": "open it again", "command": f"rocketproof explore {hazard.id}"},
                *(
                    {"label": f"walk through the trace of {id_}", "command": f"rocketproof explore {Wish(id_, **case).arguments()}"}
                    for id_, case in cases.items()
                    if case
                ),
            ],
        }
    )


def case_of(hazard: Hazard, property_: str, offered: Offered) -> Mapping[str, str] | None:
    """Return the case in which a property is violated in a profile of the hazard; None if a search finds no counterexample.

    The hazard's first profile is preferred, and cases without an administrator.
    """
    cases = [case for row in offered if row["id"] == property_ for case in row["cases"] if case["expected"] == "violated"]
    fitting = [case for case in cases if case["profile"] in hazard.profiles]
    if not fitting:
        return None
    best = min(fitting, key=lambda case: (hazard.profiles.index(case["profile"]), "administrator" in case["condition"]))
    return {name: best[name] for name in ("profile", "scope", "condition")}


__all__ = ["case_of", "listed", "names_hazard", "of_performed", "opened"]
