"""Explain why no state explains an answer: what the specification does instead, and the guard that refuses the recorded answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocketproof_model import EvaluationError
from rocketproof_model.functions import Function
from rocketproof_model.interpreter import Environment, State, evaluate
from rocketproof_model.language import Guard
from rocketproof_spec.placement import Step

from ..common.refusal import Names, Refusal, refusal_of
from ..history.covered import Config
from .administration import NOT_SERVED, GroupUpdate, OffsetCommit, RefusedRequest, RouteUpdate, SettingsUpdate, TopicDeletion, TopicUpdate
from .machine import Machine
from .queries import MaxOffsetQuery, OffsetQuery, RouteQuery, TopicConfigQuery
from .sends import Send
from .steps import CheckedRequest, Local, Point

TOPIC_ORIGIN = "a topic is there since the broker's start, or made by a request that names it"
"""TCM-03, TCM-10 to TCM-33: nothing else puts a topic into the table."""
QUEUES_GROW = "the end of a queue never goes back while its broker runs"
"""REC-04: the dispatcher only appends entries."""

GROUP_START = (
    "a group goes on where it told last; one that told nothing begins at 0 or is told that there is no offset, by release and queue"
)
_OF_GUARDED = {
    TopicUpdate: ("updates the topic", "refuses the update"),
    TopicDeletion: ("deletes the topic", "refuses the deletion"),
    OffsetCommit: ("takes the offset", "refuses the offset"),
}
"""What the specification does with a request that is served by one action, if the action's guards hold and if they do not."""

STEPS = ("at the store", *(f"step {name}" for name in Step.names))
"""Guards that select the step in turn; the guards of the steps themselves are more informative."""


def refused(machine: Machine, request: CheckedRequest, stuck: Sequence[Point], names: Names) -> Refusal:
    """Return why the request did not end as recorded from any of these states, explained for the first of them."""
    shared = stuck[0].shared
    if isinstance(request, TopicConfigQuery):
        return _different_config("topic", machine.config(shared, request.topic), request.config)
    if isinstance(request, RouteQuery):
        return _different_config("route", machine.route(shared, request.topic) if machine.shape.routes else None, request.config)
    if isinstance(request, MaxOffsetQuery):
        if request.offset < request.least:
            return Refusal(f"has answered {request.least} for queue {request.queue} before", sentence=QUEUES_GROW)
        return Refusal(f"has {max((shared[slot] for slot in request.counters), default=0)} records in queue {request.queue}")
    if isinstance(request, OffsetQuery):
        right = sorted("no offset" if offset < 0 else f"offset {offset}" for offset in request.allowed_offsets(shared))
        return Refusal(f"answers {' or '.join(right)}", sentence=GROUP_START)
    if isinstance(request, (TopicUpdate, TopicDeletion, OffsetCommit)):
        does, refuses = _OF_GUARDED[type(request)]
        state = (request.possible(shared)[0] if isinstance(request, OffsetCommit) else shared) + machine.idle
        guard = request.function.guard(state, request.args)
        if guard is None:
            return Refusal(does)
        scope = _scope(machine, request.function, state, request.args)
        return refusal_of(guard, machine.instance, scope, request.function.action.name, names, specified=refuses)
    if isinstance(request, RefusedRequest):
        return Refusal(f"answers {request.right}", sentence=request.why)
    if isinstance(request, RouteUpdate):
        return Refusal("does not serve the request" if request.refused == NOT_SERVED else "answers 0 to whoever tells it of a topic")
    if isinstance(request, SettingsUpdate):
        return Refusal("answers 0 to whoever changes a setting")
    if isinstance(request, GroupUpdate):
        return Refusal("answers 0 to whoever changes a group")
    assert isinstance(request, Send)
    return _send(machine, request, stuck, names)


def _different_config(what: str, specified: Config | None, recorded: Config | None) -> Refusal:
    """Return the refusal for a topic or route that differs from the specification's."""
    return Refusal(f"has {what} {specified or 'unknown'}", sentence=TOPIC_ORIGIN if specified is None and recorded is not None else "")


def _send(machine: Machine, request: Send, stuck: Sequence[Point], names: Names) -> Refusal:
    assert request.ended is not None
    answers_by_action = _answers_alone(machine, request, stuck)
    shared = stuck[0].shared
    answers = f"answers {' or '.join(dict.fromkeys(answers_by_action.values()))}" if answers_by_action else "gives no answer"
    if any(request.ends_in(word, action) for word, action in answers_by_action):
        queue = request.ended.queue
        if queue is None or queue not in machine.queues:
            return Refusal(answers)
        name = f"offset[{names['Broker'][0]}, {names['Topic'][request.topic]}, {queue}]"
        values, meanings = {name: shared[machine.offset_slot(request.topic, queue)]}, {name: machine.spec.log.offset.meaning}
        sentence = "a stored message is answered with its queue and that queue's next offset"
        return Refusal(answers, sentence=sentence, values=values, meanings=meanings)
    remark = ""
    if any(word in request.ended.words for word, _ in answers_by_action):  # then it is the remark that does not fit
        answers = f"answers {' or '.join(f'{answer} by {action}' for (_, action), answer in answers_by_action.items())}"
        remark = f"the remark is that of {' or '.join(sorted(request.ended.actions))}"
    candidates = sorted(_refusing_guards(machine, request, stuck), key=lambda candidate: candidate[0].name in STEPS)
    if not candidates:
        return Refusal(answers, sentence=remark)
    guard, scope, action = next((candidate for candidate in candidates if candidate[2] in request.ended.actions), candidates[0])
    return refusal_of(guard, machine.instance, scope, action, names, specified=answers)


def _refusing_guards(machine: Machine, request: Send, stuck: Sequence[Point]) -> Iterator[tuple[Guard, Environment, str]]:
    """Yield the guards that alone refuse an action leading to the recorded answer, each with its state and the action."""
    for point in stuck:
        for shared, local, _ in _reachable_alone(machine, request, point.shared, request.start):
            for function in machine.handler:
                guard, args = _only_refusing_guard(machine, request, function, shared, local)
                if guard is not None and _would_end_as_recorded(machine, request, function, args, shared, local):
                    yield guard, _scope(machine, function, shared + local, args), function.action.name


def _answers_alone(machine: Machine, request: Send, stuck: Sequence[Point]) -> dict[tuple[str, str], str]:
    """Return the specification's answers if no other request moves: by word and answering action, one of the answers."""
    answers: dict[tuple[str, str], str] = {}
    for point in stuck:
        for _, local, action in _reachable_alone(machine, request, point.shared, request.start):
            if machine.read(local, "answer"):
                answers.setdefault((machine.word(local), action), request.answer(local))
    return answers


def _reachable_alone(machine: Machine, request: Send, shared: State, local: Local, action: str = "") -> list[tuple[State, Local, str]]:
    """Return all states of the request if no other request moves, each with the action that led to it."""
    visited, todo = [], [(shared, local, action)]
    while todo:
        state, at, _ = step = todo.pop()
        if step in visited:
            continue
        visited.append(step)
        if machine.read(at, "answer"):
            continue
        for function, args, reads, _ in machine.enabled(state, at, request.draws):
            move = machine.step(function, args, state, at, reads)
            assert move.local is not None
            todo.append((machine.delivered(move.shared), move.local, move.label))
    return visited


def _only_refusing_guard(
    machine: Machine, request: Send, function: Function, shared: State, local: Local
) -> tuple[Guard | None, tuple[int, ...]]:
    """Return the guard that alone refuses the action, and the arguments. The first guard, which selects the handler's phase, does not
    count."""
    args = (0, request.draws[0]) if "draw" in function.action.parameters else (0,)
    scope = _scope(machine, function, shared + local, args)
    if not evaluate(function.action.guards[0].condition, scope):
        return None, args
    try:
        against = [g for g in function.action.guards if not evaluate(g.condition, scope)]
    except EvaluationError:
        return None, args
    return (against[0] if len(against) == 1 else None), args


def _would_end_as_recorded(machine: Machine, request: Send, function: Function, args: tuple[int, ...], shared: State, local: Local) -> bool:
    """Whether the recorded answer's word, and an action that fits its remark, would follow if the guard held."""
    try:
        move = machine.step(function, args, shared, local, 0)
    except EvaluationError:
        return False
    assert move.local is not None
    after = _reachable_alone(machine, request, move.shared, move.local, move.label)
    return any(request.ends_in(machine.word(at), action) for _, at, action in after)


def _scope(machine: Machine, function: Function, state: State, args: tuple[int, ...]) -> Environment:
    return Environment(state, dict(zip(function.action.parameters, args, strict=True)), machine.instance.constants)
