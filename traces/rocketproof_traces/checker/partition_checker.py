"""Judge one partition of a history: convert its exchanges into requests, search for an order of their steps that explains the answers,
and find the first answer that no order explains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from rocketproof_model.functions import Function
from rocketproof_profiles import NameClass, Profile, classify, java_length
from rocketproof_protocol.codes import SEND_MESSAGE, SUCCESS, SYSTEM_ERROR
from rocketproof_protocol.numbers import java_boolean, java_int, whole_number
from rocketproof_protocol.topics import CHECK_MAX_TIME_TOPIC, HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE, WHEEL_TIMER_TOPIC
from rocketproof_spec import placement
from rocketproof_spec.admission import rejections
from rocketproof_spec.arithmetic import READ, WRITE
from rocketproof_spec.constructor import system_topics
from rocketproof_spec.remarks import remarked

from ..history.covered import ATTRIBUTES, COUNTED, KINDS, UNREADABLE, Config
from ..history.exchange import Exchange
from ..history.exchanges import CONFIGURE, CREATION, PERMISSION, ROUTE_UPDATES, SENDS
from .administration import RefusedRequest, SettingsUpdate, TopicDeletion, TopicUpdate
from .background import InitialQueueOffset, OutlivedQueue, QueueCleanup, TemplateReduction
from .findings import Located, UnexplainedEvent, readable_state, recorded_text
from .left_out import beyond, reason
from .machine import MOST_QUEUES, Machine, bits
from .max_offsets import earlier_max_offsets
from .partition import HistoryPartition, default_of
from .placement import ELSEWHERE, Values, topics_of
from .queries import MaxOffsetQuery, TopicConfigQuery
from .refusals import refused
from .search import Search
from .sends import Claims, Send, SendResponse, fits_int
from .shape import MachineShape
from .steps import CheckedRequest, ExplanationStep, Local, Point, ResponsePoint, SearchBound, SearchEnd, answers_of

LOCK_TIMEOUT = 3_000_000_000  # nanoseconds
NO_WHEEL = "TimerMessageStore"
"""The text in the error of a broker that counts a topic's timers and has no timer wheel (TCM-31)."""
LEVELS = 18
Make = Callable[[MachineShape], Machine]


class _SearchResult(NamedTuple):
    """The result of a search, with the requests that it is about."""

    searched: SearchEnd
    answers: list[ResponsePoint]
    requests: list[CheckedRequest]
    exchanges: list[Exchange | None]


def last_of(part: HistoryPartition, upto: int | None = None) -> int:
    """Return the last event of a partition that counts, at most `upto`."""
    return min(x for x in (upto, None if part.cut is None else part.cut - 1, 1 << 62) if x is not None)


class ClaimedOffsets(NamedTuple):
    """The offsets in a topic's queue that the answer to a send names: `messages` of them, starting at `offset`."""

    closed: int
    topic: int
    queue: int
    offset: int
    messages: int


@dataclass
class PartitionChecker:
    """A partition and the machine that judges it. `reasons` has for each exchange the reason why its answer is not judged, empty if it
    is."""

    part: HistoryPartition
    profile: Profile
    cluster: str
    make: Make
    auto_create: bool = True
    permission: int = 6
    machine: Machine = field(init=False)
    initial: Mapping[str, Config] = field(init=False)
    topics: dict[str, int] = field(init=False)
    reasons: list[str] = field(init=False)

    def __post_init__(self) -> None:
        part = self.part
        self.initial = self._initial()
        self.placed = self._is_placed()
        more = [topic for exchange in part.exchanges for topic in topics_of(exchange)] if self.placed else []
        self.topics = {name: k for k, name in enumerate(dict.fromkeys([self.profile.template, *self._names(), *more]))}
        self.reasons = [self._reason(exchange) for exchange in part.exchanges]
        queues = [*self._queues(), *([LEVELS - 1] if self.placed else [])]
        most = max([q for q in queues if 0 <= q < MOST_QUEUES], default=0) + 1
        classes: tuple[NameClass, ...] = tuple(self._class(name) for name in self.topics)
        self.machine = self.make(
            MachineShape(
                self.profile.name,
                classes,
                1 << (most * (2 if self.profile.keeps_sign else 1) - 1).bit_length(),  # those below 0 have counters, too
                alone=part.alone,
                auto_create=self.auto_create,
                readable=bool(self.permission & 4),
                writable=bool(self.permission & 2),
                routes=self._knows_routes,
                placed=self.placed,
                progress=1 << (len(self._offset_places) - 1).bit_length() if self._offset_places else 0,  # few shapes for many parts
                deletes=bool(self._deletions),
                configures=self._configures,
                tells=self._knows_routes and any(exchange.op in ROUTE_UPDATES for exchange in part.exchanges),
                slave=self._slave,
            )
        )

    def _initial(self) -> Mapping[str, Config]:
        """Return the topics before the first event."""
        if not self.part.new:
            return self.part.initial
        profile = self.profile
        system = system_topics(
            self.cluster,
            self.part.broker,
            profile.template,
            auto_create=self.auto_create,
            all_=profile.all_system_topics,
            schedule=profile.schedule_topic,
            more=profile.more_system_topics,
        )
        return {name: Config(n, n, perm, False) for name, (n, perm) in system.items()}

    def _names(self) -> list[str]:
        """Return the topics that the partition's requests may be about."""
        return [*sorted({default_of(o.fields) for o in self.part.exchanges if o.op in SENDS}), *self.part.topics]

    def _is_placed(self) -> bool:
        """Whether the partition is judged with the steps between the checks and the store."""
        return False

    @property
    def _knows_routes(self) -> bool:
        return False

    @cached_property
    def _slave(self) -> bool:
        return False

    @cached_property
    def _offset_places(self) -> Mapping[tuple[str, int], int]:
        """The queues and groups with committed offsets, each with its number."""
        return {}

    @cached_property
    def _configures(self) -> bool:
        return any(exchange.op == CONFIGURE for exchange in self.part.exchanges)

    @cached_property
    def _deletions(self) -> list[Exchange]:
        return [exchange for exchange in self.part.exchanges if exchange.op == "delete_topic"]

    def _reason(self, exchange: Exchange) -> str:
        return self._reason_after_deletion(exchange) or reason(exchange, self.profile)

    def _reason_after_deletion(self, exchange: Exchange) -> str:
        """Return why a queue's end is unknown: after a deletion it may have started again, and entries of earlier records may follow."""
        if exchange.op != "max_offset" or exchange.end is None or not self._deletions or exchange.end <= self._deletions[0].seq:
            return ""
        return "the ends of queues after a deletion"

    def _queues(self) -> list[int]:
        """Return the queues that the partition's requests may be about."""
        part = self.part
        queue_ids = [exchange.number("queueId") for exchange in part.exchanges]
        queues = queue_ids + [exchange.answered("queueId") or 0 for exchange in part.exchanges]
        if any(queue < 0 and exchange.op in SENDS for queue, exchange in zip(queue_ids, part.exchanges, strict=True)):
            queues += [config.write - 1 for config in self._configs()]
        return queues

    def _configs(self) -> list[Config]:
        wide = [Config(8, 8, 6, False)]
        return wide + [self.initial[t] for t in self.part.topics if t in self.initial and self.initial[t].write <= 1024]

    def _class(self, name: str) -> NameClass:
        if name in (self.cluster, self.part.broker):
            return "cluster"
        name_class: NameClass = classify(name, self.profile)
        if name_class == "ordinary" and not self.profile.check_names and java_length(name) > self.profile.longest(name):
            name_class = "long"  # STO-01: only the store refuses it
        return name_class

    # Searching

    def search(self, upto: int | None, bound: SearchBound, tick: Callable[[int], None] = lambda _: None) -> SearchEnd:
        """Explain the answers up to an event; later answers are treated as unknown."""
        last = last_of(self.part, upto)
        return self._searching(self._open_requests(last), bound, tick).run([Point(self._initial_state(last))])

    def _open_requests(self, last: int) -> list[tuple[int, int, int | None]]:
        """Return the requests up to an event: the event from which on each is open, its number, and the event at which it ended."""
        exchanges = [
            (exchange, why, exchange.end if exchange.end is not None and exchange.end <= last and not why else None)
            for exchange, why in zip(self.part.exchanges, self.reasons, strict=True)
            if exchange.seq <= last
        ]
        own = [place for place in self._own_records() if place[0] <= last]
        claims = self._claims(last) if own or any(end is None for _, _, end in exchanges) else frozenset()
        self.requests: list[CheckedRequest] = []
        self.exchanges: list[Exchange | None] = []
        opened = self._after_deletions(last)
        for exchange, why, end in exchanges:
            request = self._request(exchange, why, known=end is not None, claims=claims)
            if request is not None:
                opened.append((exchange.seq, self._add(request, exchange), end))
        for since, topic, queue in own:
            opened.append((since, self._add(self._broker_record(topic, queue, claims), None), None))
        if not self.part.alone and not (self.auto_create and not self._configures):
            opened.append((-1, self._add(TemplateReduction(self.machine), None), None))
        for seq, topic, config in self._reported_configs(last):
            opened.append((seq, self._add(TopicConfigQuery(self.machine, self.topics[topic], config), None), seq))
        return opened

    def _after_deletions(self, last: int) -> list[tuple[int, int, int | None]]:
        """Return the steps for queues whose topics are deleted, in the form of `_open_requests`."""
        deleted = [exchange for exchange in self._deletions if exchange.seq <= last]
        if not deleted:
            return []
        topics = {self.topics[exchange.topic] for exchange in deleted}
        queues = {(claim.topic, claim.queue) for claim in self._claimed_offsets if claim.topic in topics or self.part.recorded}
        since, opened = deleted[0].seq, list[tuple[int, int, int | None]]()
        if not self.part.recorded:
            opened.append((since, self._add(QueueCleanup(self.machine, tuple(sorted(topics))), None), None))
        for topic, queue in sorted(queues):
            if queue in self.machine.queues:
                opened.append((since, self._add(OutlivedQueue(self.machine, topic, queue), None), None))
        for (topic, queue), offsets in sorted(self._answered_offsets(last).items()):
            opened.append((-1, self._add(InitialQueueOffset(self.machine, topic, queue, tuple(sorted(offsets))), None), None))
        return opened

    def _answered_offsets(self, last: int) -> dict[tuple[int, int], set[int]]:
        """Return the offsets in answers up to an event, for queues that existed before the first event."""
        empty = {topic for name, topic in self.topics.items() if self._starts_empty(name)}
        offsets_of: dict[tuple[int, int], set[int]] = {}
        for claim in self._claimed_offsets:
            if claim.closed <= last:
                offsets_of.setdefault((claim.topic, claim.queue), set()).add(claim.offset)
        for exchange, why in zip(self.part.exchanges, self.reasons, strict=True):
            offset = exchange.answered("offset") if exchange.op == "max_offset" and not why else None
            if offset is not None and exchange.end is not None and exchange.end <= last:
                offsets_of.setdefault((self.topics[exchange.topic], exchange.number("queueId")), set()).add(offset)
        queues = self.machine.queues
        return {key: offsets - {0} for key, offsets in offsets_of.items() if key[1] in queues and key[0] not in empty and offsets - {0}}

    def _own_records(self) -> Iterable[tuple[int, str, int]]:
        """Return where the broker may store a record by itself: the event from which on, topic and queue; -1 is any retry queue."""
        return self.part.own

    def _searching(self, opened: Sequence[tuple[int, int, int | None]], bound: SearchBound, tick: Callable[[int], None]) -> Search:
        self.answers = answers_of(opened)
        again = self.machine.rechecks_under_lock
        giving_up = frozenset(
            k for k, request in enumerate(self.requests) if isinstance(request, Send) and (request.may_time_out or not again)
        )
        deciding = bits(self.machine.deciding - {self.machine.first["lock"]}) | self.machine.outlived_slots
        return Search(
            self.requests,
            self.answers,
            self.machine.control,
            bound,
            tick,
            lock=self.machine.first["lock"],
            giving_up=giving_up,
            watched=self.part.alone or not again,
            private=self.machine.private,
            deciding=deciding,
            looks_ahead=not self.part.recorded,  # with a single client, looking ahead costs more than it saves
        )

    def _add(self, request: CheckedRequest, exchange: Exchange | None) -> int:
        self.requests.append(request)
        self.exchanges.append(exchange)
        return len(self.requests) - 1

    def _reported_configs(self, last: int) -> list[tuple[int, str, Config | None]]:
        made = (HALF_TOPIC, OP_HALF_TOPIC, CHECK_MAX_TIME_TOPIC)  # the transaction check creates these
        topics = [topic for topic in self.part.topics if topic not in made]
        return [(s.seq, topic, s.topics.get(topic)) for s in self.part.snapshots if s.seq <= last for topic in topics]

    def _claims(self, last: int) -> Claims:
        if self._deletions:
            return frozenset()  # an offset that an answer names may be given twice
        claims = [claim for claim in self._claimed_offsets if claim.closed <= last]
        return frozenset((claim.topic, claim.queue, claim.offset + k) for claim in claims for k in range(claim.messages))

    @cached_property
    def _claimed_offsets(self) -> list[ClaimedOffsets]:
        """The offsets that answers name, without messages that are stored elsewhere or not counted."""
        claims = []
        last = last_of(self.part)
        for exchange, why in zip(self.part.exchanges, self.reasons, strict=True):
            if exchange.op in SENDS and not why and exchange.end is not None and exchange.end <= last and self._kind(exchange) in COUNTED:
                queue, offset = exchange.answered("queueId"), exchange.answered("queueOffset")
                if queue is not None and offset is not None:
                    claims.append(ClaimedOffsets(exchange.end, self.topics[exchange.topic], queue, offset, exchange.messages or 0))
        return claims

    @cached_property
    def _max_offset_bounds(self) -> dict[int, int]:
        return earlier_max_offsets(
            [exchange for exchange, why in zip(self.part.exchanges, self.reasons, strict=True) if exchange.op == "max_offset" and not why]
        )

    @staticmethod
    def _kind(exchange: Exchange) -> str:
        return KINDS[exchange.number("sysFlag") & 12]

    def _request(self, exchange: Exchange, why: str, *, known: bool, claims: Claims) -> CheckedRequest | None:
        """Return the request for an exchange; None if it neither changes nor shows anything."""
        if exchange.op == CONFIGURE:
            return SettingsUpdate(self.machine, tuple(self._changes(exchange)), exchange.code if known else None)
        topic = self.topics[exchange.topic]
        if exchange.op in SENDS:
            return self._send(exchange, topic, why, known=known, claims=claims)
        if exchange.op == "update_topic":
            if exchange.reason == ATTRIBUTES and exchange.code:
                return None  # a rejected update changes nothing; whether the release rejects it is not judged
            wanted = Config(exchange.number("readQueueNums"), exchange.number("writeQueueNums"), exchange.number("perm"), False)
            if not fits_int(wanted.read, wanted.write) or min(wanted.read, wanted.write) < 0 or not 0 <= wanted.perm <= 15:
                return None
            return TopicUpdate(self.machine, topic, wanted, exchange.code if known else None, self.part.recorded)
        if exchange.op == "delete_topic":
            return TopicDeletion(self.machine, topic, self._deleted_code(exchange) if known else None, self.part.recorded)
        if not known:
            return None
        if exchange.op == "topic_config":
            return TopicConfigQuery(self.machine, topic, exchange.config())
        return MaxOffsetQuery(
            self.machine, topic, exchange.number("queueId"), exchange.answered("offset") or 0, self._max_offset_bounds.get(exchange.seq, 0)
        )

    def _rejected(self, problem: str, code: int | None) -> RefusedRequest | None:
        """Return the request that the release rejects for a problem before anything else, None if the release lets it pass."""
        rejected = rejections(self.profile.name).get(problem)
        return None if rejected is None else RefusedRequest(self.machine, rejected.code, rejected.why, code)

    def _changes(self, exchange: Exchange) -> Iterator[tuple[Function, tuple[int, ...]]]:
        """Yield the actions that change the settings, with their arguments."""
        for name, value in exchange.settings().items():
            if name == CREATION:
                yield self.machine.configures["switch_creation"], (0, int(java_boolean(value)))
            elif name == PERMISSION:
                bits = java_int(value) or 0
                yield self.machine.configures["permit"], (0, int(bool(bits & READ)), int(bool(bits & WRITE)))

    def _deleted_code(self, exchange: Exchange) -> int | None:
        """Return the code of the answer to a deletion. A broker without a timer wheel deletes the topic and fails afterwards, which
        counts as success."""
        wheelless = self.profile.counts_timers and exchange.code == SYSTEM_ERROR and NO_WHEEL in exchange.remark
        return SUCCESS if wheelless else exchange.code

    def _send(self, exchange: Exchange, topic: int, why: str, *, known: bool, claims: Claims) -> CheckedRequest | None:
        numbers, queue = exchange.number("defaultTopicQueueNums"), exchange.number("queueId")
        if not fits_int(numbers, queue) or exchange.reason == UNREADABLE:
            return None
        code = exchange.code if known else None
        if exchange.request.get("bodySize") == 0 and (rejected := self._rejected("no body", code)):
            return rejected
        short = exchange.request.get("code") != SEND_MESSAGE
        if short and not {"unitMode", "batch"} <= exchange.fields.keys() and (rejected := self._rejected("no flag", code)):
            return rejected
        ended = self._response(exchange) if known else None
        default = self.topics[default_of(exchange.fields)]
        start, *others = self._start_states(exchange, why, topic, default, numbers, queue)
        patient = exchange.took is None or exchange.took >= LOCK_TIMEOUT
        return Send(
            self.machine,
            start,
            topic,
            numbers,
            exchange.messages or 0,
            ended,
            claims if ended is None else frozenset(),
            patient,
            tuple(others),
        )

    def _start_states(self, exchange: Exchange, why: str, topic: int, default: int, numbers: int, queue: int) -> list[Local]:
        """Return the handler states in which a send may begin. A message that is stored elsewhere, or rejected by a limit, takes no
        offset here; it may still have created the topic."""
        elsewhere = (exchange.reason and beyond(exchange, self.profile) in ELSEWHERE) or why == "limits of batches"
        return [self.machine.arrived(topic, default, numbers, queue, "prepared" if elsewhere else self._kind(exchange))]

    def _placement_codes(self, values: Values) -> dict[str, int]:
        """Return the facts that decide where a request's record is stored, as codes."""
        topics = {"dead": self.topics.get(values.get("dead", ""), 0), **self._own_topics}
        types = {"step": placement.Step, "flaw": placement.Flaw}
        return {name: types[name].encode(value) if name in types else whole_number(value) for name, value in (values | topics).items()}

    @cached_property
    def _own_topics(self) -> dict[str, int]:
        own = {"halves": HALF_TOPIC, "delayed": SCHEDULE, "wheel": WHEEL_TIMER_TOPIC}
        return {column: self.topics.get(topic, 0) for column, topic in own.items()}

    def _response(self, exchange: Exchange) -> SendResponse:
        code = exchange.code or 0
        actions = remarked(exchange.remark) if code else frozenset()
        return SendResponse(code, exchange.answered("queueId"), exchange.answered("queueOffset"), actions=actions)

    def _broker_record(self, topic: str, queue: int, claims: Claims) -> Send:
        start = self.machine.arrived(self.topics[topic], 0, 0, queue, "not", "append", write=self.machine.shape.queues)
        return Send(self.machine, start, self.topics[topic], 0, claims=claims)

    def _starts_empty(self, _topic: str) -> bool:
        """Whether the topic's queues were certainly empty before the first event."""
        return self.part.fresh

    def _initial_state(self, last: int) -> tuple[int, ...]:
        """Return the state before the first event. A queue that existed before begins at an offset that the answers up to an event
        allow."""
        shared = self.machine.start
        for name, topic in self.topics.items():
            shared = self.machine.with_config(shared, topic, self.initial.get(name))
        empty = {topic for name, topic in self.topics.items() if self._starts_empty(name)}
        if len(empty) == len(self.topics) or self._deletions:
            return shared  # with deletions, `InitialQueueOffset` sets where the queues began
        sent: dict[tuple[int, int], int] = {}
        for claim in self._claimed_offsets:
            key = (claim.topic, claim.queue)
            if claim.closed <= last:
                sent[key] = min(sent.get(key, claim.offset), claim.offset)
        reached: dict[tuple[int, int], int] = {}  # the answered end of a queue may lag its records
        for exchange in self.part.exchanges:
            offset = exchange.answered("offset") if exchange.op == "max_offset" else None
            if offset is not None and exchange.end is not None and exchange.end <= last:
                key = (self.topics[exchange.topic], exchange.number("queueId"))
                reached[key] = max(reached.get(key, offset), offset)
        queues = self.machine.queues
        begun = {key: offset for key, offset in {**reached, **sent}.items() if key[1] in queues and key[0] not in empty}
        return self.machine.assigned(shared, {self.machine.offset_slot(*key): offset for key, offset in begun.items()})

    # What is not explained

    def bounded_at(self, judged: SearchEnd) -> str:
        """Describe the answer at which the last search reached a bound, and what makes it hard."""
        answer = self.answers[judged.end]
        exchange = self.exchanges[answer.request]
        about = f"{exchange.op} of {exchange.process}" if exchange is not None else f"topics of {self.part.broker}"
        ended = {each.request for each in self.answers}
        lost = sum(request not in ended for request in answer.pending)
        return f"at event {answer.seq} ({about}){f', with {lost} requests open that have no answer' if lost > 1 else ''}"

    def finding(self, judged: SearchEnd, bound: SearchBound) -> Located:
        """Find the first event that no state explains, after a search of the whole partition that refused it.

        That search looks ahead and may fail at an earlier answer, so the history is cut at later and later answers. Reaching a bound in
        this does not change that the partition is refused; `Located.unknown` then names what is undecided about the event.
        """
        whole = self._with_requests(judged)
        ends, spent, step = [answer.seq for answer in self.answers], 0, 4
        low, high = judged.end, len(ends) - 1  # the first `low` answers are explained, the first `high` + 1 are not
        explained, refused = whole, None
        while low < high:
            middle = min(low + step, (low + high) // 2) if step else (low + high) // 2
            cut = self._cut(ends[middle], bound)
            spent += cut.searched.expanded
            if cut.searched.bound:
                place = f"between events {ends[low]} and {ends[high]} the first that nothing explains is not known"
                return Located(self._finding_at(whole.answers[low], whole, explained), spent, f"{place}, {cut.searched.bound}")
            if cut.searched.complete:
                low, step, explained = middle + 1, step * 4, cut
            else:
                high, step, refused = middle, 0, cut
        if refused is None:  # up to here the last answer was refused only together with what comes after it
            cut = self._cut(ends[high], bound)
            spent += cut.searched.expanded
            if cut.searched.complete or cut.searched.bound:  # a request open at the cut may explain more than its later answer does
                return Located(self._finding_at(whole.answers[judged.end], whole, whole), spent)
            refused = cut
        answer = refused.answers[high]
        if refused.searched.end == high:
            return Located(self._finding_at(answer, refused, refused), spent)
        before = self._cut(answer.seq - 1, bound)  # an earlier answer failed by looking ahead: explain all events before this one
        unknown = (
            f"no order that explains all before event {answer.seq} was found, {before.searched.bound}" if before.searched.bound else ""
        )
        return Located(self._finding_at(answer, refused, before), spent + before.searched.expanded, unknown)

    def _cut(self, upto: int, bound: SearchBound) -> _SearchResult:
        return self._with_requests(self.search(upto, bound))

    def _with_requests(self, searched: SearchEnd) -> _SearchResult:
        """Return the result of the last search together with the requests that it is about."""
        return _SearchResult(searched, self.answers, self.requests, self.exchanges)

    def _finding_at(self, answer: ResponsePoint, refused: _SearchResult, explained: _SearchResult) -> UnexplainedEvent:
        """Return the finding for an answer that search `refused` rejects, after the events that search `explained` explains."""
        request_and_exchange = refused.requests[answer.request], refused.exchanges[answer.request]
        searched, self.answers, self.requests, self.exchanges = explained
        return self._finding(answer.seq, *request_and_exchange, searched)

    def _finding(self, seq: int, request: CheckedRequest, exchange: Exchange | None, best: SearchEnd) -> UnexplainedEvent:
        return UnexplainedEvent(
            part=self.part.name,
            seq=seq,
            process=exchange.process if exchange is not None else self.part.broker,
            op=exchange.op if exchange is not None else "topics",
            recorded=recorded_text(request, exchange),
            refused=refused(self.machine, request, best.stuck, self._element_names()),
            prefix=tuple(sorted(a.seq for a in self.answers[: best.end])),
            steps=tuple(self._step(s.request, s.label) for s in best.steps),
            state=readable_state(self.machine, self.topics, best.stuck[0].shared),
            order=self.order(best.steps),
        )

    def order(self, steps: Sequence[ExplanationStep]) -> tuple[int, ...]:
        """Return the requests that an explanation of the last search completes, by the events that began them, in that order."""
        steps_of = ((number, self.exchanges[step.request]) for number, step in enumerate(steps))
        last = {
            exchange.seq: number for number, exchange in steps_of if exchange is not None and exchange.op != CONFIGURE
        }  # which is in every partition
        return tuple(sorted(last, key=last.__getitem__))

    def _element_names(self) -> dict[str, list[str]]:
        return {"Topic": list(self.topics), "Broker": [self.part.broker], "Producer": [""]}

    def _step(self, request: int, label: str) -> str:
        exchange = self.exchanges[request]
        return f"{label} ({f'event {exchange.seq}, {exchange.process}' if exchange is not None else 'the broker'})"


__all__ = ["Make", "PartitionChecker", "last_of"]
