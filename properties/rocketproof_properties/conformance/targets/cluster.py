"""The simulated cluster as a target of the specification: performs each action, and observes the state.

`perform` uses the implementation's own means: a request on the wire, one step of a broker's thread, a packet delivered or lost, a process
killed. The observations are kept in jobs and counters (`abstraction.py` reads the state).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from rocketproof_impl.broker.registration import WANTED
from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.message import Message
from rocketproof_impl.producer.publish import MessageQueue, PublishInfo
from rocketproof_impl.producer.settings import ProducerSettings
from rocketproof_impl.simulator.cluster import NAME_SERVER, Cluster
from rocketproof_impl.simulator.network import HOLD, Endpoint, Packet
from rocketproof_impl.simulator.scheduler import SimulatedThread
from rocketproof_impl.store.commitlog import APPENDS
from rocketproof_impl.store.service import PLACED
from rocketproof_impl.tasks import Pause
from rocketproof_impl.topic import TopicConfig
from rocketproof_model import Action, Instance
from rocketproof_profiles import Profile
from rocketproof_protocol import codes
from rocketproof_protocol.flags import COMMIT, READ, WRITE
from rocketproof_protocol.flags import NOT as KIND_NOT
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.topics import TEMPLATE
from rocketproof_spec import Specification
from rocketproof_spec.actors import HANDLER

from ...programs.actions import ANSWERS, STEPS
from ...programs.sizes import stored_length
from ...programs.vocabulary import plain
from .abstraction import BLANK, CAP, UNIT, DeletedQueue, OutstandingSend, ScopeCluster, registers, seen
from .base import Deviation, ModelTarget, Seen, decoded, serving
from .start import earlier_table, template, topic_names


class SimulatedTarget(ModelTarget):
    """A cluster in the specification's initial state.

    Threads of sends stop at every pause except those in `passed`, which are inside one step of the specification: a put under its lock, the
    registration of a created topic, and the storage of a message without a place. Registrations and responses stay on the wire until an
    action moves them.
    """

    passed: ClassVar[tuple[str, ...]] = (APPENDS.name, WANTED.name, PLACED.name)

    def __init__(self, specification: Specification, instance: Instance, profile: Profile) -> None:
        super().__init__(instance)
        self.s = specification
        scope = specification.scope
        self.cluster = Cluster(0, profile=profile)
        self.cluster.scheduler.stops = self._stops
        self.parts = ScopeCluster(specification, instance, self.cluster, topic_names(scope))
        self._registering: dict[int, SimulatedThread[Any]] = {}
        for b in range(scope.brokers):
            self.cluster.add(self._settings(b), start=False)
            self._write_table(b)
            self._boot(b)
            self.cluster.scheduler.complete(self.parts.broker(b).start())
        self.cluster.network.plan = self._plan
        self._choice: tuple[str, int] = ("", 0)
        if scope.routes:
            for p in range(scope.producers):
                chosen = ProducerSettings(
                    default_topic_queue_nums=self.constants["client_queues"],
                    retry_times_when_send_failed=self.constants["retries"],
                )
                self.parts.producers[p] = self.cluster.producer(f"group-{p}", settings=chosen)
                self.parts.producers[p].choose = self._choose
        self._clients = {self._client(p): p for p in range(scope.producers)}

    def _stops(self, task: SimulatedThread[Any], pause: Pause) -> bool:
        return task.name.endswith("/send") and pause.name not in self.passed

    # The start

    def _settings(self, b: int) -> BrokerSettings:
        constants, scope = self.constants, self.s.scope
        return BrokerSettings(
            broker_name=f"broker-{chr(ord('a') + b)}",
            listen_port=10911 + 10 * b,
            name_servers=(NAME_SERVER,),
            auto_create_topic_enable=constants["auto_create"],
            broker_permission=(READ if constants["broker_readable"] else 0) | (WRITE if constants["broker_writable"] else 0),
            mapped_file_size_commit_log=(constants["file_size"] - constants["blank"]) * UNIT + BLANK if scope.store else 1 << 20,
        )

    def _write_table(self, b: int) -> None:
        """Write the file that an earlier run left."""
        scope = self.s.scope
        kept = earlier_table(self.constants, scope, self.parts.names[scope.subject], self.cluster.clock.now())
        if kept is not None:
            self.parts.node(b).disk.write(self.parts.table_file(b), kept)

    def _boot(self, b: int) -> None:
        """Start the process.

        The constructor's entries of the topic table are adapted to the scope: they get its counts, and others are removed.
        """
        node = self.parts.node(b)
        filed, _ = self.parts.file(b)
        if not self.cluster.start(node, register=False):
            raise Deviation(f"{node.name} refuses to start: its topic table cannot be read: look at its files")
        table = node.running.topics.table
        for name in [n for n in table if n not in self.parts.names or (n not in filed and self._of(n) == "forbidden")]:
            del table[name]
        if TEMPLATE in table and TEMPLATE not in filed:
            table[TEMPLATE] = template(self.constants)
        for t, c in enumerate(self.s.scope.topics):
            if c == "cluster" and self.parts.names[t] not in filed:
                most = self.s.scope.counts.hi
                table[self.parts.names[t]] = TopicConfig(self.parts.names[t], most, most, self.constants["cluster_perm"])

    def _of(self, name: str) -> str:
        return self.s.scope.topics[self.parts.names.index(name)]

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
        """Return the queue that the action names as the producer's next one."""
        if self.constants["round_robin"]:
            return self._turns(info, last)
        for queue in info.message_queue_list:
            if (queue.broker_name, queue.queue_id) == self._choice:
                return queue
        raise Deviation(f"queue {self._choice} is not in the producer's list: the specification lists it")

    def _turns(self, info: PublishInfo, last: str | None) -> MessageQueue:
        """Return the queue whose turn it is, which must be the one that the action names."""
        producer = next(
            p for p in self.parts.producers.values() if p.topic_publish_info_table.get(self.parts.names[self.s.scope.subject]) is info
        )
        turn = producer.round_robin.choose(info, last)
        if (turn.broker_name, turn.queue_id) != self._choice:
            raise Deviation(f"it is the turn of queue {turn.queue_id} of {turn.broker_name}: {self._choice} was expected")
        return turn

    # Actions

    def can(self, action: Action, args: Sequence[int]) -> bool:
        """Return whether the target can take the step. It is stricter than the specification:

        - Clients do not connect to a stopped broker.
        - The dispatcher follows the order of the log.
        - A thread that has registered a topic continues after the name server's response.
        - For deletions see `_finds` and `_whole`.
        """
        values = decoded(action, args)
        if action.name in ("request", "send", "retry"):
            return self.parts.node(values["b"]).broker is not None
        if action.actor == HANDLER:
            return not registers(self._job(values["p"])) and self._finds(action.name, self._job(values["p"]))
        if action.name == "outlive":
            return (values["b"], values["t"], values["q"]) in self._outliving()
        if action.name == "delete_topic":
            return self._whole(**values)
        if action.name != "dispatch":
            return True
        store = self.parts.broker(values["b"]).store
        for message in store.records(store.dispatched_to):
            if message.transaction in (KIND_NOT, COMMIT):
                return (message.topic, message.queue_id) == (self.parts.names[values["t"]], values["q"])
        return False

    def _finds(self, action: str, job: OutstandingSend) -> bool:
        """Return whether a thread that is about to store finds its topic again. This decides whether a deleted queue still exists."""
        if action not in _STORING or not self.s.scope.deletes:
            return True
        exists = self.parts.names[job.topic] in self.parts.broker(job.broker).topics.table
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
        if p not in self.parts.jobs:
            raise Deviation(f"client {p} has no request: the specification says that it has one")
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
        table = {n: (c, c.copy()) for n, c in node.broker.topics.table.items() if n in self.parts.names} if node.broker else {}
        return table, self.parts.packet(job.broker) is not None, self.parts.log(job.broker).total

    def _record_step(self, p: int, job: OutstandingSend, place: str, before: tuple[Any, ...]) -> None:
        """Record the effects of the step."""
        node = self.parts.node(job.broker)
        table, sent, total = before
        now = node.running.topics.table
        for t, name in enumerate(self.parts.names):
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
            if not job.result:
                raise Deviation(f"client {p} is answered {command.code} ({command.remark}): the specification has no such answer")
            job.checks = place == "arrived"
            fields = command.ext_fields or {}
            if command.code == codes.SUCCESS:
                job.queue = whole_number(fields["queueId"])
                job.offset = whole_number(fields["queueOffset"]) if self.s.scope.store else 0
        elif handler is not None and handler.done.done:
            raise Deviation(f"the request of client {p} ended without an answer: the specification answers every request")
        job.appended += self.parts.log(job.broker).total - total

    def _remembers(self, place: str) -> bool:
        """Return whether the specification stores the topic that was found. If topics never change, the table still has it."""
        if place == "inherit":
            return self.s.scope.deletes
        return self.s.scope.changes or place == "built"

    @staticmethod
    def _count(counts: dict[tuple[int, int], int], b: int, t: int) -> None:
        counts[b, t] = min(CAP, counts.get((b, t), 0) + 1)

    def _answer(self, p: int) -> Packet | None:
        mine = [packet for packet in self.cluster.network.held if packet.answer and self._clients.get(packet.channel.caller) == p]
        if len(mine) > 1:
            raise Deviation(f"client {p} has {len(mine)} answers on the wire: a request has one answer")
        return mine[0] if mine else None

    # Actions of clients and producers

    def _do_request(
        self,
        p: int,
        b: int,
        t: int,
        d: int,
        numbers: int,
        queue: int,
        kind: str = "not",
        size: int | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """Send a raw client's message with any header and these properties."""
        chosen = size if size is not None else self.s.scope.sizes.lo
        body = self._body(t, chosen, kind, properties or {})
        name, arguments = STEPS["request"](self.parts.names, body, t=t, d=d, numbers=numbers, queue=queue, kind=kind)
        request = plain(name, **arguments, properties=properties)
        call = self.cluster.calling(request, self.parts.node(b).name, client=f"client-{p}")
        self.parts.count.sent[p] = self.parts.count.sent.get(p, 0) + 1
        self._arrive(p, OutstandingSend(b, t, d, numbers, queue, kind, chosen, call))

    def _body(self, t: int, size: int, kind: str, properties: Mapping[str, str]) -> int:
        """Return the bytes of the body that make the record take `size` units."""
        del kind
        if not self.s.scope.store:
            return 10
        stored = stored_length(properties, self.cluster.profile)
        return size * UNIT - 91 - len(self.parts.names[t].encode()) - stored

    def _arrive(self, p: int, job: OutstandingSend) -> None:
        """Find the broker's thread that serves the request, which stops at its first pause."""
        self.parts.jobs[p] = job
        known = [other.handler for other in self.parts.jobs.values() if other.handler is not None]
        job.handler = serving(self.parts.node(job.broker), known, f"the request of client {p}")

    def _do_send(self, p: int, b: int, q: int) -> None:
        self._choice = (self.parts.node(b).name, q)
        producer, subject = self.parts.producers[p], self.s.scope.subject
        task = self.cluster.scheduler.spawn(producer.send(Message(self.parts.names[subject], body=b"hello"), 10_000_000), f"producer {p}")
        self.cluster.scheduler.settle()
        if task.done.done:
            task.result()
        self.parts.count.sent[p] = self.parts.count.sent.get(p, 0) + 1
        self._arrive(p, OutstandingSend(b, subject, 0, self.constants["client_queues"], q, "not", self.s.scope.sizes.lo, task))

    def _do_find_route(self, p: int) -> None:
        self.cluster.scheduler.complete(self.parts.producers[p].try_to_find_topic_publish_info(self.parts.names[self.s.scope.subject]))

    _do_find_template = _do_find_route

    def _do_refresh(self, p: int) -> None:
        self.cluster.scheduler.complete(self.parts.producers[p].refresh_all())
        if self.constants["burst"]:
            self.parts.count.refreshed.add(p)

    def _do_start(self, p: int, at: int) -> None:
        """Set the random start of the counter (CLI-23)."""
        self.parts.producers[p].round_robin.counter.value = at
        self.parts.count.started.add(p)

    def _do_finish(self, p: int) -> None:
        """Deliver the response, or time out the caller if it is lost."""
        job = self._job(p)
        self._end_attempt(job)
        if not job.call.done.done:
            raise Deviation(f"client {p} goes on after its answer: the specification ends the send here")
        del self.parts.jobs[p]

    def _do_retry(self, p: int, b: int, q: int) -> None:
        job = self._job(p)
        self._choice = (self.parts.node(b).name, q)
        self._end_attempt(job)
        if job.call.done.done:
            raise Deviation(f"client {p} gives up after {job.result}: the specification sends once more")
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
        creators = [job.handler for job in self.parts.jobs.values() if job.broker == b and registers(job)]
        for waiting in (self._registering.get(b), *creators):
            if waiting is not None and not waiting.done.done:
                self.cluster.scheduler.time_out(waiting)

    def _administer(self, action: str, b: int, **values: Any) -> None:
        """Send an administrator's request, which the broker must accept. Raises Deviation."""
        name, arguments = STEPS[action](self.parts.names, 0, **values)
        answer = self.cluster.call(plain(name, **arguments), self.parts.node(b).name, client="administrator")
        if answer.code != codes.SUCCESS:
            raise Deviation(f"{action} is answered {answer.code} ({answer.remark}): the specification allows it")

    def _do_update_topic(self, b: int, t: int, read: int, write: int, perm: int) -> None:
        self._administer("update_topic", b, t=t, read=read, write=write, perm=perm)
        self.parts.count.updates += self.constants["update_budget"] >= 0

    def _do_delete_topic(self, b: int, t: int) -> None:
        before = seen(self.parts)
        self._administer("delete_topic", b, t=t)
        count = self.parts.count
        count.updates += self.constants["update_budget"] >= 0
        count.creations[b, t] = count.announcements[b, t] = 0
        store = self.parts.broker(b).store
        for x, q in self._gone(b, t):
            topic, offset = self.parts.names[x], before["offset", b, x, q]
            if offset:
                kept = f"{topic}-{q}" in store.topic_queue_table
                all_of_it = self.parts.log(b).records[topic, q]
                count.deleted[b, x, q] = DeletedQueue(offset, all_of_it - (offset if kept else 0), kept)

    def _gone(self, b: int, t: int) -> list[tuple[int, int]]:
        """Return the queues that are deleted with a topic: its own, and those of topics that the broker does not have."""
        table = self.parts.broker(b).topics.table
        return [(x, q) for x, name in enumerate(self.parts.names) if x == t or name not in table for q in range(self.s.scope.queues)]

    def _do_outlive(self, b: int, t: int, q: int) -> None:
        deleted = self.parts.count.deleted[b, t, q]
        deleted.outlived, deleted.there = 0, False

    def _do_switch_creation(self, b: int, on: bool) -> None:
        self._administer("switch_creation", b, on=on)

    def _do_permit(self, b: int, readable: bool, writable: bool) -> None:
        """Start the change. The broker answers when its registration has arrived."""
        name, arguments = STEPS["permit"](self.parts.names, 0, readable=readable, writable=writable)
        self._registering[b] = self.cluster.calling(plain(name, **arguments), self.parts.node(b).name, client="administrator")

    def _do_register_topic(self, b: int, t: int, read: int, write: int, perm: int, strangers: str) -> None:
        mine, stranger = {self.parts.node(b).name: (read, write, perm)}, {"stranger": (read, write, perm)}
        brokers = {"none": mine, "before": stranger | mine, "behind": mine | stranger}[strangers]
        self._administer_name_server("register_topic", t, brokers=brokers)

    def _do_forget_topic(self, b: int, t: int) -> None:
        """Delete the topic of all brokers; there is only one."""
        del b
        self._administer_name_server("forget_topic", t)

    def _administer_name_server(self, step: str, t: int, **values: Any) -> None:
        """Send an administrator's request to the name server, which must accept it. Raises Deviation."""
        answer = self.cluster.call(plain(step, topic=self.parts.names[t], **values), "name server", client="administrator")
        if answer.code != codes.SUCCESS:
            raise Deviation(f"{step} is answered {answer.code} ({answer.remark}): the specification allows it")

    def _do_crash(self, b: int) -> None:
        if self.parts.node(b).broker is None:
            raise Deviation(f"{self.parts.node(b).name} does not run: the specification ends its process")
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
        if self.parts.node(b).broker is not None:
            raise Deviation(f"{self.parts.node(b).name} runs already: the specification starts it")
        self._boot(b)

    def _do_expire(self, b: int) -> None:
        server, node = self.cluster.name_server, self.parts.node(b)
        if node.broker is not None:
            raise Deviation(f"{node.name} runs, and its channel is open: the specification says that it is gone")
        live = server.live_info(node.settings.broker_cluster_name, node.settings.address)
        assert live is not None and live.channel is not None, "the broker registered over one"
        server.channel_closed(live.channel)

    def _do_dispatch(self, b: int, t: int, q: int) -> None:
        store = self.parts.broker(b).store
        before = store.max_offset(self.parts.names[t], q)
        while store.max_offset(self.parts.names[t], q) == before:
            if not store.dispatch(1):
                raise Deviation("the dispatcher is at the end of the log: the specification has a record for it")

    def _do_flush(self, b: int) -> None:
        self.parts.broker(b).store.flush_now()

    def seen(self) -> Seen:
        return seen(self.parts)


_STORING = ("store", "roll", "acknowledge_lost", "divide_by_zero")
