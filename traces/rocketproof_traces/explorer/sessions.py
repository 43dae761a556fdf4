"""Requests of a page to a running explorer about an opened trace: the choices in any state, an expression's values, the state graph.

A session keeps only an instance and a property. Each request contains the states that it is about.
"""

from __future__ import annotations

import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from rocketproof_model import EvaluationError, Expr, Instance, Property
from rocketproof_model.interpreter import Environment, State, evaluate
from rocketproof_model.language import walk
from rocketproof_model.language.reading import ReadingError, of_step, read

from ..common.errors import TraceError, short
from ..witness.reached import reached, truths_of
from ..witness.words import Element, elements
from . import document
from .opened import Opened, Trace

KEPT: Final = 64
"""The maximum number of sessions; the oldest is dropped."""
_WORD: Final = re.compile(r"[a-z]+( [a-z]+)?|waiting [0-9]{1,6}/[0-9]{1,6}")
MOST_STATES: Final = 20_000
"""The maximum number of states in one request, and in a graph."""


class Unknown(TraceError):
    """The session does not exist, or no longer."""


@dataclass(frozen=True, eq=False)
class Session:
    """An instance and the property whose truth is shown."""

    instance: Instance
    claim: Property

    def at(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the choices and the truth in a state. Raises TraceError for an invalid state."""
        state = self.state(request.get("state"), "state")
        before = None if request.get("before") is None else self.state(request["before"], "before")
        last = request.get("truth")
        return document.at(self.instance, self.claim, state, before, last if isinstance(last, str) and _WORD.fullmatch(last) else "")

    def evaluate(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return an expression's type and its values as text in each of the states, null without a value; or a one-line error.

        An expression about a step has its value in the state before the step.
        """
        text, sent = request.get("expression"), request.get("states")
        if not isinstance(text, str):
            raise TraceError("expression", f"is {short(text)}", "send a text")
        states = [self.state(codes, f"states[{k}]") for k, codes in enumerate(_listed(sent, "states"))]
        try:
            term = read(text, self.instance.model)
        except ReadingError as error:
            return {"type": "", "shown": "", "values": [], "error": str(error), "column": error.column, "of_step": False}
        stepping = of_step(term)
        after: Sequence[State | None] = [*states[1:], None] if stepping else [None] * len(states)
        values = [self._value(term, state, then) for state, then in zip(states, after, strict=True)]
        return {"type": str(term.type), "shown": str(term), "values": values, "error": None, "column": None, "of_step": stepping}

    def _value(self, term: Expr, state: State, then: State | None) -> str | None:
        try:
            return term.type.text(evaluate(term, Environment(state, {}, self.instance.constants, then)))
        except EvaluationError:
            return None
        except RecursionError:
            raise TraceError("expression", "is nested too deeply", "write a shorter one") from None

    def graph(self, request: Mapping[str, Any], report: Callable[[str], None]) -> dict[str, Any]:
        """Return the first states by distance from the initial one, with all steps among them."""
        limit = request.get("limit", 10_000)
        if type(limit) is not int or not 1 <= limit <= MOST_STATES:
            raise TraceError("limit", f"is {short(limit)}", f"send 1 to {MOST_STATES}")
        try:
            result = reached(self.instance, limit, lambda at: report(f"{at:,} states looked at"))
        except EvaluationError as error:
            raise TraceError("graph", f"an action has no meaning ({error})", "correct the model's guards or types") from None
        has_truth = self.claim.kind in ("always", "reachable") and any(e.op == "ref" for e in walk(self.claim.formula))
        return {
            "states": [list(state) for state in result.states],
            "depth": result.depths,
            "edges": [[e.source, e.target, e.action] for e in result.edges],
            "complete": result.complete,
            "truths": truths_of(self.instance, self.claim, result.states) if has_truth else None,
        }

    def state(self, sent: Any, place: str) -> State:
        """Return a state of the model from received codes. Raises TraceError."""
        model = self.instance.model
        codes = _listed(sent, place)
        if len(codes) != model.slots:
            raise TraceError(place, f"has {len(codes)} codes", f"send {model.slots}, one for each slot")
        for code, (lo, hi, element) in zip(codes, self._codes, strict=True):
            if type(code) is not int or not lo <= code <= hi:
                raise TraceError(place, f"{element.label} is {short(code)}", f"send a code of {element.variable.type}, from {lo} to {hi}")
        return tuple(codes)

    @cached_property
    def _codes(self) -> Sequence[tuple[int, int, Element]]:
        """For each slot the lowest and the highest code, and its element."""
        return [(element.variable.type.lo, element.variable.type.hi, element) for element in elements(self.instance.model)]


def _listed(sent: Any, place: str) -> list[Any]:
    if not isinstance(sent, list):
        raise TraceError(place, "is no list", "send a list")
    if len(sent) > MOST_STATES:
        raise TraceError(place, f"has {len(sent):,} entries", f"send at most {MOST_STATES:,}")
    return sent


@dataclass
class Sessions:
    """The sessions of a running explorer, by name."""

    _kept: OrderedDict[str, Session] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def enter(self, opened: Opened) -> dict[str, Any]:
        """Return the document of opened content; for a trace with a session for requests about its states."""
        if not isinstance(opened, Trace):
            return opened.document()
        name = secrets.token_urlsafe(9)
        with self._lock:
            self._kept[name] = Session(opened.witness.instance, opened.witness.property)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return opened.document(name)

    def __getitem__(self, name: Any) -> Session:
        with self._lock:
            session = self._kept.get(name) if isinstance(name, str) else None
            if session is None:
                raise Unknown("session", f"{short(name)} is not open", "open the trace again")
            self._kept.move_to_end(str(name))
            return session


__all__ = ["KEPT", "MOST_STATES", "Session", "Sessions", "Unknown"]
