"""Replay a recording: the cases of each `cfg` on its own simulated cluster, one after the other (`rocketproof test --recording`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.topic import TopicConfig
from rocketproof_model import interrupts
from rocketproof_profiles import PROFILES, Profile

from .cases import ReplayCase, read
from .comparison import FieldDifference
from .deliveries import Deliveries, DeliveryEvidence
from .driver import SECONDS, CaseReplay
from .rules import rules_of
from .settings import known_cfg, settings_of
from .simulated import ReplayDeployment, begin_log_at, first_place, recall

EXCEPTIONS: dict[tuple[str, str, str, int], str] = {}
"""Why a case may differ, by profile, recorded version, `cfg` and number of the case."""


@dataclass(frozen=True)
class CaseOutcome:
    """One case with its differences, none if they agree. `exception`: why it may differ, "" if it may not."""

    case: ReplayCase
    differences: tuple[FieldDifference, ...]
    exception: str

    @property
    def same(self) -> bool:
        return not self.differences

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that decide the fields that differ, if they are known."""
        return tuple(dict.fromkeys(rule for difference in self.differences for rule in rules_of(self.case, difference.field)))

    def data(self) -> dict[str, Any]:
        return {
            "n": self.case.number,
            "cfg": self.case.cfg,
            "case": self.case.name,
            "alike": self.same,
            "differences": [difference.data() for difference in self.differences],
            "exception": self.exception or None,
        }


@dataclass(frozen=True)
class RecordingReport:
    """The outcomes of a recording under a profile. `stopped`: Ctrl-C ended it, and `outcomes` contains the cases before."""

    profile: str
    outcomes: tuple[CaseOutcome, ...]
    stopped: bool = False

    @property
    def same(self) -> int:
        return sum(outcome.same for outcome in self.outcomes)

    @property
    def excepted(self) -> tuple[CaseOutcome, ...]:
        return tuple(outcome for outcome in self.outcomes if not outcome.same and outcome.exception)

    @property
    def different(self) -> tuple[CaseOutcome, ...]:
        return tuple(outcome for outcome in self.outcomes if not outcome.same and not outcome.exception)


def replay(path: Path, profile: str, settings: Sequence[str] = (), report: Callable[[int, int], None] | None = None) -> RecordingReport:
    """Send the requests of a recording to the implementation and compare the responses. `report(done, all)` is called after each case.

    `settings` are texts `name=value` or `cfg:name=value`. Raises RocketproofError for a file that is not a recording and for invalid
    settings.
    """
    cases, recorded_settings = read(path)
    for text in settings:
        known_cfg(text, [case.cfg for case in cases])
    outcomes, stopped = interrupts.gathered(_outcomes(cases, recorded_settings, profile, settings, report))
    return RecordingReport(profile, tuple(outcome for _, outcome in sorted(outcomes, key=itemgetter(0))), stopped)


def _outcomes(
    cases: Sequence[ReplayCase],
    recorded_settings: Mapping[str, Mapping[str, str]],
    profile: str,
    settings: Sequence[str],
    report: Callable[[int, int], None] | None,
) -> Iterator[tuple[int, CaseOutcome]]:
    """Yield the outcome of each case with its index in the recording."""
    done = 0
    for cfg in dict.fromkeys(case.cfg for case in cases):
        own = [(at, case) for at, case in enumerate(cases) if case.cfg == cfg]
        group = [case for _, case in own]
        replayed = SimulatedReplay(PROFILES[profile], group, settings_of(cfg, group, recorded_settings.get(cfg, {}), settings))
        for (at, case), differences in zip(own, replayed.play(), strict=True):
            exception = EXCEPTIONS.get((profile, case.version, case.cfg, case.number), "")
            done += 1
            if report is not None:
                report(done, len(cases))
            yield at, CaseOutcome(case, differences, exception)


class SimulatedReplay(CaseReplay):
    """The cases of one `cfg` on its own simulated broker with a name server.

    `drift`: bytes by which the log is ahead of the recorded one. It is 0 while both contain the same. A case that changes it is different,
    and later cases are compared with the new drift.
    """

    def __init__(self, profile: Profile, cases: Sequence[ReplayCase], settings: BrokerSettings) -> None:
        self.deployment = ReplayDeployment(profile, settings)
        super().__init__(self.deployment, self.deployment.part, cases)
        self.broker = self.deployment.broker
        first = first_place(cases)
        self.in_the_middle = first > 0
        if self.in_the_middle:
            begin_log_at(self.broker, first)
        self.deliveries = Deliveries(self.deployment)
        self.drift = 0
        self._to_come = [place for case in cases for place in case.positions[:1]]

    def perform(self, case: ReplayCase) -> Iterator[FieldDifference]:
        """Perform what the broker did before the case, the case itself, and the effects of the time it took."""
        del self._to_come[: len(case.positions[:1])]
        later = self._to_come[0] + self.drift if self._to_come else None
        began = self.deployment.cluster.clock.now()
        if self.in_the_middle:
            recall(self.broker, case)
        yield from self._reach(case, later)
        self.deployment.draw.queue = case.random_queue or 0
        yield from self.compare(case)
        self.deliveries.pass_time(began + round(case.millis), later)

    def _reach(self, case: ReplayCase, later: int | None) -> Iterator[FieldDifference]:
        """Let the broker write what the recorded broker wrote by itself. It is a difference if the message still gets another place."""
        place = case.positions[0] + self.drift if case.positions else None
        seen = DeliveryEvidence(place, case.size, later if place is None else place, case.queue)
        self.deliveries.explain(seen)
        if place is not None and not self.deliveries.lands(seen):
            end = self.broker.store.max_phy_offset
            yield FieldDifference("position", place - self.drift, end - self.drift)
            self.drift += end - place

    def ask(self, request: Command, part: str = "", seconds: float = SECONDS) -> Command | None:
        """Return the response after dispatching what the request stored."""
        try:
            return super().ask(request, part, seconds)
        finally:
            self.broker.store.dispatch()

    def topic(self, name: str) -> TopicConfig | None:
        return self.broker.topics.select(name)

    def expected(self, case: ReplayCase, answer: Command | None, stored: Sequence[bytes | None]) -> tuple[ReplayCase, int]:
        return case, self.drift
