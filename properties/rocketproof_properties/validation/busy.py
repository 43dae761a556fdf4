"""Check that an idle broker stops reporting that it is busy (STO-03, LIV-05).

The judges accept every rejection by a busy broker. This check finds a broker that stays busy for ever.
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
from ..judging.verdicts import ProgramFinding
from ..programs.call import Context
from ..programs.names import ProgramNames
from ..programs.program import Program
from ..programs.settings import settings_of
from ..programs.vocabulary import request_of
from .report import ValidationFinding

PROPERTY: Final = "busy.ends"
SENTENCE: Final = "a broker that nobody asks anything is busy no longer"
PATIENCE: Final = 10.0
"""Seconds to wait for background tasks of a broker, such as flushes and deliveries."""
_PAUSE: Final = 0.5
_SECONDS: Final = 5.0


def busy(running: Deployment, profile: str, mark: str, needs: str) -> Iterator[ValidationFinding]:
    """Yield a finding for each idle broker that keeps rejecting a message as busy. Slaves reject all messages and are skipped."""
    if settings_of(needs).get("brokerRole") == "SLAVE":
        return
    for broker in running.brokers:
        context = Context(ProgramNames(f"{mark}0-", 0), broker, profile=PROFILES[profile])
        began = time.monotonic()
        remark = until(partial(_rejected, running, context), lambda busy_remark: busy_remark is None, PATIENCE, _PAUSE)
        if remark is not None:
            text = f"{SENTENCE}: {broker} rejects every message for {time.monotonic() - began:.0f} s and more ({remark})"
            rules = ("STO-03", "CL-05", "REM-06")
            yield ValidationFinding(ProgramFinding("reference", PROPERTY, text, rules=rules), Program(0, needs, (), needs), "")


def _rejected(running: Deployment, context: Context) -> str | None:
    """Send a message. Return the remark if the broker rejects it as busy; None for any other response, and for no response."""
    call = request_of(("send", {"topic": "Z"}), context)
    assert call is not None
    try:
        with running.connect(context.broker, _SECONDS) as line:
            answer = line.ask(call.command(), _SECONDS)
    except RemotingError:
        return None
    return str(answer.remark) if answer.code == SYSTEM_BUSY else None
