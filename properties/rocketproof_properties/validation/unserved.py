"""Requests that a target does not serve: each is probed once at the beginning, reported as one finding, and removed from programs.

Otherwise a target without one request would have a finding for every program that sends it, and for all consequences.
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
from ..judging.verdicts import ProgramFinding
from ..programs.call import Context, RecordedCall
from ..programs.names import ProgramNames
from ..programs.program import Program
from ..programs.vocabulary import request_of
from .levels import PROBED, REQUEST, REQUESTS
from .report import UNSERVED, ValidationFinding

_SECONDS: Final = (2.0, 1.0, 1.0)
"""Seconds to wait for a response, per attempt.

There are several attempts, because a lost response does not mean that the request is not served.
"""


@dataclass(frozen=True)
class Unserved:
    """A request that a broker or a name server does not serve: the step, its code and name, and the response.

    `refused` is False if there was no response. For `level` and `lost` see `levels.LevelRequest`.
    """

    step: str
    code: int
    request: str
    answer: str
    refused: bool
    level: int
    lost: str


def unserved(running: Deployment, mark: str) -> Iterator[Unserved]:
    """Yield the requests that the target does not serve, out of those that can be sent without side effects."""
    broker = next(iter(running.brokers))
    context = Context(ProgramNames(f"{mark}0-", 0), broker)
    for name in PROBED:
        known = REQUESTS[name]
        call = request_of((name, dict(known.given)), context)
        if call is None or running.address(call.to) is None:
            continue
        answer = _answer(running, call)
        refused = not isinstance(answer, str)
        if isinstance(answer, Command):
            if answer.code != codes.REQUEST_CODE_NOT_SUPPORTED:
                continue
            answer = response_text(answer.code, answer.remark)
        yield Unserved(name, call.code, codes.REQUESTS[call.code], answer, refused, known.level, known.lost)


def _answer(running: Deployment, call: RecordedCall) -> Command | str:
    """Return the response, or the reason why no attempt got one."""
    why = ""
    for seconds in _SECONDS:
        try:
            with running.connect(call.to, seconds) as line:
                return line.ask(call.command(), seconds)
        except RemotingError as problem:
            why = worded(problem)
    return why


def response_text(code: int, remark: str | None) -> str:
    """Return a response as a short text."""
    return f"{code} {codes.ANSWERS.get(code, '')}".strip() + (f": {' '.join(remark.split())[:200]}" if remark else "")


def of_unserved(request: Unserved) -> ValidationFinding:
    """Return the finding for an unserved request."""
    outcome = f"answered {request.answer}" if request.refused else "not answered"
    text = f"{request.request} ({request.code}) is {outcome}; lost without it: {request.lost}"
    verdict = ProgramFinding("reference", f"{REQUEST}{request.step}", text, rules=("REM-05",))
    return ValidationFinding(verdict, Program(0, UNSERVED, ()), "", 0, cause=UNSERVED)
