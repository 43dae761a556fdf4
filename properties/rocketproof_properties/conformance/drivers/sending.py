"""Drives a simulated cluster by the model of sending.

An action is a request on the wire, one step of a broker's thread, a packet delivered or lost, or a process killed. Requests are made in
`requests.py`, and `abstraction.py` reads the state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from rocketproof_impl.broker.registration import WANTED
from rocketproof_impl.message import Message
from rocketproof_impl.producer.producer import Producer
from rocketproof_impl.producer.publish import MessageQueue, PublishInfo
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.simulator.cluster import NAME_SERVER, Cluster
from rocketproof_impl.simulator.network import HOLD, Endpoint, Packet
from rocketproof_impl.simulator.scheduler import SimulatedThread
from rocketproof_impl.store.commitlog import APPENDS
from rocketproof_impl.store.service import PLACED
from rocketproof_impl.tasks import Pause, Work
from rocketproof_impl.topic import TopicConfig
from rocketproof_model import Action, Instance
from rocketproof_profiles import Profile
from rocketproof_protocol import codes
from rocketproof_protocol.flags import COMMIT
from rocketproof_protocol.flags import NOT as KIND_NOT
from rocketproof_protocol.numbers import whole_number
from rocketproof_spec import Specification
from rocketproof_spec.actors import HANDLER

from ...programs.actions import ANSWERS
from ...programs.sizes import stored_length
from .abstraction import seen
from .base import Deviation, ModelDriver, Seen, accepted, decoded, require, serving
from .requests import SendingActions, chosen_queue
from .scopecluster import CAP, UNIT, DeletedQueue, OutstandingSend, ScopeCluster


class SendingDriver(SendingActions, ModelDriver):
    """A cluster in the specification's initial state.

    Threads of sends stop at every pause except those in `passed`, which are inside one step of the specification: a put under its lock, the
    registration of a created topic, and the storage of a message without a place. Registrations and responses stay on the wire until an
    action moves them.
    """

    passed: ClassVar[tuple[str, ...]] = (APPENDS.name, WANTED.name, PLACED.name)

    def __init__(self, specification: Specification, instance: Instance, profile: Profile) -> None:
        super().__init__(instance, specification.scope, profile)
        self.cluster = Cluster(0, profile=profile)
        self.cluster.scheduler.stops = self._stops
        self.parts = ScopeCluster(specification, instance, self.cluster, self.names)
        self._registering: dict[int, SimulatedThread[Any]] = {}
        self.cluster.network.plan = self._plan
        self._choice: tuple[str, int] = ("", 0)
        if self.scope.routes:
            for p in range(self.scope.producers):
                self.parts.producers[p] = self.cluster.producer(f"group-{p}", settings=self.producer_settings())
                self.parts.producers[p].choose = self._choose
        self._clients = {self._client(p): p for p in range(self.scope.producers)}

    def _stops(self, task: SimulatedThread[Any], pause: Pause) -> bool:
        return task.name.endswith("/send") and pause.name not in self.passed

    # Parts

    def _client(self, p: int) -> str:
        """Return the address from which client p calls."""
        caller = self.parts.producers[p].network if self.parts.producers else self.cluster.caller(f"client-{p}")
        assert isinstance(caller, Endpoint)
        return caller.address

    def _plan(self, packet: Packet) -> Sequence[int] | str:
        """Hold registrations and the responses to sends on the wire; deliver everything else."""
        if not packet.answer:
            return HOLD if packet.command.code == codes.REGISTER_BROKER else [0]
        return HOLD if packet.channel.caller in self._clients and packet.channel.server != NAME_SERVER else [0]

    def _choose(self, info: PublishInfo, last: str | None) -> MessageQueue:
        """Return the queue that the action names for the producer's next attempt."""
        if self.constants["round_robin"]:
            return self._turns(info, last)
        return chosen_queue(info, *self._choice)

    def _turns(self, info: PublishInfo, last: str | None) -> MessageQueue:
        """Return the queue whose turn it is, which must be the one that the action names."""
        producer = next(p for p in self.parts.producers.values() if p.topic_publish_info_table.get(self.names[self.scope.subject]) is info)
        turn = producer.round_robin.choose(info, last)
        if (turn.broker_name, turn.queue_id) != self._choice:
            raise Deviation(f"it is the turn of queue {turn.queue_id} of {turn.broker_name}: {self._choice} was expected")
        return turn

    # Actions

    def can(self, action: Action, args: Sequence[int]) -> bool:
        """Return whether the implementation can take the step. It is stricter than the specification:

        - Clients do not connect to a stopped broker.
        - The dispatcher follows the order of the log.
        - A thread that has registered a topic continues after the name server's response.
        - For deletions see `_finds` and `_whole`.
        """
        values = decoded(action, args)
        if action.name in ("request", "send", "retry"):
            return self.parts.node(values["b"]).broker is not None
        if action.actor == HANDLER:
            return not self._job(values["p"]).registers and self._finds(action.name, self._job(values["p"]))
        if action.name == "outlive":
            return (values["b"], values["t"], values["q"]) in self._outliving()
        if action.name == "delete_topic":
            return self._whole(**values)
        if action.name != "dispatch":
            return True
        store = self.parts.broker(values["b"]).store
        for message in store.records(store.dispatched_to):
            if message.transaction in (KIND_NOT, COMMIT):
                return (message.topic, message.queue_id) == (self.names[values["t"]], values["q"])
        return False

    def _finds(self, action: str, job: OutstandingSend) -> bool:
        """Return whether a thread that is about to store finds its topic again. This decides whether a deleted queue still exists."""
        if action not in _STORING or not self.scope.deletes:
            return True
        exists = self.names[job.topic] in self.parts.broker(job.broker).topics.table
        return exists and all((b, t) != (job.broker, job.topic) for b, t, _ in self._outliving())

    def _outliving(self) -> set[tuple[int, int, int]]:
        return {key for key, deleted in self.parts.count.deleted.items() if deleted.there}

    def _whole(self, b: int, t: int) -> bool:
        """Return whether each deleted queue has all its entries or none: the specification does not model records dispatched after the
        deletion."""
        now = seen(self.parts)
        queues = [(b, x, q) for x, q in self._gone(b, t)]
        return all(now["entries", *at] in (0, now["records", *at]) for at in queues)

    def _other(self, **values: Any) -> None:
        self._resume(**values)

    def _resume(self, p: int, draw: int = 0) -> None:
        """Let the broker's thread of this request take its next step."""
        job = self._job(p)
        handler = self._handler(p, job)
        before = self._before_step(job)
        place = handler.at.name if handler.at else ""
        draws = place == "append" and job.queue < 0
        if draws:
            self.parts.node(job.broker).random.feed(draw)
        if place == "failed":
            job.left_failed = True
        self.cluster.scheduler.resume(handler)
        self._record_step(p, job, place, before)

    def _job(self, p: int) -> OutstandingSend:
        require(p in self.parts.jobs, f"client {p} has no request: the specification says that it has one")
        return self.parts.jobs[p]

    def _handler(self, p: int, job: OutstandingSend) -> SimulatedThread[Any]:
        if job.handler is None or job.handler.at is None:
            raise Deviation(f"the request of client {p} has no thread that could take a step: the specification says that it has one")
        return job.handler

    def _do_lock_timeout(self, p: int) -> None:
        """Let the thread request the lock and reach its timeout of 3000 ms at once, without advancing other threads."""
        job = self._job(p)
        handler = self._handler(p, job)
        before = self._before_step(job)
        place = handler.at.name if handler.at else ""
        self.cluster.scheduler.resume(handler)
        if handler.waiting is not None:
            self.cluster.scheduler.time_out(handler)
        self._record_step(p, job, place, before)

    def _before_step(self, job: OutstandingSend) -> tuple[Any, ...]:
        """Return what a step may change and no counter keeps: entries of the table, a registration on the wire, records of the log."""
        node = self.parts.node(job.broker)
        table = {n: (c, c.copy()) for n, c in node.broker.topics.table.items() if n in self.names} if node.broker else {}
        return table, self.parts.packet(job.broker) is not None, self.parts.log(job.broker).total

    def _record_step(self, p: int, job: OutstandingSend, place: str, before: tuple[Any, ...]) -> None:
        node = self.parts.node(job.broker)
        table, sent, total = before
        now = node.running.topics.table
        for t, name in enumerate(self.names):
            if name in now and (name not in table or now[name] is not table[name][0]):
                self._count(self.parts.count.creations, job.broker, t)
                job.created = True
            if (table[name][1] if name in table else None) != now.get(name):
                job.touched = True
        if place == "unlocked" and not sent and self.parts.packet(job.broker) is not None:
            self._count(self.parts.count.announcements, job.broker, job.topic)
        handler = job.handler
        if handler is not None and handler.at is not None:
            if isinstance(handler.at.carries, TopicConfig) and self._remembers(handler.at.name):
                job.at_hand = handler.at.carries
            if job.left_failed:
                job.fallback = True
        job.answer = self._answer(p)
        if job.answer is not None:
            command = job.answer.command
            job.result = ANSWERS.get(command.code, "")
            require(job.result, f"client {p} is answered {command.code} ({command.remark}): the specification has no such answer")
            job.checks = place == "arrived"
            fields = command.ext_fields or {}
            if command.code == codes.SUCCESS:
                job.queue = whole_number(fields["queueId"])
                job.offset = whole_number(fields["queueOffset"]) if self.scope.store else 0
        elif handler is not None and handler.done.done:
            raise Deviation(f"the request of client {p} ended without an answer: the specification answers every request")
        job.appended += self.parts.log(job.broker).total - total

    def _remembers(self, place: str) -> bool:
        """Return whether the specification stores the topic that was found. If topics never change, the table still has it."""
        if place == "inherit":
            return self.scope.deletes
        return self.scope.changes or place == "built"

    @staticmethod
    def _count(counts: dict[tuple[int, int], int], b: int, t: int) -> None:
        counts[b, t] = min(CAP, counts.get((b, t), 0) + 1)

    def _answer(self, p: int) -> Packet | None:
        mine = [packet for packet in self.cluster.network.held if packet.answer and self._clients.get(packet.channel.caller) == p]
        if len(mine) > 1:
            raise Deviation(f"client {p} has {len(mine)} answers on the wire: a request has one answer")
        return mine[0] if mine else None

    # Actions of clients and producers

    def body_bytes(self, t: int, size: int, kind: str, properties: Mapping[str, str]) -> int:
        del kind
        return size * UNIT - 91 - len(self.names[t].encode()) - stored_length(properties, self.profile)

    def client_sends(self, p: int, b: int, request: Command, **values: Any) -> None:
        call = self.cluster.calling(request, self.broker_name(b), client=f"client-{p}")
        self.parts.count.sent[p] = self.parts.count.sent.get(p, 0) + 1
        self._arrive(p, OutstandingSend(b, **values, call=call))

    def _arrive(self, p: int, job: OutstandingSend) -> None:
        """Find the broker's thread that serves the request, which stops at its first pause."""
        self.parts.jobs[p] = job
        known = [other.handler for other in self.parts.jobs.values() if other.handler is not None]
        job.handler = serving(self.parts.node(job.broker), known, f"the request of client {p}")

    def producer_sends(self, p: int, b: int, q: int, message: Message) -> None:
        self._choice = (self.broker_name(b), q)
        task = self.cluster.scheduler.spawn(self.producer(p).send(message, 10_000_000), f"producer {p}")
        self.cluster.scheduler.settle()
        if task.done.done:
            task.result()
        self.parts.count.sent[p] = self.parts.count.sent.get(p, 0) + 1
        self._arrive(p, OutstandingSend(b, self.scope.subject, 0, self.constants["client_queues"], q, "not", self.scope.sizes.lo, task))

    def producer(self, p: int) -> Producer:
        return self.parts.producers[p]

    def complete(self, work: Work[Any]) -> None:
        self.cluster.scheduler.complete(work)

    def _do_refresh(self, p: int) -> None:
        super()._do_refresh(p)
        if self.constants["burst"]:
            self.parts.count.refreshed.add(p)

    def _do_start(self, p: int, at: int) -> None:
        """Set the random start of the counter (CLI-23)."""
        self.producer(p).round_robin.counter.value = at
        self.parts.count.started.add(p)

    def _do_finish(self, p: int) -> None:
        """Deliver the response, or time out the caller if it is lost."""
        job = self._job(p)
        self._end_attempt(job)
        require(job.call.done.done, f"client {p} goes on after its answer: the specification ends the send here")
        del self.parts.jobs[p]

    def _do_retry(self, p: int, b: int, q: int) -> None:
        job = self._job(p)
        self._choice = (self.parts.node(b).name, q)
        self._end_attempt(job)
        require(not job.call.done.done, f"client {p} gives up after {job.result}: the specification sends once more")
        next_attempt = OutstandingSend(b, job.topic, job.default, job.numbers, q, job.kind, job.size, job.call, tries=job.tries + 1)
        next_attempt.at_hand, next_attempt.offset, next_attempt.appended = job.at_hand, job.offset, job.appended
        self._arrive(p, next_attempt)

    def _end_attempt(self, job: OutstandingSend) -> None:
        if job.answer is not None:
            self.cluster.network.deliver(job.answer)
            self.cluster.scheduler.settle()
        else:
            self.cluster.scheduler.time_out(job.call)

    # Actions of brokers, name server and administrator

    def _do_register(self, b: int) -> None:
        self._registering[b] = self.cluster.scheduler.spawn(
            self.parts.broker(b).registration.register_all(True, False, False), "registration"
        )
        self.cluster.scheduler.settle()

    def _do_accept_registration(self, b: int) -> None:
        self.cluster.network.deliver(self._registration(b))
        self.cluster.scheduler.settle()

    _do_ignore_registration = _do_accept_registration

    def _registration(self, b: int) -> Packet:
        packet = self.parts.packet(b)
        if packet is None:
            raise Deviation(f"no registration of {self.parts.node(b).name} is on the wire: the specification says that there is one")
        return packet

    def _do_lose_registration(self, b: int) -> None:
        self.cluster.network.drop(self._registration(b))
        self.parts.count.losses += 1
        creators = [job.handler for job in self.parts.jobs.values() if job.broker == b and job.registers]
        for waiting in (self._registering.get(b), *creators):
            if waiting is not None and not waiting.done.done:
                self.cluster.scheduler.time_out(waiting)

    def administrate(self, b: int | None, request: Command, does: str, *, waits: bool = True) -> None:
        to = "name server" if b is None else self.broker_name(b)
        call = self.cluster.calling(request, to, client="administrator")
        if waits:
            accepted(self.cluster.scheduler.run(call.done), f"an administrator, who {does},")
        elif b is not None:
            self._registering[b] = call

    def _do_update_topic(self, b: int, t: int, **counts: int) -> None:
        super()._do_update_topic(b, t, **counts)
        self.parts.count.updates += self.constants["update_budget"] >= 0

    def _do_delete_topic(self, b: int, t: int) -> None:
        before = seen(self.parts)
        super()._do_delete_topic(b, t)
        count = self.parts.count
        count.updates += self.constants["update_budget"] >= 0
        count.creations[b, t] = count.announcements[b, t] = 0
        store = self.parts.broker(b).store
        for x, q in self._gone(b, t):
            topic, offset = self.names[x], before["offset", b, x, q]
            if offset:
                kept = f"{topic}-{q}" in store.topic_queue_table
                all_of_it = self.parts.log(b).records[topic, q]
                count.deleted[b, x, q] = DeletedQueue(offset, all_of_it - (offset if kept else 0), kept)

    def _gone(self, b: int, t: int) -> list[tuple[int, int]]:
        """Return the queues that are deleted with a topic: its own, and those of topics that the broker does not have."""
        table = self.parts.broker(b).topics.table
        return [(x, q) for x, name in enumerate(self.names) if x == t or name not in table for q in range(self.scope.queues)]

    def _do_outlive(self, b: int, t: int, q: int) -> None:
        deleted = self.parts.count.deleted[b, t, q]
        deleted.outlived, deleted.there = 0, False

    def _do_crash(self, b: int) -> None:
        require(self.parts.node(b).broker is not None, f"{self.parts.node(b).name} does not run: the specification ends its process")
        self.cluster.crash(self.parts.node(b).name, silent=True)
        self.parts.count.crashes += 1
        for key in [k for k in self.parts.count.creations if k[0] == b]:
            self.parts.count.creations[key] = 0
        for key in [k for k in self.parts.count.announcements if k[0] == b]:
            self.parts.count.announcements[key] = 0
        for job in self.parts.jobs.values():
            if job.broker == b and job.answer is None:
                job.handler, job.result = None, "lost"

    def _do_restart(self, b: int) -> None:
        require(self.parts.node(b).broker is None, f"{self.parts.node(b).name} runs already: the specification starts it")
        self.parts.boot(b)

    def _do_expire(self, b: int) -> None:
        server, node = self.cluster.name_server, self.parts.node(b)
        require(node.broker is None, f"{node.name} runs, and its channel is open: the specification says that it is gone")
        live = server.live_info(node.settings.broker_cluster_name, node.settings.address)
        assert live is not None and live.channel is not None, "the broker registered over one"
        server.channel_closed(live.channel)

    def _do_dispatch(self, b: int, t: int, q: int) -> None:
        store = self.parts.broker(b).store
        before = store.max_offset(self.names[t], q)
        while store.max_offset(self.names[t], q) == before:
            require(store.dispatch(1), "the dispatcher is at the end of the log: the specification has a record for it")

    def _do_flush(self, b: int) -> None:
        self.parts.broker(b).store.flush_now()

    def seen(self) -> Seen:
        return seen(self.parts)


_STORING = ("store", "roll", "acknowledge_lost", "divide_by_zero")
