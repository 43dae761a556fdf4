"""Restore a witness of an instance from a witness file. The result is a witness only if the model allows each of its steps.

The moves of a file from another tool are found with the interpreter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from rocketproof_model import Bool, EvaluationError, Instance, Model, Property, Variable
from rocketproof_model.faults import PREFIX, well_typed
from rocketproof_model.interpreter import ModelStep, State, effect, refusing, successors
from rocketproof_model.language import EnumType, MaybeType, SetType, Type, const
from rocketproof_model.result import Move, Witness

from ..common.errors import TraceError, short
from .explain import parse
from .itf import REWRITE, FileMove, Variant, WitnessFile, field_of, tables_of
from .words import changes, code_of, plain, present_names

NO_PROPERTY = Property("(none)", "the file names no property", "always", const(1, Bool))


def restore(file: WitnessFile, instance: Instance, property_: Property | None = None) -> Witness:
    """The witness that a file describes, in the given instance.

    `property_` is for files that name none (without it the witness has a property that is always true). Raises TraceError
    where the file and the model disagree: variables, values, actions, constants, or a step that the model does not allow.
    """
    place = file.path
    claim = property_ or _claim(file, instance.model)
    _same_constants(file, instance)
    if not file.states and file.moves is None:
        raise TraceError(place, "has no states", "give a trace with at least one state")
    states = tuple(_codes(place, k, row, instance.model) for k, row in enumerate(file.states))
    if file.moves is None:
        moves = tuple(_find(file, instance, k, before, after) for k, (before, after) in enumerate(pairwise(states), 1))
    else:
        moves = tuple(_move(place, k, move, instance.model) for k, move in enumerate(file.moves, 1))
        for k, (move, (before, after)) in enumerate(zip(moves, pairwise(states), strict=True), 1):
            _allowed(place, instance, k, move, before, after)
    if file.loop is not None and states[-1] != states[file.loop]:
        if all(step.state != states[file.loop] for step in _successors(place, instance, len(states), states[-1])):
            raise TraceError(place, f"no action closes the loop to state {file.loop}", "check 'loop' and the model's constants")
    return Witness(instance, claim, moves, states, file.loop, file.note)


def _claim(file: WitnessFile, model: Model) -> Property:
    if not file.property:
        return NO_PROPERTY
    if file.property.startswith(PREFIX):
        return claim_of_action(file.property, model)
    for claim in model.properties:
        if claim.id == file.property:
            return claim
    known = ", ".join(p.id for p in model.properties) or "none"
    raise TraceError(file.path, f"its property {file.property!r} is not in model {model.name}", f"its properties are {known}; {REWRITE}")


def claim_of_action(id_: str, model: Model) -> Property:
    """The claim that an error of the model refutes, from its id. Raises TraceError if it names no action instance of the model."""
    return well_typed(model, *parse(id_.removeprefix(PREFIX), model))


def _same_constants(file: WitnessFile, instance: Instance) -> None:
    types = {name: type_ for name, (type_, _) in instance.model.constants.items()}
    for name, value in file.constants.items():
        if name not in types:
            known = ", ".join(types) or "none"
            raise TraceError(file.path, f"constant {name!r} is not in model {instance.model.name}", f"its constants are {known}; {REWRITE}")
        have = plain(types[name], instance.constants[name])
        if have != value:
            what = f"was made with {name} = {short(value)}, the model has {short(have)}"
            raise TraceError(file.path, what, "build the model as 'origin' says")


def _codes(place: str, k: int, row: Mapping[str, Any], model: Model) -> State:
    """A state's codes from a decoded row; names may carry a module prefix such as `bank::`."""
    known = {v.name for v in model.variables} | tables_of(model).keys()
    values = present_names(model, {name if name in known else name.rpartition("::")[2]: value for name, value in row.items()})
    codes = [0] * model.slots
    used: set[str] = set()
    for name, columns in tables_of(model).items():
        flat = name not in values and all(v.name in values for v in columns)
        for variable in columns:
            source, field = (variable.name, "") if flat else (name, field_of(name, variable))
            used.add(source)
            if source not in values:
                raise TraceError(place, f"state {k} has no variable {source}", f"the model needs {', '.join(tables_of(model))}")
            _known_entries(place, k, source, values[source], variable)
            for at in variable.elements():
                where = variable.name_at(at)
                try:
                    value = _entry(values[source], at)
                    codes[variable.slot(at)] = _code(variable.type, value[field] if field else value)
                except (KeyError, IndexError, TypeError):
                    raise TraceError(place, f"state {k} has no value for {where}", REWRITE) from None
                except ValueError as error:
                    raise TraceError(place, f"state {k}: {where} is wrong: {error}", "check the file and the model's scope") from None
    unknown = sorted(values.keys() - used)
    if unknown:
        raise TraceError(place, f"state {k} has unknown variable {unknown[0]}", f"the variables are {', '.join(tables_of(model))}")
    return tuple(codes)


def _known_entries(place: str, k: int, name: str, value: Any, variable: Variable) -> None:
    if not variable.over or not isinstance(value, dict | tuple):
        return
    keys: Iterable[Any] = value if isinstance(value, dict) else range(len(value))
    known = set(variable.elements()) | {at[0] for at in variable.elements()}
    for key in keys:
        if isinstance(key, bool) or key not in known:
            raise TraceError(place, f"state {k}: {name} has an entry for {short(key)}", "the model's scope is smaller: use the file's")


def _entry(value: Any, at: tuple[int, ...]) -> Any:
    """The value of an element: maps from tuples or numbers, maps of maps, lists."""
    if len(at) > 1 and isinstance(value, dict) and at in value:
        return value[at]
    for i in at:
        if not isinstance(value, dict | tuple) or isinstance(value, Variant):
            raise TypeError
        value = value[i]
    return value


def _code(type_: Type, value: Any) -> int:
    if isinstance(type_, MaybeType):
        if isinstance(value, Variant):
            value = frozenset() if value.tag == "None" else frozenset({value.value})
        if isinstance(value, frozenset) and len(value) < 2:
            if not value:
                return 0
            (value,) = value
            if isinstance(type_.of, MaybeType):
                return _code(type_.of, value) + 1
    if isinstance(type_, EnumType) and isinstance(value, Variant):
        value = value.tag
    if isinstance(type_, SetType) and not isinstance(value, frozenset):
        raise ValueError(f"{short(value)} is not a set")
    return code_of(type_, value)


def _move(place: str, k: int, move: FileMove, model: Model) -> Move:
    action = next((a for a in model.actions if a.name == move.action), None)
    if action is None:
        known = ", ".join(a.name for a in model.actions)
        raise TraceError(place, f"step {k} has unknown action {move.action!r}", f"the actions are {known}")
    if move.args.keys() != action.parameters.keys():
        needs = ", ".join(action.parameters) or "none"
        raise TraceError(place, f"step {k}: {move.action} has arguments {', '.join(move.args) or 'none'}", f"its parameters are {needs}")
    codes = []
    for name, type_ in action.parameters.items():
        try:
            codes.append(code_of(type_, move.args[name]))
        except ValueError as error:
            raise TraceError(place, f"step {k}: argument {name} of {move.action}: {error}", "use the file's scope") from None
    return Move(move.action, tuple(codes))


def _allowed(place: str, instance: Instance, k: int, move: Move, before: State, after: State) -> None:
    """Refuse a step that is not the model's."""
    action = instance.model.named(move.action)
    label = action.label(move.args)
    remedy = "the model has changed since, or was built otherwise: build it as 'origin' says or check again"
    try:
        guard = refusing(instance, before, action, move.args)
        reached = before if guard else effect(instance, before, action, move.args)
    except EvaluationError as error:
        raise TraceError(place, f"step {k}, {label}, has no meaning ({error})", remedy) from None
    if guard is not None:
        raise TraceError(place, f"step {k}, {label}, is refused by guard {guard.name!r} ({guard.sentence})", remedy)
    if reached != after:
        odd = changes(instance, reached, after)[0]
        raise TraceError(place, f"step {k}, {label}, makes {odd.name} {odd.before}, not {odd.after}", remedy)


def _successors(place: str, instance: Instance, k: int, state: State) -> list[ModelStep]:
    try:
        return list(successors(instance, state))
    except EvaluationError as error:
        raise TraceError(place, f"no step {k} can be taken ({error})", "check the model's bounds") from None


def _find(file: WitnessFile, instance: Instance, k: int, before: State, after: State) -> Move:
    """The first action instance that explains a step; one of the name that Quint gave, if there is one."""
    steps = [s for s in _successors(file.path, instance, k, before) if s.state == after]
    hint = file.actions[k].rpartition("::")[2]
    if steps:
        step = next((s for s in steps if s.action.name == hint), steps[0])
        return Move(step.action.name, step.args)
    what = "; ".join(f"{c.name} from {c.before} to {c.after}" for c in changes(instance, before, after)[:3]) or "nothing changes"
    raise TraceError(file.path, f"no action explains step {k} ({what})", "correct the trace, or give profile and constants that allow it")
