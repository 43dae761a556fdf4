"""Ids for messages whose clients set none: 32 digits in UNIQ_KEY, assigned by the broker (SEND-46)."""

from __future__ import annotations

import ipaddress

from .ports import Clock


class UniqueIds:
    """Generates ids from address and port, milliseconds since the start of the process, and a counter."""

    __slots__ = ("_clock", "_count", "_prefix", "_started")

    def __init__(self, clock: Clock, host: str, port: int) -> None:
        self._clock = clock
        self._prefix = f"{ipaddress.ip_address(host).packed.hex().upper()}{port & 0xFFFF:04X}{0:08X}"
        self._started = clock.now()
        self._count = 0

    def next(self) -> str:
        elapsed = self._clock.now() - self._started
        text = f"{self._prefix}{elapsed & 0xFFFFFFFF:08X}{self._count & 0xFFFF:04X}"
        self._count += 1
        return text
