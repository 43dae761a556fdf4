"""One recorded case after the other on a broker of some deployment: ask, look at what was stored, compare.

What differs between deployments is how a topic's entry is seen, and what the broker may do otherwise than the recorded one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Final

from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import RemotingError, TimedOut
from rocketproof_impl.topic import TopicConfig
from rocketproof_protocol.codes import SUCCESS

from ...brokers.connection import Connection
from ...brokers.deployment import Deployment
from ...brokers.runs.client import places
from ...programs.call import command_of
from ...programs.parts import NAME_SERVER
from ...programs.vocabulary import plain
from . import bodies, comparison
from .cases import ABSENT, RecordedCase, here
from .comparison import FieldDifference, RunComparison

SECONDS: Final = 20.0
"""How long to wait for an answer that was recorded; longer than any wait of a broker's own."""


class CaseReplay(ABC):
    """The cases of one `cfg` on one broker. `places`: the recorded places of messages in the log to those that they have here."""

    def __init__(self, deployment: Deployment, broker: str, cases: Sequence[RecordedCase]) -> None:
        self.cases = cases
        self.places: dict[int, int] = {}
        self._deployment = deployment
        self._broker = broker
        self._connections: dict[str, Connection] = {}

    def play(self) -> Iterator[tuple[FieldDifference, ...]]:
        """The differences of each case, in order. Raises RemotingError if the broker is gone."""
        try:
            for case in self.cases:
                yield tuple(self.perform(case))
        finally:
            for connection in self._connections.values():
                connection.close()

    @abstractmethod
    def perform(self, case: RecordedCase) -> Iterator[FieldDifference]:
        """The differences of the next case."""

    @abstractmethod
    def topic(self, name: str) -> TopicConfig | None:
        """The broker's entry for a topic."""

    @abstractmethod
    def expected(self, case: RecordedCase, answer: Command | None, stored: Sequence[bytes | None]) -> tuple[RecordedCase, int]:
        """The case as it should be on this broker, and how many bytes further its log is."""

    def ask(self, request: Command, part: str = "", seconds: float = SECONDS) -> Command | None:
        """What a part, the broker unless named, answers; None if nothing comes in time, and the connection is given up then."""
        part = part or self._broker
        connection = self._connections.get(part) or self._deployment.connect(part)
        self._connections[part] = connection
        try:
            return connection.ask(request, seconds)
        except RemotingError as problem:
            self._connections.pop(part).close()
            if isinstance(problem, TimedOut):
                return None
            raise

    def _ask(self, case: RecordedCase) -> Command | None:
        """The answer to the recorded request, with the places of its messages here; one that got none waits as long as its caller did."""
        request = command_of(case.code, here(case.fields, self.places), bodies.body(case))
        seconds = case.millis / 1000 if case.answer.code is None else SECONDS
        return self.ask(request, NAME_SERVER if case.to_name_server else "", seconds)

    def _view(self, place: int) -> bytes | None:
        """The record at a place of the log, None if the broker finds none there."""
        answer = self.ask(plain("view", place=place))
        return answer.body if answer is not None and answer.code == SUCCESS else None

    def compare(self, case: RecordedCase) -> Iterator[FieldDifference]:
        """Ask once and compare what came of it."""
        answer = self._ask(case)
        found = places(answer.ext_fields or {}) if answer is not None else []
        self.places.update(zip(case.positions, found, strict=False))
        looks = case.stored is not None and answer is not None
        stored = [self._view(place) for place in found] if looks else []
        recorded, drift = self.expected(case, answer, stored)
        same = RunComparison(case.version, drift)
        yield from same.answer(recorded.answer, answer)
        if recorded.body is not None and answer is not None:
            yield from comparison.body(recorded.body, answer.body)
        if looks:
            yield from same.records(recorded.stored or (), stored)
        if recorded.config != ABSENT:
            assert not isinstance(recorded.config, str)
            yield from comparison.topic(recorded.config, self.topic(case.topic))
