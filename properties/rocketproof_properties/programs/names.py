"""Fresh names: a program's topics, groups and addresses get a prefix, so that programs on one broker do not touch each other.

What is the broker's own keeps its name, and a blank one stays blank. A name that begins with many of one ASCII character is about its
length: the prefix takes the place of the first ones, so that it has as many characters and bytes as before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rocketproof_protocol.topics import DLQ_PREFIX, RETRY_PREFIX, SYSTEM_PREFIX, SYSTEM_TOPICS, TEMPLATE, TEMPLATES

_LONG = re.compile(r"([!-~])\1{23,}")


def is_system_topic(name: str) -> bool:
    """Whether every broker has a topic of its own by this name, or may have."""
    return name in SYSTEM_TOPICS or name in TEMPLATES or name.startswith(SYSTEM_PREFIX)


def is_anybodys(name: str) -> bool:
    """Whether programs cannot have a topic of this name each for itself, whatever the broker is called: it is a system topic's, or
    blank."""
    return is_system_topic(name) or not name.strip()


@dataclass(frozen=True)
class ProgramNames:
    """The names of one program on one target. `own`: the broker's cluster and name, which are topics too. `run` tells apart the messages
    of runs that meet on one broker in topics which are nobody's own; 0 where nothing but one run is ever there. `template`: what the
    release calls TBW102."""

    prefix: str
    number: int
    cluster: str = "DefaultCluster"
    own: frozenset[str] = frozenset()
    run: int = 0
    template: str = TEMPLATE

    def topic(self, name: str) -> str:
        for head in (RETRY_PREFIX, DLQ_PREFIX):
            if name.startswith(head):
                return head + self.group(name.removeprefix(head))
        if name == "DefaultCluster":
            return self.cluster
        if name == TEMPLATE:
            return self.template
        return name if is_anybodys(name) or self.is_shared(name) else self._fresh(name)

    def group(self, name: str) -> str:
        return self._fresh(name)

    def _fresh(self, name: str) -> str:
        long = _LONG.match(name)
        if long is not None and long.end() > len(self.prefix):
            return self.prefix + name[len(self.prefix) :]
        return self.prefix + name

    def bare(self, text: str) -> str:
        """A text as a reader wants it: without the prefix, which is each run's own."""
        return text.replace(self.prefix, "")

    def address(self, address: str) -> str:
        """An address that nobody has, for a broker that is not there."""
        host, _, _ = address.partition(":")
        return f"{host}:{10_000 + self.number % 50_000}"

    def is_shared(self, topic: str) -> bool:
        """Whether programs share the topic: it is the broker's own."""
        return is_system_topic(topic) or topic in self.own or topic == self.cluster

    def is_mine(self, topic: str) -> bool:
        bare = topic
        for head in (RETRY_PREFIX, DLQ_PREFIX):
            bare = bare.removeprefix(head)
        return bare.startswith(self.prefix)
