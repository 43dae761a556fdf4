"""The text of a failure: the expectation, the shortest program as requests and responses, the guard that refuses, and the files."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rocketproof_protocol.codes import ANSWERS, REQUESTS
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.topics import TEMPLATE
from rocketproof_traces.history import Event
from rocketproof_traces.history.exchange import Exchange
from rocketproof_traces.history.exchanges import OVER

from ...brokers.runs.parsed import ParsedHistory
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
_HIDDEN_FIELDS: Final = frozenset({"producerGroup", "bornTimestamp", "topic", "group", "originMsgId", "originTopic", "clientID"})
_ANSWERED: Final = ("queueId", "queueOffset", "offset", "timestamp")
_UNPRINTED: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_PARTED: Final = {"\x01": "=", "\x02": " "}


@dataclass(frozen=True)
class Failure:
    """A contradiction of an entry: the finding with its history, and the number of `programs`, out of those `tried`, that show it.

    `first` is the entry to look at first, "" for this entry.
    """

    entry: SuiteEntry
    finding: ValidationFinding
    history: ParsedHistory
    profile: str
    target: str
    programs: int
    tried: int
    first: str

    def line(self) -> str:
        """Return the failure in one line."""
        return " ".join(self._plain(self._differs()).split())

    def whole(self, files: Mapping[str, str]) -> str:
        """Return the whole text, in lines of at most WIDTH characters."""
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
        """Return the finding's text without the sentence, which is printed above, and without the guard, which is printed below."""
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
        """Yield the requests with their responses, by event number. An arrow marks the request of the finding."""
        if not self.finding.program.steps and self.finding.program.number == 0:
            yield f"no single program shows it: {self.finding.program.source}"
            return
        requests = self.history.exchanges
        yield f"the shortest program that shows it, {counted(len(requests), 'request')}:"
        rows: list[tuple[str, ...]] = [("   ", "event", *(["client"] if self.history.concurrent else []), "request", "answer")]
        about = self._about()
        for item in [entry for entry in self.history.items if isinstance(entry, Exchange) or entry.op != OVER]:
            events = sorted({item.seq, item.end or item.seq} if isinstance(item, Exchange) else {item.seq})
            who = [item.process.removeprefix("client ")] if isinstance(item, Exchange) else [""]
            cells = (self._request(item), self._answer(item)) if isinstance(item, Exchange) else (_happened(item), "")
            rows.append(
                ("-->" if about in events else "   ", "-".join(map(str, events)), *(who if self.history.concurrent else []), *cells)
            )
        yield from _columns(rows)

    def _about(self) -> int:
        """Return the event that the finding names, -1 if none."""
        if self.finding.verdict.seq >= 0:
            return self.finding.verdict.seq
        named = re.search(r"\brequest ([0-9]+) \(", self.finding.verdict.text)
        return whole_number(named[1]) if named else -1

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
        """Yield the topics of the broker at the end of the program, if the finding is about topics."""
        about = self.finding.verdict.property
        topics = self.history.states.get("topics", {}).get("topics") or {}
        if not topics or not about.startswith(("topic.", "specification.topic")):
            return
        yield "topics of the broker at the end:"
        for name, row in topics.items():
            config = f"read {row.get('readQueueNums')}, write {row.get('writeQueueNums')}, permission {row.get('perm')}"
            yield f"    {self._plain(name)}: {config}, flags {row.get('topicSysFlag')}"

    def _plain(self, text: str) -> str:
        """Remove the prefix of the run's names, which is irrelevant to a reader, and replace control characters by `·`."""
        return _UNPRINTED.sub("·", self.history.names.bare(text))


def vanished(entry: SuiteEntry, words: str) -> str:
    """Return the text for a known violation that is no longer shown."""
    more = f"It is expected because: {entry.reason}. If the target has mended it, accept the difference or give another profile."
    return "\n".join([*_folded(entry.title, "", "  "), *_folded(words), *_folded(more)])


def not_reproduced(entry: SuiteEntry, replayed: HazardReplayed) -> str:
    """Return the steps and responses of a replayed witness, up to the deviation of the target."""
    lines = [line for step in replayed.said for line in _folded(step, "    ", "      ")]
    return "\n".join([*_folded(entry.title, "", "  "), "the model's witness, as it was performed:", *lines])


def _happened(item: Event) -> str:
    values = ", ".join(f"{key} {value}" for key, value in item.value.items() if key not in ("at", "client"))
    return f"{item.op} {values}".strip()


def _readable(value: Any) -> str:
    """Return a field; properties are shown with readable separators."""
    text = str(value)
    for sign, shown in _PARTED.items():
        text = text.replace(sign, shown)
    text = re.sub(r"(.)\1{40,}", lambda run: f"{run[1] * 3}… ({len(run[0])} times {run[1]!r})", text.strip())
    return repr(text) if not text or text != text.strip() or " " in text else text


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield rows with aligned cells; long cells continue in the next line."""
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
