"""The rules of the described behaviour as data (rules.toml, read once), and the ids that a test may name."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

ID = re.compile(r"\b[A-Z]+-[0-9]{2,3}\b")
"""The form of an id of a rule, a property, a hazard or a mutant in a text."""

_OTHERS = re.compile(r"(INV|LIV|ACT|END|HAZ)-[0-9]{2}|(REA|AUX)-[0-9]{2,3}|M-[0-9]{2,3}")


@dataclass(frozen=True, slots=True)
class BehaviourRule:
    """One rule, which needs code and a test."""

    id: str
    section: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Section:
    """A group of rules, in the order of the described behaviour. `id` is for example A.1."""

    id: str
    title: str
    rules: tuple[BehaviourRule, ...]


@cache
def sections() -> tuple[Section, ...]:
    """Return all sections with their rules."""
    text = resources.files("rocketproof_properties.catalogue").joinpath("rules.toml").read_text("utf-8")
    return tuple(
        Section(
            section["id"],
            section["title"],
            tuple(BehaviourRule(id_, section["id"], sentence) for id_, sentence in section["rules"].items()),
        )
        for section in tomllib.loads(text)["sections"]
    )


@cache
def rules() -> dict[str, BehaviourRule]:
    """Return every rule by its id."""
    return {rule.id: rule for section in sections() for rule in section.rules}


def is_known(id_: str) -> bool:
    """Whether a test may be marked with this id: a rule's, or any id in the form of a property, a hazard or a mutant."""
    return id_ in rules() or _OTHERS.fullmatch(id_) is not None
