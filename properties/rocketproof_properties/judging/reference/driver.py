"""Replay the recorded cases one after the other on a broker of any deployment: send the request, read back what was stored, compare.

Deployments differ in how a topic's entry is read, and in which deviations from the recorded broker are permitted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Final

from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import RemotingError, TimedOut
from rocketproof_impl.topic import TopicConfig
from rocketproof_protocol.codes import SUCCESS
from rocketproof_traces.history.exchange import places
from rocketproof_traces.history.recordings import ABSENT

from ...brokers.connection import Connection
from ...brokers.deployment import Deployment
from ...programs.call import command_of
from ...programs.parts import NAME_SERVER
from ...programs.vocabulary import plain
from . import bodies, comparison
from .cases import ReplayCase
from .comparison import FieldDifference, RunComparison, translated

SECONDS: Final = 20.0
"""Timeout for a recorded response, in seconds. It is longer than any wait of a broker."""


class CaseReplay(ABC):
    """The cases of one `cfg` on one broker. `places` maps recorded places of messages in the log to places on this broker."""

    def __init__(self, deployment: Deployment, broker: str, cases: Sequence[ReplayCase]) -> None:
        self.cases = cases
        self.places: dict[int, int] = {}
        self._deployment = deployment
        self._broker = broker
        self._connections: dict[str, Connection] = {}

    def play(self) -> Iterator[tuple[FieldDifference, ...]]:
        """Yield the differences of each case, in order. Raises RemotingError if the broker is gone."""
        try:
            for case in self.cases:
                yield tuple(self.perform(case))
        finally:
            for connection in self._connections.values():
                connection.close()

    @abstractmethod
    def perform(self, case: ReplayCase) -> Iterator[FieldDifference]:
        """Yield the differences of the next case."""

    @abstractmethod
    def topic(self, name: str) -> TopicConfig | None:
        """Return the broker's entry for a topic."""

    @abstractmethod
    def expected(self, case: ReplayCase, answer: Command | None, stored: Sequence[bytes | None]) -> tuple[ReplayCase, int]:
        """Return the case as expected on this broker, and the bytes by which its log is ahead."""

    def ask(self, request: Command, part: str = "", seconds: float = SECONDS) -> Command | None:
        """Return the response of a part, by default the broker. Returns None and closes the connection if there is no response in time."""
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

    def _ask(self, case: ReplayCase) -> Command | None:
        """Return the response to the recorded request with its messages' places translated. The timeout is the recorded caller's if it got
        no response."""
        request = command_of(case.code, translated(case.fields, self.places), bodies.body(case))
        seconds = case.millis / 1000 if case.answer.code is None else SECONDS
        return self.ask(request, NAME_SERVER if case.to_name_server else "", seconds)

    def _view(self, place: int) -> bytes | None:
        """Return the record at a place of the log, None if the broker has none there."""
        answer = self.ask(plain("view", place=place))
        return answer.body if answer is not None and answer.code == SUCCESS else None

    def compare(self, case: ReplayCase) -> Iterator[FieldDifference]:
        """Send the request once and compare the response and the stored records."""
        answer = self._ask(case)
        stored_at = places(answer.ext_fields or {}) if answer is not None else []
        self.places.update(zip(case.positions, stored_at, strict=False))
        reads_back = case.stored is not None and answer is not None
        stored = [self._view(place) for place in stored_at] if reads_back else []
        recorded, drift = self.expected(case, answer, stored)
        same = RunComparison(case.version, drift)
        yield from same.answer(recorded.answer, answer)
        if recorded.body is not None and answer is not None:
            yield from comparison.body(recorded.body, answer.body)
        if reads_back:
            yield from same.records(recorded.stored or (), stored)
        if recorded.config != ABSENT:
            assert not isinstance(recorded.config, str)
            yield from comparison.topic(recorded.config, self.topic(case.topic))
