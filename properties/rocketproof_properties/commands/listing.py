"""The command `list`: the names that other commands take, with a search."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

from ..reports.exitcode import OK
from .common import Json, write

Kind = Literal["properties", "profiles", "scopes", "hazards", "releases", "rules", "promises", "steps"]


class ListEntry(NamedTuple):
    """One name: `about` is a sentence, `detail` a short text such as the theme or profile that belongs to it."""

    name: str
    detail: str
    about: str


def list_(kind: Kind, /, *search: str, json: Json = None) -> int:
    """List the names that commands take, such as properties or releases: all, or those that contain the search words.

    Parameters
    ----------
    kind
        What to list.
    search
        Words that an entry must contain, in any order; case is ignored.
    json
        Also write the entries to this file.
    """
    from ..reports.output import Page, TableRow, counted

    words = [word.lower() for word in search]
    listing = _LISTINGS[kind]
    entries = list(listing.entries())
    found = [entry for entry in entries if all(word in " ".join(entry).lower() for word in words)]
    write(json, ({"name": entry.name, "detail": entry.detail, "about": entry.about} for entry in found))
    page = Page()
    page.table((TableRow((entry.name, entry.detail), entry.about) for entry in found), indent=0)
    if len(found) < len(entries):
        page.line(f"{len(found):,} of {counted(len(entries), listing.singular, kind)} contain {' and '.join(search)}", "bold")
    else:
        page.line(counted(len(found), listing.singular, kind), "bold")
    page.line(f"more about one of them: {listing.more}", "dim")
    return OK


def _properties() -> Iterator[ListEntry]:
    from ..catalogue.table import CASES
    from ..catalogue.themes import theme_of

    for id_, sentence in dict.fromkeys((case.property, case.sentence) for case in CASES):
        yield ListEntry(id_, theme_of(id_, sentence), sentence)


def _profiles() -> Iterator[ListEntry]:
    from rocketproof_profiles import PROFILES

    for name, profile in PROFILES.items():
        yield ListEntry(name, f"refines {profile.base}" if profile.base else "", profile.about)


def _scopes() -> Iterator[ListEntry]:
    import inspect

    from rocketproof_spec import FAULTS, SCOPES

    for name, scope in SCOPES.items():
        yield ListEntry(name, "sending", scope.about)
    for name, part in FAULTS.items():
        module = inspect.getmodule(part)
        yield ListEntry(name, "faults", _sentence(module.__doc__ if module is not None else None))


def _sentence(doc: str | None) -> str:
    """Return the first sentence of a docstring."""
    text = " ".join((doc or "").partition("\n\n")[0].split())
    return text.partition(". ")[0].rstrip(".")


def _hazards() -> Iterator[ListEntry]:
    from ..hazards import HAZARDS

    for hazard in HAZARDS.values():
        yield ListEntry(hazard.id, " ".join(hazard.profiles), hazard.title)


def _releases() -> Iterator[ListEntry]:
    from rocketproof_profiles import PROFILES
    from rocketproof_profiles.releases import LINES

    for line in LINES:
        yield ListEntry(line.name, line.profile, PROFILES[line.profile].about)


def _rules() -> Iterator[ListEntry]:
    from ..catalogue.rules import sections

    for section in sections():
        for rule in section.rules:
            yield ListEntry(rule.id, section.title, rule.sentence)


def _steps() -> Iterator[ListEntry]:
    from ..programs.vocabulary import ON_BROKERS, STEPS

    for name in ON_BROKERS:
        yield ListEntry(name, "", f"{STEPS[name].sentence}. Arguments: {', '.join(STEPS[name].arguments) or 'none'}")


def _promises() -> Iterator[ListEntry]:
    from ..catalogue.promises.statements import promises

    for promise in promises():
        yield ListEntry(promise.id, promise.theme, promise.sentence)


class _Listing(NamedTuple):
    """How a kind is listed: its entries, the name of one, and the command that shows more of it."""

    entries: Callable[[], Iterator[ListEntry]]
    singular: str
    more: str


_LISTINGS: Final[Mapping[Kind, _Listing]] = {
    "properties": _Listing(_properties, "property", "rocketproof check --property ID"),
    "profiles": _Listing(_profiles, "profile", "rocketproof docs profiles"),
    "scopes": _Listing(_scopes, "scope", "rocketproof check --scope NAME"),
    "hazards": _Listing(_hazards, "hazard", "rocketproof hazard ID"),
    "releases": _Listing(_releases, "release", "rocketproof validate --target RELEASE"),
    "rules": _Listing(_rules, "rule", "rocketproof list properties ID"),
    "promises": _Listing(_promises, "promise", "rocketproof promises ID"),
    "steps": _Listing(_steps, "step", "rocketproof docs run"),
}
