"""The text of a finding: the sentence, what differs, the smallest program as requests and responses and as steps, and the files.

The pytest suite, `rocketproof validate` and all reports print this text.
"""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from rocketproof_protocol.codes import ANSWERS, REQUESTS
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.topics import TEMPLATE
from rocketproof_traces.history import Event
from rocketproof_traces.history.exchange import Exchange, places
from rocketproof_traces.history.exchanges import OVER

from ..brokers.runs.parsed import ParsedHistory, load
from ..catalogue.rules import rules
from ..conformance.witnesses.known import HazardReplayed
from ..judging.verdicts import ProgramFinding
from ..programs.parts import Capability
from ..reports.output import counted
from .entries import SuiteEntry, entries, entry_of
from .report import SENTENCES, ValidationFinding, ValidationReport

WIDTH: Final = 110
_CELL: Final = 20
"""Minimum width of a long cell."""
_USUAL: Final[Mapping[str, str]] = {
    "defaultTopic": TEMPLATE,
    "defaultTopicQueueNums": "4",
    "sysFlag": "0",
    "flag": "0",
    "properties": "",
    "reconsumeTimes": "0",
    "unitMode": "false",
    "maxReconsumeTimes": "16",
    "batch": "false",
}
_HIDDEN_FIELDS: Final = frozenset({"producerGroup", "bornTimestamp", "topic", "group", "originMsgId", "originTopic", "clientID"})
_ANSWERED: Final = ("queueId", "queueOffset", "offset", "timestamp")
_UNPRINTED: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_RUN: Final = re.compile(r"(.)\1{40,}")
_PARTED: Final = {"\x01": "=", "\x02": " "}


@dataclass(frozen=True)
class FindingText:
    """The text of a finding: the pytest suite, `rocketproof validate` and all reports print it.

    `entry`: what it contradicts. `history`: the recorded smallest program, None if there is none. It was shown by `programs` of the `tried`
    programs. `first` is the entry to look at first, "" for this entry. `like`: the number of an earlier finding with the same program, 0
    for none.
    """

    entry: SuiteEntry
    finding: ValidationFinding
    history: ParsedHistory | None
    profile: str
    target: str
    programs: int
    tried: int
    first: str = ""
    width: int = WIDTH
    like: int = 0

    def line(self) -> str:
        """Return the difference in one line."""
        return " ".join(self._plain(self._differs()).split())

    def whole(self, files: Mapping[str, str]) -> str:
        """Return the whole text, in lines of at most WIDTH characters. `files` are named at its end."""
        return "\n".join([*self._folded(self.entry.title, "", "  "), *self.lines(files)])

    def lines(self, files: Mapping[str, str]) -> Iterator[str]:
        """Yield the text without its first line, the sentence."""
        finding = self.finding
        often = f"shown by {self.programs} of {counted(self.tried, 'program')} on {self.target}"
        again = f"; reproduced in {finding.again} of {finding.repeats} repetitions" if finding.repeats else ""
        yield from self._folded(f"expected under {self.profile}: {self.entry.expected}; {often}{again}")
        if self.first:
            yield from self._folded(f"every program that contradicts this contradicts {self.first} too: read that first")
        yield ""
        yield from self._difference()
        yield from self._guard()
        yield ""
        if self.like:
            yield f"its smallest program is that of finding {self.like}"
        else:
            yield from self._table()
            yield from self._topics()
            yield from self._steps()
        yield ""
        for what, path in files.items():
            yield f"{what}: {path}"
        if "program" in files:
            yield f"run it alone: python {shlex.quote(files['program'])} BROKER"

    def _difference(self) -> Iterator[str]:
        """Yield what differs: the place, then the field, the expected and the found value."""
        difference = self.finding.verdict.difference
        if difference is None:
            yield from self._folded(self._plain(self._differs()), "what differs: ", "    ")
            return
        yield from self._folded(self._plain(difference.where), "what differs: ", "    ")
        for label in ("field", "expected", "found"):
            yield from self._folded(self._plain(getattr(difference, label)), f"    {label + ':':<10}", " " * 14)

    def _differs(self) -> str:
        """Return the finding's text without the sentence, which is printed above, and without the guard, which is printed below."""
        words = self.finding.verdict.text.removeprefix(f"{self.entry.sentence}: ")
        action, _, guard = self.finding.verdict.guard.partition(": ")
        return words.partition(f"; {action} is refused by guard '{guard}'")[0] if guard else words

    def _guard(self) -> Iterator[str]:
        verdict = self.finding.verdict
        action, _, guard = verdict.guard.partition(": ")
        if guard:
            yield from self._folded(f"'{guard}' of {action}: {verdict.sentence}", "the guard that refuses: ", "    ")
        if guard and verdict.values:
            rows = [(f"  {self._plain(name)}", f"= {self._plain(value)}", meaning) for name, value, meaning in verdict.values]
            yield from _columns(rows, self.width)
        if len(verdict.rules) > 1:
            yield "decided by one of these rules:"
            for id_ in verdict.rules:
                yield from self._folded(f"{id_} {rules()[id_].sentence}", "  ", "    ")

    def _table(self) -> Iterator[str]:
        """Yield the requests with their responses, by event number. An arrow marks the request of the finding."""
        if self.history is None or (not self.finding.program.steps and self.finding.program.number == 0):
            yield f"no single program shows it: {self.finding.program.source or 'it is about the broker'}"
            return
        history = self.history
        yield f"the smallest program that shows it, {counted(len(history.exchanges), 'request')}:"
        rows: list[tuple[str, ...]] = [("   ", "event", *(["client"] if history.concurrent else []), "request", "response")]
        about = self._about()
        for item in [entry for entry in history.items if isinstance(entry, Exchange) or entry.op != OVER]:
            events = sorted({item.seq, item.end or item.seq} if isinstance(item, Exchange) else {item.seq})
            who = [item.process.removeprefix("client ")] if isinstance(item, Exchange) else [""]
            cells = (self._request(item), self._answer(item)) if isinstance(item, Exchange) else (_happened(item), "")
            rows.append(("-->" if about in events else "   ", "-".join(map(str, events)), *(who if history.concurrent else []), *cells))
        yield from _columns(rows, self.width)

    def _steps(self) -> Iterator[str]:
        """Yield the steps of the smallest program, which the program's file performs."""
        program = self.finding.program
        if program.steps:
            yield ""
            yield f"its {counted(len(program.steps), 'step')}{f', on a broker with {program.needs}' if program.needs else ''}:"
        for name, args in program.steps:
            yield from self._folded(f"{name}({', '.join(f'{key}={_shortly(value)}' for key, value in args.items())})", "    ", "      ")

    def _about(self) -> int:
        """Return the event that the finding names, -1 if none. What was read back belongs to the last request that stored it."""
        verdict = self.finding.verdict
        if verdict.seq >= 0:
            return verdict.seq
        named = re.search(r"\b(?:request|event) ([0-9]+) \(", verdict.text)
        if named:
            return whole_number(named[1])
        place, queue = re.search(r"\bat ([0-9]+)\b", verdict.text), re.search(r"\bqueue ([0-9]+) of (\S+):", verdict.text)
        for exchange in reversed(self.history.exchanges if self.history is not None else ()):
            fields = exchange.outcome.get("fields") or {}
            if place and whole_number(place[1]) in places(fields):
                return exchange.seq
            if queue and (fields.get("queueId"), exchange.fields.get("topic")) == queue.groups():
                return exchange.seq
        return -1

    def _request(self, asked: Exchange) -> str:
        fields = asked.fields
        about = fields.get("topic") or fields.get("group") or ""
        shown = [f"{name} {_readable(value)}" for name, value in fields.items() if name not in _HIDDEN_FIELDS and value != _USUAL.get(name)]
        name = REQUESTS.get(whole_number(asked.request["code"]), str(asked.request["code"])) if asked.op == "other" else asked.op
        size = asked.request.get("bodySize") or 0
        body = [f"{size:,} bytes"] if size > 20 else []
        return self._plain(" ".join([name, about, *([", ".join([*shown, *body])] if shown or body else [])]))

    def _answer(self, exchange: Exchange) -> str:
        if exchange.one_way:
            text = "wants none"
        elif exchange.closed == "ok":
            code = whole_number(exchange.outcome["code"])
            fields = exchange.outcome.get("fields") or {}
            values = [f"{name} {fields[name]}" for name in _ANSWERED if name in fields]
            remark = str(exchange.outcome.get("remark") or "").split("\n")[0]
            text = ", ".join([f"{code} {ANSWERS.get(code, '')}".strip(), *values, *([remark] if remark else [])])
        else:
            text = f"none: {exchange.outcome.get('error', 'the run ended')}"
        strays = [f"{code} {ANSWERS.get(code, '')}".strip() for code in (whole_number(stray.get("code", -1)) for stray in exchange.strays)]
        return self._plain(", and ".join([text, *(f"gets {stray}" if exchange.one_way else f"then {stray} again" for stray in strays)]))

    def _topics(self) -> Iterator[str]:
        """Yield the topics of the broker at the end of the program, if the finding is about topics. An arrow marks the one that differs."""
        about = self.finding.verdict.property
        topics = ({} if self.history is None else self.history.states.get("topics", {}).get("topics")) or {}
        if not topics or not about.startswith(("topic.", "specification.topic")):
            return
        difference = self.finding.verdict.difference
        differs = "" if difference is None else difference.where
        yield "topics of the broker at the end:"
        for name, row in topics.items():
            config = f"read {row.get('readQueueNums')}, write {row.get('writeQueueNums')}, permission {row.get('perm')}"
            arrow = "-->" if re.search(rf"\b{re.escape(name)}(?![\w-])", differs) else "   "
            yield f"{arrow} {self._plain(name)}: {config}, flags {row.get('topicSysFlag')}"

    def _plain(self, text: str) -> str:
        """Remove the prefix of the run's names, which is irrelevant to a reader, and replace control characters by `·`."""
        return _UNPRINTED.sub("·", text if self.history is None else self.history.names.bare(text))

    def _folded(self, text: str, first: str = "", then: str = "  ") -> list[str]:
        return _folded(text, first, then, self.width)


def vanished(entry: SuiteEntry, words: str) -> str:
    """Return the text for a known violation that is no longer shown."""
    more = f"It is expected because: {entry.reason}. If the target has fixed it, accept that (fixed = true) or give another profile."
    return "\n".join([*_folded(entry.title, "", "  "), *_folded(words), *_folded(more)])


def not_reproduced(entry: SuiteEntry, replayed: HazardReplayed) -> str:
    """Return the steps and responses of a replayed witness, up to the deviation of the target."""
    lines = [line for step in replayed.said for line in _folded(step, "    ", "      ")]
    return "\n".join([*_folded(entry.title, "", "  "), "the model's witness, as it was performed:", *lines])


def text_of(finding: ValidationFinding, report: ValidationReport, folder: Path, width: int = WIDTH, like: int = 0) -> FindingText:
    """Return the text of a finding of a report. `folder` is the report's folder, with the finding's history."""
    path = folder / finding.history
    history = load(path) if finding.history and path.is_file() else None
    entry, target, tried = contradicted(finding.verdict, report.profile), str(report.target.get("name", "")), len(report.judged)
    return FindingText(entry, finding, history, report.profile, target, finding.count, tried, width=width, like=like)


def contradicted(verdict: ProgramFinding, profile: str) -> SuiteEntry:
    """Return the entry that a finding contradicts; an entry for the finding's property if the catalogue has none."""
    id_ = entry_of(verdict)
    return _entries(profile).get(id_) or SuiteEntry(id_, SENTENCES.get(id_) or SENTENCES.get(verdict.judge, ""), "property")


@cache
def _entries(profile: str) -> Mapping[str, SuiteEntry]:
    return {entry.id: entry for entry in entries(profile, frozenset(Capability))}


def _shortly(value: Any) -> str:
    """Return an argument of a step, with long runs of one character shortened."""
    return _RUN.sub(_shortened, repr(value))


def _shortened(run: re.Match[str]) -> str:
    return f"{run[1] * 3}… ({len(run[0])} times {run[1]!r})"


def _happened(item: Event) -> str:
    values = ", ".join(f"{key} {value}" for key, value in item.value.items() if key not in ("at", "client"))
    return f"{item.op} {values}".strip()


def _readable(value: Any) -> str:
    """Return a field; properties are shown with readable separators."""
    text = str(value)
    for sign, shown in _PARTED.items():
        text = text.replace(sign, shown)
    text = _RUN.sub(_shortened, text.strip())
    return repr(text) if not text or text != text.strip() or " " in text else text


def _columns(rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """Yield rows with aligned cells in lines of at most `width` characters; long cells continue in the next line."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    while sum(widths) + 2 * len(widths) - 2 > width and max(widths) > _CELL:
        widths[widths.index(max(widths))] -= 1
    for row in rows:
        cells = [
            textwrap.wrap(cell, size, subsequent_indent="  " if size > 4 else "") or [""] for cell, size in zip(row, widths, strict=True)
        ]
        for k in range(max(map(len, cells))):
            line = "  ".join((cell[k] if k < len(cell) else "").ljust(size) for cell, size in zip(cells, widths, strict=True))
            yield line.rstrip()


def _folded(text: str, first: str = "", then: str = "  ", width: int = WIDTH) -> list[str]:
    return textwrap.wrap(" ".join(text.split()), width, initial_indent=first, subsequent_indent=then, break_long_words=False)
