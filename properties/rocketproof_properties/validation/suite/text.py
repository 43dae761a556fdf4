"""The text of a failure: what is expected, the shortest program as requests and answers, the guard that refuses, where the files are."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rocketproof_protocol.codes import ANSWERS, REQUESTS
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.topics import TEMPLATE
from rocketproof_traces.history.exchange import Exchange
from rocketproof_traces.history.exchanges import OVER

from ...brokers.runs.parsed import Other, ParsedHistory
from ...catalogue.rules import rules
from ...conformance.witnesses.known import HazardReplayed
from ...reports.output import counted
from ..entries import SuiteEntry
from ..report import ValidationFinding

WIDTH: Final = 110
_CELL: Final = 60
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
_UNTOLD: Final = frozenset({"producerGroup", "bornTimestamp", "topic", "group", "originMsgId", "originTopic", "clientID"})
_ANSWERED: Final = ("queueId", "queueOffset", "offset", "timestamp")
_UNPRINTED: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_PARTED: Final = {"\x01": "=", "\x02": " "}


@dataclass(frozen=True)
class Failure:
    """What contradicts an entry: the finding with its history, in how many `programs` of those that were `tried`; `first` is the entry to
    look at before this one, "" if none."""

    entry: SuiteEntry
    finding: ValidationFinding
    history: ParsedHistory
    profile: str
    target: str
    programs: int
    tried: int
    first: str

    def line(self) -> str:
        """The failure in one line."""
        return " ".join(self._plain(self._differs()).split())

    def whole(self, files: Mapping[str, str]) -> str:
        """Everything, in lines of at most WIDTH."""
        return "\n".join(self._lines(files))

    def _lines(self, files: Mapping[str, str]) -> Iterator[str]:
        finding = self.finding
        yield from _folded(self.entry.title, "", "  ")
        often = f"contradicted in {self.programs} of {counted(self.tried, 'program')} on {self.target}"
        again = f"; done again it came {finding.again} of {finding.repeats} times" if finding.repeats else ""
        yield from _folded(f"expected under {self.profile}: {self.entry.expected}; {often}{again}")
        if self.first:
            yield from _folded(f"what contradicts this contradicts {self.first} too: begin there")
        yield ""
        yield from _folded(self._plain(self._differs()), "what differs: ", "    ")
        yield from self._guard()
        yield ""
        yield from self._table()
        yield from self._topics()
        yield ""
        if finding.program.needs:
            yield f"on a broker with {finding.program.needs}"
        for what, path in files.items():
            yield f"{what}: {path}"
        if "program" in files:
            yield f"run it alone: python {files['program']} BROKER"

    def _differs(self) -> str:
        """The finding's words, without the sentence, which stands above, and without the guard, which stands below."""
        words = self.finding.verdict.text.removeprefix(f"{self.entry.sentence}: ")
        action, _, guard = self.finding.verdict.guard.partition(": ")
        return words.partition(f"; {action} is refused by guard '{guard}'")[0] if guard else words

    def _guard(self) -> Iterator[str]:
        verdict = self.finding.verdict
        action, _, guard = verdict.guard.partition(": ")
        if guard:
            yield from _folded(f"'{guard}' of {action}: {verdict.sentence}", "the guard that refuses: ", "    ")
        if guard and verdict.values:
            yield from _columns([(f"  {self._plain(name)}", f"= {self._plain(value)}", meaning) for name, value, meaning in verdict.values])
        if len(verdict.rules) > 1:
            yield "decided by one of these rules:"
            for id_ in verdict.rules:
                yield from _folded(f"{id_} {rules()[id_].sentence}", "  ", "    ")

    def _table(self) -> Iterator[str]:
        """The requests with their answers, by the numbers of their events; the one that the finding is about has an arrow."""
        if not self.finding.program.steps and self.finding.program.number == 0:
            yield f"no single program shows it: {self.finding.program.source}"
            return
        asked = self.history.exchanges
        yield f"the shortest program that shows it, {counted(len(asked), 'request')}:"
        rows: list[tuple[str, ...]] = [("   ", "event", *(["client"] if self.history.concurrent else []), "request", "answer")]
        about = self._about()
        for item in [one for one in self.history.items if isinstance(one, Exchange) or one.op != OVER]:
            events = sorted({item.seq, item.end or item.seq} if isinstance(item, Exchange) else {item.seq})
            who = [item.process.removeprefix("client ")] if isinstance(item, Exchange) else [""]
            cells = (self._request(item), self._answer(item)) if isinstance(item, Exchange) else (_happened(item), "")
            rows.append(
                ("-->" if about in events else "   ", "-".join(map(str, events)), *(who if self.history.concurrent else []), *cells)
            )
        yield from _columns(rows)

    def _about(self) -> int:
        """The event that the finding names, -1 if none."""
        if self.finding.verdict.seq >= 0:
            return self.finding.verdict.seq
        named = re.search(r"\brequest ([0-9]+) \(", self.finding.verdict.text)
        return whole_number(named[1]) if named else -1

    def _request(self, one: Exchange) -> str:
        fields = one.fields
        about = fields.get("topic") or fields.get("group") or ""
        shown = [f"{name} {_readable(value)}" for name, value in fields.items() if name not in _UNTOLD and value != _USUAL.get(name)]
        name = REQUESTS.get(whole_number(one.request["code"]), str(one.request["code"])) if one.op == "other" else one.op
        size = one.request.get("bodySize") or 0
        body = [f"{size:,} bytes"] if size > 20 else []
        return self._plain(" ".join([name, about, *([", ".join([*shown, *body])] if shown or body else [])]))

    def _answer(self, one: Exchange) -> str:
        if one.one_way:
            text = "wants none"
        elif one.closed == "ok":
            code = whole_number(one.outcome["code"])
            fields = one.outcome.get("fields") or {}
            told = [f"{name} {fields[name]}" for name in _ANSWERED if name in fields]
            remark = str(one.outcome.get("remark") or "").split("\n")[0]
            text = ", ".join([f"{code} {ANSWERS.get(code, '')}".strip(), *told, *([remark] if remark else [])])
        else:
            text = f"none: {one.outcome.get('error', 'the run ended')}"
        strays = [f"{code} {ANSWERS.get(code, '')}".strip() for code in (whole_number(stray.get("code", -1)) for stray in one.strays)]
        return self._plain(", and ".join([text, *(f"gets {stray}" if one.one_way else f"then {stray} again" for stray in strays)]))

    def _topics(self) -> Iterator[str]:
        """The program's topics as they were at its end, where the finding is about topics."""
        about = self.finding.verdict.property
        found = self.history.states.get("topics", {}).get("topics") or {}
        if not found or not about.startswith(("topic.", "specification.topic")):
            return
        yield "topics of the broker at the end:"
        for name, row in found.items():
            config = f"read {row.get('readQueueNums')}, write {row.get('writeQueueNums')}, permission {row.get('perm')}"
            yield f"    {self._plain(name)}: {config}, flags {row.get('topicSysFlag')}"

    def _plain(self, text: str) -> str:
        """Without the begin of all names of the run, which says nothing to a reader, and without what would move a terminal's cursor."""
        return _UNPRINTED.sub("·", self.history.names.bare(text))


def vanished(entry: SuiteEntry, words: str) -> str:
    """That a known violation is not shown any more."""
    more = f"It is expected because: {entry.reason}. If the target has mended it, accept the difference or give another profile."
    return "\n".join([*_folded(entry.title, "", "  "), *_folded(words), *_folded(more)])


def not_reproduced(entry: SuiteEntry, replayed: HazardReplayed) -> str:
    """What was done and answered when a witness was replayed, up to where the target did otherwise."""
    said = [line for one in replayed.said for line in _folded(one, "    ", "      ")]
    return "\n".join([*_folded(entry.title, "", "  "), "the model's witness, as it was performed:", *said])


def _happened(item: Other) -> str:
    told = ", ".join(f"{key} {value}" for key, value in item.value.items() if key not in ("at", "client"))
    return f"{item.op} {told}".strip()


def _readable(value: Any) -> str:
    """A field; properties with their separators as a reader knows them."""
    text = str(value)
    for sign, shown in _PARTED.items():
        text = text.replace(sign, shown)
    text = re.sub(r"(.)\1{40,}", lambda run: f"{run[1] * 3}… ({len(run[0])} times {run[1]!r})", text.strip())
    return repr(text) if not text or text != text.strip() or " " in text else text


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows with cells below each other; long ones go on in the next line."""
    widths = [min(_CELL, max(len(row[k]) for row in rows)) for k in range(len(rows[0]))]
    for row in rows:
        cells = [
            textwrap.wrap(cell, width, subsequent_indent="  " if width > 4 else "") or [""] for cell, width in zip(row, widths, strict=True)
        ]
        for k in range(max(map(len, cells))):
            line = "  ".join((cell[k] if k < len(cell) else "").ljust(width) for cell, width in zip(cells, widths, strict=True))
            yield line.rstrip()


def _folded(text: str, first: str = "", then: str = "  ") -> list[str]:
    return textwrap.wrap(" ".join(text.split()), WIDTH, initial_indent=first, subsequent_indent=then, break_long_words=False)
