"""Why no state explains an answer: what the specification does instead, and the guard that would have had to hold."""

from __future__ import annotations

from collections.abc import Sequence

from rocketproof_model import EvaluationError
from rocketproof_model.functions import Function
from rocketproof_model.interpreter import Scope, State, evaluate
from rocketproof_model.language import Guard

from ..history.cases import Config
from ..refusal import Names, Refusal, refusal_of
from .machine import Machine
from .requests import Bodiless, Described, Reached, Routed, Send, Update
from .steps import Local, Point, Request

MADE = "a topic is there since the broker's start, or made by a request that names it"
"""TCM-03, TCM-10 to TCM-33: nothing else puts a topic into the table."""
GROWS = "the end of a queue never goes back while its broker runs"
"""REC-04: the dispatcher only appends entries."""


def refused(machine: Machine, request: Request, stuck: Sequence[Point], names: Names) -> Refusal:
    """Why the request did not end as recorded from any of these states; explained in the first of them."""
    shared = stuck[0].shared
    if isinstance(request, Described):
        return _unknown("topic", machine.config(shared, request.topic), request.config)
    if isinstance(request, Routed):
        return _unknown("route", machine.route(shared, request.topic), request.config)
    if isinstance(request, Reached):
        if request.offset < request.least:
            return Refusal(f"has answered {request.least} for queue {request.queue} before", sentence=GROWS)
        slot = machine.offset_slot(request.topic, request.queue)
        return Refusal(f"has {shared[slot]} records in queue {request.queue}")
    if isinstance(request, Update):
        guard = machine.update.guard(shared + machine.idle, request.args)
        if guard is None:
            return Refusal("updates the topic")
        scope = _scope(machine, machine.update, shared + machine.idle, request.args)
        return refusal_of(guard, machine.instance, scope, "update_topic", names, specified="refuses the update")
    if isinstance(request, Bodiless):
        return Refusal("refuses a message without a body")
    assert isinstance(request, Send)
    return _send(machine, request, stuck, names)


def _unknown(what: str, specified: Config | None, recorded: Config | None) -> Refusal:
    """That the specification has another topic or route, or none."""
    return Refusal(f"has {what} {specified or 'unknown'}", sentence=MADE if specified is None and recorded is not None else "")


def _send(machine: Machine, request: Send, stuck: Sequence[Point], names: Names) -> Refusal:
    assert request.ended is not None
    specified = _answers(machine, request, stuck)
    shared = stuck[0].shared
    if any(word in request.ended.words(request.illegal_code) for word in specified):
        answers = f"answers {' or '.join(dict.fromkeys(specified.values()))}"
        queue = request.ended.queue
        if queue is None or not 0 <= queue < machine.shape.queues:
            return Refusal(answers)
        name = f"offset[{names['Broker'][0]}, {names['Topic'][request.topic]}, {queue}]"
        values, meanings = {name: shared[machine.offset_slot(request.topic, queue)]}, {name: machine.spec.log.offset.meaning}
        sentence = "a stored message is answered with its queue and that queue's next offset"
        return Refusal(answers, sentence=sentence, values=values, meanings=meanings)
    answers = f"answers {' or '.join(specified.values())}" if specified else "gives no answer"
    for point in stuck:
        for shared, local in _alone(machine, request, point.shared, request.start):
            for function in machine.handler:
                guard, args = _single(machine, request, function, shared, local)
                if guard is not None and _would(machine, request, function, args, shared, local):
                    scope = _scope(machine, function, shared + local, args)
                    return refusal_of(guard, machine.instance, scope, function.action.name, names, specified=answers)
    return Refusal(answers)


def _answers(machine: Machine, request: Send, stuck: Sequence[Point]) -> dict[str, str]:
    """What the specification answers if nobody else moves: its words, each with one of the answers."""
    found: dict[str, str] = {}
    for point in stuck:
        for _, local in _alone(machine, request, point.shared, request.start):
            if machine.read(local, "answer"):
                found.setdefault(machine.word(local), request.answer(local))
    return found


def _alone(machine: Machine, request: Send, shared: State, local: Local) -> list[tuple[State, Local]]:
    """Everything that the request goes through if nobody else moves."""
    found, todo = [], [(shared, local)]
    while todo:
        state, at = todo.pop()
        if (state, at) in found:
            continue
        found.append((state, at))
        if machine.read(at, "answer"):
            continue
        for function, args, reads, _ in machine.enabled(state, at, request.draws):
            move = machine.step(function, args, state, at, reads)
            assert move.local is not None
            todo.append((move.shared, move.local))
    return found


def _single(machine: Machine, request: Send, function: Function, shared: State, local: Local) -> tuple[Guard | None, tuple[int, ...]]:
    """The guard that alone refuses the action; the first one, which has the place where the request is, does not count."""
    args = (0, request.draws[0]) if "draw" in function.action.parameters else (0,)
    scope = _scope(machine, function, shared + local, args)
    if not evaluate(function.action.guards[0].condition, scope):
        return None, args
    try:
        against = [g for g in function.action.guards if not evaluate(g.condition, scope)]
    except EvaluationError:
        return None, args
    return (against[0] if len(against) == 1 else None), args


def _would(machine: Machine, request: Send, function: Function, args: tuple[int, ...], shared: State, local: Local) -> bool:
    """Whether the recorded answer's word would follow had the guard let the action happen."""
    try:
        move = machine.step(function, args, shared, local, 0)
    except EvaluationError:
        return False
    assert move.local is not None and request.ended is not None
    words = request.ended.words(request.illegal_code)
    return any(machine.word(at) in words for _, at in _alone(machine, request, move.shared, move.local))


def _scope(machine: Machine, function: Function, state: State, args: tuple[int, ...]) -> Scope:
    return Scope(state, dict(zip(function.action.parameters, args, strict=True)), machine.instance.constants)
