"""A user's own rules: how they are declared, and how they travel to workers as data.

A rule is a decorated function from a row to a formula. `built` evaluates it once; the workers get the formulas, not the user's file.
"""

from __future__ import annotations

import inspect
import io
import pickle
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Final, get_args

from rocketproof_model import Expr, ModelError, Row, any_of
from rocketproof_model.errors import position
from rocketproof_model.language import Variable, walk

from ..stored.kinds import BIT
from .fields import MEANINGS, RULE_ROWS, TEXTS
from .rules import KINDS, Rule, Severity, rule
from .vocabulary import MARKS, MOST_PATTERNS, vocabulary

_ID: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)?")
_COMPARISONS: Final = ("eq", "lt", "le")


@dataclass(frozen=True)
class TextPattern:
    """A text that the field `name` of a row is compared with, such as a topic, or a pattern with * and ? if `wild`."""

    name: str
    text: str
    wild: bool = False

    def matches(self, text: str) -> bool:
        return fnmatchcase(text, self.text) if self.wild else text == self.text


@dataclass(frozen=True)
class OwnRules:
    """Rules of a user as data, which is sent to other processes.

    `packed` has the pickled rules. `patterns`: what the rules compare texts with; pattern n is bit n of a row's `textMarks`.
    """

    packed: bytes = b""
    patterns: tuple[TextPattern, ...] = ()

    @property
    def rules(self) -> tuple[Rule, ...]:
        return _unpacked(self.packed) if self.packed else ()

    def marks(self, **texts: str) -> int:
        """Return the bits of the patterns that a row's texts match."""
        return sum(1 << bit for bit, pattern in enumerate(self.patterns) if pattern.matches(texts.get(pattern.name, "")))

    def of_topic(self, topic: str) -> int:
        """Return the bits of the patterns that a row about a topic matches."""
        return self.marks(topic=topic)

    @property
    def text(self) -> str:
        """Everything that a result depends on."""
        return repr((tuple(rule.text for rule in self.rules), self.patterns))


NONE: Final = OwnRules()


@dataclass(frozen=True, eq=False)
class DeclaredRule:
    """A decorated function: a rule before its formula is known. `place` is `file:line` of the function."""

    id: str
    sentence: str
    over: str
    severity: Severity
    function: Callable[[Any], Any]
    place: str

    def __call__(self, row: Any) -> Any:
        return self.function(row)


_declared: ContextVar[list[DeclaredRule] | None] = ContextVar("_declared", default=None)


@contextmanager
def collecting() -> Iterator[list[DeclaredRule]]:
    """Collect the rules that are declared meanwhile, in their order."""
    rules: list[DeclaredRule] = []
    token = _declared.set(rules)
    try:
        yield rules
    finally:
        _declared.reset(token)


def own_rule(
    id_: str, sentence: str, /, *, over: str = "record", severity: Severity = "error"
) -> Callable[[Callable[[Any], Any]], DeclaredRule]:
    """Declare a rule: decorate a function that takes a row and returns the condition that every row must keep.

    `id_` is the rule's name in findings, tables and thresholds, such as `SHOP-1` or `SHOP-1.key`. `sentence` states the rule for readers of
    a finding. `over` names the rows: `record`, `log`, `line`, `queue`, `entry`, `topic`, `file` or `damage` in an audit, `exchange` or
    `verdict` in a judge's run. `severity` is `error`, `warning` or `note`.

    A finding shows the two sides of the condition's last comparison. The function may return `(condition, expected, found)` instead.
    Raises ModelError for a wrong argument.
    """
    place = _user()
    if not isinstance(id_, str) or not _ID.fullmatch(id_):
        raise ModelError(f"a rule has the id {id_!r}", "give letters, digits, - and _, with at most one dot, such as SHOP-1.key", place)
    if not isinstance(sentence, str) or not sentence.strip():
        raise ModelError(f"rule {id_} has no sentence", "state in one sentence what must hold", place)
    if over not in RULE_ROWS:
        raise ModelError(f"rule {id_} is over {over!r}", _instead(over, RULE_ROWS), place)
    if severity not in get_args(Severity):
        raise ModelError(f"rule {id_} has the severity {severity!r}", _instead(severity, get_args(Severity)), place)

    def declare(function: Callable[[Any], Any]) -> DeclaredRule:
        code = getattr(function, "__code__", None)
        if code is None or code.co_argcount != 1:
            raise ModelError(f"rule {id_} decorates no function of one row", "write def check(record): return ...", place)
        line = position(code, 0)
        declared = DeclaredRule(id_, " ".join(sentence.split()), over, severity, function, line)
        collected = _declared.get()
        if collected is not None:
            collected.append(declared)
        return declared

    return declare


def built(declared: Sequence[DeclaredRule], patterns: Patterns) -> tuple[Rule, ...]:
    """Evaluate the functions. Raises ModelError with the rule's place, and whatever a function raises."""
    return tuple(_built(each, patterns) for each in declared)


def _built(declared: DeclaredRule, patterns: Patterns) -> Rule:
    given = declared.function(row_of(declared.over, patterns))
    condition, *sides = given if isinstance(given, tuple) else (given,)
    if not isinstance(condition, Expr) or condition.type.sort != "bool":
        what = f"the {condition.type} '{condition}'" if isinstance(condition, Expr) else repr(condition)
        remedy = "return a condition over the row's fields, such as record.bodyLength <= 1024"
        raise ModelError(f"rule {declared.id} returns {what}, no condition", remedy, declared.place)
    if len(sides) not in (0, 2):
        raise ModelError(f"rule {declared.id} returns {len(sides) + 1} values", "return (condition, expected, found)", declared.place)
    if all(term.op not in ("ref", "after") for term in walk(condition)):
        raise ModelError(f"rule {declared.id} reads no field of the row", "compare a field of its argument", declared.place)
    if not KINDS[RULE_ROWS[declared.over].over][1] and any(term.op == "after" for term in walk(condition)):
        remedy = "give over='log' or over='line'"
        raise ModelError(f"rule {declared.id} reads after(...), and over={declared.over!r} has single rows", remedy, declared.place)
    expected, found = sides or _sides(condition)
    over: Any = RULE_ROWS[declared.over].over
    try:
        own = rule(declared.id, declared.sentence, over, declared.severity, condition, expected, found)
    except ModelError as error:
        raise ModelError(error.problem, error.remedy, declared.place) from None
    return replace(own, claim=replace(own.claim, place=declared.place))


def _sides(term: Expr, *, wanted: bool = True) -> tuple[Any, Any]:
    """Return the expected and the found side of what a condition concludes; the condition itself if it has several conclusions."""
    if term.op == "not" and not (wanted and term.args[0].op == "eq"):
        return _sides(term.args[0], wanted=not wanted)
    if term.op in ("and", "or"):
        sides = [_sides(part, wanted=wanted) for part in term.args]
        # A broken disjunction breaks each of its parts, and its last one is the conclusion of `implies`.
        is_conjunction = (term.op == "and") == wanted
        if not is_conjunction:
            return sides[-1]
        return sides[0] if all(found is sides[0][1] for _, found in sides) else (wanted, term)
    if term.op in _COMPARISONS and (wanted or term.op != "eq"):
        left, right = term.args
        # The found side is the later row's in a rule over two rows, and otherwise the first that reads a field.
        found = next((side for op in ("after", "ref") for side in (left, right) if any(part.op == op for part in walk(side))), left)
        return (right, left) if found is left else (left, right)
    return wanted, term


def row_of(over: str, patterns: Patterns) -> Row:
    """Return the row that a rule's function gets."""
    kind = RULE_ROWS[over].fields
    terms = vocabulary()[kind].row.fields
    fields = {name: terms[name] for name in MEANINGS[kind]}
    if MARKS not in terms:
        return Row(fields)
    return (RecordRow if kind == "record" else TextRow)(fields, TEXTS[kind], terms[MARKS], patterns)


@dataclass
class Patterns:
    """The patterns of the rules that are loaded together, in the order of their bits."""

    known: dict[TextPattern, int] = field(default_factory=dict)

    def bit(self, pattern: TextPattern, place: str) -> int:
        """Return the bit of a pattern. Raises ModelError if there are too many."""
        if pattern not in self.known and len(self.known) == MOST_PATTERNS:
            raise ModelError(f"the rules compare with more than {MOST_PATTERNS} texts", "use patterns: topic.like('orders-*')", place)
        return 1 << self.known.setdefault(pattern, len(self.known))


class TextRow(Row):
    """A row with texts: its fields, and the texts `names`."""

    def __init__(self, fields: Mapping[str, Any], names: Sequence[str], marks: Expr, patterns: Patterns) -> None:
        super().__init__(fields)
        self.__dict__.update({name: RowText(name, marks, patterns) for name in names})


class RecordRow(TextRow):
    """A row about a record: also tells which properties it has."""

    def has(self, name: str) -> Expr:
        """Return whether the record has this property, such as KEYS. Raises ModelError for a name that the audit does not know."""
        if name not in BIT:
            raise ModelError(f"no property {name!r} is known", _instead(name, BIT), _user())
        present: Expr = (self.properties & BIT[name]) != 0
        return present


class RowText:
    """A text of a row, such as its topic, which a rule compares with names and patterns. An absent text is empty."""

    __hash__ = None  # type: ignore[assignment]  # a comparison is a term

    def __init__(self, name: str, marks: Expr, patterns: Patterns) -> None:
        self._name, self._marks, self._patterns = name, marks, patterns

    def __eq__(self, text: object) -> Expr:  # type: ignore[override]  # a term
        return self._is(text, _user())

    def __ne__(self, text: object) -> Expr:  # type: ignore[override]  # a term
        return ~self._is(text, _user())

    def __repr__(self) -> str:
        """Return the name of the field, for errors about its use."""
        return self._name

    def __bool__(self) -> bool:
        raise ModelError(f"{self._name} has no truth value", f"compare it: {self._name} == 'a text'", _user())

    def one_of(self, *texts: str) -> Expr:
        """Return whether it is one of these texts."""
        place = _user()
        return any_of(self._is(text, place) for text in texts)

    def like(self, pattern: str) -> Expr:
        """Return whether it matches a pattern, in which * is any text and ? any character."""
        place = _user()
        if not isinstance(pattern, str):
            raise ModelError(f"a pattern of {self._name} is {pattern!r}", "give a text such as 'orders-*'", place)
        return self._matches(TextPattern(self._name, pattern, wild=True), place)

    def _is(self, text: object, place: str) -> Expr:
        if not isinstance(text, str):
            raise ModelError(f"{self._name} is compared with {text!r}", "compare it with a text", place)
        return self._matches(TextPattern(self._name, text), place)

    def _matches(self, pattern: TextPattern, place: str) -> Expr:
        matches: Expr = (self._marks & self._patterns.bit(pattern, place)) != 0
        return matches


def _user() -> str:
    """Return `file:line:column` of the innermost frame outside this module."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return "" if frame is None else position(frame.f_code, frame.f_lasti)


def _instead(given: Any, names: Any) -> str:
    near = get_close_matches(str(given), names, 1)
    return f"did you mean {near[0]}?" if near else f"use {', '.join(names)}"


def packed(rules: Sequence[Rule], patterns: Patterns) -> OwnRules:
    """Return rules as data."""
    file = io.BytesIO()
    _Packer(file, pickle.HIGHEST_PROTOCOL).dump(tuple(rules))
    return OwnRules(file.getvalue(), tuple(patterns.known))


class _Packer(pickle.Pickler):
    """Writes a variable as the name of its vocabulary and its own: a process has its own variables."""

    def persistent_id(self, thing: Any) -> tuple[str, str] | None:
        if not isinstance(thing, Variable):
            return None
        kind = next(kind for kind, words in vocabulary().items() if any(thing is variable for variable in words.model.variables))
        return kind, thing.name


class _Unpacker(pickle.Unpickler):
    def persistent_load(self, pid: tuple[str, str]) -> Variable:
        kind, name = pid
        return next(variable for variable in vocabulary()[kind].model.variables if variable.name == name)


@lru_cache(maxsize=16)
def _unpacked(data: bytes) -> tuple[Rule, ...]:
    rules: tuple[Rule, ...] = _Unpacker(io.BytesIO(data)).load()
    return rules
