"""Says in one line what became of each request: the rules that it went through, and its answer.

The rules are not listed here: they are read from the docstrings of the functions that ran for the request. The interpreter tells
of every function that is entered, so a narrator costs time, and nothing at all is paid where there is none.
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
"""Rules of checks and decisions. What the log does with every message it gets is the same each time, and left out."""
_ARRIVALS = (Broker.receive.__code__, NameServer.receive.__code__)
_THREADS = (Dispatcher._serve.__code__, Dispatcher._completed.__code__)  # noqa: SLF001 - where a request is in a thread's hand
_ANSWER = ServerConnection.write.__code__
_UNANSWERED = 10_000  # stories that are kept because their answer may still come

Key = tuple[int, int]
Rule = tuple[str, str]


@dataclass(slots=True, eq=False)
class RequestStory:
    """One request, and the rules it has met, in the order of the first time."""

    part: str
    request: Command
    rules: dict[Rule, None] = field(default_factory=dict)


class Narrator:
    """Tells every request that is served on this thread while the context lasts."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._stories: dict[Key, RequestStory] = {}
        self._current: RequestStory | None = None
        self._rules: dict[CodeType, tuple[Rule, ...]] = {}

    def __enter__(self) -> Narrator:
        sys.setprofile(self._happens)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        sys.setprofile(None)

    def _happens(self, frame: FrameType, event: str, value: Any) -> None:
        """A function is entered or left. A thread that waits leaves its functions, and enters them again."""
        code = frame.f_code
        if event == "call":
            if code in _ARRIVALS:
                self._arrives(frame.f_locals)
            elif code in _THREADS:
                held = frame.f_locals
                self._current = self._stories.get((id(held["channel"]), held["request"].opaque))
            elif code is _ANSWER:
                self._answered(frame.f_locals)
            elif self._current is not None:
                self._current.rules.update(dict.fromkeys(self._rules_of(code)))
        elif event == "return" and (code in _THREADS or code in _ARRIVALS):
            if self._current is not None and self._current.request.is_one_way and code in _THREADS and value is None:
                self._end(frame.f_locals["channel"], self._current, "nobody waits for an answer")
            self._current = None

    def _arrives(self, held: dict[str, Any]) -> None:
        part, command = held["self"], held["command"]
        if not command.is_response:
            name = part.settings.broker_name if isinstance(part, Broker) else "name server"
            self._current = self._stories[id(held["channel"]), command.opaque] = RequestStory(name, command)
            if len(self._stories) > _UNANSWERED:
                del self._stories[next(iter(self._stories))]

    def _answered(self, held: dict[str, Any]) -> None:
        command = held["command"]
        story = self._stories.get((id(held["self"]), command.opaque)) if command.is_response else None
        if story is not None:
            self._end(held["self"], story, _answer(command))

    def _end(self, channel: object, story: RequestStory, end: str) -> None:
        self._stories.pop((id(channel), story.request.opaque), None)
        words = (time.strftime("%H:%M:%S"), story.part, _request(story.request), *_folded(story.rules), "→", end)
        self._tell(" ".join(words))

    def _rules_of(self, code: CodeType) -> tuple[Rule, ...]:
        found = self._rules.get(code)
        if found is None:
            text = code.co_consts[0] if code.co_consts else None
            found = tuple(dict.fromkeys(_RULE.findall(text))) if isinstance(text, str) else ()
            self._rules[code] = found
        return found


def _request(request: Command) -> str:
    """Its name, and topic and queue if it says them."""
    fields = request.ext_fields or {}
    words = [codes.REQUESTS.get(request.code, str(request.code))]
    for name, form in (("topic", "{}"), ("queueId", "q{}")):
        value = fields.get(name, fields.get(SHORT_NAMES[name]))
        if value is not None:
            words.append(form.format(value))
    return " ".join(words)


def _folded(rules: Iterable[Rule]) -> Iterable[str]:
    """The rules of one family in one word, such as CHK-01,02,05; families in the order in which they were met."""
    families: dict[str, list[str]] = {}
    for family, number in rules:
        families.setdefault(family, []).append(number)
    return (f"{family}-{','.join(sorted(numbers))}" for family, numbers in families.items())


def _answer(answer: Command) -> str:
    """Its code, the queue and the offset, or the first line of what it remarks."""
    fields = answer.ext_fields or {}
    words = [codes.ANSWERS.get(answer.code, str(answer.code))]
    if "queueId" in fields:
        words.append(f"q{fields['queueId']}")
    if "queueOffset" in fields:
        words.append(f"@{fields['queueOffset']}")
    if answer.remark and answer.code != codes.SUCCESS:
        words.append(answer.remark.splitlines()[0])
    return " ".join(words)
