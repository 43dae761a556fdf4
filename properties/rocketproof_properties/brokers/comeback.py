"""Restart of a broker that was killed or stopped. A failed restart is a finding, not an error of the caller.

A kill may leave an empty file. If a broker does not start with it, the file is deleted and the start is retried once. Later steps can then
still be checked. `Deployment.unsized` lists these files.
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
"""Seconds to wait for a port that is in use for a moment."""
_MAPPED: Final = ("commitlog/*", "consumequeue/*/*/*")


class NotBack(TargetError):
    """A broker does not restart. `steps`: the program that killed it, empty if it was not a program."""

    steps: Sequence[Step] = ()


def come_back(running: Deployment, broker: str, settings: Mapping[str, str] | None = None) -> None:
    """Restart a broker, with some settings changed permanently, and if necessary without empty files (HAZ-59).

    Raises NotBack, NotOffered, PortTaken.
    """
    try:
        _start(running, broker, settings)
    except NotBack:
        unsized = _unsized(running, broker)
        if not unsized:
            raise
        for file in unsized:
            file.unlink()
        _start(running, broker, settings)  # raises NotBack if the empty files were not the reason
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
    """Return the broker's empty mapped files in order; none if its files cannot be read."""
    if Capability.STORE not in running.offers:
        return []
    store = running.store(broker)
    return sorted(file for pattern in _MAPPED for file in store.glob(pattern) if file.is_file() and file.stat().st_size == 0)
