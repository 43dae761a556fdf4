"""Requests of a page to a running explorer about an opened trace: its state graph, which takes a search.

A session keeps only an instance and a property. All else about the trace's model, the page computes itself.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rocketproof_model import EvaluationError, Instance, Property
from rocketproof_model.language import walk

from ..common.errors import TraceError, short
from ..witness.reached import reached, truths_of
from .opened import Opened, Trace

KEPT: Final = 64
"""The maximum number of sessions; the oldest is dropped."""
MOST_STATES: Final = 20_000
"""The maximum number of states in a graph."""


class Unknown(TraceError):
    """The session does not exist, or no longer."""


@dataclass(frozen=True, eq=False)
class Session:
    """An instance and the property whose truth is shown."""

    instance: Instance
    claim: Property

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
