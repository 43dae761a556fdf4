"""A broker that says that it is busy when nobody has asked it anything for a while (STO-03, LIV-05).

What a busy broker rejects no judge holds against it, whatever it was. So one that stays busy would be accused of nothing, and is asked.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Final

from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_profiles import PROFILES
from rocketproof_protocol.codes import SYSTEM_BUSY

from ..brokers.deployment import Deployment
from ..brokers.runs.waiting import until
from ..judging.judging import ProgramFinding
from ..programs.call import Context
from ..programs.names import ProgramNames
from ..programs.program import Program
from ..programs.settings import settings_of
from ..programs.vocabulary import request_of
from .report import ValidationFinding

PROPERTY: Final = "busy.ends"
SENTENCE: Final = "a broker that nobody asks anything is busy no longer"
PATIENCE: Final = 10.0
"""Seconds for what a broker does by itself, such as flushes and deliveries."""
_PAUSE: Final = 0.5
_SECONDS: Final = 5.0


def busy(running: Deployment, profile: str, mark: str, needs: str) -> Iterator[ValidationFinding]:
    """A finding for each broker that goes on rejecting a message; of brokers that are slaves, and reject all, none."""
    if settings_of(needs).get("brokerRole") == "SLAVE":
        return
    for broker in running.brokers:
        context = Context(ProgramNames(f"{mark}0-", 0), broker, profile=PROFILES[profile])
        began = time.monotonic()
        remark = until(partial(_rejected, running, context), lambda said: said is None, PATIENCE, _PAUSE)
        if remark is not None:
            text = f"{SENTENCE}: {broker} rejects every message for {time.monotonic() - began:.0f} s and more ({remark})"
            rules = ("STO-03", "CL-05", "REM-06")
            yield ValidationFinding(ProgramFinding("reference", PROPERTY, text, rules=rules), Program(0, needs, (), needs), "")


def _rejected(running: Deployment, context: Context) -> str | None:
    """What a broker says that rejects a message, None for any other answer, and for none."""
    call = request_of(("send", {"topic": "Z"}), context)
    assert call is not None
    try:
        with running.connect(context.broker, _SECONDS) as line:
            answer = line.ask(call.command(), _SECONDS)
    except RemotingError:
        return None
    return str(answer.remark) if answer.code == SYSTEM_BUSY else None
