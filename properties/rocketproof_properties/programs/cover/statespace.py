"""The part of a scope's state graph that requests from outside reach: its states up to what requests can show, and its transitions.

A request and everything that the broker does for it is one transition. States that differ only in counters, versions and other values that
no request shows are one state. So the graph is finite, small, and every path through it is a program.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from operator import itemgetter
from typing import Any, Final, NamedTuple

from rocketproof_model import Action, Expr, Instance
from rocketproof_model.functions import Functions
from rocketproof_model.interpreter import Environment, State, evaluate, initial
from rocketproof_model.language import walk

from ..vocabulary import Step

Args = tuple[int, ...]
LONGEST: Final = 100
"""Maximum number of internal actions that follow a request. A longer sequence is an error of the scope."""


class NotTaken(Enum):
    """Why requests from outside do not take a transition, or why no response shows it. The value is the sentence in reports."""

    RACE = "needs another request or change between two steps of one request"
    FAULT = "needs a fault: a crash, a power loss, a lost registration, or a changed clock"
    TIMER = "a periodic service takes it, and no response shows when"
    HIDDEN = "an internal step that no response shows"
    SHARED = "would change a topic that all programs share"
    NO_STEP = "the vocabulary has no step for it"
    SETTING = "needs a setting that is changed between programs, not within one"
    ABSENT = "the release does not serve the request"
    EMULATED = "takes too long; a message with the same content replaces it"
    OWN = "only the target's own broker does it; programs drive the name server by a fictitious one"
    SAME_TIME = "two requests cannot be made to arrive within one millisecond; a batch has equal store times"
    LOCAL = "a step of the client alone, without a request"


class ActionInstance(NamedTuple):
    """An action of the model with its encoded arguments."""

    action: str
    args: Args


class Choice(NamedTuple):
    """What a client or administrator can do in a state. `guard`: the guard that refuses it, "" if it is enabled."""

    action: str
    args: Args
    guard: str


@dataclass(frozen=True)
class StatedResponse:
    """The response in the specification.

    `code`: its name, "" for any. `offset`: the offset in its header, None for any. `at`: the step that it answers. `silent`: there is none.
    """

    code: str = ""
    at: int = 0
    silent: bool = False
    offset: int | None = None


@dataclass(frozen=True)
class OutsideTransition:
    """A transition: what is done in state `source`, the steps that do it, and the state `target` that results.

    - `response`: the response to one of the `steps`. Further steps observe the result. Without steps the client acts alone.
    - `within`: the numbers of the internal transitions that the request takes.
    """

    source: int
    target: int
    choice: Choice
    steps: tuple[Step, ...]
    response: StatedResponse
    within: tuple[int, ...] = ()


Values = Mapping[str, Any]
StepBuilder = Callable[[Values, State], "Sequence[Step] | NotTaken"]
"""Returns the steps that perform an action with these values in a state, or the reason why none does. The last are observations."""


@dataclass(frozen=True, eq=False)
class OutsideModel:
    """How a scope is driven from outside.

    - `part`: the part of the scope that the paths are about, such as one topic. Parts are independent of each other.
    - `steps`: the actions that clients and administrators perform. `mine`: whether the part includes an instance of these.
    - `normal`: maps a state to the representative of the states that requests cannot distinguish.
    - `response`: the response to a choice, from the states before and after each of its actions.
    - `left_out`: actions that never happen by requests alone. `unseen`: internal actions that no response shows.
    - `refused`: the response to a choice that a guard refuses; None if the specification does not state it. If `refused` itself is None,
      another action serves such a request.
    - `emulated`: actions whose effect other steps have at once.
    - `observe`: steps that show a changed state. `prelude`: steps before the first transition. `needs`: the settings of the broker.
    - `longest`: maximum number of transitions of a path. `start`: the first state, the model's own if None.
    """

    scope: str
    part: str
    instance: Instance
    steps: Mapping[str, StepBuilder]
    normal: Callable[[State], State]
    response: Callable[[Choice, Sequence[State]], StatedResponse]
    mine: Callable[[str, Values], bool] = lambda action, values: True
    refused: Callable[[Choice], StatedResponse | None] | None = None
    left_out: Mapping[str, NotTaken] = field(default_factory=dict)
    unseen: Mapping[str, NotTaken] = field(default_factory=dict)
    emulated: frozenset[str] = frozenset()
    observe: tuple[Step, ...] = ()
    prelude: tuple[Step, ...] = ()
    needs: str = ""
    longest: int = 40
    start: State | None = None

    @cached_property
    def functions(self) -> Functions:
        return Functions(self.instance)

    def action(self, name: str) -> Action:
        return self.instance.model.named(name)

    def values(self, choice: Choice | ActionInstance) -> Values:
        """Return the decoded arguments by name."""
        types = self.action(choice.action).parameters
        return {name: type_.decode(code) for (name, type_), code in zip(types.items(), choice.args, strict=True)}

    @cached_property
    def outside(self) -> dict[str, tuple[Args, ...]]:
        """The instances of actions from outside that belong to the part."""
        return {
            name: tuple(args for args in self.action(name).instances if self.mine(name, self.values(ActionInstance(name, args))))
            for name in self.steps
        }

    @cached_property
    def _inside(self) -> list[tuple[str, tuple[Args, ...]]]:
        """The instances of internal actions that the constants allow."""
        names = [a.name for a in self.instance.model.actions if a.name not in self.steps and a.name not in self.left_out]
        return [(name, tuple(_allowed(self.instance, self.action(name)))) for name in names]

    def choices(self, state: State) -> Iterator[Choice]:
        """Yield what can be done from outside in a state, including what a guard refuses. Bounds of the scope are respected."""
        for name, instances in self.outside.items():
            function, guards = self.functions[name], self.action(name).guards
            for args in instances:
                number = function.refusing(state, *args)
                if number < 0 or (self.refused is not None and self._is_bounded(self.action(name), state, args)):
                    yield Choice(name, args, "" if number < 0 else guards[number].name)

    def _is_bounded(self, action: Action, state: State, args: Args) -> bool:
        """Return whether an instance is within the bounds of the scope."""
        scope = Environment(state, dict(zip(action.parameters, args, strict=True)), self.instance.constants)
        return all(evaluate(guard.condition, scope) for guard in action.guards if guard.bound)

    def next_internal(self, state: State) -> ActionInstance | None:
        """Return the next internal action; None if the broker is idle. With one request at a time, their order has no effect."""
        for refusing, instances in self._tried:
            for taken in instances:
                if refusing(state, *taken.args) < 0:
                    return taken
        return None

    @cached_property
    def _tried(self) -> list[tuple[Callable[..., int], list[ActionInstance]]]:
        return [(self.functions[name].refusing, [ActionInstance(name, args) for args in rows]) for name, rows in self._inside if rows]

    def stated(self, choice: Choice, states: Sequence[State]) -> StatedResponse | None:
        """Return the response to a choice, from the states that it leads through; None if the specification does not state it."""
        if not choice.guard:
            return self.response(choice, states)
        return None if self.refused is None else self.refused(choice)

    def taken(self, state: State, choice: Choice) -> tuple[list[State], list[ActionInstance]]:
        """Return all states from `state` until the broker is idle again, and the internal actions between them."""
        states, within = [state], list[ActionInstance]()
        if not choice.guard:
            states.append(self.functions[choice.action].effect(state, choice.args))
            while (served := self.next_internal(states[-1])) is not None:
                within.append(served)
                states.append(self.functions[served.action].effect(states[-1], served.args))
                assert len(within) < LONGEST, f"{self.scope}: {choice} does not end"
        return states, within


@dataclass(eq=False)
class StateGraph:
    """The states of a part and its transitions, in the order of a breadth-first search; state 0 is the initial one.

    - `internal`: the internal transitions, by number: the state before and the action.
    - `undriven`: a state, and what could be done in it if there were a step for it, with the reason.
    - `beside`: for each action, the number of instances that were enabled but not taken while the broker served a request.
    """

    model: OutsideModel
    states: list[State] = field(default_factory=list)
    edges: list[OutsideTransition] = field(default_factory=list)
    internal: dict[tuple[State, ActionInstance], int] = field(default_factory=dict)
    undriven: list[tuple[int, Choice, NotTaken]] = field(default_factory=list)
    beside: dict[str, int] = field(default_factory=dict)

    @cached_property
    def leaving(self) -> list[list[int]]:
        """The numbers of the edges that leave each state."""
        found: list[list[int]] = [[] for _ in self.states]
        for number, edge in enumerate(self.edges):
            found[edge.source].append(number)
        return found

    @property
    def name(self) -> str:
        return f"{self.model.scope} {self.model.part}".strip()


def explore(model: OutsideModel) -> StateGraph:
    """Explore all states that requests from outside reach."""
    start = model.normal(model.start or initial(model.instance))
    graph = StateGraph(model, [start])
    numbers, queue = {start: 0}, deque([start])
    beside = _Beside(model)
    while queue:
        state = queue.popleft()
        beside.add(state, idle=True)
        for choice in model.choices(state):
            steps = model.steps[choice.action](model.values(choice), state)
            if isinstance(steps, NotTaken):
                graph.undriven.append((numbers[state], choice, steps))
                continue
            states, within = model.taken(state, choice)
            response = model.stated(choice, states)
            if response is None:
                graph.undriven.append((numbers[state], choice, NotTaken.NO_STEP))
                continue
            for between in states[1:-1]:
                beside.add(between)
            after = model.normal(states[-1])
            if after not in numbers:
                numbers[after] = len(graph.states)
                graph.states.append(after)
                queue.append(after)
            inside = [
                graph.internal.setdefault((before, did), len(graph.internal)) for before, did in zip(states[1:], within, strict=False)
            ]
            seen = model.observe if after != state else ()
            graph.edges.append(OutsideTransition(numbers[state], numbers[after], choice, (*steps, *seen), response, tuple(inside)))
    graph.beside = beside.counts
    return graph


def encoded(action: Action, values: Values) -> Args:
    """Return the codes of an action's arguments, the inverse of `OutsideModel.values`."""
    return tuple(type_.encode(values[name]) for name, type_ in action.parameters.items())


class _Beside:
    """Counts the action instances that are enabled while the broker serves a request, and the faults that are possible at any time.

    States that agree in everything that the guards of these actions read are counted once.
    """

    def __init__(self, model: OutsideModel) -> None:
        self._model = model
        self._names = [*model.steps, *model.left_out]
        terms = [g.condition for name in self._names for g in model.action(name).guards]
        variables = {e.args[0] for e in walk(*terms) if e.op == "ref"}
        self._read = itemgetter(*sorted(variable.slot(at) for variable in variables for at in variable.elements()), 0)
        self._met: set[tuple[bool, tuple[int, ...]]] = set()
        self.counts: dict[str, int] = {}

    def add(self, state: State, *, idle: bool = False) -> None:
        key = idle, self._read(state)
        if key in self._met:
            return
        self._met.add(key)
        model = self._model
        for name in model.left_out if idle else self._names:
            for args in model.outside[name] if name in model.outside else model.action(name).instances:
                if model.functions[name].refusing(state, *args) < 0:
                    self.counts[name] = self.counts.get(name, 0) + 1


def _allowed(instance: Instance, action: Action) -> Iterator[Args]:
    """Yield the instances of an action that the constants allow."""
    static = [guard for guard in action.guards if not _reads_state(guard.condition)]
    for args in action.instances:
        scope = Environment((), dict(zip(action.parameters, args, strict=True)), instance.constants)
        if all(evaluate(guard.condition, scope) for guard in static):
            yield args


def _reads_state(term: Expr) -> bool:
    return any(e.op == "ref" for e in walk(term))
