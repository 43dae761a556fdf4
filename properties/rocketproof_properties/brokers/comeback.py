"""A broker that was ended is started again. One that does not come back has shown something: that is no fault of who asked for it.

A kill may leave a file that was made and has no length yet. A broker that ends over such a file is started once more without it, as whoever
runs it would do, so that what comes behind is looked at all the same; the files are in `Deployment.unsized`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from rocketproof_model import interrupts

from ..programs.parts import Capability
from ..programs.vocabulary import Step
from .deployment import Deployment, NotOffered, TargetError
from .processes import PortTaken

_PAUSES: Final = (0.5, 1.0, 2.0)
"""Seconds to wait for a port that others hold for a moment."""
_MAPPED: Final = ("commitlog/*", "consumequeue/*/*/*")


class NotBack(TargetError):
    """A broker was ended and does not start again; `steps` are those of the program that ended it, none if it was not a program."""

    steps: Sequence[Step] = ()


def come_back(running: Deployment, broker: str, settings: Mapping[str, str] | None = None) -> None:
    """Start a broker that has ended, with some settings changed for good, and if need be without files that have no length (HAZ-59).

    Raises NotBack, NotOffered, PortTaken."""
    try:
        _start(running, broker, settings)
    except NotBack:
        unsized = _unsized(running, broker)
        if not unsized:
            raise
        for file in unsized:
            file.unlink()
        _start(running, broker, settings)  # where it does not come back without them either, they were not the reason
        running.unsized.setdefault(broker, []).extend("/".join(file.parts[-2:]) for file in unsized)


def _start(running: Deployment, broker: str, settings: Mapping[str, str] | None) -> None:
    for pause in (*_PAUSES, None):
        try:
            running.restart(broker, settings)
        except PortTaken:
            if pause is None:
                raise
            interrupts.pause(pause)
        except NotOffered:
            raise
        except TargetError as problem:
            raise NotBack(f"{broker} was ended and does not start again: {problem}") from None
        else:
            return


def _unsized(running: Deployment, broker: str) -> list[Path]:
    """The mapped files of a broker that have no length, in order; none where its files cannot be seen."""
    if Capability.STORE not in running.offers:
        return []
    store = running.store(broker)
    return sorted(file for pattern in _MAPPED for file in store.glob(pattern) if file.is_file() and file.stat().st_size == 0)
