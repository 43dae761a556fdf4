"""The kinds of faults of the machine, and the parser of the option `--faults`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rocketproof_protocol.numbers import java_int

from ...reports.choices import InputError, known

KILL: Final = "kill"
POWER: Final = "power"
DISK: Final = "disk"
THREADS: Final = "threads"
SLAVE: Final = "slave"
KINDS: Final = (KILL, POWER, DISK, THREADS, SLAVE)
TRACED: Final = (POWER, DISK, THREADS)
"""The kinds that need strace."""
ROUNDS: Final[Mapping[str, int]] = {KILL: 20, POWER: 4, DISK: 4, THREADS: 2, SLAVE: 5}
"""The default number of faults of each kind."""


def parse(text: str) -> dict[str, int]:
    """Parse `--faults`: return the number of faults of each kind. Raises InputError."""
    rounds_of: dict[str, int] = {}
    for item in text.split(","):
        name, colon, rounds = item.strip().partition(":")
        kind = known("kind of fault", name, KINDS)
        if kind in rounds_of:
            raise InputError(f"--faults {text}: {kind} is named twice; give it once, with a number such as {kind}:{2 * ROUNDS[kind]}")
        times = java_int(rounds) if colon else ROUNDS[kind]
        if times is None or times <= 0:
            raise InputError(f"--faults {text}: {item.strip()!r} has no number of at least 1; give one such as {kind}:{ROUNDS[kind]}")
        rounds_of[kind] = times
    return rounds_of
