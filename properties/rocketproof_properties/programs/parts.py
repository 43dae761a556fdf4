"""What a step requires of a deployment: the part that it is addressed to, and a capability."""

from __future__ import annotations

from enum import Enum
from typing import Final

NAME_SERVER: Final = "name server"
"""The name of the name server among the parts of a running target. Brokers are named broker-a, broker-b and so on."""


class Capability(Enum):
    """An operation on a deployment apart from requests. The value is the word in files and reports.

    `START_NAME_SERVER`: the name server can be started with settings of its own. `SET_CLOCK`: a broker can be started with another clock
    than the machine's.

    `CLOCK` to `LOOK` exist only in simulated clusters: the clock, faults of disk, network and store, executors, hooks, producers inside of
    the cluster, and direct access to its stores.
    """

    START = "start"
    START_NAME_SERVER = "start name server"
    STOP = "stop"
    KILL = "kill"
    RESTART = "restart"
    CONFIGURE = "configure"
    STORE = "store"
    SET_CLOCK = "set clock"
    CLOCK = "clock"
    FAULTS = "faults"
    EXECUTORS = "executors"
    HOOKS = "hooks"
    PRODUCERS = "producers"
    LOOK = "look"
