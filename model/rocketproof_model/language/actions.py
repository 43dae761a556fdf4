"""Actions as data: parameters, named guards in order, each with a sentence, and updates that all read the state before."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from ..errors import ModelError, caller
from .expr import Compound, Condition, Expr, Value, coerce, const
from .operations import all_of, any_of, set_where
from .quantifiers import Members
from .records import MaybeValue, Row, ite, parts_in
from .sentences import StepSentence
from .sequences import Items
from .sets import Many
from .types import Bool, IndexType, Int, MaybeType, SetType, Type
from .variables import Variable, moved

Fairness = Literal["weak", "strong"]
TRUE = const(1, Bool)
MOST = 2**20
"""Maximum of instances of an action that an engine tries individually, and of elements of an array; with more no run would end."""


@dataclass(frozen=True, eq=False)
class Guard:
    name: str
    condition: Expr
    sentence: str
    bound: bool
    place: str


@dataclass(frozen=True, eq=False)
class Assignment:
    """An assignment that is made where `when` holds. Elsewhere neither its place nor its value is evaluated.

    `value` is the element after this assignment alone: `assigned` where `when` holds, otherwise its old value. An update that `agrees`
    gives the same value as the updates before it wherever it writes the same element.
    """

    target: Expr
    value: Expr
    place: str
    agrees: bool = False
    when: Expr = TRUE

    @cached_property
    def assigned(self) -> Expr:
        """The value that is written where `when` holds."""
        value = self.value
        conditional = value.op == "ite" and value.args[0] is self.when and value.args[2] is self.target
        assigned: Expr = value.args[1] if conditional else value
        return assigned

    def becoming(self, value: Expr) -> Assignment:
        """Return the assignment with another value.

        If the value leaves the element unchanged under a condition, it does not write there.
        """
        if value is self.target:
            return replace(self, value=value, when=const(0, Bool))
        conditional = value.op == "ite" and value.args[2] is self.target
        return replace(self, value=value, when=value.args[0] if conditional else TRUE)


@dataclass(frozen=True, eq=False)
class Action:
    """An action of a model. `instances` are its parameter tuples in a fixed order, which is part of the contract.

    `actor` is the role that acts, in the model's own words. `by` is the part that acts, `to` the part that receives a message, `source` the
    part whose message is taken. Each of the three is a part's name, or a term that is an element of an index, over the state before and the
    parameters. It is None if the model does not state it. `says` is the template of a step's own sentence, None for one from `sentence`.
    """

    name: str
    sentence: str
    parameters: dict[str, Type]
    guards: tuple[Guard, ...]
    updates: tuple[Assignment, ...]
    fair: Fairness | None
    weight: float
    rules: tuple[str, ...]
    place: str
    actor: str = ""
    by: Expr | str | None = None
    to: Expr | str | None = None
    source: Expr | str | None = None
    says: StepSentence | None = None

    @cached_property
    def clashes(self) -> tuple[Expr, ...]:
        """The conditions under which two updates write different values to one element, which is an error of the model."""
        clashes = []
        met: dict[
            tuple[int, tuple[bool, ...]], dict[tuple[Any, ...], list[Assignment]]
        ] = {}  # by the variable and the positions of known indices, then by these indices
        for later in self.updates:
            known = _known_indices(later.target)
            mine = id(later.target.args[0]), tuple(index is None for index in known)
            for (variable, unknown), places in met.items() if not later.agrees else ():
                if variable == mine[0]:
                    alike = [places.get(known, [])] if unknown == mine[1] else places.values()
                    for earlier in itertools.chain.from_iterable(alike):
                        both = earlier.when & later.when & same_place(earlier.target, later.target)
                        clashes.append(both & (earlier.assigned != later.assigned))
            met.setdefault(mine, {}).setdefault(known, []).append(later)
        return tuple(term for term in clashes if term.op != "const" or term.args[0])

    @property
    def process(self) -> str | None:
        """The parameter whose value is the process that acts, the first over an index; None if the system as a whole acts."""
        return next((name for name, type_ in self.parameters.items() if isinstance(type_, IndexType)), None)

    @property
    def instances(self) -> Iterable[tuple[int, ...]]:
        """The tuples of parameters. Raises ModelError as `count` does."""
        return itertools.product(*(t.codes() for t in self.parameters.values())) if self.count else ()

    @property
    def count(self) -> int:
        """The number of instances. Raises ModelError if they are too many to be tried individually."""
        count = math.prod(t.size for t in self.parameters.values())
        if count > MOST:
            sizes = ", ".join(f"{name} {type_.size:,}" for name, type_ in self.parameters.items())
            remedy = f"give them smaller types: all instances of an action are asked one by one, at most {MOST:,}"
            raise ModelError(f"the parameters of action {self.name} have {count:,} values together ({sizes})", remedy, self.place)
        return count

    def guard(self, name: str) -> Guard:
        for guard in self.guards:
            if guard.name == name:
                return guard
        raise ModelError(f"action {self.name} has no guard {name!r}", f"its guards are {', '.join(g.name for g in self.guards)}")

    def label(self, args: Iterable[int]) -> str:
        """Return `send(p=1, b=0)`, as printed and as typed on the command line."""
        pairs = zip(self.parameters.items(), args, strict=True)
        return f"{self.name}({', '.join(f'{n}={t.text(a)}' for (n, t), a in pairs)})"


def moved_action(action: Action, to: Mapping[Variable, Variable], memo: dict[Expr, Expr] | None = None) -> Action:
    """Return the action with some variables replaced by others. `memo` caches replaced terms, for further actions with the same `to`."""
    memo = {} if memo is None else memo

    def of(term: Expr) -> Expr:
        return moved(term, to, memo)

    def role(part: Expr | str | None) -> Expr | str | None:
        return of(part) if isinstance(part, Expr) else part

    said = action.says
    says = said and StepSentence(said.template, {name: of(term) for name, term in said.terms.items()})
    guards = tuple(replace(g, condition=of(g.condition)) for g in action.guards)
    updates = tuple(replace(u, target=of(u.target), value=of(u.value), when=of(u.when)) for u in action.updates)
    return replace(action, guards=guards, updates=updates, by=role(action.by), to=role(action.to), source=role(action.source),
                   says=says)  # fmt: skip


class Body:
    """The guards, bounds and assignments that an action's function declares, in order."""

    def __init__(self, action: str) -> None:
        self._action = action
        self.guards: list[Guard] = []
        self.updates: list[Assignment] = []
        self.parts: dict[str, Expr | str] = {}
        self.sentence: StepSentence | None = None

    def by(self, part: Expr | str) -> None:
        """Declare the part that acts: a name, or a term that is an element of an index, such as the broker that serves the request."""
        self._part("by", part)

    def sends_to(self, part: Expr | str) -> None:
        """Declare the part to which the action sends a request, an answer or another message."""
        self._part("to", part)

    def takes_from(self, part: Expr | str) -> None:
        """Declare the part whose message the action takes."""
        self._part("source", part)

    def says(self, template: str, **terms: Expr) -> None:
        """Declare the sentence of a step: names in braces stand for parameters, for `by`, `to` and `from`, and for these terms.

        Example: `a.says("{by} creates {topic} with {queues:queue}", topic=row.topic, queues=row.read)`. `StepSentence` has the forms.
        """
        for name, term in terms.items():
            if not isinstance(term, Expr):
                raise ModelError(f"{name}={term!r} in the sentence of {self._action} is no term", "give a term, or write the text itself")
        self.sentence = StepSentence(template, terms)

    def _part(self, role: str, part: Expr | str) -> None:
        if not (isinstance(part, str) and part) and not (isinstance(part, Expr) and isinstance(part.type, IndexType | MaybeType)):
            raise ModelError(f"'{part}' is not who acts in {self._action}", "give a part's name or an element of an index")
        self.parts[role] = part

    def guard(self, name: str, condition: Condition, sentence: str = "") -> None:
        """Add a condition of the described system; `sentence` states the situation in which it holds."""
        self._add(name, condition, sentence, False)

    def bound(self, name: str, condition: Condition, sentence: str = "") -> None:
        """Add a condition that only keeps the scope finite."""
        self._add(name, condition, sentence, True)

    def _add(self, name: str, condition: Condition, sentence: str, bound: bool) -> None:
        where = f"guard {name!r} of action {self._action}"
        if not isinstance(sentence, str) or not sentence.strip():
            raise ModelError(f"{where} has no sentence", "say in words what is the case when it holds")
        if not isinstance(name, str) or not name:
            raise ModelError(f"{where} has no name", "give it a short name in quotes, first")
        if any(g.name == name for g in self.guards):
            raise ModelError(f"{where} is declared twice", "give each guard of an action its own name")
        self.guards.append(Guard(name, coerce(condition, Bool), sentence, bound, caller()))

    def set(self, target: Expr | Compound, value: Value, when: Condition = True) -> None:
        """Assign the value, computed in the state before, to a variable, an element, a row, a set, a bag or a sequence.

        If `when` does not hold, nothing is written, and neither the target's indices nor the value are evaluated. A set or bag may be given
        as a function that maps each possible member to its membership or count.
        """
        if isinstance(target, Row):
            row = target.match(value)
            for name, column in target.fields.items():
                self.set(column, row.fields[name], when)
            return
        if isinstance(target, MaybeValue):
            for part, becomes in zip(target.parts, parts_in(target.shape, value), strict=True):
                self.set(part, becomes, when)
            return
        if isinstance(target, Members) and not isinstance(target, Items):
            for part, becomes in target.parts(value):
                self.set(part, becomes, when)
            return
        if not isinstance(target, Expr) or target.op != "ref":
            raise ModelError(f"'{target}' set in {self._action} is not a variable", "assign to a variable or its element")
        type_ = target.args[0].type
        if isinstance(type_, SetType) and callable(value) and not isinstance(value, Expr | Compound):
            value = set_where(type_, value)
        condition, assigned = coerce(when, Bool), coerce(value, type_)
        new = ite(condition, assigned, target)
        if new.type.sort == "int" and (new.type.hi < type_.lo or new.type.lo > type_.hi):
            raise ModelError(f"{target} := {new} in {self._action} is never a value of {type_}", f"assign one of {type_.describe()}")
        if new.op == "const":
            type_.encode(type_.decode(new.args[0]) if type_.sort != "int" else new.args[0])
        for update in self.updates:
            if update.target is target and (update.when is TRUE or condition is TRUE):
                always = "always" if update.when is TRUE else f"when {update.when}"
                remedy = "write it once, with ite(), or give both writes a when= of which at most one holds"
                raise ModelError(f"{target} is written twice in {self._action}: {always} at {update.place}, and here", remedy)
        self.updates.append(Assignment(target, new, caller(), when=condition))

    def update(self, row: object, /, when: Condition = True, **fields: Value) -> None:
        """Assign some fields of a row, or variables that are attributes of one object, at the same time.

        Examples: `a.update(job[p], step="answered", answer="SUCCESS")`, `a.update(self, up=False, crashes=self.crashes + 1)`.
        """
        if not isinstance(row, Row) and (isinstance(row, Expr) or not all(hasattr(row, name) for name in fields)):
            remedy = "give a row, such as table[i], or what has the variables as its attributes, and fields by their names"
            raise ModelError(f"'{row}' updated in {self._action} is no row", remedy)
        for name, value in fields.items():
            self.set(getattr(row, name), value, when)

    def add(self, target: Many | Expr, value: Value, when: Condition = True) -> None:
        """Add a value to a set or a bag, after earlier changes of this action. Adding to a full bag is an error of the model."""
        self._change(target, value, when, 1)

    def remove(self, target: Many | Expr, value: Value, when: Condition = True) -> None:
        """Remove a value from a set or a bag. Removing a value that a bag does not hold is an error of the model."""
        self._change(target, value, when, -1)

    def _change(self, target: Many | Expr, value: Value, when: Condition, by: int) -> None:
        if isinstance(target, Many):
            element = target.cell(value)
            before = written(self.updates, element)
            changed = before + by if target.type.most else const(by > 0, Bool)
        elif isinstance(target, Expr) and target.op == "ref" and target.type.sort == "set":
            element, before = target, written(self.updates, target)
            changed = before.including(value) if by > 0 else before.excluding(value)
        else:
            raise ModelError(f"'{target}' in {self._action} is no set and no bag", "add to and remove from a variable of SetOf or BagOf")
        self._override(element, changed, before, coerce(when, Bool))

    def _override(self, target: Expr, value: Expr, before: Expr, when: Expr) -> None:
        """Add an update after the others. If an earlier update writes the same element, the new one gives the same value.

        `before` is the element after the earlier updates.
        """
        for number, update in enumerate(self.updates):
            if update.target.args[0] is target.args[0]:
                becomes = ite(when & same_place(update.target, target), value, update.assigned)
                self.updates[number] = replace(update, value=ite(update.when, becomes, update.target))
        replaced = [update for update in self.updates if update.target is target]
        self.updates = [update for update in self.updates if update.target is not target]
        written_at_all = any_of([when, *(update.when for update in replaced)])
        becomes = ite(when, value, before) if replaced else value
        self.updates.append(Assignment(target, ite(written_at_all, becomes, target), caller(), agrees=True, when=written_at_all))


def written(updates: Iterable[Assignment], target: Expr) -> Expr:
    """Return the value of an element after some updates."""
    value = target
    for update in updates:
        if update.target.args[0] is target.args[0]:
            value = ite(update.when & same_place(update.target, target), update.assigned, value)
    return value


def same_place(left: Expr, right: Expr) -> Expr:
    """Return the condition that two elements of an array are the same element."""
    return all_of(_index(a) == _index(b) for a, b in zip(left.args[1:], right.args[1:], strict=True))


def _known_indices(target: Expr) -> tuple[Any, ...]:
    """Return the codes of an element's indices, None for an index that depends on the state or on a parameter."""
    return tuple(index.args[0] if index.op == "const" else None for index in target.args[1:])


def _index(term: Expr) -> Expr:
    """Return an index as a comparable term: a known index of an array over Bool as a Bool, any other as a number."""
    return const(term.args[0], Int(0, 1)) if term.op == "const" and term.type.sort == "bool" else term
