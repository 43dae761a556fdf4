"""A rule of the audit: a property over rows of one kind, with the values that a finding prints for a row that breaks it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

from rocketproof_model import Expr, ite
from rocketproof_model.language import Instance, Property, show, walk

from .promised import PROMISED
from .vocabulary import JOINS, SETTINGS, RowVocabulary, vocabulary

Over = Literal[
    "record", "log", "line", "queue", "entry", "ending", "ledger", "ledgers", "file", "files", "topic", "table", "damage",
    "outcome", "operation", "commit", "host", "config", "level", "progress", "checkpoint", "index", "key",
    "exchange", "id", "kept", "counter", "count", "route", "place",
    "message", "fetch", "tracked", "position", "repeated", "administered", "reach", "successor", "arrival", "timed", "half", "returned",
    "lookup", "routed", "registered", "announced", "answered", "judged", "verdict",
]  # fmt: skip
Severity = Literal["error", "warning", "note"]

# The rows of each `over`: their vocabulary, and whether a rule compares each row with the next.
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
    **{kind: (kind, False) for kind in ("exchange", "id", "kept", "counter", "count", "route", "place", "judged", "verdict", *PROMISED)},
}

_RELATIONS = {"lt": ("below", "above"), "le": ("at most", "at least")}  # if the found value is the left operand, the right operand
_OPPOSITE = {"below": "at least", "at least": "below", "above": "at most", "at most": "above"}


class Comparison(NamedTuple):
    """A comparison that a rule makes with the found value: its required relation to the limit ("below", "at least"), and whether it
    holds."""

    relation: str
    limit: Expr
    holds: Expr


@dataclass(frozen=True, eq=False)
class Rule:
    """A rule over rows of one kind. `expected` and `found` are terms over the same rows: the values that a finding prints.

    `over` names the rows of a store:

    - `record`: each record; `log`: two successive records; `line`: two successive records with an offset in one queue.
    - `queue`: a queue; `entry`: a consume queue entry that no record claims; `ending`: the end of the log.
    - `ledger`: an entry of DLedger's log; `ledgers`: two successive entries.
    - `file`: a file of the log; `files`: two successive files; `damage`: a corrupt stretch.
    - `topic`: a topic in topics.json; `table`: topics.json as a whole.
    - a kind of `joined`.

    Or the rows of a history:

    - `exchange`: a request; `id`: an id in a response; `kept`: a record and the request that stored it.
    - `counter`: a queue; `count`: the messages of a topic; `route`: the entries of a broker in a route; `place`: the place of a record.
    - a kind of `promised`.
    - `judged`: a request of any recorded history; `verdict`: a judge's verdict. Only rules of users are about them.
    """

    claim: Property
    over: Over
    severity: Severity
    expected: Expr
    found: Expr

    @property
    def id(self) -> str:
        return self.claim.id

    @property
    def field(self) -> str:
        """The field whose expected and found values a violation states, such as `queueOffset`, or the term if it is computed."""
        return show(self.found).replace("'", "")

    @property
    def text(self) -> tuple[str, ...]:
        """Everything that a result of the rule depends on."""
        return (self.id, self.over, self.severity, self.claim.sentence, *map(show, (self.claim.formula, self.expected, self.found)))

    @property
    def vocabulary(self) -> RowVocabulary:
        return vocabulary()[KINDS[self.over][0]]

    @cached_property
    def bounds(self) -> tuple[Comparison, ...]:
        """The comparisons of the found value in the rule's order; empty if it must equal the expected value."""
        sides = {show(self.found), show(self.expected)}
        if any(term.op == "eq" and set(map(show, term.args)) == sides for term in walk(self.claim.formula)):
            return ()
        return tuple(_bounds(self.claim.formula, show(self.found), wanted=True))


def _bounds(term: Expr, found: str, *, wanted: bool) -> Iterator[Comparison]:
    """Yield the comparisons inside a formula that must be true, or false if not `wanted`."""
    if term.op == "not":
        yield from _bounds(term.args[0], found, wanted=not wanted)
    elif term.op in ("and", "or"):
        for part in term.args:
            yield from _bounds(part, found, wanted=wanted)
    elif term.op in _RELATIONS:
        texts = tuple(map(show, term.args))
        if found in texts:
            at = texts.index(found)
            relation = _RELATIONS[term.op][at]
            yield Comparison(relation if wanted else _OPPOSITE[relation], term.args[1 - at], term if wanted else ~term)


def instance(kind: str, settings: Mapping[str, Any]) -> Instance:
    """Return the vocabulary of a kind of rows under the broker's settings."""
    known = {name: value for name, value in settings.items() if name in SETTINGS}
    return vocabulary()[kind].model.given(**known)


def chosen(rules: Iterable[Rule], over: str) -> tuple[Rule, ...]:
    return tuple(rule for rule in rules if rule.over == over)


def rule(id_: str, sentence: str, over: Over, severity: Severity, formula: Any, expected: Any, found: Any) -> Rule:
    """Return a rule over rows of a kind. `expected` and `found` are terms, numbers or truth values. Raises ModelError."""
    kind, step = KINDS[over]
    claim = vocabulary()[kind].model.claim(id_, sentence, "step" if step else "always", formula)
    return Rule(claim, over, severity, _term(expected), _term(found))


def _term(value: Any) -> Expr:
    return value if isinstance(value, Expr) else ite(True, value, value)
