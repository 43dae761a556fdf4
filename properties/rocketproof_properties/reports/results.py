"""The results of a run, in one form for all commands. Every report is written from it.

Each command converts its result to a `Run` by a function in the `results.py` of its package. The keys of a saved run (`rocketproof-run`)
are these fields.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, Literal

Outcome = Literal["ok", "differs", "undecided", "error", "accepted", "skipped"]
OUTCOMES: Final[tuple[Outcome, ...]] = ("error", "differs", "undecided", "accepted", "skipped", "ok")
"""In order of urgency: errors first."""
WORDS: Final[Mapping[Outcome, str]] = {
    "ok": "as expected",
    "differs": "not as expected",
    "undecided": "undecided",
    "error": "an error",
    "accepted": "accepted",
    "skipped": "not tried",
}

_TEXTS: Final = (
    "id", "sentence", "verdict", "expected", "profile", "condition", "engine", "scope", "about", "message", "details", "witness", "cause",
)  # fmt: skip
NOUNS: Final[Mapping[str, str]] = {"validate": "validation", "judge": "judgement"}
"""Nouns for commands whose name is a verb."""


@dataclass(frozen=True)
class SourcePlace:
    """The place of a definition or of stored data: a file with a line from 1, or with an offset in bytes; None if it has none."""

    file: str
    line: int | None = None
    offset: int | None = None

    def __str__(self) -> str:
        at = self.line if self.line is not None else self.offset
        return self.file if at is None else f"{self.file}:{at}"


@dataclass(frozen=True)
class Listed:
    """A page of the explorer next to the run's page: its relative path, "" if there is none; its title; and a short remark."""

    path: str
    title: str
    said: str


@dataclass(frozen=True)
class Result:
    """One verdict or one finding.

    `message` explains the outcome in one line, `details` are further lines. `about` distinguishes results with equal id and case, such as
    by a place in a store. `witness` is a file, `commands` show it. Results with the same `cause` are shown together.
    """

    id: str
    sentence: str
    outcome: Outcome
    verdict: str
    expected: str = ""
    profile: str = ""
    condition: str = ""
    engine: str = ""
    scope: str = ""
    about: str = ""
    message: str = ""
    details: str = ""
    witness: str = ""
    commands: tuple[str, ...] = ()
    place: SourcePlace | None = None
    cause: str = ""
    seconds: float = 0.0
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def case(self) -> tuple[str, ...]:
        """The id and the case, without the sentence."""
        return (self.id, self.profile, self.condition, self.engine, self.scope, self.about)

    @property
    def key(self) -> tuple[str, ...]:
        """The key that identifies the same result in two runs."""
        return (*self.case, self.sentence)

    @property
    def name(self) -> str:
        """A sentence that names the result in lists of tests: the id, the claim and the case."""
        case = ", ".join(
            part for part in (self.about, self.profile, self.condition, self.engine, self.scope and f"scope {self.scope}") if part
        )
        return f"{self.id}: {self.sentence}" + (f" ({case})" if case else "")

    @property
    def said(self) -> str:
        """The message, or the verdict with the expected verdict if there is no message."""
        return self.message or (f"{self.verdict}, expected {self.expected}" if self.expected else self.verdict)

    @property
    def fingerprint(self) -> str:
        """A digest that is equal in every run."""
        return hashlib.sha256("\x1f".join(self.key).encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def record(self) -> dict[str, Any]:
        """Return JSON values, without empty ones."""
        return {name: _json(value) for name, value in vars(self).items() if value or name in ("id", "sentence", "outcome", "verdict")}

    @staticmethod
    def read(record: Mapping[str, Any]) -> Result:
        """Parse the result of `record()`. Raises KeyError, TypeError or ValueError for other data."""
        place = record.get("place")
        if record["outcome"] not in OUTCOMES:
            raise ValueError(record["outcome"])
        parsed = {"place": None if place is None else SourcePlace(**place), "commands": tuple(record.get("commands") or ())}
        return Result(**{**record, **parsed})


def _json(value: Any) -> Any:
    return vars(value) if isinstance(value, SourcePlace) else list(value) if isinstance(value, tuple) else value


@dataclass(frozen=True)
class GuardSides:
    """Which answers of a guard were seen. `bound`: it is a bound of the scope and not a rule."""

    name: str
    sentence: str
    passed: bool
    refused: bool
    bound: bool = False


@dataclass(frozen=True)
class ActionCovered:
    """How often an action was taken, and its guards in order of evaluation."""

    name: str
    times: int
    guards: tuple[GuardSides, ...] = ()
    reached: bool = False
    """It was performed deliberately, by the shortest path of a search."""
    sentence: str = ""

    @property
    def happened(self) -> bool:
        return self.times > 0 or self.reached


@dataclass(frozen=True)
class Covered:
    """The coverage of a model, by action. `label` is a profile or a model's scope."""

    label: str
    actions: tuple[ActionCovered, ...]

    @property
    def happened(self) -> int:
        return sum(action.happened for action in self.actions)

    @property
    def never(self) -> tuple[ActionCovered, ...]:
        """The actions that never happened."""
        return tuple(action for action in self.actions if not action.happened)

    @property
    def missing(self) -> tuple[str, ...]:
        """The names of actions that never happened, and of guards of the other actions that gave one answer only."""
        never = [action.name for action in self.never]
        silent = [
            f"{action.name}: {guard.name} {'never refused' if guard.passed else 'always refused'}"
            for action in self.actions
            for guard in action.guards
            if action.happened and not guard.bound and guard.passed != guard.refused
        ]
        return (*never, *silent)

    def record(self) -> dict[str, Any]:
        """Return JSON values."""
        return {"label": self.label, "actions": [{**vars(action), "guards": [vars(g) for g in action.guards]} for action in self.actions]}

    @staticmethod
    def read(record: Mapping[str, Any]) -> Covered:
        """Parse the result of `record()`. Raises KeyError or TypeError for other data."""
        actions = [
            ActionCovered(**{**action, "guards": tuple(GuardSides(**guard) for guard in action["guards"])}) for action in record["actions"]
        ]
        return Covered(str(record["label"]), tuple(actions))


@dataclass(frozen=True)
class Run:
    """The results of a command for one subject.

    `started` is a time in UTC (ISO 8601), `exit` the exit code. `notes` are sentences for the reader. `stopped` is the reason of an early
    end.
    """

    command: str
    subject: str
    results: tuple[Result, ...]
    exit: int
    profile: str = ""
    started: str = ""
    seconds: float = 0.0
    tool: str = ""
    notes: tuple[str, ...] = ()
    stopped: str = ""
    covered: tuple[Covered, ...] = ()
    line: str = ""
    """The command line, as typed."""
    whole: bool = True
    """Whether results that are as expected are included; a saved list of findings lacks them."""
    short: str = ""
    """The result in a few words, for a badge; "" for the counts of the results."""
    source: str = ""
    """The file that the command was given (a model, the description of a target, a history), or ""."""

    @property
    def title(self) -> str:
        what = f"{NOUNS.get(self.command, self.command)} of {self.subject}" if self.subject else self.command
        return f"rocketproof: {', '.join(part for part in (what, self.profile) if part)}"

    @property
    def attention(self) -> list[Result]:
        """The results that are an error or not as expected, errors first."""
        return self.of("error") + self.of("differs")

    def of(self, outcome: Outcome) -> list[Result]:
        return [result for result in self.results if result.outcome == outcome]

    def count(self, outcome: Outcome) -> int:
        return sum(result.outcome == outcome for result in self.results)

    @property
    def counts(self) -> str:
        """The count of each outcome, as in `3 not as expected, 250 as expected`."""
        return ", ".join(f"{number:,} {WORDS[outcome]}" for outcome in OUTCOMES if (number := self.count(outcome))) or "nothing was judged"

    @property
    def is_sound(self) -> bool:
        """Whether a run read from a file has texts and numbers in the right fields."""
        texts = [getattr(entry, name) for entry in self.results for name in _TEXTS]
        texts += [name for entry in self.covered for action in entry.actions for name in (action.name, action.sentence)]
        texts += [
            name for entry in self.covered for action in entry.actions for guard in action.guards for name in (guard.name, guard.sentence)
        ]
        times = [action.times for entry in self.covered for action in entry.actions]
        return all(isinstance(entry, str) for entry in texts) and all(isinstance(entry, int) for entry in times)

    def placed(self, place: Callable[[Result], SourcePlace | None]) -> Run:
        """Return the run with a place for each result that has none, if `place` returns one."""
        return replace(
            self, results=tuple(result if result.place is not None else replace(result, place=place(result)) for result in self.results)
        )


def begun(seconds: float) -> str:
    """Return the time this many seconds ago, in the form of `Run.started`."""
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat(timespec="seconds")


def tool() -> str:
    """Return the version of this tool."""
    try:
        return version("rocketproof")
    except PackageNotFoundError:
        return "source"


def first_line(text: str) -> str:
    """Return the first line that is not blank, as one line."""
    return next((" ".join(line.split()) for line in text.splitlines() if line.strip()), "")


def lines(parts: Sequence[str]) -> str:
    """Join lines of details, without empty ones."""
    return "\n".join(part for part in parts if part)
