"""Do the recorded answers of a real broker follow the specification?

For each `cfg` the judge keeps the *set* of specification states that explain the cases so far. A send is put into each of
them, the broker's steps are followed until it is answered, and the states survive whose answer code, queue, offset and
topic configuration are the recorded ones. What the broker does between cases (registrations on their way) stays open until
a route query decides it. A case out of the specification's reach is counted by its reason and its recorded effect is
adopted. The first case that no step explains is reported with the guard that refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from rocketproof_model import EvaluationError, Int
from rocketproof_model.functions import Functions
from rocketproof_model.interpreter import Scope as Sight
from rocketproof_model.interpreter import State, evaluate, initial
from rocketproof_model.language import JAVA_INT, Action, Expr, Guard, Instance, show, walk
from rocketproof_model.specification import Scope, constants, specify
from rocketproof_model.specification.constructor import system_topics
from rocketproof_profiles import PROFILES, NameClass, classify
from rocketproof_protocol.codes import (
    END_TRANSACTION,
    NO_PERMISSION,
    SEND_BATCH_MESSAGE,
    SEND_MESSAGE,
    SEND_MESSAGE_V2,
    SERVICE_NOT_AVAILABLE,
    SYSTEM_BUSY,
    SYSTEM_ERROR,
    TOPIC_NOT_EXIST,
)
from rocketproof_protocol.topics import HALF_TOPIC, SCHEDULE, TEMPLATE

from .checker.requests import ANSWERS, SAME_TOPIC
from .history.cases import STATUSES, Case, Config, read

_BETWEEN = {"register", "accept_registration", "ignore_registration"}
_OUTSIDE = {"request", "update_topic", "lose_registration", "dispatch", "flush", "finish", "lock_timeout"}
_FILE = 1 << 30
_QUEUES = 1 << 16  # more queues than a broker has; an answer beyond is not looked for


@dataclass(frozen=True)
class Refusal:
    """Why a case is not explained: what the specification does instead, and the guard that would have to hold."""

    case: str
    recorded: str
    specified: str
    action: str = ""
    guard: str = ""
    sentence: str = ""
    values: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        text = f"{self.case}: recorded {self.recorded}; the specification {self.specified}"
        if self.guard:
            values = ", ".join(f"{name} = {value}" for name, value in self.values.items())
            text += f"; {self.action} is refused by guard '{self.guard}' ({self.sentence}) with {values}"
        return text


@dataclass(frozen=True)
class Judgement:
    """Cases explained, cases out of reach by reason, and what was not explained, first one first."""

    profile: str
    explained: int
    out_of_reach: dict[str, int]
    unexplained: tuple[Refusal, ...]

    @property
    def cases(self) -> int:
        return self.explained + sum(self.out_of_reach.values()) + len(self.unexplained)

    def data(self) -> dict[str, Any]:
        """The judgement as JSON values."""
        rows = [vars(r) for r in self.unexplained]
        return {
            "profile": self.profile,
            "cases": self.cases,
            "explained": self.explained,
            "out_of_reach": self.out_of_reach,
            "unexplained": rows,
        }


def judge(path: Path, profile: str, report: Callable[[int, int], None] | None = None) -> Judgement:
    """Judge a recording file. A `cfg` whose broker refuses sends by its role is out of reach as a whole.

    `report(heard, all)` is called after each case.

    Raises RocketproofError for an unknown profile or a file that is no recording.
    """
    constants(profile)
    cases = read(path)
    heard, explained, reasons, refusals = 0, 0, Counter[str](), []
    for cfg in dict.fromkeys(c.cfg for c in cases):
        mine = [c for c in cases if c.cfg == cfg]
        if _is_slave(mine, rejects=PROFILES[profile].slave_rejects):
            reasons["role of the store"] += len(mine)
            heard += len(mine)
            continue
        outcomes: list[tuple[str, Refusal | None]] = []
        for auto_create in _switches(mine):
            court = Court(mine, profile, auto_create=auto_create)
            tried = []
            for number, case in enumerate(mine, 1):
                tried.append(court.hear(case))
                if report is not None:
                    report(heard + number, len(cases))
            if not outcomes or _refused(tried) < _refused(outcomes):
                outcomes = tried
            if not _refused(outcomes):
                break
        heard += len(mine)
        for why, refusal in outcomes:
            if refusal is not None:
                refusals.append(refusal)
            elif why:
                reasons[why] += 1
            else:
                explained += 1
    return Judgement(profile, explained, dict(reasons.most_common()), tuple(refusals))


def _refused(outcomes: Sequence[tuple[str, Refusal | None]]) -> int:
    return sum(refusal is not None for _, refusal in outcomes)


def _is_slave(cases: Sequence[Case], *, rejects: bool) -> bool:
    """Whether every send that passed the checks was refused by the store: the broker's role, which no single answer shows. Where
    slaves reject sends unread, every one was."""
    codes = {c.code for c in cases if c.request in (SEND_MESSAGE, SEND_MESSAGE_V2, SEND_BATCH_MESSAGE)}
    return codes == {SYSTEM_BUSY} if rejects else codes - {SYSTEM_ERROR, NO_PERMISSION, TOPIC_NOT_EXIST, None} == {SERVICE_NOT_AVAILABLE}


def _switches(cases: Sequence[Case]) -> tuple[bool, ...]:
    """The values of autoCreateTopicEnable to try: TBW102's first route tells, else both."""
    for case in cases:
        if case.kind == "route" and case.topic == TEMPLATE:
            return (case.code == 0,)
    return (True, False)


class Hypothesis(NamedTuple):
    """A state that explains the cases so far, and how many records the broker may still store by itself, by (topic, queue)."""

    state: State
    own: tuple[tuple[tuple[str, int], int], ...] = ()

    def granted(self, place: tuple[str, int], number: int) -> Hypothesis:
        counts = Counter(dict(self.own))
        counts[place] += number
        return Hypothesis(self.state, tuple(sorted((key, n) for key, n in counts.items() if n)))

    def of(self, state: State) -> Hypothesis:
        return Hypothesis(state, self.own)


class Court:
    """The states of one `cfg` that explain its cases so far; the scope is taken from the recording."""

    def __init__(self, cases: Sequence[Case], profile: str, *, auto_create: bool) -> None:
        self.profile = PROFILES[profile]
        self.cluster = next((c.cluster for c in cases if c.cluster), "DefaultCluster")
        self.broker = next((b for c in cases for b in c.route), "broker-a")
        system = system_topics(self.cluster, self.broker, auto_create=auto_create, more=self.profile.more_system_topics)
        names = dict.fromkeys([TEMPLATE, *system])
        for case in cases:
            names.update(dict.fromkeys([case.topic, case.default, *(s.topic for s in case.stored)]))
            names.update(dict.fromkeys(s.real[0] for s in case.stored if s.real))
        self.topics = {name: number for number, name in enumerate(names)}
        self.spec = specify(self._scope(cases))
        switches = constants(
            profile, auto_create=auto_create, sends=0, update_budget=-1, template_read=8, template_write=8, size_limit=_FILE, blank=8
        )
        self.instance: Instance = self.spec.model.given(**switches)
        self.functions = Functions(self.instance)
        self.inner = [self.functions[a.name] for a in self.spec.model.actions if a.name not in _OUTSIDE]
        state = initial(self.instance)
        routes = {c.topic: c.route[self.broker] for c in reversed(cases) if c.kind == "route" and c.code == 0 and self.broker in c.route}
        for name, (queues, perm) in system.items():
            state = self._adopt_config(state, name, routes.get(name, Config(queues, queues, perm, False)))
        self.states: set[Hypothesis] = {Hypothesis(state)}
        waiting = {c.code for c in cases if c.kind == "send" and c.waits} & {0, *STATUSES}
        self.statuses = waiting - {0} if 0 not in waiting else set()
        self.prepared: list[tuple[str, int]] = []

    def _class(self, name: str) -> NameClass:
        return "cluster" if name in (self.cluster, self.broker) else classify(name, self.profile)

    def _scope(self, cases: Sequence[Case]) -> Scope:
        queues = [s.queue for c in cases for s in c.stored] + [c.answered_queue or 0 for c in cases]
        queues = [q for q in queues if 0 <= q < _QUEUES] or [0]
        return Scope(
            "judge",
            "a recording",
            topics=tuple(self._class(name) for name in self.topics),
            queues=max(queues) + 1,
            counts=Int(0, JAVA_INT[1]),
            numbers=Int(*JAVA_INT),
            queue_ids=Int(*JAVA_INT),
            draws=Int(0, JAVA_INT[1]),
            requests=True,
            routes=False,
            store=True,
            updates=True,
            defaults=("ordinary", "template", "cluster", "retry", "forbidden", "blank", "illegal", "long"),
            offsets=1 << 40,
            files=1024,
            file_size=_FILE,
            blank=8,
            sizes=Int(1, _FILE),
            versions=4 * len(cases) + 4,
            sends=0,
            permissions=tuple(range(16)),
        )

    # -- hearing a case

    def hear(self, case: Case) -> tuple[str, Refusal | None]:
        """(reason out of reach or "", refusal or None if explained)."""
        if case.kind == "other":
            self._adopt(case)
            return case.why, None
        if case.kind == "send" and self.profile.always_traced and not case.body:
            self._adopt(case)
            return "requests without a body", None
        if case.kind == "send" and case.code is None:
            self.states |= {h.of(self._finish(s)) for h in self.states for s, _ in self._answers(h, case)}
            return "no answer came", None
        after = {"send": self._send, "update": self._update, "route": self._route}[case.kind](case)
        if after:
            self.states = after
            return STATUSES.get(case.code or 0, ""), None
        refusal = self._refusal(case)
        self._adopt(case)
        return "", refusal

    def _send(self, case: Case) -> set[Hypothesis]:
        if case.answered_queue is not None and not 0 <= case.answered_queue < self.spec.scope.queues:
            return set()
        found = ((s, left) for h in self.states for s, left in self._answers(h, case) if self._matches(s, case))
        return {left.of(self._finish(s)) for s, left in found}

    def _submit(self, state: State, case: Case) -> State:
        size = case.stored[0].size if case.stored else 1
        kind = self.spec.job[0].kind.type.encode(case.transaction)
        args = (0, 0, self.topics[case.topic], self.topics[case.default], case.numbers, case.queue, kind, size)
        return self.functions["request"].effect(state, args)

    def _answers(self, h: Hypothesis, case: Case) -> Iterator[tuple[State, Hypothesis]]:
        """The states in which the broker has answered, over all orders of its own steps, each with what it may still store."""
        for left in self._own_records(h, case):
            for s in self._closure(self._submit(left.state, case), case):
                if self._value(s, "job.phase", 0) == "answered":
                    yield s, left

    def _own_records(self, h: Hypothesis, case: Case) -> Iterator[Hypothesis]:
        """The hypothesis, and those in which the broker has meanwhile stored delayed or committed messages of its own there."""
        yield h
        if case.answered_queue is not None:
            place = (case.topic, case.answered_queue)
            for _ in range(dict(h.own).get(place, 0)):
                h = h.of(self._count(h.state, (0, self.topics[case.topic], case.answered_queue))).granted(place, -1)
                yield h

    def _closure(self, state: State, case: Case | None) -> set[State]:
        """What the state becomes by the broker's own steps, in all orders; `case` tells the queue that is drawn."""
        seen, todo = {state}, [state]
        while todo:
            for _, after in self._steps(todo.pop(), case):
                if after not in seen:
                    seen.add(after)
                    todo.append(after)
        return seen

    def _steps(self, state: State, case: Case | None) -> Iterator[tuple[Action, State]]:
        for function in self.inner:
            args = self._args(function.action, case)
            if function.enabled(state, args):
                yield function.action, function.effect(state, args)

    def _args(self, action: Action, case: Case | None) -> tuple[int, ...]:
        """The one producer, the one broker, and as draw the recorded queue."""
        drawn = case.answered_queue or 0 if case is not None and case.queue < 0 else 0
        return tuple(drawn if name == "draw" else 0 for name in action.parameters)

    def _matches(self, state: State, case: Case) -> bool:
        if self._value(state, "job.answer", 0) != self._wanted(case):
            return False
        if case.code == 0 or case.code in self.statuses:
            place = (self._value(state, "job.queue", 0), self._value(state, "job.offset", 0))
            if place != (case.answered_queue, case.answered_offset):
                return False
            record = (case.topic, *place, case.transaction)
            if any((r.topic, r.queue, r.offset, r.kind) != record for r in case.stored):
                return False
        return self._config_matches(state, case)

    def _wanted(self, case: Case) -> str | None:
        """The specification's word for the recorded code; a status of flush or replication is a success of the store."""
        return "SUCCESS" if case.code in self.statuses else ANSWERS.get(-1 if case.code is None else self.profile.plain(case.code))

    def _config_matches(self, state: State, case: Case) -> bool:
        return case.config == "absent" or self._table(state, "config", case.topic) == case.config

    def _finish(self, state: State) -> State:
        return self.functions["finish"].effect(state, (0,))

    def _update(self, case: Case) -> set[Hypothesis]:
        update = self.functions["update_topic"]
        if case.wanted is None:
            return set()
        args = (0, self.topics[case.topic], case.wanted.read, case.wanted.write, case.wanted.perm)
        result = set()
        for h in self._settled():
            refused = update.guard(h.state, args)
            if refused is None and case.code == 0:
                result.add(h.of(update.effect(h.state, args)))
            elif refused is not None and case.code == {"proper name": self.profile.illegal_code, SAME_TOPIC: 0}.get(refused.name):
                result.add(h)
        return {h for h in result if self._config_matches(h.state, case)}

    def _settled(self) -> set[Hypothesis]:
        """Those in which no registration is on its way: an administrator's request comes seconds later."""
        return {h for h in self._later() if not self._value(h.state, "registration_in_flight", 0)}

    def _later(self) -> set[Hypothesis]:
        """The hypotheses, and what they become by the broker's own steps between two cases."""
        return {h.of(s) for h in self.states for s in self._closure(h.state, None)}

    def _route(self, case: Case) -> set[Hypothesis]:
        if case.code not in (0, 17) or (case.code == 0) != (self.broker in case.route):
            return set()
        wanted = case.route.get(self.broker)
        return {h for h in self._later() if self._table(h.state, "route", case.topic) == wanted}

    # -- adopting what is out of reach

    def _adopt(self, case: Case) -> None:
        self.states = {self._adopted(h, case) for h in self.states}
        self.prepared += [r.real for r in case.stored if r.real is not None and r.topic == HALF_TOPIC]

    def _adopted(self, h: Hypothesis, case: Case) -> Hypothesis:
        state = h.state
        if case.config != "absent":
            state = self._adopt_config(state, case.topic, case.config)
        elif self.broker in case.route:
            state = self._adopt_config(state, case.topic, case.route[self.broker])
        h = h.of(state)
        for record in case.stored:
            if record.kind in ("not", "commit") and 0 <= record.queue < self.spec.scope.queues:
                at = (0, self.topics[record.topic], record.queue)
                for name in ("offset", "records"):
                    h = h.of(self._assign(h.state, name, at, record.offset + 1))
            if record.real is not None and record.topic == SCHEDULE:
                h = h.granted(record.real, 1)
        if case.request == END_TRANSACTION and case.code == 0:
            for place in self.prepared:
                h = h.granted(place, 1)
        return h

    def _count(self, state: State, at: tuple[int, ...]) -> State:
        value = state[self.spec.model.variable("offset").slot(at)] + 1
        return self._assign(self._assign(state, "offset", at, value), "records", at, value)

    def _adopt_config(self, state: State, name: str, config: Config | None) -> State:
        at = (0, self.topics[name])
        known = config is not None
        values = config or Config(0, 0, 0, False)
        for table in ("config", "file"):
            for column, value in (
                ("known", known),
                ("read", values.read),
                ("write", values.write),
                ("perm", values.perm),
                ("order", values.order),
            ):
                state = self._assign(state, f"{table}.{column}", at, int(value))
        for column, value in (("entries", known), ("read", values.read), ("write", values.write), ("perm", values.perm)):
            state = self._assign(state, f"route.{column}", at, int(value))
        return state

    def _assign(self, state: State, name: str, at: tuple[int, ...], code: int) -> State:
        slot = self.spec.model.variable(name).slot(at)
        return (*state[:slot], code, *state[slot + 1 :])

    # -- reading a state

    def _value(self, state: State, name: str, *at: int) -> Any:
        variable = self.spec.model.variable(name)
        return variable.type.decode(state[variable.slot(at)])

    def _table(self, state: State, table: str, topic: str) -> Config | None:
        t = self.topics[topic]
        known = self._value(state, "config.known" if table == "config" else "route.entries", 0, t)
        if not known:
            return None
        order = self._value(state, "config.order", 0, t) if table == "config" else False
        read, write, perm = (self._value(state, f"{table}.{column}", 0, t) for column in ("read", "write", "perm"))
        return Config(read, write, perm, order)

    # -- explaining what is not explained

    def _refusal(self, case: Case) -> Refusal:
        wanted = self._wanted(case)
        recorded = f"code {case.code}" + (f" {wanted}" if wanted else "")
        if case.code == 0:
            recorded += f", queue {case.answered_queue}, offset {case.answered_offset}"
        recorded += f", topic {_text(case.config)}" if case.config != "absent" else ""
        if case.kind == "route":
            have = {str(_text(self._table(h.state, "route", case.topic))) for h in self.states}
            return Refusal(case.label, f"code {case.code}, route {_text(case.route.get(self.broker))}", f"has {' or '.join(sorted(have))}")
        if case.kind == "update":
            return self._refused_update(case, recorded)
        h = min(self.states)
        state = h.state
        done = [s for s, _ in self._answers(h, case)]
        specified = "gives no answer" if not done else f"answers {self._answer(done[0], case)}"
        if wanted is None:
            return Refusal(case.label, recorded, f"{specified}; no action answers with code {case.code}")
        if any(self._value(s, "job.answer", 0) == wanted for s in done):
            return Refusal(case.label, recorded, specified)
        for before in sorted(self._closure(self._submit(state, case), case)):
            for action in self.spec.model.actions:
                found = self._if_it_held(before, action, case)
                if found is not None:
                    return Refusal(
                        case.label, recorded, specified, action.name, found.name, found.sentence, self._values(before, action, found, case)
                    )
        return Refusal(case.label, recorded, specified)

    def _refused_update(self, case: Case, recorded: str) -> Refusal:
        action = self.spec.model.named("update_topic")
        wanted = case.wanted or Config(0, 0, 0, False)
        state = min(self._settled()).state
        args = (0, self.topics[case.topic], wanted.read, wanted.write, wanted.perm)
        guard = self.functions["update_topic"].guard(state, args)
        if guard is None:
            return Refusal(case.label, recorded, "updates the topic")
        values = self._leaves(guard.condition, Sight(state, dict(zip(action.parameters, args, strict=True)), self.instance.constants))
        return Refusal(case.label, recorded, "refuses the update", action.name, guard.name, guard.sentence, values)

    def _answer(self, state: State, case: Case) -> str:
        text = str(self._value(state, "job.answer", 0))
        if text == "SUCCESS":
            text += f", queue {self._value(state, 'job.queue', 0)}, offset {self._value(state, 'job.offset', 0)}"
        return f"{text}, topic {_text(self._table(state, 'config', case.topic))}"

    def _if_it_held(self, state: State, action: Action, case: Case) -> Guard | None:
        """The guard of this action that alone refuses, if the recorded answer would follow had it held."""
        if action.name in _OUTSIDE | _BETWEEN:
            return None
        args = self._args(action, case)
        sight = Sight(state, dict(zip(action.parameters, args, strict=True)), self.instance.constants)
        try:
            refused = [g for g in action.guards if not evaluate(g.condition, sight)]
            if len(refused) != 1 or refused[0] is action.guards[0]:
                return None
            after = self.functions[action.name].effect(state, args)
        except EvaluationError:
            return None
        wanted = self._wanted(case)
        answers = (s for s in self._closure(after, case) if self._value(s, "job.phase", 0) == "answered")
        return refused[0] if any(self._value(s, "job.answer", 0) == wanted for s in answers) else None

    def _values(self, state: State, action: Action, guard: Guard, case: Case) -> dict[str, Any]:
        args = dict(zip(action.parameters, self._args(action, case), strict=True))
        return self._leaves(guard.condition, Sight(state, args, self.instance.constants))

    def _leaves(self, condition: Expr, sight: Sight) -> dict[str, Any]:
        values: dict[str, Any] = {}
        names: Iterable[Expr] = (e for e in walk(condition) if e.op in ("ref", "par", "given"))
        for e in names:
            try:
                value = e.type.decode(evaluate(e, sight))
            except EvaluationError:
                continue
            values[show(e)] = value
        return values


def _text(config: Config | None) -> str:
    if config is None:
        return "unknown"
    return f"(read {config.read}, write {config.write}, perm {config.perm}{', order' if config.order else ''})"


__all__ = ["Court", "Judgement", "Refusal", "judge"]
