"""What is done again and again, as data: a driver calls the function of that name at its times."""

from __future__ import annotations

from typing import NamedTuple


class Periodic(NamedTuple):
    """The name of a function of the same object, and milliseconds: until the first call, and from call to call."""

    name: str
    first: int
    period: int
