"""A rule of the audit: a property of the language over rows of one kind, with what a finding says of a row that breaks it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rocketproof_model import Expr, ite
from rocketproof_model.language.expr import show, walk
from rocketproof_model.language.model import Instance, Property

from .vocabulary import SETTINGS, Vocabulary, vocabulary

Over = Literal["record", "log", "line", "queue", "entry", "ledger", "ledgers", "file", "files", "topic", "table", "damage"]
Severity = Literal["error", "warning", "note"]

# The rows that a rule is about: of which vocabulary, and whether it relates each to the one after it.
KINDS: Mapping[str, tuple[str, bool]] = {
    "record": ("record", False),
    "log": ("record", True),
    "line": ("record", True),
    "queue": ("queue", False),
    "entry": ("entry", False),
    "ledger": ("ledger", False),
    "ledgers": ("ledger", True),
    "file": ("file", False),
    "files": ("file", True),
    "topic": ("topic", False),
    "table": ("table", False),
    "damage": ("damage", False),
}

_RELATIONS = {"lt": ("below", "above"), "le": ("at most", "at least")}  # with what is found on the left, on the right


@dataclass(frozen=True, eq=False)
class Rule:
    """`over` says which rows: each `record`, two successive ones of the `log`, two successive counted ones of a queue (`line`), a
    `queue`, an `entry` that no record claims, an entry of DLedger's log (`ledger`), two successive ones (`ledgers`), a `file` of the log,
    two successive `files`, a `topic` or the `table` of topics.json, a stretch of `damage`. `expected` and `found` are terms over the same
    rows: what a finding prints."""

    claim: Property
    over: Over
    severity: Severity
    expected: Expr
    found: Expr

    @property
    def id(self) -> str:
        return self.claim.id

    @property
    def vocabulary(self) -> Vocabulary:
        return vocabulary()[KINDS[self.over][0]]

    @property
    def relation(self) -> str:
        """How what is found has to stand to what is expected, where the rule compares the two: "below", "at least"; else ""."""
        sides = show(self.found), show(self.expected)
        for term in walk(self.claim.formula):
            if term.op in _RELATIONS and (shown := tuple(map(show, term.args))) in (sides, sides[::-1]):
                return _RELATIONS[term.op][shown != sides]
        return ""


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
