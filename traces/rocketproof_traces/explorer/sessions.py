"""What a page asks of a running explorer about an opened trace: any state's choices, an expression's values, the state graph.

A session keeps an instance and a property and nothing else: each question brings the states that it is about.
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
"""Sessions that a running explorer keeps; the oldest goes."""
_WORD: Final = re.compile(r"[a-z]+( [a-z]+)?|waiting [0-9]{1,6}/[0-9]{1,6}")
MOST_STATES: Final = 20_000
"""States that one question may be about, and the largest graph."""


class Unknown(TraceError):
    """A session that is not there, or no longer."""


@dataclass(frozen=True, eq=False)
class Session:
    """An instance and the property whose truth is asked."""

    instance: Instance
    claim: Property

    def at(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The choices and the truth in a state. Raises TraceError for what is no state."""
        state = self.state(asked.get("state"), "state")
        before = None if asked.get("before") is None else self.state(asked["before"], "before")
        last = asked.get("truth")
        return document.at(self.instance, self.claim, state, before, last if isinstance(last, str) and _WORD.fullmatch(last) else "")

    def evaluate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """An expression's type and its values as text in each of the states, null where it has none; or an error of one line.

        What speaks of a step has its value in the state from which the step leads to the next one.
        """
        text, given = asked.get("expression"), asked.get("states")
        if not isinstance(text, str):
            raise TraceError("expression", f"is {short(text)}", "send a text")
        states = [self.state(one, f"states[{k}]") for k, one in enumerate(_listed(given, "states"))]
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

    def graph(self, asked: Mapping[str, Any], report: Callable[[str], None]) -> dict[str, Any]:
        """The first states by distance from the initial one, with all steps among them."""
        limit = asked.get("limit", 10_000)
        if type(limit) is not int or not 1 <= limit <= MOST_STATES:
            raise TraceError("limit", f"is {short(limit)}", f"send 1 to {MOST_STATES}")
        try:
            found = reached(self.instance, limit, lambda at: report(f"{at:,} states looked at"))
        except EvaluationError as error:
            raise TraceError("graph", f"an action has no meaning ({error})", "correct the model's guards or types") from None
        asks = self.claim.kind in ("always", "reachable") and any(e.op == "ref" for e in walk(self.claim.formula))
        return {
            "states": [list(state) for state in found.states],
            "depth": found.depths,
            "edges": [[e.source, e.target, e.action] for e in found.edges],
            "complete": found.complete,
            "truths": truths_of(self.instance, self.claim, found.states) if asks else None,
        }

    def state(self, given: Any, place: str) -> State:
        """A state of the model from numbers that somebody sent. Raises TraceError."""
        model = self.instance.model
        codes = _listed(given, place)
        if len(codes) != model.slots:
            raise TraceError(place, f"has {len(codes)} codes", f"send {model.slots}, one for each slot")
        for code, (lo, hi, one) in zip(codes, self._codes, strict=True):
            if type(code) is not int or not lo <= code <= hi:
                raise TraceError(place, f"{one.label} is {short(code)}", f"send a code of {one.variable.type}, from {lo} to {hi}")
        return tuple(codes)

    @cached_property
    def _codes(self) -> Sequence[tuple[int, int, Element]]:
        """For each slot the lowest and the highest code, and what it is."""
        return [(one.variable.type.lo, one.variable.type.hi, one) for one in elements(self.instance.model)]


def _listed(given: Any, place: str) -> list[Any]:
    if not isinstance(given, list):
        raise TraceError(place, "is no list", "send a list")
    if len(given) > MOST_STATES:
        raise TraceError(place, f"has {len(given):,} entries", f"send at most {MOST_STATES:,}")
    return given


@dataclass
class Sessions:
    """The sessions of a running explorer by their names."""

    _kept: OrderedDict[str, Session] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def enter(self, opened: Opened) -> dict[str, Any]:
        """The document of what was opened; of a trace with a session by which its states can be asked."""
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
            found = self._kept.get(name) if isinstance(name, str) else None
            if found is None:
                raise Unknown("session", f"{short(name)} is not open", "open the trace again")
            self._kept.move_to_end(str(name))
            return found


__all__ = ["KEPT", "MOST_STATES", "Session", "Sessions", "Unknown"]
