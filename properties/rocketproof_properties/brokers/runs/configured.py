"""Temporary settings of running brokers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from ..deployment import Deployment, TargetError
from .readback import Reader


@contextmanager
def configured(running: Deployment, settings: Mapping[str, str]) -> Iterator[None]:
    """Change settings of all brokers and restore them at the end. Raises TargetError if the present settings are unknown."""
    before: dict[str, dict[str, str]] = {}
    for broker in running.brokers if settings else ():
        reader = Reader(running, broker)
        known = reader.settings()
        reader.close()
        if known is None:
            raise TargetError(f"{broker} did not tell its settings, which are to be set back: {reader.faults[-1]}")
        before[broker] = {name: known[name] for name in settings if name in known}
        running.configure(broker, settings)
    try:
        yield
    finally:
        for broker, old in before.items():
            with suppress(TargetError):  # a broker that is gone was reported already
                running.configure(broker, old)
