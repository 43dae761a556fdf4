"""The reference meaning of expressions, actions and models, in plain Python, slowly and with every check.

A state is a tuple of codes, one per slot; `Variable.slot` is the slot of an element. All other engines are tested against this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .errors import EvaluationError, ModelError
from .language import (
    BINARY,
    DEEPEST,
    Action,
    Assignment,
    Expr,
    Guard,
    Instance,
    Variable,
    element_name,
    fold32,
    held,
    in_reach,
    java_rem,
    show,
    walk,
)

State = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Environment:
    """The inputs of an expression: the state before, the action's arguments, the constants, and the state after.

    It is immutable; `known` caches the values of terms, so that a term that occurs in several others is evaluated once.
    """

    state: Sequence[int]
    args: Mapping[str, int]
    constants: Mapping[str, int]
    after: Sequence[int] | None = None
    free: Mapping[str, int] | None = None
    known: dict[Expr, int | EvaluationError] = field(default_factory=dict, repr=False)


def _rem(x: int, y: int) -> int:
    if y == 0:
        raise EvaluationError("remainder by zero")
    return java_rem(x, y)


_BINARY: dict[str, Callable[[int, int], int]] = {**BINARY, "rem": _rem}


def evaluate(e: Expr, scope: Environment) -> int:
    """Return the code of a term. Raises EvaluationError if it has no value."""
    op, a = e.op, e.args
    if op == "const":
        return int(a[0])
    if op == "ref" and e.slot >= 0:
        return scope.state[e.slot]
    if op == "par":
        return scope.args[a[0]]
    if op == "given":
        return scope.constants[a[0]]
    if op == "free":
        return (scope.free or {})[a[0]]
    value = scope.known.get(e)
    if value is None:
        if e.depth > DEEPEST:
            _work_out_parts(e, scope)
        value = scope.known[e] = _operation(e, scope)
    elif isinstance(value, EvaluationError):
        raise value.with_traceback(None)  # otherwise the traceback grows at each level
    return value


def _work_out_parts(e: Expr, scope: Environment) -> None:
    """Evaluate parts of a deep term first, which bounds the recursion of `evaluate`."""
    for part in in_reach(e, scope.known):
        if part is not e:
            try:
                scope.known[part] = _operation(part, scope)
            except EvaluationError as error:  # raised again where `e` needs the part
                scope.known[part] = error


def _operation(e: Expr, scope: Environment) -> int:
    """Return the code of a term with operands."""
    op, a = e.op, e.args
    if op == "ref":
        return scope.state[slot_of(e, scope)]
    if op == "after":
        if scope.after is None:
            raise EvaluationError(f"{show(e)} asked outside a step")
        return scope.after[slot_of(e, scope)]
    if op == "and":
        return evaluate(a[0], scope) and evaluate(a[1], scope)
    if op == "or":
        return evaluate(a[0], scope) or evaluate(a[1], scope)
    if op == "ite":
        return evaluate(a[1] if evaluate(a[0], scope) else a[2], scope)
    x = evaluate(a[0], scope)
    if op == "not":
        return 1 - x
    if op == "single":
        return 1 << x - held(e.type).lo
    if op == "some":
        return x - held(e.type).lo + 1
    if op == "wrap32":
        return fold32(x)
    if op == "get":
        if x == 0:
            raise EvaluationError(nothing(a[0]))
        return x - 1 + held(a[0].type).lo
    if op == "has":
        return x >> evaluate(a[1], scope) - held(a[0].type).lo & 1
    return _BINARY[op](x, evaluate(a[1], scope))


def nothing(maybe: Expr) -> str:
    """Return the error for `get` of a Maybe that is None."""
    if maybe.op == "const":
        return f"a number is no value of {held(maybe.type)} where it is put in a {maybe.type}; guard it"
    if maybe.op == "ite" and maybe.args[1].op == "some" and maybe.args[2].op == "const":
        return f"an item is asked where there is none; guard it with {show(maybe.args[0])}"
    return f"{show(maybe)} is None where its element is asked"


def slot_of(ref: Expr, scope: Environment) -> int:
    """Return the slot of a reference; raises EvaluationError if an index is out of range."""
    if ref.slot >= 0:
        return ref.slot
    variable: Variable = ref.args[0]
    at = tuple(evaluate(i, scope) for i in ref.args[1:])
    for number, (k, axis) in enumerate(zip(at, variable.over, strict=True)):
        if not axis.lo <= k <= axis.hi:
            raise EvaluationError(beyond(ref, number).replace("index ?", f"index {k}", 1))
    slot = variable.slot(at)
    if all(i.op == "const" for i in ref.args[1:]):
        ref.slot = slot
    return slot


def beyond(ref: Expr, number: int) -> str:
    """Return the error for a reference whose index of this number is out of range: the index, or for a sequence the missing item."""
    variable, *at = ref.args
    index, axis = at[number], variable.over[number]
    if index.op == "ite" and index.args[0].op == "lt" and index.args[0].args[0] is index.args[1]:
        length = index.args[0].args[1]
        base, dot, _ = length.args[0].name.rpartition(".length") if length.op == "ref" else ("", "", "")
        if dot and (variable.name == base or variable.name.startswith(f"{base}.")):
            name = element_name(base, [show(i) for i in at[:number]])
            return f"{name}[{show(index.args[1])}] is asked where {name} has no such item; guard it with {show(index.args[0])}"
    return f"{show(ref)}: index ? is outside {axis}"


MOST_INITIAL = 2**22
"""Maximum of initial states of a model."""


def initial(instance: Instance) -> State:
    """Return the first initial state; most models have no other. Raises ModelError if there is none."""
    return next(initials(instance))


def initials(instance: Instance) -> Iterator[State]:
    """Yield all initial states, at least one, in an order that is part of the contract: the first slot's first value first.

    Conditions are tested as soon as all slots that they may read are known. Raises ModelError if no state fulfils the conditions, or too
    many do.
    """
    model, ways = instance.model, first_codes(instance)
    asked: list[list[Expr]] = [[] for _ in range(len(ways) + 1)]
    for condition in model.starts:
        asked[max((_last_slot(e) + 1 for e in walk(condition) if e.op == "ref"), default=0)].append(condition)
    count = 0
    state: list[int] = []
    trying: list[Iterator[int]] = []
    fits = all(evaluate(condition, Environment(state, {}, instance.constants)) for condition in asked[0])
    while True:
        if fits and len(state) == len(ways):
            count += 1
            if count > MOST_INITIAL:
                words = f"model {model.name} has more than {MOST_INITIAL:,} initial states"
                raise ModelError(words, "let a first action choose", model.variables[0].place)
            yield tuple(state)
        elif fits:
            trying.append(iter(ways[len(state)]))
            state.append(0)
        code = None
        while trying and (code := next(trying[-1], None)) is None:
            trying.pop()
            state.pop()
        if code is None:
            break
        state[-1] = code
        seen = Environment(state, {}, instance.constants)
        fits = all(evaluate(condition, seen) for condition in asked[len(state)])
    if not count:
        asked_for = " and ".join(map(show, model.starts))
        place = next((model.start_places[e] for e in model.starts if e in model.start_places), model.variables[0].place)
        raise ModelError(
            f"model {model.name} has no initial state: the variables' init= allows none in which {asked_for}",
            "relax what m.initially(...) asks for, or let more variables start with one_of(...) or init=ANY",
            place,
        )


def first_codes(instance: Instance) -> list[list[int]]:
    """Return the possible initial codes of each slot, before conditions. Raises EvaluationError for a value outside its type."""
    scope = Environment((), {}, instance.constants)
    return [
        list(dict.fromkeys(_fit(variable, evaluate(term, scope), "its initial value") for term in terms))
        for variable in instance.model.variables
        for terms in variable.init
    ]


def starts_in(instance: Instance, state: State) -> bool:
    """Return whether a state is an initial state."""
    scope = Environment(state, {}, instance.constants)
    possible = all(code in codes for codes, code in zip(first_codes(instance), state, strict=True))
    return possible and all(evaluate(condition, scope) for condition in instance.model.starts)


def _last_slot(ref: Expr) -> int:
    """Return the last slot that a reference may mean."""
    variable: Variable = ref.args[0]
    known = all(i.op == "const" for i in ref.args[1:])
    return variable.slot(tuple(i.args[0] for i in ref.args[1:])) if known else variable.first + variable.size - 1


def _fit(variable: Variable, code: int, what: str) -> int:
    if not variable.type.lo <= code <= variable.type.hi:
        raise EvaluationError(f"{variable.name} becomes {code} by {what}, outside {variable.type}")
    return code


def _unfit(instance: Instance, variable: Variable, code: int, what: str) -> None:
    """Raise EvaluationError for an assigned code that is outside the variable's type."""
    for container in instance.model.containers:
        if variable is container.variables[0] and variable.name == f"{container.name}.length":
            if code < 0:
                words = f"{container.name} loses an item by {what} where it has none; guard it with ~{container.name}.is_empty"
            else:
                words = f"{container.name} gets {code} items by {what} and has room for {variable.type.hi}; guard its length"
            raise EvaluationError(words)
    _fit(variable, code, what)


def refusing(instance: Instance, state: State, action: Action, args: Sequence[int]) -> Guard | None:
    """Return the first guard that refuses this action instance, None if it is enabled."""
    scope = Environment(state, dict(zip(action.parameters, args, strict=True)), instance.constants)
    for guard in action.guards:
        if not evaluate(guard.condition, scope):
            return guard
    return None


def effect(instance: Instance, state: State, action: Action, args: Sequence[int]) -> State:
    """Return the state after an enabled action. Raises EvaluationError if a value leaves its type, or an element gets two values."""
    scope = Environment(state, dict(zip(action.parameters, args, strict=True)), instance.constants)
    after, written = list(state), dict[int, tuple[int, Assignment]]()
    for update in action.updates:
        if not evaluate(update.when, scope):
            continue
        code = evaluate(update.assigned, scope)
        variable = update.target.args[0]
        if not variable.type.lo <= code <= variable.type.hi:
            _unfit(instance, variable, code, action.label(args))
        slot = slot_of(update.target, scope)
        first, earlier = written.setdefault(slot, (code, update))
        if first != code:
            writes = " and ".join(_write(u, c) for u, c in ((earlier, first), (update, code)))
            element = variable.label_at(variable.at(slot))
            raise EvaluationError(f"{element} gets two values by {action.label(args)}: {writes}")
        after[slot] = code
    return tuple(after)


def _write(update: Assignment, code: int) -> str:
    """Return `2 by x[j] := 2 when go (model.py:12)`."""
    when = "" if update.when.op == "const" else f" when {show(update.when)}"
    value = update.target.args[0].type.text(code)
    return f"{value} by {show(update.target)} := {show(update.assigned)}{when} ({update.place})"


@dataclass(frozen=True)
class ModelStep:
    """One transition: the action instance and the state it leads to."""

    action: Action
    args: tuple[int, ...]
    state: State

    @property
    def label(self) -> str:
        return self.action.label(self.args)


def successors(instance: Instance, state: State) -> Iterator[ModelStep]:
    """Yield all enabled action instances with their effects, in the order of the model."""
    for action in instance.model.actions:
        for args in action.instances:
            if refusing(instance, state, action, args) is None:
                yield ModelStep(action, args, effect(instance, state, action, args))


def holds(instance: Instance, formula: Expr, state: State, after: State | None = None) -> bool:
    """Return whether a formula holds in a state, or over a step if `after` is given."""
    return bool(evaluate(formula, Environment(state, {}, instance.constants, after)))


def labelled(instance: Instance, state: State) -> dict[str, str]:
    """Return the state for printing: labels such as `config[broker-a, orders].perm` mapped to the values' texts."""
    return {element.label: element.text(state) for element in instance.model.shown()}


def readable(instance: Instance, state: State) -> dict[str, Any]:
    """Return the state as data: variable (with `[i,j]` for elements) mapped to decoded value."""
    return {element.name: element.data(state) for element in instance.model.shown()}
