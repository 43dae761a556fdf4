"""Small concurrent histories out of the whole specification, and a second opinion about them that shares nothing with the judge.

A random walk through the specification gives a history that it allows; a change of an answer may make it one that it does not. The
second opinion keeps all states that explain the events so far: the whole specification, every order of every step, nothing left out.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from rocketproof_model import EvaluationError, Instance, Int, Model
from rocketproof_model.functions import Functions
from rocketproof_model.interpreter import State, initial
from rocketproof_profiles import NameClass
from rocketproof_spec import Scope, Specification, constants, specify
from rocketproof_traces.history import Event, Header

SUBJECTS = {"ordinary": "T", "retry": "%RETRY%g", "forbidden": "SCHEDULE_TOPIC_XXXX", "blank": " ", "illegal": "a b", "long": "x" * 128}
CODES = {"SUCCESS": 0, "SYSTEM_ERROR": 1, "NO_PERMISSION": 16, "TOPIC_NOT_EXIST": 17, "MESSAGE_ILLEGAL": 13}
OUTSIDE = {"request", "finish", "update_topic", "lose_registration", "dispatch", "flush", "register"}
BROKER = "broker-a"


@dataclass(frozen=True)
class Wish:
    op: str
    queue: int = 0
    numbers: int = 2
    default: int = 0
    read: int = 0
    write: int = 0
    perm: int = 6


@cache
def specification(producers: int, topic: NameClass = "ordinary") -> Specification:
    return specify(
        Scope(
            "whole", "whole", producers=producers, topics=("template", topic), queues=8, counts=Int(0, 8), numbers=Int(-1, 8),
            queue_ids=Int(-1, 8), draws=Int(0, 7), requests=True, routes=False, store=True, updates=True, offsets=20, file_size=1000,
            sizes=Int(1, 1), versions=20, sends=0, permissions=tuple(range(8)), defaults=("template", "ordinary", "retry"),
        )
    )  # fmt: skip


class Whole:
    """The whole specification with one producer per request, so that an unanswered request may continue forever."""

    def __init__(self, wishes: Sequence[Wish], *, auto_create: bool, profile: str = "P494", topic: NameClass = "ordinary",
                 change: Callable[[Model], Model] = lambda m: m, **given: Any) -> None:  # fmt: skip
        self.wishes = wishes
        self.auto_create, self.profile, self.given = auto_create, profile, given
        self.topic = SUBJECTS[topic]
        self.spec = specification(len(wishes), topic)
        model = change(self.spec.model)
        self.instance: Instance = model.given(
            **constants(profile), auto_create=auto_create, template_in_file=not auto_create, template_read=8, template_write=8, sends=0,
            update_budget=-1, **given,
        )  # fmt: skip
        self.functions = Functions(self.instance)
        self.start = initial(self.instance)
        self.inner = [(f, args) for a in model.actions if a.name not in OUTSIDE for f in [self.functions[a.name]] for args in a.instances]
        self.within = cache(self._within)  # a history and what is spoilt of it meet the same states
        self.updated = len(wishes)  # updates have no handler: their progress is stored next to the state

    def value(self, state: State, name: str, *at: int) -> Any:
        variable = self.spec.model.variable(name)
        return variable.type.decode(state[variable.slot(at)])

    def submit(self, state: State, number: int) -> State:
        wish = self.wishes[number]
        args = (number, 0, 1, wish.default, wish.numbers, wish.queue, 0, 1)
        return self.functions["request"].effect(state, args)

    def _within(self, state: State) -> list[tuple[str, State]]:
        """Return the next steps of handlers and brokers: the action's name and the next state."""
        found = []
        for f, args in self.inner:
            with suppress(EvaluationError):  # without one of its guards an action may have no value
                if f.enabled(state, args):
                    found.append((f.action.name, f.effect(state, args)))
        return found

    def steps(self, whole: tuple[State, tuple[int, ...]], only: str = "") -> list[tuple[State, tuple[int, ...]]]:
        """Yield the possible next states with their open updates."""
        state, updates = whole
        found = [(after, updates) for name, after in self.within(state) if not only or name == only]
        for number in updates:
            wish = self.wishes[number]
            args = (0, 1, wish.read, wish.write, wish.perm)
            update = self.functions["update_topic"]
            if update.enabled(state, args):
                found.append((update.effect(state, args), tuple(u for u in updates if u != number)))
        return found

    def closure(self, states: set[Any]) -> set[Any]:
        seen, todo = set(states), list(states)
        while todo:
            for after in self.steps(todo.pop()):
                if after not in seen:
                    seen.add(after)
                    todo.append(after)
        return seen

    def answer(self, state: State, number: int) -> tuple[int, int | None, int | None] | None:
        if self.value(state, "job.phase", number) != "answered":
            return None
        code = CODES[self.value(state, "job.answer", number)]
        if code:
            return code, None, None
        return code, self.value(state, "job.queue", number), self.value(state, "job.offset", number)

    @property
    def origin(self) -> Header:
        permission = 4 * self.given.get("broker_readable", True) + 2 * self.given.get("broker_writable", True)
        return Header({"settings": {"autoCreateTopicEnable": str(self.auto_create).lower(), "brokerPermission": permission}})

    # A walk

    def walk(self, chance: random.Random, lost: float = 0.1, prefer: str = "") -> list[tuple[str, int, Any]]:
        """Generate a history: ("invoke" | "ok" | "info" | "config", number of the request, response). The action `prefer` happens often."""
        state: Any = (self.start, ())
        todo, open_, lines = list(range(len(self.wishes))), list[int](), list[tuple[str, int, Any]]()
        for _ in range(400):
            kind = chance.random()
            if todo and kind < 0.15:
                number = todo.pop(0)
                lines.append(("invoke", number, None))
                open_.append(number)
                if self.wishes[number].op == "update_topic":
                    state = (state[0], (*state[1], number))
                else:
                    state = (self.submit(state[0], number), state[1])
            elif open_ and kind < 0.25:
                number = chance.choice(open_)
                done = self.answered(state, number)
                if chance.random() < lost / 4:
                    open_.remove(number)
                    lines.append(("info", number, None))
                elif done is not None:
                    open_.remove(number)
                    lines.append(("ok", number, done))
            elif kind < 0.27 and lines:
                lines.append(("config", -1, self.config(state[0])))
            else:
                after = self.steps(state, prefer) if prefer and chance.random() < 0.5 else []
                after = after or self.steps(state)
                if after:
                    state = chance.choice(after)
        return lines

    def answered(self, whole: Any, number: int) -> Any:
        if self.wishes[number].op == "update_topic":
            return None if number in whole[1] else (0, None, None)
        return self.answer(whole[0], number)

    def config(self, state: State) -> tuple[int, int, int] | None:
        if not self.value(state, "config.known", 0, 1):
            return None
        read, write, perm = (self.value(state, f"config.{c}", 0, 1) for c in ("read", "write", "perm"))
        return read, write, perm

    # The second opinion

    def first_unexplained(self, lines: Sequence[tuple[str, int, Any]]) -> int | None:
        """Return the number of the first line that no state explains."""
        states: set[Any] = {(self.start, ())}
        for place, (kind, number, answer) in enumerate(lines):
            if kind == "invoke":
                if self.wishes[number].op == "update_topic":
                    states = {(s, (*u, number)) for s, u in states}
                else:
                    states = {(self.submit(s, number), u) for s, u in self.closure(states)}
            elif kind == "ok":
                states = {w for w in self.closure(states) if self.answered(w, number) == answer}
            elif kind == "config":
                states = {w for w in self.closure(states) if self.config(w[0]) == answer}
            if not states:
                return place
        return None

    def events(self, lines: Sequence[tuple[str, int, Any]]) -> list[Event]:
        """Return the history as the judge reads it."""
        found = []
        table = {"TBW102": entry(8, 8, 7)} if self.value(self.start, "config.known", 0, 0) else {}
        if (known := self.config(self.start)) is not None:
            table[self.topic] = entry(*known, order=bool(self.given.get("order_topic")))
        found.append(Event(0, "state", BROKER, "topics", {"topics": table}))
        for kind, number, answer in lines:
            seq = len(found)
            if kind == "config":
                template = {"TBW102": entry(8, 8, 7)}
                order = bool(self.given.get("order_topic"))
                topics = template if answer is None else {**template, self.topic: entry(*answer, order=order)}
                found.append(Event(seq, "state", BROKER, "topics", {"topics": topics}))
                continue
            wish = self.wishes[number]
            process = f"client {number}"
            value: dict[str, Any] = {}
            if kind == "invoke":
                value = {"to": BROKER, "fields": header(wish, self.topic)}
            elif kind == "ok":
                fields = {} if answer[0] or wish.op == "update_topic" else {"queueId": str(answer[1]), "queueOffset": str(answer[2])}
                value = {"code": answer[0], "fields": fields}
            found.append(Event(seq, kind, process, wish.op, value))
        return found


def header(wish: Wish, topic: str) -> dict[str, str]:
    if wish.op == "update_topic":
        return {"topic": topic, "readQueueNums": str(wish.read), "writeQueueNums": str(wish.write), "perm": str(wish.perm)}
    return {
        "producerGroup": "g", "topic": topic, "defaultTopic": ("TBW102", topic)[wish.default], "defaultTopicQueueNums": str(wish.numbers),
        "queueId": str(wish.queue), "sysFlag": "0", "bornTimestamp": "0", "flag": "0",
    }  # fmt: skip


def entry(read: int, write: int, perm: int, *, order: bool = False) -> dict[str, Any]:
    return {"readQueueNums": read, "writeQueueNums": write, "perm": perm, "order": order}


def wishes(chance: random.Random, number: int) -> list[Wish]:
    found = []
    for _ in range(number):
        if chance.random() < 0.2:
            found.append(Wish("update_topic", read=chance.randint(0, 2), write=chance.randint(0, 2), perm=chance.choice((2, 6, 7))))
        else:
            queue = chance.choice((0, 0, 1, -1, 2))
            found.append(Wish("send", queue, numbers=chance.choice((1, 2, 2)), default=chance.choice((0, 0, 0, 1))))
    return found


def spoilt(chance: random.Random, lines: Sequence[tuple[str, int, Any]]) -> list[tuple[str, int, Any]]:
    """Return the history with one changed response, which may still be legal."""
    changed = list(lines)
    places = [k for k, (kind, _, _) in enumerate(lines) if kind in ("ok", "config")]
    if not places:
        return changed
    k = chance.choice(places)
    kind, number, answer = changed[k]
    if kind == "config":
        other: Any = chance.choice([None, (1, 1, 6), (2, 2, 6), (2, 1, 7), (8, 8, 6)])
    else:
        _, queue, offset = answer
        q, o = queue or 0, offset or 0
        stored = [(0, q, o + 1), (0, q, max(0, o - 1)), (0, q + 1, o)]
        other = chance.choice([*stored, (1, None, None), (17, None, None), (16, None, None)])
    changed[k] = (kind, number, other)
    return changed
