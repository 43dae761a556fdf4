"""A rule of the audit: a property of the language over rows of one kind, with what a finding says of a row that breaks it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

from rocketproof_model import Expr, ite
from rocketproof_model.language import Instance, Property, show, walk

from .vocabulary import JOINS, SETTINGS, RowVocabulary, vocabulary

Over = Literal[
    "record", "log", "line", "queue", "entry", "ending", "ledger", "ledgers", "file", "files", "topic", "table", "damage",
    "outcome", "operation", "commit", "host", "config", "level", "progress", "checkpoint", "index", "key",
    "exchange", "id", "kept", "counter", "count", "route", "place",
]  # fmt: skip
Severity = Literal["error", "warning", "note"]

# The rows that a rule is about: of which vocabulary, and whether it relates each to the one after it.
KINDS: Mapping[str, tuple[str, bool]] = {
    "record": ("record", False),
    "log": ("record", True),
    "line": ("record", True),
    "queue": ("queue", False),
    "entry": ("entry", False),
    "ending": ("ending", False),
    "ledger": ("ledger", False),
    "ledgers": ("ledger", True),
    "file": ("file", False),
    "files": ("file", True),
    "topic": ("topic", False),
    "table": ("table", False),
    "damage": ("damage", False),
    **{kind: (kind, False) for kind in JOINS},
    **{kind: (kind, False) for kind in ("exchange", "id", "kept", "counter", "count", "route", "place")},
}

_RELATIONS = {"lt": ("below", "above"), "le": ("at most", "at least")}  # with what is found on the left, on the right
_OPPOSITE = {"below": "at least", "at least": "below", "above": "at most", "at most": "above"}


class Comparison(NamedTuple):
    """A comparison that a rule makes of what is found: how it has to stand to the limit ("below", "at least"), and whether it does."""

    relation: str
    limit: Expr
    holds: Expr


@dataclass(frozen=True, eq=False)
class Rule:
    """`over` says which rows: each `record`, two successive ones of the `log`, two successive counted ones of a queue (`line`), a
    `queue`, an `entry` that no record claims, the `ending` of the log, an entry of DLedger's log (`ledger`), two successive ones
    (`ledgers`), a `file` of the log, two successive `files`, a `topic` or the `table` of topics.json, a stretch of `damage`, a row of
    `joined`; or in a history an `exchange`, an `id` of an answer, a record that a request has `kept`, a `counter` of a queue, a `count`
    of messages, a `route`, a `place`. `expected` and `found` are terms over the same rows: what a finding prints."""

    claim: Property
    over: Over
    severity: Severity
    expected: Expr
    found: Expr

    @property
    def id(self) -> str:
        return self.claim.id

    @property
    def vocabulary(self) -> RowVocabulary:
        return vocabulary()[KINDS[self.over][0]]

    @cached_property
    def bounds(self) -> tuple[Comparison, ...]:
        """Those of what is found, in the rule's order; none where it has to be equal to what is expected."""
        sides = {show(self.found), show(self.expected)}
        if any(term.op == "eq" and set(map(show, term.args)) == sides for term in walk(self.claim.formula)):
            return ()
        return tuple(_bounds(self.claim.formula, show(self.found), wanted=True))


def _bounds(term: Expr, found: str, *, wanted: bool) -> Iterator[Comparison]:
    """The comparisons inside a formula that has to be true, or false."""
    if term.op == "not":
        yield from _bounds(term.args[0], found, wanted=not wanted)
    elif term.op in ("and", "or"):
        for part in term.args:
            yield from _bounds(part, found, wanted=wanted)
    elif term.op in _RELATIONS:
        shown = tuple(map(show, term.args))
        if found in shown:
            at = shown.index(found)
            relation = _RELATIONS[term.op][at]
            yield Comparison(relation if wanted else _OPPOSITE[relation], term.args[1 - at], term if wanted else ~term)


def instance(kind: str, settings: Mapping[str, Any]) -> Instance:
    """The vocabulary of a kind of rows under the broker's settings."""
    known = {name: value for name, value in settings.items() if name in SETTINGS}
    return vocabulary()[kind].model.given(**known)


def chosen(rules: Iterable[Rule], over: str) -> tuple[Rule, ...]:
    return tuple(rule for rule in rules if rule.over == over)


def rule(id_: str, sentence: str, over: Over, severity: Severity, formula: Any, expected: Any, found: Any) -> Rule:
    """A rule over rows of that kind; numbers and truth values may stand for `expected` and `found`. Raises ModelError."""
    kind, step = KINDS[over]
    made = vocabulary()[kind].model.claim(id_, sentence, "step" if step else "always", formula)
    return Rule(made, over, severity, _term(expected), _term(found))


def _term(value: Any) -> Expr:
    return value if isinstance(value, Expr) else ite(True, value, value)
