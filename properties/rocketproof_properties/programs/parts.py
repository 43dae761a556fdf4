"""What a step names of a deployment: the part that it goes to, and the capability that it needs."""

from __future__ import annotations

from enum import Enum
from typing import Final

NAME_SERVER: Final = "name server"
"""The name of the name server among the parts of a running target; brokers are broker-a, broker-b …"""


class Capability(Enum):
    """What may be done to a deployment besides talking to it; the value is the word in files and reports.

    The last ones are what only a simulated cluster has: its clock, faults of disk, network and store, executors, hooks, producers inside
    it, and a direct look at its stores.
    """

    START = "start"
    STOP = "stop"
    KILL = "kill"
    RESTART = "restart"
    CONFIGURE = "configure"
    STORE = "store"
    CLOCK = "clock"
    FAULTS = "faults"
    EXECUTORS = "executors"
    HOOKS = "hooks"
    PRODUCERS = "producers"
    LOOK = "look"
