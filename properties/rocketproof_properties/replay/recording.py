"""Replaying a recording: each `cfg` on a simulated cluster of its own, one case after the other (`rocketproof test --recording`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.topic import TopicConfig
from rocketproof_profiles import PROFILES, Profile

from . import bodies, middle
from .cases import Recorded, read
from .comparison import Difference
from .deliveries import Deliveries, Evidence
from .driver import CaseReplay
from .exceptions import EXCEPTIONS
from .rules import rules_of
from .settings import known_cfg, settings_of
from .simulated import PATIENCE, SimulatedBroker


@dataclass(frozen=True)
class Outcome:
    """One case with its differences, none if it is alike. `exception` is why it may differ, "" if it may not."""

    case: Recorded
    differences: tuple[Difference, ...]
    exception: str

    @property
    def same(self) -> bool:
        return not self.differences

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that decide the fields that differ, as far as they are known."""
        return tuple(dict.fromkeys(rule for one in self.differences for rule in rules_of(self.case, one.field)))

    def data(self) -> dict[str, Any]:
        return {
            "n": self.case.number,
            "cfg": self.case.cfg,
            "case": self.case.name,
            "alike": self.same,
            "differences": [one.data() for one in self.differences],
            "exception": self.exception or None,
        }


@dataclass(frozen=True)
class Report:
    """What came of a recording under a profile."""

    profile: str
    outcomes: tuple[Outcome, ...]

    @property
    def same(self) -> int:
        return sum(one.same for one in self.outcomes)

    @property
    def excepted(self) -> tuple[Outcome, ...]:
        return tuple(one for one in self.outcomes if not one.same and one.exception)

    @property
    def different(self) -> tuple[Outcome, ...]:
        return tuple(one for one in self.outcomes if not one.same and not one.exception)


def replay(path: Path, profile: str, settings: Sequence[str] = (), report: Callable[[int, int], None] | None = None) -> Report:
    """Send the requests of a recording to the implementation and compare the answers; `report(done, all)` after each case.

    `settings` are texts `name=value` or `cfg:name=value`. Raises RocketproofError for a file that is not a recording and for
    settings that are not ones.
    """
    recording = read(path)
    cases = recording.cases
    for text in settings:
        known_cfg(text, [case.cfg for case in cases])
    outcomes: dict[int, Outcome] = {}
    for cfg in dict.fromkeys(case.cfg for case in cases):
        mine = [(at, case) for at, case in enumerate(cases) if case.cfg == cfg]
        group = [case for _, case in mine]
        stage = SimulatedReplay(PROFILES[profile], group, settings_of(cfg, group, recording.settings.get(cfg, {}), settings))
        for (at, case), found in zip(mine, stage.play(), strict=True):
            exception = EXCEPTIONS.get((profile, case.version, case.cfg, case.number), "")
            outcomes[at] = Outcome(case, found, exception)
            if report is not None:
                report(len(outcomes), len(cases))
    return Report(profile, tuple(outcomes[at] for at in range(len(cases))))


class SimulatedReplay(CaseReplay):
    """The cases of one `cfg` on a simulated broker of its own, with its name server.

    `drift` is how many bytes further the log is than the recorded one. It is 0 as long as both wrote the same; a case where
    it changes is different, and those after it are compared without it.
    """

    def __init__(self, profile: Profile, cases: Sequence[Recorded], settings: BrokerSettings) -> None:
        super().__init__(cases)
        self.simulated = SimulatedBroker(profile, settings)
        self.broker = self.simulated.broker
        first = middle.first_place(cases)
        self.in_the_middle = first > 0
        if self.in_the_middle:
            self.simulated.begin_log_at(first)
        self.deliveries = Deliveries(self.simulated)
        self.drift = 0

    def play(self) -> Iterator[tuple[Difference, ...]]:
        for at, case in enumerate(self.cases):
            later = next((one.positions[0] for one in self.cases[at + 1 :] if one.positions), None)
            yield tuple(self._perform(case, None if later is None else later + self.drift))

    def _perform(self, case: Recorded, later: int | None) -> Iterator[Difference]:
        """Do what the broker did before the case, the case itself, and what came of the time it took."""
        began = self.simulated.cluster.clock.now()
        if self.in_the_middle:
            middle.recall(self.broker, case)
        yield from self._reach(case, later)
        yield from self.compare(case)
        self.deliveries.pass_time(began + round(case.millis), later)

    def _reach(self, case: Recorded, later: int | None) -> Iterator[Difference]:
        """Let the broker write what the recorded one had written by itself; different if the message still lands elsewhere."""
        place = case.positions[0] + self.drift if case.positions else None
        seen = Evidence(place, case.size, later if place is None else place, case.queue)
        self.deliveries.explain(seen)
        if place is not None and not self.deliveries.lands(seen):
            end = self.broker.store.max_phy_offset
            yield Difference("position", place - self.drift, end - self.drift)
            self.drift += end - place

    def ask(self, case: Recorded) -> Command | None:
        request = Command(case.code, dict(case.fields), bodies.body(case))
        millis = math.ceil(case.millis) if case.answer.code is None else PATIENCE
        return self.simulated.ask(request, name_server=case.to_name_server, drawn=case.random_queue or 0, millis=millis)

    def send(self, request: Command) -> Command | None:
        return self.simulated.ask(request)

    def topic(self, name: str) -> TopicConfig | None:
        return self.broker.topics.select(name)

    def expected(self, case: Recorded, answer: Command | None, stored: Sequence[bytes | None]) -> tuple[Recorded, int]:
        return case, self.drift
