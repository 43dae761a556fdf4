"""Fresh names: a prefix on topics, groups and addresses separates the programs that share a broker.

System topics and blank names stay as they are. For a name that starts with a long run of one ASCII character, the length matters: the
prefix replaces its first characters, so that the number of characters and bytes does not change.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rocketproof_protocol.topics import DLQ_PREFIX, RETRY_PREFIX, SYSTEM_PREFIX, SYSTEM_TOPICS, TEMPLATE, TEMPLATES

_LONG = re.compile(r"([!-~])\1{23,}")


def is_system_topic(name: str) -> bool:
    """Return whether every broker has, or may have, a topic of its own with this name."""
    return name in SYSTEM_TOPICS or name in TEMPLATES or name.startswith(SYSTEM_PREFIX)


def is_common_name(name: str) -> bool:
    """Return whether all programs share this name on any broker: a system topic or a blank name."""
    return is_system_topic(name) or not name.strip()


@dataclass(frozen=True)
class ProgramNames:
    """The names of one program on one target.

    - `own`: the broker's cluster and name, which are topics too.
    - `run`: distinguishes messages in shared topics from those of other runs on the same broker; 0 if there is only one run.
    - `template`: the release's name of TBW102.
    """

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
        return name if is_common_name(name) or self.is_shared(name) else self._fresh(name)

    def group(self, name: str) -> str:
        return self._fresh(name)

    def key(self, name: str) -> str:
        """Return the program's own name of a unique key. In some releases a timer is cancelled by this key alone, on the whole broker."""
        return self._fresh(name)

    def _fresh(self, name: str) -> str:
        long = _LONG.match(name)
        if long is not None and long.end() > len(self.prefix):
            return self.prefix + name[len(self.prefix) :]
        return self.prefix + name

    def bare(self, text: str) -> str:
        """Return a text without the program's prefix, for readers."""
        return text.replace(self.prefix, "")

    def address(self, address: str) -> str:
        """Return an unused address for a broker that does not exist."""
        host, _, _ = address.partition(":")
        return f"{host}:{10_000 + self.number % 50_000}"

    def is_shared(self, topic: str) -> bool:
        """Return whether programs share the topic because it belongs to the broker."""
        return is_system_topic(topic) or topic in self.own or topic == self.cluster

    def is_mine(self, topic: str) -> bool:
        bare = topic
        for head in (RETRY_PREFIX, DLQ_PREFIX):
            bare = bare.removeprefix(head)
        return bare.startswith(self.prefix)
