"""Findings: the first event of a partition that no state explains, and its texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from rocketproof_model.interpreter import State

from ..common.refusal import Refusal
from ..history.exchange import Exchange
from .machine import Machine
from .queries import MaxOffsetQuery, OffsetQuery, RouteQuery, TopicConfigQuery
from .sends import Send
from .steps import CheckedRequest


@dataclass(frozen=True)
class UnexplainedEvent:
    """The first event of a partition that no state explains.

    `prefix` are the numbers of the partition's events that are explained. `steps` is an order of steps that explains them, and `state` is
    the broker's state after these steps.
    """

    part: str
    seq: int
    process: str
    op: str
    recorded: str
    refused: Refusal
    prefix: tuple[int, ...]
    steps: tuple[str, ...]
    state: Mapping[str, Any]
    order: tuple[int, ...] = ()
    """The requests of that order, by the events that began them, each at the position of its last step."""

    def __str__(self) -> str:
        return f"{self.place}: recorded {self.recorded}; {self.refused}"

    @property
    def place(self) -> str:
        """The event with its process and partition."""
        return f"event {self.seq} ({self.op} of {self.process}; {self.part})"

    def data(self) -> dict[str, Any]:
        shown = {name: value for name, value in vars(self).items() if name != "order"}
        return {**shown, "refused": self.refused.data(), "prefix": list(self.prefix), "steps": list(self.steps)}


class Located(NamedTuple):
    """A finding, the states expanded to find its event, and what a bound left undecided about it."""

    finding: UnexplainedEvent
    expanded: int
    unknown: str = ""


def recorded_text(request: CheckedRequest, exchange: Exchange | None) -> str:
    """Return the recorded answer to a request as text."""
    if isinstance(request, Send):
        return str(request.ended)
    if isinstance(request, TopicConfigQuery):
        return f"topic {request.config or 'unknown'}"
    if isinstance(request, RouteQuery):
        return f"code {request.code}, route {request.config or 'unknown'}"
    if isinstance(request, MaxOffsetQuery):
        return f"offset {request.offset} of queue {request.queue}"
    if isinstance(request, OffsetQuery):
        return f"code {request.code}, offset {'none' if request.offset is None else request.offset}"
    return f"code {exchange.code if exchange is not None else None}"


def readable_state(machine: Machine, topics: Mapping[str, int], shared: State) -> dict[str, Any]:
    """Return the configurations and the queue counters of these topics as JSON values."""
    configs = {}
    for name, topic in topics.items():
        config = machine.config(shared, topic)
        configs[name] = None if config is None else vars(config)
    counters = {
        f"{name}-{queue}": shared[machine.offset_slot(topic, queue)]
        for name, topic in topics.items()
        for queue in machine.queues
        if shared[machine.offset_slot(topic, queue)]
    }
    return {"topics": configs, "offsets": counters}


__all__ = ["Located", "UnexplainedEvent", "readable_state", "recorded_text"]
