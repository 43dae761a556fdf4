"""Compare two runs: results that are newly wrong or no longer wrong, changed verdicts, properties and coverage.

The comparison is informational. It does not change the exit code: an unexpected verdict fails the run whether it is new or not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from .recurring import NO_PROPERTIES
from .results import Covered, Result, Run

Key = tuple[str, ...]


@dataclass(frozen=True)
class ComparedResult:
    """The same claim in the earlier run and now."""

    before: Result
    now: Result

    @property
    def alike(self) -> bool:
        return (self.before.verdict, self.before.outcome) == (self.now.verdict, self.now.outcome)


@dataclass(frozen=True)
class Changes:
    """The differences between two runs.

    `before` names the earlier run. `pairs` has the results of both runs, `added` only those of this run and `left` only those of the
    earlier run, by key.
    """

    before: str
    pairs: Mapping[Key, ComparedResult]
    added: Mapping[Key, Result]
    left: Mapping[Key, Result]
    uncovered: tuple[str, ...] = ()
    covered: tuple[str, ...] = ()
    known: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
    """The properties of the earlier run and of this run."""

    @cached_property
    def worse(self) -> list[Result]:
        """Results that are not as expected now, and were as expected or missing before."""
        changed = [pair.now for pair in self.pairs.values() if _is_bad(pair.now) and not _is_bad(pair.before)]
        return changed + [result for result in self.added.values() if _is_bad(result)]

    @cached_property
    def better(self) -> list[Result]:
        """Results of the earlier run that were not as expected then, and are as expected or missing now."""
        changed = [pair.before for pair in self.pairs.values() if _is_bad(pair.before) and not _is_bad(pair.now)]
        return changed + [result for result in self.left.values() if _is_bad(result)]

    @cached_property
    def flipped(self) -> dict[Key, ComparedResult]:
        """Results whose verdict changed, by their key in this run."""
        return {key: pair for key, pair in self.pairs.items() if not pair.alike}

    @cached_property
    def other(self) -> list[ComparedResult]:
        """Results whose verdict changed without becoming worse or better."""
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
        """Return the changes as headings with lines of text, without empty sections."""
        parts: list[tuple[str, list[str]]] = [
            ("Newly not as expected", [_line(result) for result in self.worse]),
            ("Not as expected before, and no more", [_line(result) for result in self.better]),
            ("Other verdicts that changed", [f"{pair.now.name}: {pair.before.verdict}, now {pair.now.verdict}" for pair in self.other]),
            ("Properties that are new", self.new_ids),
            ("Properties that are not there any more", self.gone_ids),
            ("Not covered any more", list(self.uncovered)),
            ("Newly covered", list(self.covered)),
        ]
        return [(heading, lines) for heading, lines in parts if lines]


def _is_bad(result: Result) -> bool:
    return result.outcome in ("differs", "error")


def _line(result: Result) -> str:
    return (
        f"{result.name}: {result.verdict}"
        + (f", expected {result.expected}" if result.expected else "")
        + (f"; {result.message}" if result.message else "")
    )


def compare(before: Run, now: Run, name: str) -> Changes:
    """Return the changes between two runs. `name` is the name of the earlier run.

    A claim whose sentence was reworded is the same claim, unless several claims of its case were reworded. A run without a profile is
    assumed to have the profile of the other run.
    """
    adopted = now.profile if not before.profile else ""
    old = _keyed([replace(result, profile=result.profile or adopted) for result in before.results])
    new = _keyed(now.results)
    pairs = {key: ComparedResult(old.pop(key), new.pop(key)) for key in list(new) if key in old}
    removed, added = _by_case(old), _by_case(new)
    for case, new_keys in added.items():
        if len(new_keys) == 1 and len(removed.get(case, ())) == 1:
            pairs[new_keys[0]] = ComparedResult(old.pop(removed[case][0]), new.pop(new_keys[0]))
    lost, gained = _coverage(before.covered, now.covered)
    ids = (_properties(before), _properties(now)) if before.whole else (frozenset[str](), frozenset[str]())
    when = f"{name}, {before.command}{f' of {before.started}' if before.started else ''}"
    return Changes(when, pairs, new, old, lost, gained, ids)


def _properties(run: Run) -> frozenset[str]:
    """Return the ids of the properties in a run."""
    return frozenset(result.id for result in run.results) - NO_PROPERTIES


def _keyed(results: Sequence[Result]) -> dict[Key, Result]:
    """Return the results by key; if several have the same key, the worst of them."""
    by_key: dict[Key, Result] = {}
    for result in results:
        if result.key not in by_key or _is_bad(result):
            by_key[result.key] = result
    return by_key


def _by_case(results: Mapping[Key, Any]) -> dict[Key, list[Key]]:
    keys: dict[Key, list[Key]] = {}
    for key, result in results.items():
        keys.setdefault(result.case, []).append(key)
    return keys


def _coverage(before: Sequence[Covered], now: Sequence[Covered]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what was covered before and is not covered now, and the reverse, for labels that both runs have."""
    old = {covered_now.label: covered_now for covered_now in before}
    lost, gained = list[str](), list[str]()
    for covered_now in now:
        if covered_now.label not in old:
            continue
        missing_before, missing_now = set(old[covered_now.label].missing), set(covered_now.missing)
        lost += [f"{covered_now.label}: {text}" for text in covered_now.missing if text not in missing_before]
        gained += [f"{covered_now.label}: {text}" for text in old[covered_now.label].missing if text not in missing_now]
    return tuple(lost), tuple(gained)
