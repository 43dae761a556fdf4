"""Convert witnesses to histories and back: one `state` event and an `info` event per step. Replaying the events restores the witness."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rocketproof_model import EvaluationError, Instance, Model, Property
from rocketproof_model.interpreter import State, effect, refusing
from rocketproof_model.result import Move, Witness

from ..common.errors import TraceError, short
from ..history import Event, Header
from .parts import acting
from .restore import NO_PROPERTY
from .words import code_of, elements, plain, present_names

MODEL = "model"


def from_witness(witness: Witness, origin: Mapping[str, Any]) -> tuple[Header, list[Event]]:
    """Return the history of a witness: its first state, then one event per step with its changes."""
    instance = witness.instance
    constants = {name: plain(instance.model.constants[name][0], code) for name, code in instance.constants.items()}
    facts = {"property": witness.property.id, "constants": constants, "loop": witness.loop}
    events = []
    if witness.states:
        start = {element.name: plain(element.variable.type, witness.states[0][element.slot]) for element in elements(instance.model)}
        events.append(Event(0, "state", MODEL, "start", start))
    for k, move in enumerate(witness.moves, 1):
        action = instance.model.named(move.action)
        before, after = witness.states[k - 1], witness.states[k]
        args = {name: plain(t, code) for (name, t), code in zip(action.parameters.items(), move.args, strict=True)}
        new = _changes(instance.model, before, after)
        events.append(Event(k, "info", acting(instance, before, action, move.args).by, move.action, {"args": args, "changes": new}))
    return Header(dict(origin), None, witness.note, facts), events


def _changes(model: Model, before: State, after: State) -> dict[str, Any]:
    return {
        element.name: plain(element.variable.type, after[element.slot])
        for element in elements(model)
        if before[element.slot] != after[element.slot]
    }


def to_witness(
    header: Header, events: Iterable[Event], instance: Instance, property_: Property | None = None, place: str = "history"
) -> Witness:
    """Replay a history made by `from_witness`. `property_` is for a property that is not the model's.

    Raises TraceError naming the event if the model does not follow the history.
    """
    facts = header.witness
    if facts is None:
        raise TraceError(place, "was not made of a witness", "only such a history holds every step of the model")
    claim = property_ or _property(place, instance.model, facts["property"])
    for name, value in facts["constants"].items():
        if name not in instance.constants or plain(instance.model.constants[name][0], instance.constants[name]) != value:
            raise TraceError(place, f"was made with {name} = {short(value)}", "build the model as 'origin' says")
    states: list[State] = []
    moves: list[Move] = []
    for event in events:
        where = f"{place}: event {event.seq}"
        if not states:
            states.append(_start(where, event, instance.model))
        else:
            move, state = _step(where, event, instance, states[-1])
            moves.append(move)
            states.append(state)
    loop = facts["loop"]
    if loop is not None and not 0 <= loop < len(states):
        raise TraceError(place, f"'loop' is {short(loop)}, no index of its {len(states)} states", "record it again")
    return Witness(instance, claim, tuple(moves), tuple(states), loop, header.note)


def _property(place: str, model: Model, id_: Any) -> Property:
    for claim in (*model.properties, NO_PROPERTY):
        if claim.id == id_:
            return claim
    raise TraceError(place, f"its property {short(id_)} is not in model {model.name}", "build the model as 'origin' says")


def _start(where: str, event: Event, model: Model) -> State:
    if event.type != "state" or event.process != MODEL:
        raise TraceError(where, "is not the first state of a model", "only a history made of a witness can be replayed")
    names = [element.name for element in elements(model)]
    values = present_names(model, event.value)
    odd = sorted(values.keys() ^ set(names))
    if odd:
        what = "unknown" if odd[0] in values else "no"
        raise TraceError(where, f"{what} variable {odd[0]}", "build the model as 'origin' says")
    return tuple(_value(where, element.variable.type, element.name, values[element.name]) for element in elements(model))


def _value(where: str, type_: Any, name: str, value: Any) -> int:
    try:
        return code_of(type_, value)
    except ValueError as error:
        raise TraceError(where, f"{name}: {error}", "build the model as 'origin' says") from None


def _step(where: str, event: Event, instance: Instance, before: State) -> tuple[Move, State]:
    action = next((a for a in instance.model.actions if a.name == event.op), None)
    args = event.value.get("args")
    if event.type != "info" or action is None or not isinstance(args, dict) or args.keys() != action.parameters.keys():
        raise TraceError(where, f"{event.type} {event.op} is not a step of model {instance.model.name}", "build the model as 'origin' says")
    codes = tuple(_value(where, t, name, args[name]) for name, t in action.parameters.items())
    try:
        guard = refusing(instance, before, action, codes)
        after = before if guard else effect(instance, before, action, codes)
    except EvaluationError as error:
        raise TraceError(where, f"{action.label(codes)} has no meaning ({error})", "build the model as 'origin' says") from None
    if guard is not None:
        refused = f"{action.label(codes)} is refused by guard {guard.name!r} ({guard.sentence})"
        raise TraceError(where, refused, "build the model as 'origin' says")
    new = _changes(instance.model, before, after)
    recorded = event.value.get("changes")
    if new != (present_names(instance.model, recorded) if isinstance(recorded, dict) else recorded):
        raise TraceError(where, f"{action.label(codes)} changes {short(new)}", f"the history has {short(recorded)}")
    return Move(action.name, codes), after
