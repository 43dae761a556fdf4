"""A model: typed variables, constants, actions as data, and properties; refused at once where it is wrongly built.

A model is finite once it is built: sizes of indices are fixed. What varies between runs without building anew are its
*constants* (a profile's switches, a mutant's number): `model.given(auto_create=False)` is an `Instance` that every
engine takes. An action is a name, typed parameters, named guards in order (each with a sentence) and updates that all
read the state before. A *bound* is a guard that keeps a scope finite and is not a rule of the described system.
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
from .expr import Expr, Index, coerce, const, index, walk
from .operations import all_of, any_of
from .properties import Kind, Property, claimed
from .quantifiers import Members
from .records import MaybeShape, Record, Row, Shape, made_of, parts_in, parts_of, proper
from .sequences import SequenceType
from .sets import ManyType
from .shown import Container, ShownVariable, shown
from .types import Bool, ContainerType, IndexType, SetType, Type, indexed, named
from .variables import OneOf, Table, Variable, field_in, initial, part_of_start

_NOTHING: Any = object()


@dataclass(eq=False)
class Model:
    """A model under construction and, once its functions have run, complete: nothing needs to be closed.

    `former` gives the present name of a variable by the one that it had before: files of that time are still read. `sentences` say what a
    constant is. `starts` are what holds in all initial states, and `start_places` the lines that declare them.
    `parts` are who acts, in the order of their lanes: indices and names; `roles` gives the part that acts for an actor.
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
        """Tells the states of a model that grows apart: its constants, variables, actions and conditions on initial states so far."""
        return (tuple(self.constants), tuple(self.variables), tuple(self.actions), len(self.starts))

    def index(self, name: str, elements: int | Sequence[str], *, symmetric: bool = False, of: IndexType | None = None) -> Index:
        """An index of so many elements, or of elements with these names: `m.index("Broker", ["broker-a", "broker-b"])`.

        With `of=Broker` each element of that index has so many of its own, and `owner(queue)` is the one that an element belongs to.

        With `symmetric=True` its elements are interchangeable: a search visits one of the states that differ only in which element is
        which, and whatever tells elements apart is refused with its place.
        """
        return index(name, elements, symmetric=symmetric, of=of)

    def acting(self, *parts: Index | str, **roles: str) -> None:
        """Declare who acts, in the order in which a person sees them side by side: indices, whose elements act, and names of single parts.

        `roles` gives for an `actor` of actions the part that acts where an action names nobody else.
        """
        for part in parts:
            if not isinstance(part, IndexType) and not (isinstance(part, str) and part):
                raise ModelError(f"'{part}' is not who acts", "give indices, and names such as 'name server'")
        odd = [part for part in roles.values() if part not in parts]
        if odd:
            raise ModelError(f"a role is played by {odd[0]!r}", "give a name that is one of the parts")
        self.parts, self.roles = parts, roles

    def constant(self, name: str, type_: Type, default: Any, sentence: str = "") -> Expr:
        """A value fixed for a run, such as a profile's switch."""
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
        """Declare a variable and return the term (or the array to index).

        `init` is a value, a term over constants, `one_of(...)` or `ANY` where the model starts in several states, or a function of the
        element's indices that gives one; for a Record a row (by default its `start`), for a Maybe of one a row or None, for a set, bag or
        sequence its members.
        `over` is an index or another type of few values, or several. `sentence` says what it is, `part` whose it is, where that is not
        the first index's element.
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
        """Declare what holds the values of a shape; an array of them, over no index perhaps."""
        if isinstance(type_, Type):
            return self._declare(name, type_, axes, init, *words)
        if isinstance(type_, Record) and type_.fields:
            fields = {}
            for field, of in type_.fields.items():
                starts, told = part_of_start(init, functools.partial(field_in, type_, field)), words[2] or type_.sentences.get(field, "")
                fields[field] = self._lay_out(f"{name}.{field}", of, axes, starts, (*words[:2], told))
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

    def _start_whole(self, name: str, shape: Shape, axes: tuple[Type, ...], init: Any, made: Any) -> None:
        """Keep of a choice of starts those in which the parts of a value belong together."""
        conditions = []
        for at in itertools.product(*(i.codes() for i in axes)):
            chosen = initial(init, at, name)
            if isinstance(chosen, OneOf):
                value = made[tuple(const(code, axis) for code, axis in zip(at, axes, strict=True))]
                conditions.append(proper(shape, value))
                conditions.append(any_of(value == each for each in chosen.values) if chosen.values else const(1, Bool))
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
        if told := symmetry.asymmetric_start(variable):
            raise ModelError(f"initial value of {name}: {told}", symmetry.REMEDY)
        self.variables.append(variable)
        self.slots += variable.size
        return variable

    def _starts(self, name: str, value: Expr, type_: Type) -> None:
        if any(e.op in ("ref", "after", "par", "free") for e in walk(value)):
            raise ModelError(f"initial value '{value}' of {name} reads the state", "use constants of the model only")
        self._known(value, f"initial value of {name}", caller(), {}, ("given",))
        if value.op == "const" and not type_.lo <= value.args[0] <= type_.hi:
            raise ModelError(f"initial value {value} of {name} is not a value of {type_}", f"use one of {type_.describe()}")

    def initially(self, condition: Any) -> None:
        """The model starts only in those of its initial states that the condition holds in; `init=ANY` and `one_of(...)` make several."""
        term = coerce(condition, Bool)
        self._known(term, "the condition on initial states", caller(), {}, ("ref", "given"))
        if told := symmetry.asymmetry(term):
            raise ModelError(f"the condition on initial states: {told}", symmetry.REMEDY)
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
        """Decorate a function `f(a, **choices)` whose docstring is the action's sentence and whose body fills `a`.

        A choice is a type or a record, any value of which may be chosen, or a set, bag or sequence, of which a member is.

        `actor` is who does it, and `part` the part that does; `sends_to` and `takes_from` are as in the body, for parts that are the same
        whatever is chosen. `rules` are ids of the behaviour that it states, separated by blanks. `weight` is its share in simulation.
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
            body, parameters, arguments = Body(called), dict[str, Type](), dict[str, Any]()
            for key, chosen in choices.items():
                shape, member = _choice(called, key, chosen)
                parts = dict(parts_of(shape, key))
                parameters |= parts
                arguments[key] = made_of(shape, iter([Expr("par", (part,), type_) for part, type_ in parts.items()]))
                whole = proper(shape, arguments[key])
                if member is None and whole.op != "const":
                    body.guard(f"{key} given", whole, f"{key} is a value: all of its parts are None, or none is")
                if member is not None:
                    body.guard(f"{key} chosen", member(arguments[key]), f"{key} is one of {chosen}")
            try:
                inspect.signature(function).bind(body, **arguments)
            except TypeError as problem:
                expected = f"def {called}({', '.join(['a', *choices])})"
                raise ModelError(f"function of action {called}: {problem}", f"write {expected} or change action()'s parameters") from None
            for says, of in ((body.by, part), (body.sends_to, sends_to), (body.takes_from, takes_from)):
                if of:
                    says(of)
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
            )
            self.check(action)
            self.actions.append(action)
            return function

        return declare

    def check(self, action: Action) -> None:
        """Refuse an action that reads or writes what is not this model's."""
        where, known = f"action {action.name}", set[Expr]()

        def look(term: Expr, place: str) -> None:
            self._known(term, where, place, action.parameters, ("ref", "par", "given"), known)

        for guard in action.guards:
            look(guard.condition, guard.place)
        for update in action.updates:
            for term in (update.target, update.value, update.when):
                look(term, update.place)
        if told := symmetry.asymmetric_action(action):
            raise ModelError(f"{where}: {told[0]}", symmetry.REMEDY, told[1])
        for part in (action.by, action.to, action.source):
            if isinstance(part, Expr):
                look(part, action.place)
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
        """Refuse leaves that do not belong to this model or may not stand here. Subterms in `known` were looked at before; those that are
        looked at here are added."""
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
        made = self.claim(id_, sentence, kind, formula, goal, **more)
        if kind != "lemma" and (told := symmetry.asymmetry(*made.terms)):
            raise ModelError(f"property {id_}: {told}", symmetry.REMEDY, made.place)
        self.properties.append(made)
        return made

    def claim(self, id_: str, sentence: str, kind: Kind, formula: Any, goal: Any = None, **more: Any) -> Property:
        """A checked property of this model that is not added to it; `more` are further fields of Property."""
        made = claimed(id_, sentence, kind, formula, goal, **more)
        allowed = {"step": ("ref", "after", "given"), "lemma": ("ref", "after", "par", "given", "free")}.get(kind, ("ref", "given"))
        for term in made.terms if kind != "lemma" else ():
            self._known(term, f"property {id_}", made.place, {}, allowed)
        if made.clock:
            self.named(made.clock)
        return made

    def always(self, id_: str, formula: Any, sentence: str = "") -> Property:
        """The formula holds in every reachable state."""
        return self._claim(id_, sentence, "always", formula)

    def reachable(self, id_: str, formula: Any, sentence: str = "") -> Property:
        """The formula holds in some reachable state: something good must be possible."""
        return self._claim(id_, sentence, "reachable", formula)

    def step(self, id_: str, formula: Any, sentence: str = "") -> Property:
        """The formula relates every reachable state to each of its successors; `after(x)` is x there."""
        return self._claim(id_, sentence, "step", formula)

    def deadlock_free(self, id_: str, sentence: str = "", *, unless: Any = False) -> Property:
        """Every reachable state has a successor, unless the formula `unless` marks it as a proper end."""
        return self._claim(id_, sentence, "deadlock_free", unless)

    def leads_to(self, id_: str, formula: Any, goal: Any, sentence: str = "") -> Property:
        """Whenever the formula holds, the goal holds then or later, on every fair path."""
        return self._claim(id_, sentence, "leads_to", formula, goal)

    def eventually(self, id_: str, goal: Any, sentence: str = "") -> Property:
        """Always eventually: the goal is reached on every fair path from the initial state, and again from every later state."""
        return self._claim(id_, sentence, "leads_to", True, goal)

    def eventually_always(self, id_: str, goal: Any, sentence: str = "") -> Property:
        """On every fair path the goal holds from some state on for ever."""
        return self._claim(id_, sentence, "eventually_always", goal)

    def until(self, id_: str, hold: Any, goal: Any, sentence: str = "", *, when: Any = None, weak: bool = False) -> Property:
        """From a state in which `when` holds (by default the initial one), `hold` holds until the goal does, on every fair path.

        In the state of the goal `hold` need not hold. The goal has to be reached; not if it is `weak`: then `hold` may hold for ever.
        """
        return self._claim(
            id_, sentence, "weak_until" if weak else "until", True if when is None else when, goal, hold=hold, once=when is None
        )

    def within(self, id_: str, formula: Any, goal: Any, sentence: str = "", *, steps: int, clock: str = "") -> Property:
        """Whenever the formula holds, the goal holds then or after at most so many steps; of the action `clock` only, if it is given.

        A step that changes nothing does not count. It says nothing of paths with fewer steps: that there are more is for `leads_to` to say.
        """
        return self._claim(id_, sentence, "within", formula, goal, steps=steps, clock=clock)

    def shown(self) -> Iterable[ShownVariable]:
        """Everything that a state holds, as a person thinks of it, in the order of the slots."""
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
        """This model with its constants fixed; those not named keep their defaults."""
        codes = {name: default for name, (_, default) in self.constants.items()}
        for name, value in values.items():
            if name not in self.constants:
                raise ModelError(f"no constant {name!r} in model {self.name}", f"its constants are {', '.join(self.constants) or 'none'}")
            codes[name] = self.constants[name][0].encode(value)
        return Instance(self, codes)

    def with_actions(self, actions: Iterable[Action], **constants: tuple[Type, int]) -> Model:
        """The same variables and properties under other actions, with further constants."""
        return replace(self, actions=list(actions), constants={**self.constants, **constants})


def _part_in(shape: Shape, number: int, value: Any) -> Expr:
    return parts_in(shape, value)[number]


def _choice(action: str, key: str, chosen: Any) -> tuple[Shape, Callable[[Any], Expr] | None]:
    """What a parameter is a value of, and the condition that it is a member of what it is chosen from."""
    if isinstance(chosen, Type | Record | MaybeShape):
        return chosen, None
    if isinstance(chosen, Members):
        return chosen.shape, chosen.has
    if isinstance(chosen, Expr) and isinstance(chosen.type, SetType):
        return chosen.type.of, chosen.has
    raise ModelError(f"parameter {key} of {action} is {chosen}", "give it a finite type, or a set, bag or sequence to choose from")


@dataclass(frozen=True, eq=False)
class Instance:
    """A model and the codes of its constants: what every engine takes."""

    model: Model
    constants: dict[str, int]

    def readable(self) -> dict[str, Any]:
        """The constants as a person reads them."""
        return {name: self.model.constants[name][0].decode(code) for name, code in self.constants.items()}
