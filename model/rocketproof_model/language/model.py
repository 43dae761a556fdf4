"""A model: typed variables, constants, actions as data, and properties. Mistakes are reported when they are declared.

A model is finite: sizes of indices are fixed. Its *constants* (a profile's switches, a mutant's number) vary between runs without building
the model again: `model.given(auto_create=False)` is an `Instance` that every engine takes. An action is a name, typed parameters, named
guards in order (each with a sentence) and updates that all read the state before. A *bound* is a guard that keeps a scope finite and is not
a rule of the described system.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

from ..errors import ModelError, caller
from . import symmetry
from .actions import MOST, Action, Body, Fairness
from .containers import Containers, laid_out
from .expr import Condition, Expr, Index, coerce, const, index, walk
from .operations import all_of, any_of
from .properties import Kind, Property, claimed
from .quantifiers import Members
from .records import MaybeShape, Record, Row, Shape, made_of, parts_in, parts_of, proper
from .sentences import ROLES
from .sequences import SequenceType
from .sets import ManyType
from .shown import Container, ShownVariable, shown
from .types import Bool, ContainerType, IndexType, SetType, Type, indexed, named
from .variables import OneOf, Table, Variable, field_in, initial, part_of_start

_NOTHING: Any = object()


@dataclass(eq=False)
class Model:
    """A model. It is complete once its declarations have run; there is no closing step.

    `former` maps former names of variables to present ones, so that older files can be read. `sentences` describe the constants. `starts`
    are conditions that hold in all initial states, and `start_places` their source lines. `parts` are the acting indices and names, in the
    order of their lanes; `roles` maps an actor to the part that acts.
    """

    name: str
    variables: list[Variable] = field(default_factory=list)
    constants: dict[str, tuple[Type, int]] = field(default_factory=dict)
    actions: list[Action] = field(default_factory=list)
    properties: list[Property] = field(default_factory=list)
    slots: int = 0
    former: dict[str, str] = field(default_factory=dict)
    sentences: dict[str, str] = field(default_factory=dict)
    parts: tuple[Index | str, ...] = ()
    roles: dict[str, str] = field(default_factory=dict)
    containers: list[Container] = field(default_factory=list)
    starts: list[Expr] = field(default_factory=list)
    start_places: dict[Expr, str] = field(default_factory=dict)

    @property
    def declared(self) -> tuple[Any, ...]:
        """A key of the declarations so far: constants, variables, actions and conditions on initial states."""
        return (tuple(self.constants), tuple(self.variables), tuple(self.actions), len(self.starts))

    def index(self, name: str, elements: int | Sequence[str], *, symmetric: bool = False, of: IndexType | None = None) -> Index:
        """Declare an index with a number of elements, or with named elements: `m.index("Broker", ["broker-a", "broker-b"])`.

        With `of=Broker` each broker owns that many elements, and `owner(queue)` is the broker that owns a queue.

        With `symmetric=True` its elements are interchangeable: a search visits one of the states that differ only by a permutation of
        elements. A term that distinguishes elements raises ModelError with its source line.
        """
        return index(name, elements, symmetric=symmetric, of=of)

    def acting(self, *parts: Index | str, **roles: str) -> None:
        """Declare the parts that act, in the order of their lanes: indices, whose elements act, and names of single parts.

        `roles` maps an `actor` of actions to the part that acts if the action does not name one.
        """
        for part in parts:
            if not isinstance(part, IndexType) and not (isinstance(part, str) and part):
                raise ModelError(f"'{part}' is not who acts", "give indices, and names such as 'name server'")
        odd = [part for part in roles.values() if part not in parts]
        if odd:
            raise ModelError(f"a role is played by {odd[0]!r}", "give a name that is one of the parts")
        self.parts, self.roles = parts, roles

    def constant(self, name: str, type_: Type, default: Any, sentence: str = "") -> Expr:
        """Declare a value that is fixed for a run, such as a profile's switch."""
        if name in self.constants:
            raise ModelError(f"constant {name} is declared twice", "give each constant its own name")
        if not isinstance(type_, Type):
            raise ModelError(f"constant {name} has type {type_}", "use Bool, Int(lo, hi), Enum(...), an index, Maybe or SetOf")
        if of := named(type_):
            raise ModelError(f"constant {name} names an element of the symmetric index {of.name}", symmetry.REMEDY)
        self.constants[name] = (type_, type_.encode(default))
        if sentence:
            self.sentences[name] = sentence
        return Expr("given", (name,), type_)

    @overload
    def var(self, name: str, type_: Type, *, init: Any = ..., sentence: str = "", part: str = "") -> Expr: ...

    @overload
    def var(
        self, name: str, type_: Type, *, over: Type | tuple[Type, ...], init: Any = ..., sentence: str = "", part: str = ""
    ) -> Variable: ...

    @overload
    def var(self, name: str, type_: Record, *, init: Any = ..., sentence: str = "", part: str = "") -> Row: ...

    @overload
    def var(
        self, name: str, type_: Record, *, over: Type | tuple[Type, ...], init: Any = ..., sentence: str = "", part: str = ""
    ) -> Table: ...

    @overload
    def var(
        self,
        name: str,
        type_: Shape | ContainerType,
        *,
        over: Type | tuple[Type, ...] = ...,
        init: Any = ...,
        sentence: str = "",
        part: str = "",
    ) -> Any: ...

    def var(
        self,
        name: str,
        type_: Shape | ContainerType,
        *,
        over: Type | tuple[Type, ...] = (),
        init: Any = _NOTHING,
        sentence: str = "",
        part: str = "",
    ) -> Any:
        """Declare a variable and return its term (or the array to index).

        `init` is one of the following, or a function of the element's indices that returns it:

        - a value or a term over constants,
        - `one_of(...)` or `ANY` if the model starts in several states,
        - for a Record a row (by default its `start`), for a Maybe of a Record a row or None,
        - for a set, bag or sequence its members.

        `over` is an index or another type of few values, or several. `sentence` describes the variable. `part` names the part it belongs
        to, if that is not the first index's element.
        """
        if not isinstance(name, str) or not name:
            raise ModelError(f"a variable is named {name!r}", 'give it a name: m.var("created", Bool, init=False)')
        if init is _NOTHING and isinstance(type_, Record):
            init = type_.start
        if init is _NOTHING:
            raise ModelError(f"variable {name} has no initial value", "give init=: a value, or a function of the element's indices")
        axes = over if isinstance(over, tuple) else (over,)
        for axis in axes:
            indexed(axis, f"over= of variable {name}")
        if (elements := math.prod(axis.size for axis in axes)) > MOST:
            raise ModelError(f"variable {name} has {elements:,} elements", f"give it smaller indices: {MOST:,} are the most")
        made = self._lay_out(name, type_, axes, init, (sentence, part, ""))
        if isinstance(type_, Record | MaybeShape):
            self._start_whole(name, type_, axes, init, made)
        return made if axes else made[()]

    def _lay_out(self, name: str, type_: Shape | ContainerType, axes: tuple[Type, ...], init: Any, words: tuple[str, str, str]) -> Any:
        """Declare the variables that hold the values of a shape, as an array over `axes`, which may be empty."""
        if isinstance(type_, Type):
            return self._declare(name, type_, axes, init, *words)
        if isinstance(type_, Record) and type_.fields:
            fields = {}
            for field, of in type_.fields.items():
                starts, detail = part_of_start(init, functools.partial(field_in, type_, field)), words[2] or type_.sentences.get(field, "")
                fields[field] = self._lay_out(f"{name}.{field}", of, axes, starts, (*words[:2], detail))
            return Table(name, fields)
        if isinstance(type_, MaybeShape):
            variables = []
            for number, (part, kind) in enumerate(parts_of(type_, name)):
                starts = part_of_start(init, functools.partial(_part_in, type_, number))
                variables.append(self._declare(part, kind, axes, starts, *words))
        elif isinstance(type_, ManyType | SequenceType):
            variables = laid_out(name, type_, axes, init, lambda n, t, over, first: self._declare(n, t, over, first, *words))
        else:
            raise ModelError(f"variable {name} has type {type_}", "use Bool, Int(lo, hi), Enum(...), an index, Maybe, SetOf or a Record")
        container = Container(name, type_, axes, tuple(variables))
        self.containers.append(container)
        return Containers(name, len(axes), container.value)

    def _start_whole(self, name: str, shape: Shape, axes: tuple[Type, ...], init: Any, declared: Any) -> None:
        """Exclude initial states in which the parts of a chosen value do not fit together."""
        conditions = []
        for at in itertools.product(*(i.codes() for i in axes)):
            chosen = initial(init, at, name)
            if isinstance(chosen, OneOf):
                value = declared[tuple(const(code, axis) for code, axis in zip(at, axes, strict=True))]
                conditions.append(proper(shape, value))
                conditions.append(any_of(value == option for option in chosen.values) if chosen.values else const(1, Bool))
        condition = all_of(conditions)
        if condition.op != "const":
            self.initially(condition)

    def _declare(self, name: str, type_: Type, axes: tuple[Type, ...], init: Any, sentence: str, part: str, detail: str = "") -> Variable:
        if any(v.name == name for v in self.variables):
            raise ModelError(f"variable {name} is declared twice", "give each variable its own name")
        values = []
        for at in itertools.product(*(i.codes() for i in axes)):
            chosen = initial(init, at, name)
            values.append(chosen.terms(type_) if isinstance(chosen, OneOf) else (coerce(chosen, type_),))
        for value in dict.fromkeys(itertools.chain.from_iterable(values)):
            self._starts(name, value, type_)
        variable = Variable(name, type_, axes, tuple(values), self.slots, caller(), sentence, part, detail)
        if reason := symmetry.asymmetric_start(variable):
            raise ModelError(f"initial value of {name}: {reason}", symmetry.REMEDY)
        self.variables.append(variable)
        self.slots += variable.size
        return variable

    def _starts(self, name: str, value: Expr, type_: Type) -> None:
        if any(e.op in ("ref", "after", "par", "free") for e in walk(value)):
            raise ModelError(f"initial value '{value}' of {name} reads the state", "use constants of the model only")
        self._known(value, f"initial value of {name}", caller(), {}, ("given",))
        if value.op == "const" and not type_.lo <= value.args[0] <= type_.hi:
            raise ModelError(f"initial value {value} of {name} is not a value of {type_}", f"use one of {type_.describe()}")

    def initially(self, condition: Condition) -> None:
        """Restrict the initial states to those in which the condition holds. `init=ANY` and `one_of(...)` make several."""
        term = coerce(condition, Bool)
        self._known(term, "the condition on initial states", caller(), {}, ("ref", "given"))
        if reason := symmetry.asymmetry(term):
            raise ModelError(f"the condition on initial states: {reason}", symmetry.REMEDY)
        self.starts.append(term)
        self.start_places.setdefault(term, caller())

    def action(
        self,
        /,
        *positional: Any,
        actor: str = "",
        fair: Fairness | None = None,
        weight: float = 1.0,
        rules: str = "",
        name: str = "",
        part: str = "",
        sends_to: str = "",
        takes_from: str = "",
        **choices: Any,
    ) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """Decorate a function `f(a, **choices)` whose docstring is the action's sentence and whose body declares guards and updates on `a`.

        A choice is a type or a record, for any value, or a set, bag or sequence, for any member.

        `actor` is the role that acts, and `part` the part that does. `sends_to` and `takes_from` are as in the body, for parts that do not
        depend on the choice. `rules` are ids of the behaviour that the action states, separated by blanks. `weight` is its share in
        simulation.
        """

        if positional:
            raise ModelError("action without parentheses", "write @m.action() above the function, or with parameters @m.action(b=Broker)")
        if fair not in (None, "weak", "strong"):
            raise ModelError(f"fair={fair!r}", "an action is fair=None, fair='weak' or fair='strong'")
        if not weight >= 0 or not isinstance(rules, str) or not isinstance(actor, str):
            words = f"weight={weight!r}, rules={rules!r}, actor={actor!r}"
            raise ModelError(words, "a weight is at least 0, rules are one string of ids, an actor is a word")

        def declare(function: Callable[..., None]) -> Callable[..., None]:
            called = name or function.__name__
            sentence = " ".join((function.__doc__ or "").split())
            if not sentence:
                raise ModelError(f"action {called} has no sentence", "write a docstring that says what happens")
            if any(other.name == called for other in self.actions):
                raise ModelError(f"action {called} is declared twice", "give each action its own name")
            body = Body(called)
            parameters, arguments = _parameters(body, called, choices)
            try:
                inspect.signature(function).bind(body, **arguments)
            except TypeError as problem:
                expected = f"def {called}({', '.join(['a', *choices])})"
                raise ModelError(f"function of action {called}: {problem}", f"write {expected} or change action()'s parameters") from None
            for declare_part, value in ((body.by, part), (body.sends_to, sends_to), (body.takes_from, takes_from)):
                if value:
                    declare_part(value)
            function(body, **arguments)
            action = Action(
                called,
                sentence,
                parameters,
                tuple(body.guards),
                tuple(body.updates),
                fair,
                weight,
                tuple(rules.split()),
                caller(),
                actor,
                **body.parts,
                says=body.sentence,
            )
            self.check(action)
            self.actions.append(action)
            return function

        return declare

    def check(self, action: Action) -> None:
        """Raise ModelError for an action that reads or writes what is not this model's."""
        where, known = f"action {action.name}", set[Expr]()

        def check_term(term: Expr, place: str) -> None:
            self._known(term, where, place, action.parameters, ("ref", "par", "given"), known)

        for guard in action.guards:
            check_term(guard.condition, guard.place)
        for update in action.updates:
            for term in (update.target, update.value, update.when):
                check_term(term, update.place)
        if reason := symmetry.asymmetric_action(action):
            raise ModelError(f"{where}: {reason[0]}", symmetry.REMEDY, reason[1])
        if action.says is not None:
            for term in action.says.terms.values():
                check_term(term, action.place)
            known_names = {*action.says.terms, *action.parameters, *ROLES}
            if unknown := sorted(action.says.names() - known_names):
                raise ModelError(
                    f"the sentence of {where} names {unknown[0]!r}", f"known are {', '.join(sorted(known_names))}", action.place
                )
        for part in (action.by, action.to, action.source):
            if isinstance(part, Expr):
                check_term(part, action.place)
            elif part is not None and self.parts and part not in self.parts:
                known_parts = ", ".join(p for p in self.parts if isinstance(p, str))
                raise ModelError(f"{where} names the part {part!r}", f"the parts with a name are {known_parts}", action.place)

    def _known(
        self,
        term: Expr,
        where: str,
        place: str,
        parameters: Mapping[str, Type],
        allowed: tuple[str, ...],
        known: set[Expr] | None = None,
    ) -> None:
        """Raise ModelError for leaves that do not belong to this model or are not allowed here.

        Subterms in `known` are skipped; checked subterms are added to it.
        """
        known = set() if known is None else known
        for e in walk(term, known=known):
            known.add(e)
            if e.op in ("ref", "after") and e.args[0] not in self.variables:
                raise ModelError(f"{where} reads unknown variable {e.args[0].name}", "declare it with var() of the same model", place)
            if e.op == "given" and self.constants.get(e.args[0], (None,))[0] != e.type:
                raise ModelError(f"{where} reads unknown constant {e.args[0]}", "declare it with constant() of the same model", place)
            if e.op == "par" and parameters.get(e.args[0]) != e.type:
                raise ModelError(f"{where} reads unknown parameter {e.args[0]}", "add it to the action's parameters", place)
            if e.op in ("ref", "after", "par", "given", "free") and e.op not in allowed:
                raise ModelError(f"{where} may not use {e.op} term '{e}'", f"only {', '.join(allowed)} terms stand here", place)

    def _claim(self, id_: str, sentence: str, kind: Kind, formula: Any, goal: Any = None, **more: Any) -> Property:
        if not isinstance(sentence, str) or not sentence.strip():
            raise ModelError(f"property {id_} has no sentence", "say in words what it claims")
        if any(p.id == id_ for p in self.properties):
            raise ModelError(f"property {id_} is declared twice", "give each property its own id")
        property_ = self.claim(id_, sentence, kind, formula, goal, **more)
        if kind != "lemma" and (reason := symmetry.asymmetry(*property_.terms)):
            raise ModelError(f"property {id_}: {reason}", symmetry.REMEDY, property_.place)
        self.properties.append(property_)
        return property_

    def claim(self, id_: str, sentence: str, kind: Kind, formula: Any, goal: Any = None, **more: Any) -> Property:
        """Return a checked property of this model without adding it; `more` are further fields of Property."""
        claim = claimed(id_, sentence, kind, formula, goal, **more)
        allowed = {"step": ("ref", "after", "given"), "lemma": ("ref", "after", "par", "given", "free")}.get(kind, ("ref", "given"))
        for term in claim.terms if kind != "lemma" else ():
            self._known(term, f"property {id_}", claim.place, {}, allowed)
        if claim.clock:
            self.named(claim.clock)
        return claim

    def always(self, id_: str, formula: Condition, sentence: str = "") -> Property:
        """Claim that the formula holds in every reachable state."""
        return self._claim(id_, sentence, "always", formula)

    def reachable(self, id_: str, formula: Condition, sentence: str = "") -> Property:
        """Claim that the formula holds in some reachable state: something good must be possible."""
        return self._claim(id_, sentence, "reachable", formula)

    def step(self, id_: str, formula: Condition, sentence: str = "") -> Property:
        """Claim that the formula holds for every step from a reachable state; `after(x)` is x in the state after the step."""
        return self._claim(id_, sentence, "step", formula)

    def deadlock_free(self, id_: str, sentence: str = "", *, unless: Condition = False) -> Property:
        """Claim that every reachable state has a successor, unless the formula `unless` marks it as a permitted end."""
        return self._claim(id_, sentence, "deadlock_free", unless)

    def leads_to(self, id_: str, formula: Condition, goal: Condition, sentence: str = "") -> Property:
        """Claim that on every fair path, whenever the formula holds, the goal holds then or later."""
        return self._claim(id_, sentence, "leads_to", formula, goal)

    def eventually(self, id_: str, goal: Condition, sentence: str = "") -> Property:
        """Claim that on every fair path the goal is reached from the initial state, and again from every later state."""
        return self._claim(id_, sentence, "leads_to", True, goal)

    def eventually_always(self, id_: str, goal: Condition, sentence: str = "") -> Property:
        """Claim that on every fair path the goal holds for ever from some state on."""
        return self._claim(id_, sentence, "eventually_always", goal)

    def until(
        self, id_: str, hold: Condition, goal: Condition, sentence: str = "", *, when: Condition | None = None, weak: bool = False
    ) -> Property:
        """Claim that `hold` holds until `goal` does, on every fair path from each state in which `when` holds.

        `when` is by default true in the initial state only. `hold` need not hold in the state of the goal. The goal has to be reached
        unless the claim is `weak`; then `hold` may hold for ever.
        """
        return self._claim(
            id_, sentence, "weak_until" if weak else "until", True if when is None else when, goal, hold=hold, once=when is None
        )

    def within(self, id_: str, formula: Condition, goal: Condition, sentence: str = "", *, steps: int, clock: str = "") -> Property:
        """Claim that whenever the formula holds, the goal holds then or at most `steps` steps later.

        If `clock` names an action, only its steps count. A step that changes nothing does not count. A path with fewer steps is no
        violation; use `leads_to` to claim that the goal is reached.
        """
        return self._claim(id_, sentence, "within", formula, goal, steps=steps, clock=clock)

    def shown(self) -> Iterable[ShownVariable]:
        """Return all values of a state as a reader sees them, in the order of the slots."""
        return shown(self.variables, self.containers)

    def named(self, name: str) -> Action:
        for action in self.actions:
            if action.name == name:
                return action
        raise ModelError(f"no action {name!r} in model {self.name}", f"its actions are {', '.join(a.name for a in self.actions)}")

    def property(self, id_: str) -> Property:
        for claim in self.properties:
            if claim.id == id_:
                return claim
        raise ModelError(f"no property {id_!r} in model {self.name}", f"its properties are {', '.join(p.id for p in self.properties)}")

    def variable(self, name: str) -> Variable:
        for variable in self.variables:
            if variable.name == name:
                return variable
        raise ModelError(f"no variable {name!r} in model {self.name}", f"its variables are {', '.join(v.name for v in self.variables)}")

    def given(self, **values: Any) -> Instance:
        """Return this model with its constants fixed; constants that are not named keep their defaults."""
        codes = {name: default for name, (_, default) in self.constants.items()}
        for name, value in values.items():
            if name not in self.constants:
                raise ModelError(f"no constant {name!r} in model {self.name}", f"its constants are {', '.join(self.constants) or 'none'}")
            codes[name] = self.constants[name][0].encode(value)
        return Instance(self, codes)

    def with_actions(self, actions: Iterable[Action], **constants: tuple[Type, int]) -> Model:
        """Return a model with the same variables and properties, other actions and further constants."""
        return replace(self, actions=list(actions), constants={**self.constants, **constants})


def _part_in(shape: Shape, number: int, value: Any) -> Expr:
    return parts_in(shape, value)[number]


def _parameters(body: Body, action: str, choices: Mapping[str, Any]) -> tuple[dict[str, Type], dict[str, Any]]:
    """Return an action's parameters and the arguments of its function, and add a guard for each choice that is restricted."""
    parameters, arguments = dict[str, Type](), dict[str, Any]()
    for key, chosen in choices.items():
        shape, member = _choice(action, key, chosen)
        parts = dict(parts_of(shape, key))
        parameters |= parts
        arguments[key] = made_of(shape, iter([Expr("par", (part,), type_) for part, type_ in parts.items()]))
        whole = proper(shape, arguments[key])
        if member is None and whole.op != "const":
            body.guard(f"{key} given", whole, f"{key} is a value: all of its parts are None, or none is")
        if member is not None:
            body.guard(f"{key} chosen", member(arguments[key]), f"{key} is one of {chosen}")
    return parameters, arguments


def _choice(action: str, key: str, chosen: Any) -> tuple[Shape, Callable[[Any], Expr] | None]:
    """Return the shape of a parameter's values, and the condition that a value is a member of the container it is chosen from."""
    if isinstance(chosen, Type | Record | MaybeShape):
        return chosen, None
    if isinstance(chosen, Members):
        return chosen.shape, chosen.has
    if isinstance(chosen, Expr) and isinstance(chosen.type, SetType):
        return chosen.type.of, chosen.has
    raise ModelError(f"parameter {key} of {action} is {chosen}", "give it a finite type, or a set, bag or sequence to choose from")


@dataclass(frozen=True, eq=False)
class Instance:
    """A model and the codes of its constants: the input of every engine."""

    model: Model
    constants: dict[str, int]

    def readable(self) -> dict[str, Any]:
        """Return the constants as readable values."""
        return {name: self.model.constants[name][0].decode(code) for name, code in self.constants.items()}
