"""Replaying a recording: each `cfg` on a simulated cluster of its own, one case after the other (`rocketproof test --recording`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.remoting.codes import SUCCESS, VIEW_MESSAGE_BY_ID
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_impl.simulator.chance import SimulatedRandomness
from rocketproof_impl.simulator.cluster import NAME_SERVER, Cluster
from rocketproof_profiles import PROFILES, Profile

from . import bodies, differences, middle
from .cases import Recorded, positions, read
from .deliveries import Deliveries, Evidence
from .differences import Difference
from .exceptions import EXCEPTIONS
from .rules import rules_of
from .settings import known_cfg, settings_of

PATIENCE = 20_000
"""Milliseconds to wait for an answer that was recorded; longer than any wait of a broker's own."""


@dataclass(frozen=True)
class Outcome:
    """One case with its differences, none if it is alike. `exception` is why it may differ, "" if it may not."""

    case: Recorded
    differences: tuple[Difference, ...]
    exception: str

    @property
    def alike(self) -> bool:
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
            "alike": self.alike,
            "differences": [vars(one) for one in self.differences],
            "exception": self.exception or None,
        }


@dataclass(frozen=True)
class Report:
    """What came of a recording under a profile."""

    profile: str
    outcomes: tuple[Outcome, ...]

    @property
    def alike(self) -> int:
        return sum(one.alike for one in self.outcomes)

    @property
    def excepted(self) -> tuple[Outcome, ...]:
        return tuple(one for one in self.outcomes if not one.alike and one.exception)

    @property
    def different(self) -> tuple[Outcome, ...]:
        return tuple(one for one in self.outcomes if not one.alike and not one.exception)


def replay(path: Path, profile: str, settings: Sequence[str] = (), report: Callable[[int, int], None] | None = None) -> Report:
    """Send the requests of a recording to the implementation and compare the answers; `report(done, all)` after each case.

    `settings` are texts `name=value` or `cfg:name=value`. Raises RocketproofError for a file that is no recording and for
    settings that are none.
    """
    recording = read(path)
    cases = recording.cases
    for text in settings:
        known_cfg(text, [case.cfg for case in cases])
    outcomes: dict[int, Outcome] = {}
    for cfg in dict.fromkeys(case.cfg for case in cases):
        mine = [(at, case) for at, case in enumerate(cases) if case.cfg == cfg]
        group = [case for _, case in mine]
        stage = Stage(PROFILES[profile], group, settings_of(cfg, group, recording.settings.get(cfg, {}), settings))
        for (at, case), found in zip(mine, stage.play(), strict=True):
            exception = EXCEPTIONS.get((profile, case.version, case.cfg, case.number), "")
            outcomes[at] = Outcome(case, found, exception)
            if report is not None:
                report(len(outcomes), len(cases))
    return Report(profile, tuple(outcomes[at] for at in range(len(cases))))


class Told(SimulatedRandomness):
    """Randomness that draws the queue which a recorded broker drew."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = 0

    def below(self, limit: int) -> int:
        return self.queue % limit

    def int32(self) -> int:
        return self.queue


class Stage:
    """One broker with its name server, and the cases of its `cfg`.

    `drift` is how many bytes further the log is than the recorded one. It is 0 as long as both wrote the same; a case where
    it changes is different, and those after it are compared without it.
    """

    def __init__(self, profile: Profile, cases: Sequence[Recorded], settings: BrokerSettings) -> None:
        self.cases = cases
        self.cluster = Cluster(0, profile=profile)
        node = self.cluster.add(settings, start=False)
        node.random = self.random = Told()
        self.cluster.start(node)
        self.broker = node.running
        self.in_the_middle = middle.begin(self.broker, cases)
        self.deliveries = Deliveries(self.cluster.scheduler, self.broker)
        self.drift = 0

    def play(self) -> Iterator[tuple[Difference, ...]]:
        """The differences of each case, in order."""
        for at, case in enumerate(self.cases):
            later = next((one.positions[0] for one in self.cases[at + 1 :] if one.positions), None)
            yield tuple(self._perform(case, None if later is None else later + self.drift))

    def _perform(self, case: Recorded, later: int | None) -> Iterator[Difference]:
        """Do what the broker did before the case, the case itself, and what came of the time it took."""
        began = self.cluster.clock.now()
        if self.in_the_middle:
            middle.recall(self.broker, case)
        yield from self._reach(case, later)
        self.random.queue = case.random_queue or 0
        found = self._call(case)
        self.broker.store.dispatch()
        yield from differences.of_answer(case, found, self.drift)
        yield from differences.of_body(case, found)
        if case.stored is not None and found is not None:
            yield from differences.of_records(case, [self._view(place) for place in positions(found.ext_fields or {})], self.drift)
        yield from differences.of_topic(case, self.broker.topics.select(case.topic))
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

    def _call(self, case: Recorded) -> Command | None:
        """The answer to the recorded request; None if none comes in time."""
        request = Command(case.code, dict(case.fields), bodies.body(case))
        millis = math.ceil(case.millis) if case.answer.code is None else PATIENCE
        return self._send(NAME_SERVER if case.to_name_server else self.broker.settings.address, request, millis)

    def _view(self, place: int) -> bytes | None:
        """The record at a place of the log, None if the broker finds none there."""
        answer = self._send(self.broker.settings.address, Command(VIEW_MESSAGE_BY_ID, {"offset": str(place)}), PATIENCE)
        return answer.body if answer is not None and answer.code == SUCCESS else None

    def _send(self, address: str, request: Command, millis: int) -> Command | None:
        try:
            return self.cluster.scheduler.complete(self.cluster.caller().call(address, request, millis))
        except RemotingError:
            return None
