"""The kinds of faults of the machine, and those that somebody asks for: nothing else is loaded for a mistake in `--faults`."""

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
"""Those that strace does."""
ROUNDS: Final[Mapping[str, int]] = {KILL: 20, POWER: 4, DISK: 4, THREADS: 2, SLAVE: 5}
"""How often each kind strikes unless a number is given."""


def parse(text: str) -> dict[str, int]:
    """The kinds of `--faults`, each with how often it strikes. Raises InputError."""
    found: dict[str, int] = {}
    for one in text.split(","):
        name, colon, rounds = one.strip().partition(":")
        kind = known("kind of fault", name, KINDS)
        if kind in found:
            raise InputError(f"--faults {text}: {kind} is named twice; give it once, with a number such as {kind}:{2 * ROUNDS[kind]}")
        times = java_int(rounds) if colon else ROUNDS[kind]
        if times is None or times <= 0:
            raise InputError(f"--faults {text}: {one.strip()!r} has no number of at least 1; give one such as {kind}:{ROUNDS[kind]}")
        found[kind] = times
    return found
