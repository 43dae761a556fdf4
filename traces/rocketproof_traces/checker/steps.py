"""Requests and their steps: the vocabulary of the search for an order of concurrent steps.

Between its invocation and its answer a request has a *local* state. The *shared* state is visible to all requests.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from rocketproof_model.interpreter import State

Local = tuple[int, ...]
GIVEN_UP = "lock_timeout"
"""The label of the step in which a request's wait for a lock times out."""


class RequestStep(NamedTuple):
    """A step of one request.

    - `shared`, `local`: the states after the step. `local` is None if the request has ended as recorded.
    - `dead`: the request has ended differently from the recording.
    - `reads`, `writes`: sets of shared slots, one bit per slot.
    """

    label: str
    shared: State
    local: Local | None
    reads: int
    writes: int
    dead: bool = False


class OnlyPath(NamedTuple):
    """The only path of a request to its end: the labels of its steps before the last, and the last step."""

    labels: tuple[str, ...]
    last: RequestStep


class CheckedRequest(Protocol):
    """A request that the search orders. Two requests of equal `kind` have the same moves from equal states, except for how they end."""

    @property
    def kind(self) -> Hashable: ...

    @property
    def start(self) -> Local: ...

    @property
    def stateless(self) -> bool:
        """Whether it ends in the same way in all states. If one order does not explain its answer, then no order does."""
        ...

    def moves(self, shared: State, local: Local) -> Sequence[RequestStep]:
        """Return the possible next steps. Only the deciding slots determine which steps exist and which slots they touch."""
        ...

    def only_path(self, shared: State, local: Local) -> OnlyPath | None:
        """Return its only path to its end while no other request moves; None if there is no such path.

        Other requests see only the last step of the path. Their next steps do not depend on that step.
        """
        ...

    def forced(self, shared: State, local: Local) -> RequestStep | None:
        """Return a step that the request must take to end as recorded, whatever others do first; None if there is no such step.

        It is not the last step, no other request sees it, and it has the same result whenever it is taken.
        """
        ...

    def future(self, local: Local) -> tuple[int, int]:
        """Return the slots that it may read and write before the recorded end, whatever others do. The sets may be larger than needed."""
        ...

    def canonical(self, local: Local) -> Local:
        """Return the local state with all slots reset that it never reads again."""
        ...


@dataclass(eq=False)
class ResponsePoint:
    """A position in a history where a request ends. `pending` are the other requests that are open there, including those that never
    end."""

    request: int
    seq: int
    pending: tuple[int, ...]


def answers_of(opened: Sequence[tuple[int, int, int | None]]) -> list[ResponsePoint]:
    """Return the ends of requests in order, each with the requests that are open there. `opened` has for each request the event from
    which on it is open, its number, and the event at which it ended."""
    events = [(seq, 0, request) for seq, request, _ in opened]
    events += [(end, 1, request) for _, request, end in opened if end is not None]
    events.sort()
    pending: dict[int, None] = {}
    answers = []
    for seq, ends, request in events:
        if ends:
            del pending[request]
            answers.append(ResponsePoint(request, seq, tuple(pending)))
        else:
            pending[request] = None
    return answers


class Point(NamedTuple):
    """A state of the search: the shared state, and the local states of open requests that have moved. None: the request has ended."""

    shared: State
    moved: tuple[tuple[int, Local | None], ...] = ()


class ExplanationStep(NamedTuple):
    """A step of an explanation: the request's number and the step's label."""

    request: int
    label: str


class SearchBound(NamedTuple):
    """The limits of a search.

    - `states`: maximum number of expanded states.
    - `seconds`: maximum computing time for one more explained answer; None for no limit.
    """

    states: int = 1_000_000
    seconds: float | None = None


@dataclass
class SearchEnd:
    """The result of a search. `end` is the number of explained answers; `stuck` are the states that reached the answer after them.

    `bound` names the bound that stopped the search, empty if none did. `steps` is an order that explains the first `end` answers.
    """

    end: int
    complete: bool
    bound: str
    expanded: int
    stuck: list[Point]
    steps: list[ExplanationStep]


OVER: Local = (0,)
"""The only local state of a request with one step."""


class OneStep:
    """A request that takes effect in one step."""

    @property
    def stateless(self) -> bool:
        return False

    def only_path(self, shared: State, local: Local) -> OnlyPath | None:
        return None

    def forced(self, shared: State, local: Local) -> RequestStep | None:
        return None

    def future(self, local: Local) -> tuple[int, int]:
        return 0, -1

    def canonical(self, local: Local) -> Local:
        return local


__all__ = [
    "OVER",
    "OneStep",
    "GIVEN_UP",
    "OnlyPath",
    "ResponsePoint",
    "SearchBound",
    "Local",
    "RequestStep",
    "Point",
    "CheckedRequest",
    "SearchEnd",
    "ExplanationStep",
    "answers_of",
]
