"""The rules and properties of the catalogue that the suite has no item for, with the reason why no response of a broker shows them.

The reason follows from the place of the definition: for a rule, the module of the implementation; for a property, its kind and the part of
the specification.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from rocketproof_protocol.numbers import whole_number
from rocketproof_spec import Specification

from ...catalogue.claim import Claim
from ...catalogue.places import implemented
from ...catalogue.rules import rules
from ...catalogue.table import CASES, CLAIMS, HISTORY_CLAIMS
from ...judging.reference.rules import TOGETHER
from ...programs.parts import Capability
from ..entries import entries

_ROUTES: Final = "inside the name server's tables: clients see routes, and `reference.route` compares these"
_PLACES: Final[Mapping[str, str]] = {
    "producer.": "for producers: the target consists of brokers and name servers",
    "nameserver": _ROUTES,
    "routeinfo": _ROUTES,
    "persistence": "about files, and their content after a crash",
    "store.record": "about a record's bytes: `reference.record` compares all its fields",
    "store.": "about the store's files, threads and memory",
    "remoting.": "about frames, threads and connections",
    "system.": "about frames, threads and connections",
    "broker.hooks": "about hooks and statistics inside the process",
    "broker.": "a step inside the broker: `specification` and `reference` compare its results",
}
"""By the module of the implementation that keeps a rule; the first match counts."""
_ELSEWHERE: Final = "about constants and data that other rules use"
_TOGETHER: Final = "decides a response or a record together with other rules: `reference` shows a difference"
_KINDS: Final[Mapping[str, str]] = {
    "leads_to": "about endless runs, which no finite run contradicts",
    "eventually_always": "about endless runs, which no finite run contradicts",
    "reachable": "about the model itself: it reaches the states of interest",
    "deadlock_free": "about the model itself: it reaches the states of interest",
    "lemma": "about numbers: proved, not tested",
}
_HIDDEN: Final = "needs data that no client sees: statistics, hooks, the state of producers, hours"
_OF_STATES: Final = "holds in every state of the specification, so `specification` covers it"
_BROKEN: Final = "violated in the model by steps that no client can cause"
_INSIDE: Final = "about moments inside a process, between two responses"


def unseen(profile: str) -> dict[str, list[str]]:
    """Return the ids without an item, by reason, for a target with all capabilities."""
    with_item = {entry.id.partition("[")[0].partition(".")[0] for entry in entries(profile, frozenset(Capability))}
    by_reason: dict[str, list[str]] = {}
    for id_, reason in (*_rules(with_item), *_properties(with_item)):
        by_reason.setdefault(reason, []).append(id_)
    return {reason: by_reason[reason] for reason in sorted(by_reason, key=lambda reason: -len(by_reason[reason]))}


def _rules(with_item: Collection[str]) -> Iterator[tuple[str, str]]:
    places = implemented()
    for id_ in rules():
        if id_ not in with_item:
            modules = " ".join(place.removeprefix("rocketproof_impl.") for place in places.get(id_, ()))
            at = next((reason for module, reason in _PLACES.items() if re.search(rf"(^| ){re.escape(module)}", modules)), _ELSEWHERE)
            yield id_, _TOGETHER if id_ in TOGETHER else at


def _properties(with_item: Collection[str]) -> Iterator[tuple[str, str]]:
    ids = {stated.partition(".")[0] for stated in (*(claim.id for claim in CLAIMS), *(claim.id for claim in HISTORY_CLAIMS))}
    of_histories = {claim.id for claim in HISTORY_CLAIMS}
    of_states = {claim.id: claim for claim in reversed(CLAIMS)}
    for id_ in sorted(ids - set(with_item)):
        claim = of_states.get(id_) or next((stated for stated in CLAIMS if stated.id.startswith(f"{id_}.")), None)
        yield id_, _HIDDEN if claim is None or id_ in of_histories else _reason(claim)


def _reason(claim: Claim) -> str:
    if any(case.property == claim.id.partition(".")[0] and case.expected == "violated" and case.kind != "history" for case in CASES):
        return _BROKEN
    return _KINDS.get(claim.kind) or (_OF_STATES if claim.part is Specification else _INSIDE)


def table(profile: str) -> list[str]:
    """Return `unseen` as lines of a Markdown table."""
    rows = [f"| {reason} | {_ranges(ids)} |" for reason, ids in unseen(profile).items()]
    return ["| why | rules and properties |", "| --- | --- |", *rows]


def _ranges(ids: Collection[str]) -> str:
    """Return sorted ids, with consecutive numbers as ranges."""
    runs: list[list[str]] = []
    for id_ in ids:
        name, _, number = id_.rpartition("-")
        last, _, before = runs[-1][-1].rpartition("-") if runs else ("", "", "0")
        if runs and last == name and whole_number(number) == whole_number(before) + 1:
            runs[-1].append(id_)
        else:
            runs.append([id_])
    return ", ".join(run[0] if len(run) == 1 else f"{run[0]}{' to ' if len(run) > 2 else ', '}{run[-1]}" for run in runs)
