"""Prints one line per request: the rules that it went through, and its response.

The rules are read from the docstrings of the functions that ran for the request. The interpreter reports every entered function, so a
narrator costs time; without one there is no cost.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import CodeType, FrameType, TracebackType
from typing import Any

from rocketproof_protocol import codes
from rocketproof_protocol.fields import SHORT_NAMES

from ..broker.broker import Broker
from ..nameserver import NameServer
from ..remoting.command import Command
from ..remoting.dispatch import Dispatcher
from .connection import ServerConnection

_RULE = re.compile(r"\b(CHK|TCM|DLQ|TRX|BAT|BACK|NS)-([0-9]+)\b")
"""Rules of checks and decisions. Rules of the log are omitted, because they are the same for every message."""
_ARRIVALS = (Broker.receive.__code__, NameServer.receive.__code__)
_THREADS = (Dispatcher._serve.__code__, Dispatcher._completed.__code__)  # noqa: SLF001 - the functions in which a thread processes a request
_ANSWER = ServerConnection.write.__code__
_UNANSWERED = 10_000  # requests kept because their response may still be written

Key = tuple[int, int]
Rule = tuple[str, str]


@dataclass(slots=True, eq=False)
class NarratedRequest:
    """A request and its rules, in the order in which they first ran."""

    part: str
    request: Command
    rules: dict[Rule, None] = field(default_factory=dict)


class Narrator:
    """Reports every request that is served on this thread while the context is active."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._narrated: dict[Key, NarratedRequest] = {}
        self._current: NarratedRequest | None = None
        self._rules: dict[CodeType, tuple[Rule, ...]] = {}

    def __enter__(self) -> Narrator:
        sys.setprofile(self._profile)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        sys.setprofile(None)

    def _profile(self, frame: FrameType, event: str, value: Any) -> None:
        """Handle the call or return of a function, for sys.setprofile. A waiting thread leaves its functions and enters them again."""
        code = frame.f_code
        if event == "call":
            if code in _ARRIVALS:
                self._arrives(frame.f_locals)
            elif code in _THREADS:
                variables = frame.f_locals
                self._current = self._narrated.get((id(variables["channel"]), variables["request"].opaque))
            elif code is _ANSWER:
                self._answered(frame.f_locals)
            elif self._current is not None:
                self._current.rules.update(dict.fromkeys(self._rules_of(code)))
        elif event == "return" and (code in _THREADS or code in _ARRIVALS):
            if self._current is not None and self._current.request.is_one_way and code in _THREADS and value is None:
                self._end(frame.f_locals["channel"], self._current, "nobody waits for an answer")
            self._current = None

    def _arrives(self, variables: dict[str, Any]) -> None:
        part, command = variables["self"], variables["command"]
        if not command.is_response:
            name = part.settings.broker_name if isinstance(part, Broker) else "name server"
            self._current = self._narrated[id(variables["channel"]), command.opaque] = NarratedRequest(name, command)
            if len(self._narrated) > _UNANSWERED:
                del self._narrated[next(iter(self._narrated))]

    def _answered(self, variables: dict[str, Any]) -> None:
        command = variables["command"]
        narrated = self._narrated.get((id(variables["self"]), command.opaque)) if command.is_response else None
        if narrated is not None:
            self._end(variables["self"], narrated, _answer(command))

    def _end(self, channel: object, narrated: NarratedRequest, end: str) -> None:
        self._narrated.pop((id(channel), narrated.request.opaque), None)
        words = (time.strftime("%H:%M:%S"), narrated.part, _request(narrated.request), *_folded(narrated.rules), "→", end)
        self._write(" ".join(words))

    def _rules_of(self, code: CodeType) -> tuple[Rule, ...]:
        rules = self._rules.get(code)
        if rules is None:
            text = code.co_consts[0] if code.co_consts else None
            rules = tuple(dict.fromkeys(_RULE.findall(text))) if isinstance(text, str) else ()
            self._rules[code] = rules
        return rules


def _request(request: Command) -> str:
    """Return the request's name, and its topic and queue if present."""
    fields = request.ext_fields or {}
    words = [codes.REQUESTS.get(request.code, str(request.code))]
    for name, form in (("topic", "{}"), ("queueId", "q{}")):
        value = fields.get(name, fields.get(SHORT_NAMES[name]))
        if value is not None:
            words.append(form.format(value))
    return " ".join(words)


def _folded(rules: Iterable[Rule]) -> Iterable[str]:
    """Return one word per rule family, such as CHK-01,02,05. Families are in the order in which they first ran."""
    families: dict[str, list[str]] = {}
    for family, number in rules:
        families.setdefault(family, []).append(number)
    return (f"{family}-{','.join(sorted(numbers))}" for family, numbers in families.items())


def _answer(answer: Command) -> str:
    """Return the response's code with queue and offset, or with the first line of its remark."""
    fields = answer.ext_fields or {}
    words = [codes.ANSWERS.get(answer.code, str(answer.code))]
    if "queueId" in fields:
        words.append(f"q{fields['queueId']}")
    if "queueOffset" in fields:
        words.append(f"@{fields['queueOffset']}")
    if answer.remark and answer.code != codes.SUCCESS:
        words.append(answer.remark.splitlines()[0])
    return " ".join(words)
