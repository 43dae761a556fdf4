"""How far a broker comes on the ladder: its trials from the bottom, until one is not as described.

What comes of it is short on purpose: the level that was reached, the first request that did not do what the next one takes, with its
answer, and which other requests are not served.
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
from ..judging.judging import JudgedProgram, ProgramFinding, judge_file, of_difference
from ..judging.reference.program import ReferenceReplay
from ..programs.program import Program
from ..reports.exitcode import exit_code
from ..reports.results import tool
from .entries import entry_of
from .ladder import LEVELS, REQUESTS, Level, LevelTrial, level_of_finding
from .report import HISTORIES
from .unserved import Unserved, said, unserved

SCHEMA: Final = "rocketproof-levels"
VERSION: Final = 1


@dataclass(frozen=True)
class Failed:
    """Why a level was not reached: `text`, by the entry `id` of the catalogue, "" where nothing came that could be judged. `request` and
    `answer` are the first that are not as they should be, "" where it is no single one."""

    text: str
    request: str = ""
    answer: str = ""
    id: str = ""


@dataclass(frozen=True)
class Rung:
    """A level that was tried: `failed` if it was not reached; `untried` says which parts of it could not be tried, and why; `undecided`
    names what the specification's judge left open, with the bound that it reached."""

    level: Level
    number: int
    failed: Failed | None = None
    untried: tuple[str, ...] = ()
    tried: int = 0
    requests: int = 0
    seconds: float = 0.0
    history: str = ""
    undecided: tuple[str, ...] = ()

    @property
    def reached(self) -> bool:
        """Whether something of it was tried, and all of that is known to be as it should be."""
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
class Climb:
    """How far a target came. `rungs` go up to the one that was not reached; `wanted` is the highest that somebody asked for."""

    target: str
    version: str
    profile: str
    wanted: int = len(LEVELS)
    rungs: list[Rung] = field(default_factory=list)
    unserved: tuple[Unserved, ...] = ()
    began: str = ""
    seconds: float = 0.0

    @property
    def level(self) -> int:
        """The number of the level that was reached, 0 for none. One that could not be tried is neither reached nor in the way; one that
        was not decided is in the way."""
        decided = itertools.takewhile(lambda one: not one.undecided, self.rungs)
        return max((one.number for one in decided if one.reached), default=0)

    @property
    def next(self) -> Rung | None:
        """The level that was not reached."""
        return next((one for one in self.rungs if one.failed is not None), None)

    @property
    def exit_code(self) -> int:
        return exit_code(findings=self.next is not None, undecided=self.level != self.wanted)

    @property
    def short(self) -> str:
        """`level 3 of 6: keeps queues`."""
        name = LEVELS[self.level - 1].name if self.level else "nothing yet"
        return f"level {self.level} of {len(LEVELS)}: {name}"

    def data(self) -> dict[str, Any]:
        """As JSON values."""
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
            "levels": [one.data() for one in self.rungs],
            "unserved": [vars(one) for one in self.unserved],
            "exit": self.exit_code,
        }


Progress = Callable[[str, int, int], None]


def climb(
    target: ValidationTarget,
    folder: Path,
    mark: str,
    *,
    wanted: int = len(LEVELS),
    name_server: str | None = None,
    progress: Progress = lambda what, done, all_: None,
) -> Climb:
    """Try the levels up to one on a deployment of their own. An interrupt leaves out the rest. Raises TargetError where the target cannot
    be set up, and KeyboardInterrupt before the first level is decided."""
    began = time.monotonic()
    found = Climb(target.name, target.version, target.profile, wanted, began=datetime.now(UTC).isoformat(timespec="seconds"))
    (folder / HISTORIES).mkdir(parents=True, exist_ok=True)
    with target.open() as running:
        found.version = target.version
        running.name_server = name_server or running.name_server
        found.unserved = tuple(unserved(running, mark))
        climber = _Climber(running, target, folder / HISTORIES, mark, found.unserved)
        try:
            for number, level in enumerate(LEVELS[:wanted], 1):
                progress("level", number, wanted)
                found.rungs.append(climber.rung(level, number))
                if found.next is not None:
                    break
        except KeyboardInterrupt:
            if not found.rungs:
                raise
            interrupts.heard()
        finally:
            climber.close()
    found.seconds = time.monotonic() - began
    return found


class _Climber:
    """Performs the trials on a running target, and judges them."""

    def __init__(self, running: Deployment, target: ValidationTarget, folder: Path, mark: str, not_served: Sequence[Unserved]) -> None:
        self._running, self._target, self._folder, self._mark = running, target, folder, mark
        self._numbers = itertools.count(1)
        self._not_served = {one.step: one for one in not_served}
        self._runner: Runner | None = None

    def close(self) -> None:
        if self._runner is not None:
            self._runner.close()

    def rung(self, level: Level, number: int) -> Rung:
        """Try a level."""
        began, untried, tried, requests, history = time.monotonic(), [], 0, 0, ""
        undecided: list[str] = []
        failed: Failed | None = None
        for trial in level.trials:
            why = self._missing(trial)
            if why:
                untried.append(why)
                continue
            tried += 1
            try:
                path, reader = self._perform(trial, level, number)
            except TargetError as problem:
                failed = Failed(str(problem))
                break
            history = f"{path.parent.name}/{path.name}"
            judged, parsed = judge_file(path, self._target.profile), load(path)
            requests += judged.requests
            failed = self._first_failure(level, number, judged, parsed, reader)
            if failed is not None:
                break
            undecided += judged.unknown
        return Rung(level, number, failed, tuple(untried), tried, requests, time.monotonic() - began, history, tuple(undecided))

    def _missing(self, trial: LevelTrial) -> str:
        """Why a trial cannot be performed, "" if it can."""
        if trial.name_server and self._running.name_server is None:
            return "no name server is known; give --nameserver"
        missing = sorted(one.value for one in trial.needs - self._running.offers)
        return f"the target does not offer {', '.join(missing)}, which the part with a {trial.interruption} needs" if missing else ""

    def _perform(self, trial: LevelTrial, level: Level, number: int) -> tuple[Path, Reader]:
        """The history of a trial, and who looked at what it left. Raises TargetError where the broker is gone, or does not start again."""
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
            with suppress(Gone):  # what it has not answered says it better
                runner.end(under_way)
        finally:
            under_way.close()
        return under_way.path, reader

    def _first_failure(self, level: Level, number: int, judged: JudgedProgram, parsed: ParsedHistory, reader: Reader) -> Failed | None:
        """What of a trial is not as described, first what was asked first; None if all is."""
        asked = [one for at, one in enumerate(parsed.exchanges) if not _asked_again(parsed.exchanges[at : at + 2])]
        for one in asked:
            if not one.one_way and one.code not in OK:
                return Failed(f"it has to be answered {said(codes.SUCCESS, None)}", _request(one), _answer(one))
        for name in level.asks:
            if name in reader.unsupported and name in REQUESTS:
                return self._not_looked_at(name)
        found = [
            one for one in (*judged.findings, *self._never_done(parsed)) if 0 < level_of_finding(one.property, entry_of(one)) <= number
        ]
        if found:
            return _contradicted(min(found, key=lambda one: (one.seq < 0, one.seq)), parsed)
        missing = sorted(level.exercised - judged.exercised)
        return self._too_little(missing, asked, reader) if missing else None

    def _never_done(self, parsed: ParsedHistory) -> Iterator[ProgramFinding]:
        """What requests that want no answer have left undone. Elsewhere nobody can say that, since they may be served later; here a while
        has passed."""
        if any(one.one_way for one in parsed.exchanges):
            for difference in ReferenceReplay(parsed, PROFILES[self._target.profile], parsed.items).compare():
                yield of_difference(difference, parsed)

    def _too_little(self, missing: Sequence[str], asked: Sequence[Exchange], reader: Reader) -> Failed:
        """Nothing is wrong, since nothing could be seen."""
        text = f"what came says too little to judge by {', '.join(missing)}"
        for name, answer in reader.refused.items():
            return Failed(text, f"{name}, to look", said(answer.code, answer.remark))
        if reader.faults:
            return Failed(text, "to look", reader.faults[-1])
        return Failed(f"{text}: can its body be read?", *((_request(asked[-1]), _answer(asked[-1])) if asked else ()))

    def _not_looked_at(self, name: str) -> Failed:
        known = self._not_served.get(name)
        if known is None:
            return Failed("it has to be served", name, said(codes.REQUEST_CODE_NOT_SUPPORTED, None))
        return Failed(f"without it is lost: {known.lost}", f"{known.request} ({known.code})", known.answer)


def _asked_again(two: Sequence[Exchange]) -> bool:
    """Whether a question for a route is asked again, because a registration may have been on its way."""
    return len(two) == 2 and two[0].op == "route" == two[1].op and two[0].fields == two[1].fields


def _request(one: Exchange) -> str:
    fields = {name: one.fields[name] for name in ("topic", "queueId", "group", "offset", "delayLevel") if name in one.fields}
    shown = ", ".join(f"{name}={value}" for name, value in fields.items())
    code = whole_number(one.request["code"])
    return f"{codes.REQUESTS.get(code, code)} ({code}) {shown}".strip()


def _answer(one: Exchange) -> str:
    if one.code is None:
        return str(one.outcome.get("error") or "no answer")
    fields: Mapping[str, str] = one.outcome.get("fields") or {}
    shown = ", ".join(f"{name}={fields[name]}" for name in ("queueId", "queueOffset", "msgId") if name in fields)
    return " ".join(filter(None, [said(one.code, one.outcome.get("remark")), shown]))


def _contradicted(verdict: ProgramFinding, parsed: ParsedHistory) -> Failed:
    about = next((one for one in parsed.exchanges if verdict.seq in (one.seq, one.end)), None)
    shown = Failed("") if about is None else Failed("", _request(about), _answer(about))
    return Failed(verdict.text, shown.request, shown.answer, entry_of(verdict))
