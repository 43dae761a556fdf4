"""Requests and their steps: the vocabulary of the search for an order of concurrent steps.

A request is between its invocation and its answer in a state of its own, its *local* state; what all of them see is the *shared* state.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from rocketproof_model.interpreter import State

Local = tuple[int, ...]
GIVEN_UP = "lock_timeout"
"""The one step of a request that waits for a lock, if it has any."""


class RequestStep(NamedTuple):
    """A step of one request. `reads` and `writes` are sets of shared slots, one bit a slot.

    `local` is None when the request has ended as recorded; `dead` when it has ended in another way.
    """

    label: str
    shared: State
    local: Local | None
    reads: int
    writes: int
    dead: bool = False


class Alone(NamedTuple):
    """A way of one request to its end: the labels of its steps before the last, and the last."""

    labels: tuple[str, ...]
    last: RequestStep


class CheckedRequest(Protocol):
    """A request. Two of equal `kind` have the same moves from equal states, up to how they end."""

    @property
    def kind(self) -> Hashable: ...

    @property
    def start(self) -> Local: ...

    @property
    def stateless(self) -> bool:
        """Whether its end is the same in all states, so that no other order explains an answer that one does not."""
        ...

    def moves(self, shared: State, local: Local) -> Sequence[RequestStep]:
        """The next steps. Which there are and what they touch depends on the deciding slots alone."""
        ...

    def alone(self, shared: State, local: Local) -> Alone | None:
        """Its only way to its end if nobody else moves, where others see its last step alone, and what they do next does not depend on
        that; None where there is no such way."""
        ...

    def forced(self, shared: State, local: Local) -> RequestStep | None:
        """A step, not the last, that nobody sees, without which the request cannot end as recorded, whatever others do before it is taken,
        and that leads to one and the same place whenever it is taken."""
        ...

    def future(self, local: Local) -> tuple[int, int]:
        """The slots that it may read and write on its way to the recorded end, whatever others do. More than it does is allowed."""
        ...

    def canonical(self, local: Local) -> Local:
        """The local state without what it never looks at again."""
        ...


@dataclass(eq=False)
class ResponsePoint:
    """A place in a history where a request ends; `pending` are the others that are open there, the endless ones among them."""

    request: int
    seq: int
    pending: tuple[int, ...]


def answers_of(opened: Sequence[tuple[int, int, int | None]]) -> list[ResponsePoint]:
    """The ends of requests in order, each with what else is open there. `opened`: from which event on a request is open, its number, and
    the event at which it ended."""
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
    """A state of the search: what is shared, and the local states of open requests that have moved; None: it is over."""

    shared: State
    moved: tuple[tuple[int, Local | None], ...] = ()


class ExplanationStep(NamedTuple):
    """A step of an explanation: which request did what."""

    request: int
    label: str


class SearchBound(NamedTuple):
    """How long a search goes on: how many `states` it may expand, and how many `seconds` of computing it may spend after the last
    answer that it explained, None for as many as it takes."""

    states: int = 1_000_000
    seconds: float | None = None


@dataclass
class SearchEnd:
    """How a search ended: `end` is the number of answers explained; `stuck` are the states that reached the answer after them.

    `bound` says which bound stopped it, nothing if none did. `steps` is one order that explains the first `end` answers.
    """

    end: int
    complete: bool
    bound: str
    expanded: int
    stuck: list[Point]
    steps: list[ExplanationStep]


__all__ = [
    "GIVEN_UP",
    "Alone",
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
