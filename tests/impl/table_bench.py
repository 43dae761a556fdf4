"""A topic table alone on the simulated clock and disk. It records the pauses and the requested registrations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simulated import Simulated

from rocketproof_impl.broker.topics import TopicConfigManager
from rocketproof_impl.simulator.disk import SimulatedDisk
from rocketproof_impl.simulator.scheduler import SimulatedThread
from rocketproof_impl.tasks import Pause
from rocketproof_impl.topic import TopicConfig

MAIN, BACKUP, TEMPORARY = ("store/config/topics.json" + end for end in ("", ".bak", ".tmp"))


class TableBench(Simulated):
    """`events` lists pauses and registrations in order, each with whether the lock was held.

    `stop` decides which thread stops at which pause.
    """

    def __init__(self, profile: str = "P49", disk: SimulatedDisk | None = None, **settings: Any) -> None:
        super().__init__(profile, disk, **settings)
        self.scheduler.stops = self._passing
        self.events: list[tuple[str, bool]] = []
        self.registered: list[str] = []
        self._threads: list[SimulatedThread[Any]] = []  # keeps stopped threads: a collected thread would be closed and release its lock
        self.stop: Callable[[SimulatedThread[Any], str], bool] = lambda task, name: False
        self.topics = TopicConfigManager(self.settings, self.profile, self.clock, self.disk, self._register)

    async def _register(self, config: TopicConfig) -> None:
        self.events.append(("register", self.topics.lock.held))
        self.registered.append(config.topic_name)

    def _passing(self, task: SimulatedThread[Any], pause: Pause) -> bool:
        self.events.append((pause.name, self.topics.lock.held))
        return self.stop(task, pause.name)

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.events]

    def start(
        self, topic: str, default: str | None = "TBW102", nums: int = 4, flag: int = 0, name: str = "first"
    ) -> SimulatedThread[TopicConfig | None]:
        """Start a thread that creates a topic as a first send does. It runs until it stops, waits or ends."""
        work = self.topics.create_topic_in_send_message(topic, default, "127.0.0.1:5", nums, flag)
        task = self.scheduler.spawn(work, name)
        self._threads.append(task)
        self.scheduler.settle()
        return task

    def create(self, topic: str = "T", default: str | None = "TBW102", nums: int = 4, flag: int = 0) -> TopicConfig | None:
        return self.scheduler.run(self.start(topic, default, nums, flag).done)

    def hold(self) -> SimulatedThread[TopicConfig | None]:
        """Start a thread that creates the topic `slow` and stops while it holds the lock."""
        self.stop = lambda task, name: task.name == "holder" and name == "versioned"
        return self.start("slow", name="holder")

    def create_back(self, topic: str, nums: int = 1, perm: int = 6, flag: int = 0) -> TopicConfig | None:
        return self.scheduler.complete(self.topics.create_topic_in_send_message_back(topic, nums, perm, flag))

    def restarted(self, profile: str = "P49", **settings: Any) -> TableBench:
        """Return another process on the same disk; it has loaded nothing yet."""
        return TableBench(profile, self.disk, **settings)
