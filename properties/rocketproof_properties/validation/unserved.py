"""Requests that a broker or a name server does not serve: asked for once at the begin, a finding each, and left out of programs.

A port that lacks one request would otherwise be accused by every program that has it, and by all that follows from that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_protocol import codes

from ..brokers.deployment import Deployment
from ..brokers.runs.recording import worded
from ..judging.judging import ProgramFinding
from ..programs.call import Context, RecordedCall
from ..programs.names import ProgramNames
from ..programs.program import Program
from ..programs.vocabulary import request_of
from .ladder import ASKED_FOR, REQUEST, REQUESTS
from .report import UNSERVED, ValidationFinding

_SECONDS: Final = (2.0, 1.0, 1.0)
"""To wait for an answer, each time that it is asked: one that is lost on its way says nothing of the target."""


@dataclass(frozen=True)
class Unserved:
    """A request that a broker or a name server does not serve: the step, its code and name, what came of it, whether it was `refused`
    or not answered, and see `ladder.Request`."""

    step: str
    code: int
    request: str
    answer: str
    refused: bool
    level: int
    lost: str


def unserved(running: Deployment, mark: str) -> Iterator[Unserved]:
    """The requests that its parts do not serve, as far as they can be asked for without doing anything."""
    broker = next(iter(running.brokers))
    context = Context(ProgramNames(f"{mark}0-", 0), broker)
    for name in ASKED_FOR:
        known = REQUESTS[name]
        call = request_of((name, dict(known.given)), context)
        if call is None or running.address(call.to) is None:
            continue
        answer = _answer(running, call)
        refused = not isinstance(answer, str)
        if isinstance(answer, Command):
            if answer.code != codes.REQUEST_CODE_NOT_SUPPORTED:
                continue
            answer = said(answer.code, answer.remark)
        yield Unserved(name, call.code, codes.REQUESTS[call.code], answer, refused, known.level, known.lost)


def _answer(running: Deployment, call: RecordedCall) -> Command | str:
    """The answer, or why none came, however often it was asked for."""
    why = ""
    for seconds in _SECONDS:
        try:
            with running.connect(call.to, seconds) as line:
                return line.ask(call.command(), seconds)
        except RemotingError as problem:
            why = worded(problem)
    return why


def said(code: int, remark: str | None) -> str:
    """An answer in short."""
    return f"{code} {codes.ANSWERS.get(code, '')}".strip() + (f": {' '.join(remark.split())[:200]}" if remark else "")


def of_unserved(one: Unserved) -> ValidationFinding:
    """The finding that it is."""
    text = f"{one.request} ({one.code}) is {f'answered {one.answer}' if one.refused else 'not answered'}; lost without it: {one.lost}"
    verdict = ProgramFinding("reference", f"{REQUEST}{one.step}", text, rules=("REM-05",))
    return ValidationFinding(verdict, Program(0, UNSERVED, ()), "", 0, cause=UNSERVED)
