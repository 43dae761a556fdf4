"""The specification as the checker runs it: one broker, some topics, and the steps of one request at a time.

The state of a request's handler (`job`) is last in a state, so that a state is the shared part followed by one handler's part.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from operator import itemgetter
from typing import NamedTuple

from rocketproof_model import EvaluationError
from rocketproof_model.functions import Function, Functions
from rocketproof_model.interpreter import Environment, State, evaluate, initial
from rocketproof_model.language import Action, Expr, Guard, walk
from rocketproof_model.partial import Partial, View, decided, excluding, place
from rocketproof_model.transforms.slicing import control
from rocketproof_profiles import PROFILES
from rocketproof_protocol import codes
from rocketproof_spec import constants
from rocketproof_spec.placement import Kind
from rocketproof_spec.vocabulary import Phase, PlacedAnswer

from ..history.covered import Config
from .shape import COLUMNS, GROUPS, LISTED, OF_REQUESTS, OUTLIVED, REGISTERING, ROUTES, TOLD, Change, MachineShape, model_of
from .steps import GIVEN_UP, Local, RequestStep

MOST_QUEUES = 1 << 16  # more queues than a broker has; a queue beyond has no counter here


class Enabled(NamedTuple):
    """A step that a handler may take. `reads` are the changing shared slots that it reads, one bit per slot. `own` is the handler after
    the step if that depends on the deciding slots alone and nothing else changes, otherwise None."""

    function: Function
    args: tuple[int, ...]
    reads: int
    own: Local | None


class HandlerPath(NamedTuple):
    """The only path to an answer: the labels of the steps before the last, the handler after them, and the last step. The steps before
    the last read only deciding slots and assign nothing that others see."""

    labels: tuple[str, ...]
    local: Local
    last: Enabled


class _PossibleStep(NamedTuple):
    """A step that may be possible: the handler after it as far as it is known, and the shared slots that it may read and assign."""

    function: Function
    local: tuple[int | None, ...]
    reads: int
    writes: int


class EndCondition(NamedTuple):
    """The ends of a handler that count: an answer with one of these words and, if a record is stored, in this queue. Without words, any
    end that others can see counts."""

    words: tuple[str, ...] = ()
    queue: int | None = None

    def allows(self, word: str, queue: int | None, *, seen: bool) -> bool:
        if not self.words:
            return seen
        return word in self.words and (word != "SUCCESS" or self.queue is None or queue in (None, self.queue))


class Machine:
    """The compiled functions of one shape, and the positions of variables in its states."""

    def __init__(self, shape: MachineShape, change: Change | None = None) -> None:
        spec, model = model_of(shape, change)
        self.shape = shape
        self.spec = spec
        self.instance = model.given(
            **constants(
                shape.profile,
                type(spec),
                auto_create=shape.auto_create,
                broker_readable=shape.readable,
                broker_writable=shape.writable,
            ),
            sends=0,
            update_budget=-1,
            template_read=8,
            template_write=8,
            **({"slave": shape.slave} if shape.placed else {}),
        )
        self.functions = Functions(self.instance)
        self.handler = [self.functions[a.name] for a in model.actions if "p" in a.parameters]
        self.update = self.functions["update_topic"]
        self.update_ordered = self.functions["update_ordered"] if shape.placed else self.update
        self.update_group = self.functions["update_group"] if shape.placed else self.update
        self.commit, self.delete_offset = (self.functions[n] if shape.progress else self.update for n in ("commit_offset", "forget_offset"))
        self.delete, self.outlive = (self.functions[n] if shape.deletes else self.update for n in ("delete_topic", "outlive"))
        self.route_updates = {name: self.functions[name] if shape.tells else self.update for name in ("register_topic", "forget_topic")}
        self.configures = {name: self.functions[name] if shape.configures else self.update for name in ("switch_creation", "permit")}
        self.registering = [(f, self.all_read(f)) for f in (self.functions[a.name] for a in model.actions if a.name in REGISTERING)]
        self.shared = model.variable("job.phase").first
        mine = [v for v in model.variables if v.name.startswith(OF_REQUESTS)]
        self.columns = {v.name.removeprefix("job."): v.first - self.shared for v in mine}
        self.first = {v.name: v.first for v in model.variables}
        start = initial(self.instance)
        self.start, self.idle = start[: self.shared], start[self.shared :]
        changed = {u.target.args[0] for a in model.actions for u in a.updates}
        self.changing = {v.first + k for v in changed for k in range(v.size) if v.first < self.shared}
        touched = {a.name: {u.target.args[0].name.partition(".")[0] for u in a.updates} for a in model.actions}
        self.private = frozenset(name for name, found in touched.items() if found <= {"job", "way", "lock"}) - {GIVEN_UP}
        deciding = sorted(v.first + k for v in control(model) if v.first < self.shared for k in range(v.size))
        self._control: Callable[[State], Hashable] = itemgetter(*deciding)
        self._controls: dict[Hashable, int] = {}
        self._last: tuple[State | None, int] = None, 0
        self.deciding, self.deciding_bits = frozenset(deciding), bits(deciding)
        self._steps_from = [self.columns[name] for name in ("phase", "way.step") if name in self.columns]
        self._possible: dict[Hashable, tuple[list[Function], int]] = {}
        self._arrived: dict[Hashable, Local] = {}
        self._enabled: dict[Hashable, list[Enabled]] = {}
        self._paths: dict[Hashable, HandlerPath | None] = {}
        self._forced: dict[Hashable, tuple[str, Local] | None] = {}
        self._canonical: dict[Hashable, Local] = {}
        self._ends: dict[Hashable, bool] = {}
        self._of_guards: dict[Guard, int] = {}
        self._refusals: dict[tuple[str, str], int | None] = {}
        self._future: dict[Hashable, tuple[int, int]] = {}

    @cached_property
    def queues(self) -> range:
        """The queues that have counters. Half of them are below 0 if a randomly chosen queue may be."""
        count = self.shape.queues
        below = count // 2 if PROFILES[self.shape.profile].keeps_sign else 0
        return range(-below, count - below)

    # Shared states

    def offset_slot(self, topic: int, queue: int) -> int:
        """Return the slot of a queue's counter; a queue below 0 is counted from the end."""
        return self.first["offset"] + topic * self.shape.queues + queue % self.shape.queues

    def outlived_slot(self, topic: int, queue: int) -> int:
        return self.first[OUTLIVED] + topic * self.shape.queues + queue % self.shape.queues

    def counters(self, topic: int, queue: int) -> tuple[int, ...]:
        """Return the slots of a queue's counters: of its records, and of the records at the time when its topic was deleted. A queue
        that does not exist has none."""
        if queue not in self.queues:
            return ()
        return (self.offset_slot(topic, queue), *((self.outlived_slot(topic, queue),) if self.shape.deletes else ()))

    @cached_property
    def outlived_slots(self) -> int:
        """The slots of queues that may continue after a deletion. Later answers depend on them, though no answered request does."""
        if not self.shape.deletes:
            return 0
        return bits(range(self.outlived_slot(0, 0), self.outlived_slot(len(self.shape.classes), 0)))

    def config_slots(self, topic: int) -> tuple[int, ...]:
        return tuple(self.first[f"config.{column}"] + topic for column in COLUMNS)

    def config(self, shared: State, topic: int) -> Config | None:
        known, read, write, perm, order = (shared[slot] for slot in self.config_slots(topic))
        return Config(read, write, perm, bool(order)) if known else None

    def config_codes(self, topic: int, config: Config | None) -> dict[int, int]:
        """Return the codes of the slots for this configuration of a topic."""
        values = (0, 0, 0, 0, 0) if config is None else (1, config.read, config.write, config.perm, int(config.order))
        return dict(zip(self.config_slots(topic), values, strict=True))

    def group_codes(self, topic: int, group: tuple[int, int, int, int]) -> dict[int, int]:
        """Return the codes of the slots for this group of a retry topic: whether it is known, its limit, its queues, and, where that
        counts, whether the broker's table has it."""
        names = (*GROUPS, LISTED) if self.shape.progress else GROUPS
        return {self.first[name] + topic: value for name, value in zip(names, group, strict=False)}

    def delete_offsets(self, move: RequestStep, places: Iterable[int]) -> RequestStep:
        """Return the step with the offsets at these places deleted as well."""
        after, writes = move.shared, move.writes
        for number in places:
            after, writes = (
                self.step(self.delete_offset, (0, number), after, self.idle, 0).shared,
                writes | 1 << self.group_offset_slot(number),
            )
        return move._replace(shared=after, writes=writes)

    def group_slot(self, topic: int) -> int:
        """Return the slot that holds whether the broker's table has the group of a retry topic."""
        return self.first[LISTED] + topic

    def group_offset_slot(self, place: int) -> int:
        """Return the slot of the offset that a group has committed for a queue."""
        return self.first[TOLD] + place

    def place(self, local: Local) -> tuple[int, int, str]:
        """Return the topic, the queue and the kind of a handler's record, once it is stored."""
        kind, lane = Kind.decode(self.read(local, "kind")), self.read(local, "way.lane") if self.shape.placed else -1
        if lane < 0:
            return self.read(local, "topic"), self.read(local, "queue"), kind
        return self.read(local, "way.place"), lane, kind

    def with_config(self, shared: State, topic: int, config: Config | None) -> State:
        return self.assigned(shared, self.config_codes(topic, config))

    def route(self, shared: State, topic: int) -> Config | None:
        """Return the name server's route of a topic, None if it has none."""
        entries, read, write, perm = (shared[self.first[name] + topic] for name in ROUTES)
        return Config(read, write, perm, False) if entries else None

    def route_codes(self, topic: int, config: Config | None) -> dict[int, int]:
        """Return the codes of the name server's slots for this route of a topic."""
        values = (0, 0, 0, 0) if config is None else (1, config.read, config.write, config.perm)
        return {self.first[name] + topic: value for name, value in zip(ROUTES, values, strict=True)}

    @staticmethod
    def all_read(function: Function) -> int:
        """Return the slots of all variables that a step may read."""
        return bits(slot for ref in function.refs for slot in range(ref.args[0].first, ref.args[0].first + ref.args[0].size))

    def waiting(self, shared: State) -> list[RequestStep]:
        """Return the step of a request that waits until no registration is in flight. It only reads whether one is."""
        return [RequestStep("wait", shared, None, 1 << self.first["registration_in_flight"], 0, dead=True)] if self.shape.routes else []

    def delivered(self, shared: State) -> State:
        """Return the state without a registration in flight."""
        slot = self.first["registration_in_flight"] if self.shape.routes else None
        return shared if slot is None or not shared[slot] else self.assigned(shared, {slot: 0})

    @cached_property
    def route_slots(self) -> int:
        """The slots, apart from the deciding ones, that decide routes: the tables of the name server and registrations in flight."""
        tables = (v for v in self.instance.model.variables if v.name.startswith(("route.", "registration", "live")))
        return bits(slot for v in tables for slot in range(v.first, v.first + v.size))

    def refusal(self, action: str, guard: str) -> int | None:
        """Return the response code for a request that this guard of its action refuses, None if the specification has no response."""
        if (action, guard) not in self._refusals:
            term = self.spec.refusals.get(action, {}).get(guard)
            environment = Environment(self.start + self.idle, {}, self.instance.constants)
            word = None if term is None else PlacedAnswer.names[evaluate(term, environment)]
            self._refusals[action, guard] = None if word is None else getattr(codes, word)
        return self._refusals[action, guard]

    @staticmethod
    def assigned(shared: State, codes: Mapping[int, int]) -> State:
        after = list(shared)
        for slot, code in codes.items():
            after[slot] = code
        return tuple(after)

    @cached_property
    def rechecks_under_lock(self) -> bool:
        """Whether a request that has the lock takes different steps depending on whether its topic exists by then (TCM-11)."""
        held = self.assigned(self.start, {self.first["lock"]: 1})
        locked = self.arrived(0, 0, 2, 0, "not", "locked")
        there, missing = (
            {step.function.action.name for step in self.enabled(self.with_config(held, 0, config), locked, (0,))}
            for config in (Config(1, 1, 6, False), None)
        )
        return not there & missing

    def control(self, shared: State) -> int:
        """Return a number that is equal for equal values of the deciding slots."""
        state, number = self._last
        if state is not shared:  # consecutive calls often have the same state
            number = self._controls.setdefault(self._control(shared), len(self._controls))
            self._last = shared, number
        return number

    def deleted(self, shared: State, topic: int) -> RequestStep:
        """Return the step that deletes a topic. It removes the queues of all topics that do not exist afterwards, whatever they hold."""
        known = {each: self.config_slots(each)[0] for each in range(len(self.shape.classes))}
        gone = [each for each, slot in known.items() if each == topic or not shared[slot]]
        at = range(self.shape.queues)
        queues = bits(slot(each, queue) for each in gone for queue in at for slot in (self.offset_slot, self.outlived_slot))
        reads = bits(known.values()) | queues
        move = self.step(self.delete, (0, topic), shared, self.idle, bits(range(self.shared)))
        return move._replace(local=None, reads=reads, writes=move.writes | queues)

    # Handlers

    def arrived(
        self,
        topic: int,
        default: int,
        numbers: int,
        queue: int,
        kind: str,
        phase: str = "arrived",
        placement: Mapping[str, int] | None = None,
        write: int = 0,
    ) -> Local:
        """Return a handler that has just received this request; with another `phase`, one that is further on.

        `placement` has codes of the facts that decide where its record is stored. `write`: the number of queues of its topic, in case the
        topic is deleted.
        """
        key = (topic, default, numbers, queue, kind, phase, write, None if placement is None else tuple(placement.items()))
        local = self._arrived.get(key)
        if local is None:
            codes = {"topic": topic, "default": default, "numbers": numbers, "queue": queue, "kind": Kind.encode(kind)}
            codes |= {"write": write} if write and self.shape.deletes else {}
            codes |= {} if placement is None else {f"way.{name}": code for name, code in placement.items()}
            local = self._arrived[key] = self.handling(phase=Phase.encode(phase), broker=1, **codes)
        return local

    def handling(self, **codes: int) -> Local:
        local = list(self.idle)
        for name, code in codes.items():
            local[self.columns[name]] = code
        return tuple(local)

    def read(self, local: Local, column: str) -> int:
        return local[self.columns[column]]

    def word(self, local: Local) -> str:
        """Return the specification's word for the answer."""
        return PlacedAnswer.names[local[self.columns["answer"]]]

    def enabled(self, shared: State, local: Local, draws: tuple[int, ...]) -> list[Enabled]:
        """Return the steps that the handler can take. They depend on the deciding slots alone, so they are computed once for each of
        their values."""
        key = (local, draws, self.control(shared))
        enabled = self._enabled.get(key)
        if enabled is None:
            state, enabled = shared + local, []
            for function in self.possible(local)[0]:
                for args in _arguments(function.action, draws):
                    if self._is_possible(function, state, args):
                        reads = function.reads(state, args)
                        own = self._own(function, args, state) if all(s >= self.shared or s in self.deciding for s in reads) else None
                        enabled.append(Enabled(function, args, bits(s for s in reads if s in self.changing), own))
            self._enabled[key] = enabled
        return enabled

    def possible(self, local: Sequence[int | None]) -> tuple[list[Function], int]:
        """Return the steps that the handler's phase allows, and the handler's slots that exclude the others. Most steps are never
        possible in a history, and are then not compiled."""
        key = tuple([local[column] for column in self._steps_from])
        steps_and_slots = self._possible.get(key)
        if steps_and_slots is None:
            state = [None] * self.shared + [local[column] if column in self._steps_from else None for column in range(len(local))]
            seen, functions, kept = View(state, {"p": 0}, self.instance.constants), list[Function](), 0
            for function in self.handler:
                against = excluding(function.action, seen)
                if against is None:
                    functions.append(function)
                else:
                    kept |= self._guard_slots(against)
            steps_and_slots = self._possible[key] = functions, kept
        return steps_and_slots

    def path_to_answer(self, shared: State, local: Local, draws: tuple[int, ...]) -> HandlerPath | None:
        """Return the handler's only path to its answer; None if it has a choice or waits, or if others see a step before the last. It
        depends on the deciding slots alone."""
        key = (local, draws, self.control(shared))
        if key not in self._paths:
            self._paths[key] = self._follow(shared, local, draws)
        return self._paths[key]

    def _follow(self, shared: State, local: Local, draws: tuple[int, ...]) -> HandlerPath | None:
        answer, labels = self.columns["answer"], list[str]()
        while not local[answer]:
            steps = self.enabled(shared, local, draws)
            if len(steps) != 1 or steps[0].function.action.name == GIVEN_UP:
                return None
            function, args, reads, own = steps[0]
            if own is None or own[answer]:
                after = self.step(function, args, shared, local, reads).local
                return HandlerPath(tuple(labels), local, steps[0]) if after is not None and after[answer] else None
            labels.append(function.action.name)
            local = own
        return None

    def forced(self, shared: State, local: Local, draws: tuple[int, ...], right: EndCondition) -> RequestStep | None:
        """Return the step that the handler is forced to take here, or None.

        A forced step is not the last step and is invisible to other requests. It is the only way to an end that is `right`, whatever others
        do before. It leads to the same place whenever it is taken.
        """
        key = (local, draws, right, self.control(shared))
        if key not in self._forced:
            known = [code if self._constant_slots.get(slot, code) == code else None for slot, code in enumerate(shared)]
            steps = self._possible_steps([*known, *local], right)[0]
            self._forced[key] = None
            if len(steps) == 1 and not steps[0].writes and None not in steps[0].local and not steps[0].local[self.columns["answer"]]:
                for enabled in self.enabled(shared, local, draws):
                    if enabled.function is steps[0].function:
                        self._forced[key] = (
                            enabled.function.action.name,
                            self.step(*enabled[:2], shared, local, enabled.reads).local or local,
                        )
        forced = self._forced[key]
        return None if forced is None else RequestStep(forced[0], shared, forced[1], 0, 0)

    def future(self, local: Local, right: EndCondition) -> tuple[int, int]:
        """Return the slots, including its own, that a handler may read and write before an end that is `right`, whatever others do."""
        key = (local, right)
        slots = self._future.get(key)
        if slots is None:
            reads = writes = 0
            unknown = [None if slot in self.changing else code for slot, code in enumerate(self.start)]
            todo: list[tuple[int | None, ...]] = [local]
            seen = set(todo)
            while todo:
                steps, kept = self._possible_steps([*unknown, *todo.pop()], right)
                reads |= kept
                for step in steps:
                    reads |= step.reads
                    writes |= step.writes
                    if step.local not in seen:
                        seen.add(step.local)
                        todo.append(step.local)
            slots = self._future[key] = (reads, writes)
        return slots

    def ends(self, local: Local, right: EndCondition) -> bool:
        """Whether a handler can reach an end that is `right`, from any state and whatever others do."""
        key = (local, right)
        if key not in self._ends:
            self._ends[key] = self._ending(local, right)
        return self._ends[key]

    def _ending(self, local: Local, right: EndCondition) -> bool:
        unknown = [None if slot in self.changing else code for slot, code in enumerate(self.start)]
        answer, todo = self.columns["answer"], list[tuple[int | None, ...]]([local])
        seen = set(todo)
        while todo:
            for step in self._possible_steps([*unknown, *todo.pop()], right)[0]:
                if step.local[answer] != 0:
                    return True
                if step.local not in seen:
                    seen.add(step.local)
                    todo.append(step.local)
        return False

    def canonical(self, local: Local, right: EndCondition) -> Local:
        """Return the handler with all slots reset that are never read again."""
        key = (local, right)
        local_form = self._canonical.get(key)
        if local_form is None:
            reads = self.future(local, right)[0] >> self.shared
            columns = enumerate(zip(local, self.idle, strict=True))
            local_form = self._canonical[key] = tuple([code if reads >> column & 1 else idle for column, (code, idle) in columns])
        return local_form

    def _possible_steps(self, state: Partial, right: EndCondition) -> tuple[list[_PossibleStep], int]:
        """Return the steps that a handler may take in some state compatible with this partial state, and the handler's slots that
        exclude others."""
        answer, queue = (self.shared + self.columns[name] for name in ("answer", "queue"))
        steps = list[_PossibleStep]()
        if state[answer]:
            return steps, 0
        functions, kept = self.possible(state[self.shared :])
        for function in functions:
            seen = View(state, {"p": 0}, self.instance.constants)  # whatever is drawn
            named = {u.value for u in function.action.updates if u.target.args[0].name == "job.queue" and decided(u.value, seen) is None}
            if named and right.queue is not None:
                seen = replace(seen, taken=dict.fromkeys(named, right.queue))
            against = excluding(function.action, seen)
            if against is not None:
                kept |= self._guard_slots(against)
                continue
            local = list(state)
            writes = 0
            for update in function.action.updates:
                slots = self._slots(update.target, seen)
                writes |= bits(slot for slot in slots if slot < self.shared)
                if len(slots) == 1:
                    local[slots[0]] = decided(update.value, seen)
            if local[answer] and not right.allows(PlacedAnswer.names[local[answer] or 0], local[queue], seen=bool(writes)):
                continue
            reads = bits(s for ref in function.refs for s in self._slots(ref, seen) if s in self.changing or s >= self.shared)
            steps.append(_PossibleStep(function, tuple(local[self.shared :]), reads, writes))
        return steps, kept

    def _guard_slots(self, guard: Guard) -> int:
        """Return the handler's slots that a guard reads."""
        bitmap = self._of_guards.get(guard)
        if bitmap is None:
            refs = {e.args[0] for e in walk(guard.condition) if e.op == "ref"}
            slots = (v.first + k for v in refs if v.first >= self.shared for k in range(v.size))
            bitmap = self._of_guards[guard] = bits(slots)
        return bitmap

    @staticmethod
    def _slots(ref: Expr, seen: View) -> range:
        """Return the slots that a reference may denote."""
        slot, variable = place(ref, seen), ref.args[0]
        return range(variable.first, variable.first + variable.size) if slot is None else range(slot, slot + 1)

    @cached_property
    def _constant_slots(self) -> dict[int, int | None]:
        """The changing slots, each with its only possible new value, None if it has several. A slot with this value keeps it."""
        codes: dict[int, int | None] = {}
        administered = (self.update, self.update_ordered, self.update_group, self.commit, self.delete_offset, self.delete, self.outlive)
        for function in (*self.handler, *administered, *self.configures.values()):
            seen = View((None,) * (self.shared + len(self.idle)), {}, self.instance.constants)
            for update in function.action.updates:
                variable, code = update.target.args[0], decided(update.value, seen)
                for slot in range(variable.first, variable.first + variable.size):
                    codes[slot] = code if codes.get(slot, code) == code else None
        return codes

    def _own(self, function: Function, args: tuple[int, ...], state: State) -> Local | None:
        """Return the handler after a step that assigns nothing else, None if the step may change more."""
        if any(slot < self.shared for slot in function.changes(state, *args)[::2]):
            return None
        return self.step(function, args, state[: self.shared], state[self.shared :], 0).local

    @staticmethod
    def _is_possible(function: Function, state: State, args: tuple[int, ...]) -> bool:
        """Whether the step is enabled and its effect has a value. A step whose effect has no value cannot have happened."""
        try:
            if not function.enabled(state, args):
                return False
            function.changes(state, *args)
        except EvaluationError:
            return False
        return True

    def step(self, function: Function, args: tuple[int, ...], shared: State, local: Local, reads: int) -> RequestStep:
        """Return the result of an enabled step."""
        edge = self.shared
        pairs = function.changes(shared + local, *args)
        own, others, writes = list(local), None, 0
        for k in range(0, len(pairs), 2):
            slot, code = pairs[k], pairs[k + 1]
            if slot >= edge:
                own[slot - edge] = code
            elif shared[slot] != code or not reads >> slot & 1:
                if others is None:
                    others = list(shared)
                others[slot] = code
                writes |= 1 << slot
        return RequestStep(function.action.name, shared if others is None else tuple(others), tuple(own), reads, writes)


def bits(slots: Iterable[int]) -> int:
    """Return a set of slots, one bit per slot."""
    bitmap = 0
    for slot in slots:
        bitmap |= 1 << slot
    return bitmap


def _arguments(action: Action, draws: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [(0, draw) for draw in draws] if "draw" in action.parameters else [(0,)]


@cache
def machine(shape: MachineShape) -> Machine:
    """Return the cached machine of a shape."""
    return Machine(shape)


__all__ = ["Machine", "EndCondition", "HandlerPath", "bits", "machine"]
