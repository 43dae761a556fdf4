"""A broker that was ended is started again. One that does not come back has shown something: that is no fault of who asked for it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from ..steps.vocabulary import Step
from .deployment import Deployment, NotOffered, TargetError
from .processes import PortTaken

_PAUSES: Final = (0.5, 1.0, 2.0)
"""Seconds to wait for a port that others hold for a moment."""


class NotBack(TargetError):
    """A broker was ended and does not start again; `steps` are those of the program that ended it, none if it was not a program."""

    steps: Sequence[Step] = ()


def come_back(running: Deployment, broker: str) -> None:
    """Start a broker that has ended. Raises NotBack, NotOffered, PortTaken."""
    for pause in (*_PAUSES, None):
        try:
            running.restart(broker)
        except PortTaken:
            if pause is None:
                raise
            time.sleep(pause)
        except NotOffered:
            raise
        except TargetError as problem:
            raise NotBack(f"{broker} was ended and does not start again: {problem}") from None
        else:
            return
