"""What changed between two runs: what is newly wrong, what is so no more, verdicts that came out otherwise, properties, coverage.

It informs and decides nothing: a verdict that is not as expected is red whether it is new or not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from .results import Covered, Result, Run

Key = tuple[str, ...]


@dataclass(frozen=True)
class ComparedResult:
    """The same claim in the run before and now."""

    before: Result
    now: Result

    @property
    def alike(self) -> bool:
        return (self.before.verdict, self.before.outcome) == (self.now.verdict, self.now.outcome)


@dataclass(frozen=True)
class Changes:
    """`before` names the other run. `pairs` are what both runs judged; `added` and `left` what only one of them did, by key."""

    before: str
    pairs: Mapping[Key, ComparedResult]
    added: Mapping[Key, Result]
    left: Mapping[Key, Result]
    uncovered: tuple[str, ...] = ()
    covered: tuple[str, ...] = ()
    known: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
    """The ids of the run before and of now."""

    @cached_property
    def worse(self) -> list[Result]:
        """What is not as expected now and was, or was not there."""
        changed = [pair.now for pair in self.pairs.values() if _is_bad(pair.now) and not _is_bad(pair.before)]
        return changed + [one for one in self.added.values() if _is_bad(one)]

    @cached_property
    def better(self) -> list[Result]:
        """What was not as expected, and now is or was not found any more; as it was before."""
        changed = [pair.before for pair in self.pairs.values() if _is_bad(pair.before) and not _is_bad(pair.now)]
        return changed + [one for one in self.left.values() if _is_bad(one)]

    @cached_property
    def flipped(self) -> dict[Key, ComparedResult]:
        """Verdicts that came out otherwise, by the key of now."""
        return {key: pair for key, pair in self.pairs.items() if not pair.alike}

    @cached_property
    def other(self) -> list[ComparedResult]:
        """Verdicts that came out otherwise and are neither worse nor better."""
        return [pair for pair in self.flipped.values() if _is_bad(pair.before) == _is_bad(pair.now)]

    @property
    def new_ids(self) -> list[str]:
        return sorted(self.known[1] - self.known[0])

    @property
    def gone_ids(self) -> list[str]:
        return sorted(self.known[0] - self.known[1])

    @property
    def any(self) -> bool:
        return bool(self.worse or self.better or self.other or self.new_ids or self.gone_ids or self.uncovered or self.covered)

    def sections(self) -> list[tuple[str, list[str]]]:
        """What changed as headings with lines of text, those without lines left out."""
        parts: list[tuple[str, list[str]]] = [
            ("Newly not as expected", [_line(one) for one in self.worse]),
            ("Not as expected before, and no more", [_line(one) for one in self.better]),
            ("Other verdicts that changed", [f"{pair.now.name}: {pair.before.verdict}, now {pair.now.verdict}" for pair in self.other]),
            ("Properties that are new", self.new_ids),
            ("Properties that are not there any more", self.gone_ids),
            ("Not covered any more", list(self.uncovered)),
            ("Newly covered", list(self.covered)),
        ]
        return [(heading, lines) for heading, lines in parts if lines]


def _is_bad(one: Result) -> bool:
    return one.outcome in ("differs", "error")


def _line(one: Result) -> str:
    return (
        f"{one.name}: {one.verdict}" + (f", expected {one.expected}" if one.expected else "") + (f"; {one.message}" if one.message else "")
    )


def compare(before: Run, now: Run, name: str) -> Changes:
    """What changed from one run to the other; `name` says what the one before was.

    A claim whose sentence was reworded is the same claim, unless several claims of one case were. A list that does not say its profile
    is taken for one of the same profile.
    """
    adopted = now.profile if not before.profile else ""
    old = _keyed([replace(one, profile=one.profile or adopted) for one in before.results])
    new = _keyed(now.results)
    pairs = {key: ComparedResult(old.pop(key), new.pop(key)) for key in list(new) if key in old}
    left, added = _by_case(old), _by_case(new)
    for case, mine in added.items():
        if len(mine) == 1 and len(left.get(case, ())) == 1:
            pairs[mine[0]] = ComparedResult(old.pop(left[case][0]), new.pop(mine[0]))
    lost, gained = _coverage(before.covered, now.covered)
    ids = frozenset(one.id for one in before.results), frozenset(one.id for one in now.results)
    if not before.whole:
        ids = frozenset(), frozenset()
    when = f"{name}, {before.command}{f' of {before.started}' if before.started else ''}"
    return Changes(when, pairs, new, old, lost, gained, ids)


def _keyed(results: Sequence[Result]) -> dict[Key, Result]:
    """By key; of results with the same one the worst."""
    found: dict[Key, Result] = {}
    for one in results:
        if one.key not in found or _is_bad(one):
            found[one.key] = one
    return found


def _by_case(results: Mapping[Key, Any]) -> dict[Key, list[Key]]:
    found: dict[Key, list[Key]] = {}
    for key, one in results.items():
        found.setdefault(one.case, []).append(key)
    return found


def _coverage(before: Sequence[Covered], now: Sequence[Covered]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What was covered before and is not now, and the other way round, of labels that both have."""
    old = {one.label: one for one in before}
    lost, gained = list[str](), list[str]()
    for one in now:
        if one.label not in old:
            continue
        was, is_ = set(old[one.label].missing), set(one.missing)
        lost += [f"{one.label}: {text}" for text in one.missing if text not in was]
        gained += [f"{one.label}: {text}" for text in old[one.label].missing if text not in is_]
    return tuple(lost), tuple(gained)
