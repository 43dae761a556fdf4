"""Determine a broker's level: run the trials of each level from the lowest, until one fails.

The result is deliberately short: the level reached, the first request that fails the next level with its response, and the other requests
that are not served.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from rocketproof_model import interrupts
from rocketproof_profiles import PROFILES
from rocketproof_protocol import codes
from rocketproof_protocol.numbers import whole_number
from rocketproof_traces.history.exchange import Exchange

from ..brokers.comeback import come_back
from ..brokers.deployment import Deployment, TargetError, ValidationTarget
from ..brokers.runs.parsed import ParsedHistory, load
from ..brokers.runs.performing import perform
from ..brokers.runs.readback import Reader
from ..brokers.runs.runner import Bounds, Gone, Runner
from ..catalogue.history import OK
from ..judging.judging import judge_file
from ..judging.reference.findings import of_difference
from ..judging.reference.program import ReferenceReplay
from ..judging.verdicts import JudgedProgram, ProgramFinding
from ..programs.program import Program
from ..reports.exitcode import exit_code
from ..reports.results import tool
from .entries import entry_of
from .levels import LEVELS, REQUESTS, Level, LevelTrial, level_of_finding
from .report import HISTORIES
from .unserved import Unserved, response_text, unserved

SCHEMA: Final = "rocketproof-levels"
VERSION: Final = 1


@dataclass(frozen=True)
class LevelFailure:
    """Why a level was not reached.

    `text` explains it, `id` is the entry of the catalogue, "" if nothing could be judged. `request` and `answer` are the first wrong
    exchange, "" if there is no single exchange.
    """

    text: str
    request: str = ""
    answer: str = ""
    id: str = ""


@dataclass(frozen=True)
class LevelResult:
    """The result of a level.

    `failed` is None if it was reached. `untried` are the trials that could not be run, with the reason. `undecided` are the parts that the
    specification's judge left open, with the bound that it reached.
    """

    level: Level
    number: int
    failed: LevelFailure | None = None
    untried: tuple[str, ...] = ()
    tried: int = 0
    requests: int = 0
    seconds: float = 0.0
    history: str = ""
    undecided: tuple[str, ...] = ()

    @property
    def reached(self) -> bool:
        """Whether at least one trial was run, and all trials are known to be correct."""
        return self.failed is None and self.tried > 0 and not self.undecided

    def data(self) -> dict[str, Any]:
        row: dict[str, Any] = {"level": self.number, "name": self.level.name, "sentence": self.level.sentence, "reached": self.reached}
        row |= {
            "failed": None if self.failed is None else vars(self.failed),
            "untried": list(self.untried),
            "undecided": list(self.undecided),
        }
        return row | {"requests": self.requests, "seconds": round(self.seconds, 3), "history": self.history}


@dataclass
class LevelReport:
    """The levels that a target reached. `results` end with the level that was not reached. `wanted` is the highest level requested."""

    target: str
    version: str
    profile: str
    wanted: int = len(LEVELS)
    results: list[LevelResult] = field(default_factory=list)
    unserved: tuple[Unserved, ...] = ()
    began: str = ""
    seconds: float = 0.0

    @property
    def level(self) -> int:
        """The highest level reached, 0 for none. A level that could not be tried is skipped; an undecided level ends the sequence."""
        decided = itertools.takewhile(lambda result: not result.undecided, self.results)
        return max((result.number for result in decided if result.reached), default=0)

    @property
    def next(self) -> LevelResult | None:
        """The level that was not reached."""
        return next((result for result in self.results if result.failed is not None), None)

    @property
    def exit_code(self) -> int:
        return exit_code(findings=self.next is not None, undecided=self.level != self.wanted)

    @property
    def short(self) -> str:
        """A short text such as `level 3 of 6: keeps queues`."""
        name = LEVELS[self.level - 1].name if self.level else "nothing yet"
        return f"level {self.level} of {len(LEVELS)}: {name}"

    def data(self) -> dict[str, Any]:
        """Return JSON values."""
        return {
            "schema": SCHEMA,
            "version": VERSION,
            "tool": tool(),
            "target": {"name": self.target, "version": self.version},
            "profile": self.profile,
            "began": self.began,
            "seconds": round(self.seconds, 3),
            "level": self.level,
            "of": len(LEVELS),
            "wanted": self.wanted,
            "name": LEVELS[self.level - 1].name if self.level else "",
            "levels": [entry.data() for entry in self.results],
            "unserved": [vars(entry) for entry in self.unserved],
            "exit": self.exit_code,
        }


Progress = Callable[[str, int, int], None]


def try_levels(
    target: ValidationTarget,
    folder: Path,
    mark: str,
    *,
    wanted: int = len(LEVELS),
    name_server: str | None = None,
    progress: Progress = lambda what, done, all_: None,
) -> LevelReport:
    """Try the levels up to `wanted` on a new deployment.

    An interrupt skips the rest. Raises TargetError if the target cannot be set up, and KeyboardInterrupt before the first level is decided.
    """
    began = time.monotonic()
    report = LevelReport(target.name, target.version, target.profile, wanted, began=datetime.now(UTC).isoformat(timespec="seconds"))
    (folder / HISTORIES).mkdir(parents=True, exist_ok=True)
    with target.open() as running:
        report.version = target.version
        running.name_server = name_server or running.name_server
        report.unserved = tuple(unserved(running, mark))
        tester = _LevelTester(running, target, folder / HISTORIES, mark, report.unserved)
        try:
            for number, level in enumerate(LEVELS[:wanted], 1):
                progress("level", number, wanted)
                report.results.append(tester.try_level(level, number))
                if report.next is not None:
                    break
        except KeyboardInterrupt:
            if not report.results:
                raise
            interrupts.heard()
        finally:
            tester.close()
    report.seconds = time.monotonic() - began
    return report


class _LevelTester:
    """Runs the trials on a running target, and judges them."""

    def __init__(self, running: Deployment, target: ValidationTarget, folder: Path, mark: str, not_served: Sequence[Unserved]) -> None:
        self._running, self._target, self._folder, self._mark = running, target, folder, mark
        self._numbers = itertools.count(1)
        self._not_served = {request.step: request for request in not_served}
        self._runner: Runner | None = None

    def close(self) -> None:
        if self._runner is not None:
            self._runner.close()

    def try_level(self, level: Level, number: int) -> LevelResult:
        began, untried, tried, requests, history = time.monotonic(), [], 0, 0, ""
        undecided: list[str] = []
        failed: LevelFailure | None = None
        for trial in level.trials:
            why = self._missing(trial)
            if why:
                untried.append(why)
                continue
            tried += 1
            try:
                path, reader = self._perform(trial, level, number)
            except TargetError as problem:
                failed = LevelFailure(str(problem))
                break
            history = f"{path.parent.name}/{path.name}"
            judged, parsed = judge_file(path, self._target.profile), load(path)
            requests += judged.requests
            failed = self._first_failure(level, number, judged, parsed, reader)
            if failed is not None:
                break
            undecided += judged.unknown
        return LevelResult(level, number, failed, tuple(untried), tried, requests, time.monotonic() - began, history, tuple(undecided))

    def _missing(self, trial: LevelTrial) -> str:
        """Return why a trial cannot be run, "" if it can."""
        if trial.name_server and self._running.name_server is None:
            return "no name server is known; give --nameserver"
        missing = sorted(capability.value for capability in trial.needs - self._running.offers)
        return f"the target does not offer {', '.join(missing)}, which the part with a {trial.interruption} needs" if missing else ""

    def _perform(self, trial: LevelTrial, level: Level, number: int) -> tuple[Path, Reader]:
        """Run a trial.

        Return its history, and the reader of the state that it left. Raises TargetError if the broker is gone or does not start again.
        """
        if self._runner is None:
            origin = {"target": {"name": self._target.name}, "profile": self._target.profile}
            passed_over = {name for name in self._not_served if name not in level.asks}
            self._runner = Runner(self._running, self._folder, origin, Bounds(1), self._mark, numbers=self._numbers, unserved=passed_over)
        runner = self._runner
        under_way = runner.begin(Program(number, f"level {number}: {level.name}", (*trial.steps, *trial.after)))
        broker = under_way.context.broker
        reader = runner.reader(broker)
        reader.refused.clear()
        try:
            perform(trial.steps, under_way.clients, lambda: False)
            if trial.interruption:
                getattr(self._running, trial.interruption)(broker)
                come_back(self._running, broker)
                under_way.recording.add("info", broker, "restart", {"after": trial.interruption})
                for client in under_way.clients.values():
                    client.close()
                perform(trial.after, under_way.clients, lambda: False)
            with suppress(Gone):  # the missing responses explain the failure better
                runner.end(under_way)
        finally:
            under_way.close()
        return under_way.path, reader

    def _first_failure(
        self, level: Level, number: int, judged: JudgedProgram, parsed: ParsedHistory, reader: Reader
    ) -> LevelFailure | None:
        """Return the first failure of a trial, in the order of its requests; None if there is none."""
        requests = [entry for at, entry in enumerate(parsed.exchanges) if not _is_repeated(parsed.exchanges[at : at + 2])]
        for entry in requests:
            if not entry.one_way and entry.code not in OK:
                return LevelFailure(f"it has to be answered {response_text(codes.SUCCESS, None)}", _request(entry), _answer(entry))
        for name in level.asks:
            if name in reader.unsupported and name in REQUESTS:
                return self._unserved_failure(name)
        contradictions = [
            entry
            for entry in (*judged.findings, *self._never_done(parsed))
            if 0 < level_of_finding(entry.property, entry_of(entry)) <= number
        ]
        if contradictions:
            return _contradiction(min(contradictions, key=lambda entry: (entry.seq < 0, entry.seq)), parsed)
        missing = sorted(level.exercised - judged.exercised)
        return self._unreadable(missing, requests, reader) if missing else None

    def _never_done(self, parsed: ParsedHistory) -> Iterator[ProgramFinding]:
        """Yield differences from the reference implementation if the trial has one-way requests.

        They are final, because each such trial ends with a wait.
        """
        if any(request.one_way for request in parsed.exchanges):
            for difference in ReferenceReplay(parsed, PROFILES[self._target.profile], parsed.items).compare():
                yield of_difference(difference, parsed)

    def _unreadable(self, missing: Sequence[str], requests: Sequence[Exchange], reader: Reader) -> LevelFailure:
        """Return the failure of a trial that shows no deviation because its effects could not be read."""
        text = f"what came says too little to judge by {', '.join(missing)}"
        for name, answer in reader.refused.items():
            return LevelFailure(text, f"{name}, to look", response_text(answer.code, answer.remark))
        if reader.faults:
            return LevelFailure(text, "to look", reader.faults[-1])
        return LevelFailure(f"{text}: can its body be read?", *((_request(requests[-1]), _answer(requests[-1])) if requests else ()))

    def _unserved_failure(self, name: str) -> LevelFailure:
        known = self._not_served.get(name)
        if known is None:
            return LevelFailure("it has to be served", name, response_text(codes.REQUEST_CODE_NOT_SUPPORTED, None))
        return LevelFailure(f"without it is lost: {known.lost}", f"{known.request} ({known.code})", known.answer)


def _is_repeated(requests: Sequence[Exchange]) -> bool:
    """Return whether a route was requested twice in a row, because the first request may have been sent before the registration."""
    return len(requests) == 2 and requests[0].op == "route" == requests[1].op and requests[0].fields == requests[1].fields


def _request(exchange: Exchange) -> str:
    fields = {name: exchange.fields[name] for name in ("topic", "queueId", "group", "offset", "delayLevel") if name in exchange.fields}
    shown = ", ".join(f"{name}={value}" for name, value in fields.items())
    code = whole_number(exchange.request["code"])
    return f"{codes.REQUESTS.get(code, code)} ({code}) {shown}".strip()


def _answer(exchange: Exchange) -> str:
    if exchange.code is None:
        return str(exchange.outcome.get("error") or "no answer")
    fields: Mapping[str, str] = exchange.outcome.get("fields") or {}
    shown = ", ".join(f"{name}={fields[name]}" for name in ("queueId", "queueOffset", "msgId") if name in fields)
    return " ".join(filter(None, [response_text(exchange.code, exchange.outcome.get("remark")), shown]))


def _contradiction(verdict: ProgramFinding, parsed: ParsedHistory) -> LevelFailure:
    about = next((exchange for exchange in parsed.exchanges if verdict.seq in (exchange.seq, exchange.end)), None)
    failed = LevelFailure("") if about is None else LevelFailure("", _request(about), _answer(about))
    return LevelFailure(verdict.text, failed.request, failed.answer, entry_of(verdict))
