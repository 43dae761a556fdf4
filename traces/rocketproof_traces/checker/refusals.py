"""Why no state explains an answer: what the specification does instead, and the guard that would have had to hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocketproof_model import EvaluationError
from rocketproof_model.functions import Function
from rocketproof_model.interpreter import Environment, State, evaluate
from rocketproof_model.language import Guard
from rocketproof_spec.placement import Step

from ..common.refusal import Names, Refusal, refusal_of
from ..history.cases import Config
from .administered import NOT_SERVED, Committed, Configured, RefusedRequest, Regrouped, RouteUpdate, TopicDeletion, TopicUpdate
from .looks import Described, MaxOffsetQuery, OffsetQuery, Routed
from .machine import Machine
from .sends import Send
from .steps import CheckedRequest, Local, Point

MADE = "a topic is there since the broker's start, or made by a request that names it"
"""TCM-03, TCM-10 to TCM-33: nothing else puts a topic into the table."""
GROWS = "the end of a queue never goes back while its broker runs"
"""REC-04: the dispatcher only appends entries."""

BEGINS = "a group goes on where it told last; one that told nothing begins at 0 or is told that there is no offset, by release and queue"
_OF_GUARDED = {
    TopicUpdate: ("updates the topic", "refuses the update"),
    TopicDeletion: ("deletes the topic", "refuses the deletion"),
    Committed: ("takes the offset", "refuses the offset"),
}
"""What the specification does with a request that one action serves, and what else."""

STEPS = ("at the store", *(f"step {name}" for name in Step.names))
"""Guards that say which step comes first; those of the steps themselves tell more."""


def refused(machine: Machine, request: CheckedRequest, stuck: Sequence[Point], names: Names) -> Refusal:
    """Why the request did not end as recorded from any of these states; explained in the first of them."""
    shared = stuck[0].shared
    if isinstance(request, Described):
        return _unknown("topic", machine.config(shared, request.topic), request.config)
    if isinstance(request, Routed):
        return _unknown("route", machine.route(shared, request.topic) if machine.shape.routes else None, request.config)
    if isinstance(request, MaxOffsetQuery):
        if request.offset < request.least:
            return Refusal(f"has answered {request.least} for queue {request.queue} before", sentence=GROWS)
        return Refusal(f"has {max((shared[slot] for slot in request.counters), default=0)} records in queue {request.queue}")
    if isinstance(request, OffsetQuery):
        right = sorted("no offset" if offset < 0 else f"offset {offset}" for offset in request.right(shared))
        return Refusal(f"answers {' or '.join(right)}", sentence=BEGINS)
    if isinstance(request, (TopicUpdate, TopicDeletion, Committed)):
        does, refuses = _OF_GUARDED[type(request)]
        state = (request.possible(shared)[0] if isinstance(request, Committed) else shared) + machine.idle
        guard = request.function.guard(state, request.args)
        if guard is None:
            return Refusal(does)
        scope = _scope(machine, request.function, state, request.args)
        return refusal_of(guard, machine.instance, scope, request.function.action.name, names, specified=refuses)
    if isinstance(request, RefusedRequest):
        return Refusal(f"answers {request.right}", sentence=request.why)
    if isinstance(request, RouteUpdate):
        return Refusal("does not serve the request" if request.refused == NOT_SERVED else "answers 0 to whoever tells it of a topic")
    if isinstance(request, Configured):
        return Refusal("answers 0 to whoever changes a setting")
    if isinstance(request, Regrouped):
        return Refusal("answers 0 to whoever changes a group")
    assert isinstance(request, Send)
    return _send(machine, request, stuck, names)


def _unknown(what: str, specified: Config | None, recorded: Config | None) -> Refusal:
    """That the specification has another topic or route, or none."""
    return Refusal(f"has {what} {specified or 'unknown'}", sentence=MADE if specified is None and recorded is not None else "")


def _send(machine: Machine, request: Send, stuck: Sequence[Point], names: Names) -> Refusal:
    assert request.ended is not None
    ends = _ends(machine, request, stuck)
    shared = stuck[0].shared
    answers = f"answers {' or '.join(dict.fromkeys(ends.values()))}" if ends else "gives no answer"
    if any(request.ends_in(word, action) for word, action in ends):
        queue = request.ended.queue
        if queue is None or queue not in machine.queues:
            return Refusal(answers)
        name = f"offset[{names['Broker'][0]}, {names['Topic'][request.topic]}, {queue}]"
        values, meanings = {name: shared[machine.offset_slot(request.topic, queue)]}, {name: machine.spec.log.offset.meaning}
        sentence = "a stored message is answered with its queue and that queue's next offset"
        return Refusal(answers, sentence=sentence, values=values, meanings=meanings)
    remark = ""
    if any(word in request.ended.words(request.illegal_code) for word, _ in ends):  # then it is the remark that does not fit
        answers = f"answers {' or '.join(f'{answer} by {action}' for (_, action), answer in ends.items())}"
        remark = f"the remark is that of {' or '.join(sorted(request.ended.actions))}"
    against = sorted(_against(machine, request, stuck), key=lambda one: one[0].name in STEPS)
    if not against:
        return Refusal(answers, sentence=remark)
    guard, scope, action = next((one for one in against if one[2] in request.ended.actions), against[0])
    return refusal_of(guard, machine.instance, scope, action, names, specified=answers)


def _against(machine: Machine, request: Send, stuck: Sequence[Point]) -> Iterator[tuple[Guard, Environment, str]]:
    """The guards that alone refuse an action by which the recorded answer would follow, each with where it does and the action."""
    for point in stuck:
        for shared, local, _ in _alone(machine, request, point.shared, request.start):
            for function in machine.handler:
                guard, args = _single(machine, request, function, shared, local)
                if guard is not None and _would(machine, request, function, args, shared, local):
                    yield guard, _scope(machine, function, shared + local, args), function.action.name


def _ends(machine: Machine, request: Send, stuck: Sequence[Point]) -> dict[tuple[str, str], str]:
    """What the specification answers if nobody else moves: its words and the actions that answer, each with one of the answers."""
    found: dict[tuple[str, str], str] = {}
    for point in stuck:
        for _, local, action in _alone(machine, request, point.shared, request.start):
            if machine.read(local, "answer"):
                found.setdefault((machine.word(local), action), request.answer(local))
    return found


def _alone(machine: Machine, request: Send, shared: State, local: Local, action: str = "") -> list[tuple[State, Local, str]]:
    """Everything that the request goes through if nobody else moves, each with the action that led there."""
    found, todo = [], [(shared, local, action)]
    while todo:
        state, at, _ = step = todo.pop()
        if step in found:
            continue
        found.append(step)
        if machine.read(at, "answer"):
            continue
        for function, args, reads, _ in machine.enabled(state, at, request.draws):
            move = machine.step(function, args, state, at, reads)
            assert move.local is not None
            todo.append((machine.delivered(move.shared), move.local, move.label))
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
    """Whether the recorded answer's word, and the action that its remark tells, would follow had the guard let the action happen."""
    try:
        move = machine.step(function, args, shared, local, 0)
    except EvaluationError:
        return False
    assert move.local is not None
    after = _alone(machine, request, move.shared, move.local, move.label)
    return any(request.ends_in(machine.word(at), action) for _, at, action in after)


def _scope(machine: Machine, function: Function, state: State, args: tuple[int, ...]) -> Environment:
    return Environment(state, dict(zip(function.action.parameters, args, strict=True)), machine.instance.constants)
