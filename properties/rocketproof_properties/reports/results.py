"""What a command found, in one form for all commands: a run with its results, from which every report is written.

Each command makes a `Run` of what it computed, by a small function beside that (`results.py` of its package). The keys of a saved run
(`rocketproof-run`) are these fields.
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
"""What needs attention first comes first."""
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
"""What a command is called that is no noun itself."""


@dataclass(frozen=True)
class SourcePlace:
    """Where something is stated or stored: a file with a line from 1, or with an offset in bytes; None where it has none."""

    file: str
    line: int | None = None
    offset: int | None = None

    def __str__(self) -> str:
        at = self.line if self.line is not None else self.offset
        return self.file if at is None else f"{self.file}:{at}"


@dataclass(frozen=True)
class Listed:
    """A page of the explorer beside the run's page: its path from there, "" where there is none, what it is about, and a few words more."""

    path: str
    title: str
    said: str


@dataclass(frozen=True)
class Result:
    """One verdict or one finding.

    `message` says in one line why the outcome is what it is, `details` are further lines. `about` tells results apart that are
    alike in id and case, such as a place in a store. `witness` is a file, `commands` show it. Results of one `cause` are shown together.
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
        """What it is about, without its sentence."""
        return (self.id, self.profile, self.condition, self.engine, self.scope, self.about)

    @property
    def key(self) -> tuple[str, ...]:
        """What two runs have in common where they say something of the same thing."""
        return (*self.case, self.sentence)

    @property
    def name(self) -> str:
        """A sentence that names it, for lists of tests: the id, what is claimed, and of which case."""
        case = ", ".join(
            part for part in (self.about, self.profile, self.condition, self.engine, self.scope and f"scope {self.scope}") if part
        )
        return f"{self.id}: {self.sentence}" + (f" ({case})" if case else "")

    @property
    def said(self) -> str:
        """Why, or the verdict with the expected one where there is nothing to say."""
        return self.message or (f"{self.verdict}, expected {self.expected}" if self.expected else self.verdict)

    @property
    def fingerprint(self) -> str:
        """The same in every run."""
        return hashlib.sha256("\x1f".join(self.key).encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def record(self) -> dict[str, Any]:
        """As JSON values, without what is empty."""
        return {name: _json(value) for name, value in vars(self).items() if value or name in ("id", "sentence", "outcome", "verdict")}

    @staticmethod
    def read(record: Mapping[str, Any]) -> Result:
        """What `record()` gave. Raises KeyError, TypeError or ValueError where it is none."""
        place = record.get("place")
        if record["outcome"] not in OUTCOMES:
            raise ValueError(record["outcome"])
        made = {"place": None if place is None else SourcePlace(**place), "commands": tuple(record.get("commands") or ())}
        return Result(**{**record, **made})


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
    """How often an action was taken, and its guards in the order in which they are asked."""

    name: str
    times: int
    guards: tuple[GuardSides, ...] = ()
    reached: bool = False
    """It was performed on purpose, by the shortest way that a search knows."""
    sentence: str = ""

    @property
    def happened(self) -> bool:
        return self.times > 0 or self.reached


@dataclass(frozen=True)
class Covered:
    """What was exercised of a model, by the actions; `label` is a profile or a model's scope."""

    label: str
    actions: tuple[ActionCovered, ...]

    @property
    def happened(self) -> int:
        return sum(one.happened for one in self.actions)

    @property
    def never(self) -> tuple[ActionCovered, ...]:
        """The actions that never happened."""
        return tuple(one for one in self.actions if not one.happened)

    @property
    def missing(self) -> tuple[str, ...]:
        """Actions that never happened, and guards of the others that gave one answer only, as names."""
        never = [one.name for one in self.never]
        silent = [
            f"{one.name}: {guard.name} {'never refused' if guard.passed else 'always refused'}"
            for one in self.actions
            for guard in one.guards
            if one.happened and not guard.bound and guard.passed != guard.refused
        ]
        return (*never, *silent)

    def record(self) -> dict[str, Any]:
        """As JSON values."""
        return {"label": self.label, "actions": [{**vars(one), "guards": [vars(g) for g in one.guards]} for one in self.actions]}

    @staticmethod
    def read(record: Mapping[str, Any]) -> Covered:
        """What `record()` gave. Raises KeyError or TypeError where it is none."""
        actions = [ActionCovered(**{**one, "guards": tuple(GuardSides(**guard) for guard in one["guards"])}) for one in record["actions"]]
        return Covered(str(record["label"]), tuple(actions))


@dataclass(frozen=True)
class Run:
    """What a command found of a subject. `started` is a time in UTC (ISO 8601), `exit` the exit code, `notes` are sentences for the
    reader, `stopped` says what ended the run early."""

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
    """The command line, as somebody typed it."""
    whole: bool = True
    """Whether what is as expected is among the results; a saved list of findings does not have it."""
    short: str = ""
    """What came out in a few words, for a badge; the counts of the results where there is nothing to say."""
    source: str = ""
    """The file that the command was given: a model, the description of a target, a history; "" where there is none."""

    @property
    def title(self) -> str:
        what = f"{NOUNS.get(self.command, self.command)} of {self.subject}" if self.subject else self.command
        return f"rocketproof: {', '.join(part for part in (what, self.profile) if part)}"

    @property
    def attention(self) -> list[Result]:
        """The results that are an error or not as expected, errors first."""
        return self.of("error") + self.of("differs")

    def of(self, outcome: Outcome) -> list[Result]:
        return [one for one in self.results if one.outcome == outcome]

    def count(self, outcome: Outcome) -> int:
        return sum(one.outcome == outcome for one in self.results)

    @property
    def counts(self) -> str:
        """`3 not as expected, 250 as expected`."""
        return ", ".join(f"{number:,} {WORDS[outcome]}" for outcome in OUTCOMES if (number := self.count(outcome))) or "nothing was judged"

    @property
    def is_sound(self) -> bool:
        """Whether what was read from a file has texts where texts belong, and numbers where numbers do."""
        texts = [getattr(one, name) for one in self.results for name in _TEXTS]
        texts += [name for one in self.covered for action in one.actions for name in (action.name, action.sentence)]
        texts += [
            name for one in self.covered for action in one.actions for guard in action.guards for name in (guard.name, guard.sentence)
        ]
        times = [action.times for one in self.covered for action in one.actions]
        return all(isinstance(one, str) for one in texts) and all(isinstance(one, int) for one in times)

    def placed(self, place: Callable[[Result], SourcePlace | None]) -> Run:
        """With a place where a result has none and `place` knows one."""
        return replace(self, results=tuple(one if one.place is not None else replace(one, place=place(one)) for one in self.results))


def begun(seconds: float) -> str:
    """The time so many seconds ago, as `Run.started` has it."""
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat(timespec="seconds")


def tool() -> str:
    """The version of this tool."""
    try:
        return version("rocketproof")
    except PackageNotFoundError:
        return "source"


def first_line(text: str) -> str:
    """The first line that says something, as one line."""
    return next((" ".join(line.split()) for line in text.splitlines() if line.strip()), "")


def lines(parts: Sequence[str]) -> str:
    """Lines of details; empty ones are left out."""
    return "\n".join(part for part in parts if part)
