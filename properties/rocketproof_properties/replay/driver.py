"""One recorded case after the other on some broker: ask, look at what was stored, compare.

What differs between a simulated broker and one that runs is how it is asked, and what it may do otherwise than the recorded one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from rocketproof_impl.remoting.command import Command
from rocketproof_impl.topic import TopicConfig
from rocketproof_protocol.codes import SUCCESS

from ..runs.client import places
from ..steps.vocabulary import plain
from . import comparison
from .cases import ABSENT, Recorded
from .comparison import Comparison, Difference


class CaseReplay(ABC):
    """The cases of one `cfg` on one broker."""

    def __init__(self, cases: Sequence[Recorded]) -> None:
        self.cases = cases

    @abstractmethod
    def play(self) -> Iterator[tuple[Difference, ...]]:
        """The differences of each case, in order."""

    @abstractmethod
    def ask(self, case: Recorded) -> Command | None:
        """The answer to the recorded request, None if none comes in time."""

    @abstractmethod
    def send(self, request: Command) -> Command | None:
        """The broker's answer to any request, None if none comes in time."""

    @abstractmethod
    def topic(self, name: str) -> TopicConfig | None:
        """The broker's entry for a topic."""

    @abstractmethod
    def expected(self, case: Recorded, answer: Command | None, stored: Sequence[bytes | None]) -> tuple[Recorded, int]:
        """The case as it should be on this broker, and how many bytes further its log is."""

    def _view(self, place: int) -> bytes | None:
        """The record at a place of the log, None if the broker finds none there."""
        answer = self.send(plain("view", place=place))
        return answer.body if answer is not None and answer.code == SUCCESS else None

    def compare(self, case: Recorded) -> Iterator[Difference]:
        """Ask once and compare what came of it."""
        answer = self.ask(case)
        looks = case.stored is not None and answer is not None
        stored = [self._view(place) for place in places(answer.ext_fields or {})] if looks and answer is not None else []
        recorded, drift = self.expected(case, answer, stored)
        same = Comparison(case.version, drift)
        yield from same.answer(recorded.answer, answer)
        if recorded.body is not None and answer is not None:
            yield from comparison.body(recorded.body, answer.body)
        if looks:
            yield from same.records(recorded.stored or (), stored)
        if recorded.config != ABSENT:
            assert not isinstance(recorded.config, str)
            yield from comparison.topic(recorded.config, self.topic(case.topic))
