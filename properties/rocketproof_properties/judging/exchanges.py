"""The exchanges of one program as the judges read them: with the records they stored, the conditions they meet, and transport faults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from rocketproof_impl.store.timers import TIMES
from rocketproof_profiles import PROFILES, Profile
from rocketproof_protocol.codes import MESSAGE_ILLEGAL, REGISTER_BROKER, REQUEST_CODE_NOT_SUPPORTED, SUCCESS
from rocketproof_protocol.flags import READ
from rocketproof_protocol.numbers import java_boolean, java_int, whole_number
from rocketproof_protocol.properties import RETRY_TOPIC
from rocketproof_protocol.topics import RETRY_PREFIX, SCHEDULE
from rocketproof_spec.bounds import is_given_up
from rocketproof_traces.checker.left_out import BUSY
from rocketproof_traces.checker.locks import GroupLocks
from rocketproof_traces.history.exchange import Exchange
from rocketproof_traces.history.exchanges import SENDS
from rocketproof_traces.stored.layout import FIXED_SIZE

from ..brokers.runs.claimhistory import ClaimHistories, claim_histories
from ..brokers.runs.parsed import ParsedHistory
from ..brokers.runs.recording import body_of
from ..brokers.runs.sendbacks import updated_group
from ..brokers.runs.transport import TransportFault, faults
from ..catalogue import conditions as about
from ..programs.boundaries import unread
from ..programs.call import may_be_held
from ..programs.measures import MeasuredRequest, records_bytes
from ..programs.pool import lasts
from ..programs.settings import ALONE, settings_of
from ..programs.sizes import left_of_file
from ..programs.vocabulary import Step, arguments

UNINDEXED: Final = "a broker that is set to index no message"
FORGED_RETRY: Final = "a client that sets the property by which a retried message is recognized"
HELD: Final = "a pull that is held for a one-way caller"


@dataclass(frozen=True)
class ProgramExchanges:
    """What all judges of a program read.

    - `history`: its requests with their responses. `measured`: the same requests with the sizes that the boundaries measure.
    - `stored`: the same requests with the records they stored, as the catalogue's claims read them.
    - `conditions`: the catalogue's conditions that it meets.
    - `faults`: transport faults of the connection.
    """

    history: ParsedHistory
    profile: str
    measured: tuple[MeasuredRequest, ...]
    stored: ClaimHistories
    conditions: frozenset[str]
    faults: tuple[TransportFault, ...]

    @cached_property
    def in_doubt(self) -> bool:
        """Whether a transport fault leaves open what the broker did."""
        return any(fault.leaves_doubt for fault in self.faults)


def exchanges_of(history: ParsedHistory, profile: str) -> ProgramExchanges:
    """Return what the judges read of a program on a broker of this profile."""
    stored, requests = claim_histories(history, PROFILES[profile]), tuple(measured(history, profile))
    return ProgramExchanges(history, profile, requests, stored, conditions(history, requests, stored, profile), faults(history))


def measured(parsed: ParsedHistory, profile: str) -> Iterator[MeasuredRequest]:
    """Yield the program's requests with the sizes that the boundaries measure."""
    cluster, switches, trace = parsed.names.cluster, PROFILES[profile], str(parsed.settings.get("traceOn", "true"))
    # The end of the log is known only to a program that runs alone.
    file_size = whole_number(settings_of(ALONE)["mappedFileSizeCommitLog"]) if parsed.program.needs == ALONE else 0
    end: int | None = None
    for exchange in parsed.exchanges:
        size, version = (whole_number(exchange.request.get(name) or 0) for name in ("bodySize", "version"))
        free = None if end is None or not file_size else left_of_file(end, file_size)
        sent = MeasuredRequest(exchange.op, exchange.fields, body_of(exchange.request), size, switches, cluster, trace, version, free)
        yield sent
        if exchange.op in SENDS:
            positions = exchange.places
            plain = not lasts([(exchange.op, dict(exchange.fields))])  # a delayed effect is stored in another record
            end = positions[0] + records_bytes(sent) if positions and plain else None


def conditions(parsed: ParsedHistory, requests: Sequence[MeasuredRequest], histories: ClaimHistories, profile: str) -> frozenset[str]:
    """Return the catalogue's conditions that a program meets."""
    beyond = PROFILES[profile].dlq_beyond
    conditions_met = {about.ANYTHING, parsed.program.source}
    limit = histories.whole.logs[parsed.broker].file_size
    updates = (updated_group(each) for each in parsed.exchanges if each.op == "update_group" and each.code in (None, SUCCESS))
    silent = {name for name, group in updates if group.silent}  # even if only temporarily, or if the response was lost
    for exchange in histories.whole.exchanges:
        request = exchange.request
        if request.kind in ("send", "batch"):
            delayed, half = _positive(request.properties), java_boolean(request.properties.get("TRAN_MSG")) and request.kind == "send"
            conditions_met |= {name for name, is_so in _KINDS.items() if is_so == (delayed, half)}
            if RETRY_TOPIC in request.properties:
                conditions_met.add(FORGED_RETRY)
            if not request.properties.keys().isdisjoint(TIMES):
                conditions_met.add(about.TIMED)
            if half and delayed:
                conditions_met |= {about.DELAYED, about.HALF_ONES}
            if request.topic.startswith(RETRY_PREFIX) and is_given_up(request.reconsume_times, exchange.limit, beyond=beyond):
                conditions_met.add(about.AT_LIMIT)
            if request.queue_id < 0:
                conditions_met.add(about.DRAWN)
            if request.topic == SCHEDULE:
                conditions_met.add(about.BY_NAME)
            if request.kind == "send" and exchange.code == MESSAGE_ILLEGAL:
                conditions_met.add(about.REFUSED)
            if request.kind == "batch":
                conditions_met.add(about.BATCHED)
            if FIXED_SIZE + sum(len(body or b"") for body in request.bodies) + len(request.topic) + 8 > limit:
                conditions_met.add(about.TOO_LARGE)
        elif request.kind == "send_back":
            conditions_met |= {about.SENT_BACK, about.GIVEN_UP}
            if exchange.code == 0 and request.group in silent:
                conditions_met.add(about.NO_RETRY)
        if request.one_way and (request.kind == "other" or exchange.code == REQUEST_CODE_NOT_SUPPORTED):
            conditions_met.add(about.UNKNOWN)  # P40 does not serve END_TRANSACTION
    if PROFILES[profile].dlq_while_locked and _sends_under_lock(parsed.exchanges):
        conditions_met |= {about.LOCKED, about.AT_LIMIT}  # such a message has no retries left
    for sent in requests:
        conditions_met |= unread(sent)
    if {**parsed.settings, **parsed.program.settings}.get("messageIndexEnable") == "false":
        conditions_met.add(UNINDEXED)
    if parsed.ended:
        conditions_met.add(about.CRASHED)
    if parsed.stopped:
        conditions_met.add(about.STOPPED)
    if parsed.corrupted:
        conditions_met.add(about.CORRUPTED)
    if parsed.clocks:
        conditions_met |= {about.RESET, *([about.SET_BACK] if min(parsed.clocks) < 0 else [])}
    if parsed.busy:
        conditions_met.add(BUSY)
    if not PROFILES[profile].heeds_one_way and any(each.one_way and may_be_held(each.op, each.fields) for each in parsed.exchanges):
        conditions_met.add(HELD)
    if not PROFILES[profile].dlq_perm & READ:
        conditions_met.discard(about.GIVEN_UP)  # the record that a send-back stored cannot be read
    if any(name == "register" for name, _ in parsed.program.steps):
        conditions_met.add(about.REGISTERED)
    if any(each.op == "delete_group" and not _cleans_offsets(each, PROFILES[profile]) for each in parsed.exchanges):
        conditions_met.add(about.KEPT_OFFSETS)
    if _names_rejected(parsed.exchanges):
        conditions_met.add(about.REJECTED)
    if _moves(parsed.program.steps):
        conditions_met.add(about.MOVED)
    return frozenset(conditions_met)


def _sends_under_lock(exchanges: Sequence[Exchange]) -> bool:
    """Whether the group of a message that is sent to a retry topic may hold a queue lock (DLQ-07)."""
    locks = GroupLocks.of(exchanges)
    return any(each.op == "send" and locks.held(each) is not False for each in exchanges)


def _cleans_offsets(deletion: Exchange, profile: Profile) -> bool:
    return java_boolean(deletion.fields.get(profile.clean_offsets or ""))


def _names_rejected(exchanges: Sequence[Exchange]) -> bool:
    """Whether an administrator registers a topic with a broker whose own registration was rejected."""
    registered = [each for each in exchanges if each.request.get("code") == REGISTER_BROKER and each.code not in (None, SUCCESS)]
    rejected = {each.fields.get("brokerName") for each in registered}
    return any(name in rejected for each in exchanges if each.op == "register_topic" for name, _ in each.registered_routes())


def _moves(steps: Sequence[Step]) -> bool:
    """Whether one address of a broker registers under two ids of the same name."""
    registered = [arguments(step) for step in steps if step[0] == "register"]
    return len({(row["name"], row["address"]) for row in registered}) < len(
        {(row["name"], row["address"], row["broker_id"]) for row in registered}
    )


_KINDS: Final[Mapping[str, tuple[bool, bool]]] = {
    about.DELAYED: (True, False),
    about.HALF_ONES: (False, True),
    about.HALF_DELAYED: (True, True),
}


def _positive(properties: Mapping[str, str]) -> bool:
    return (java_int(properties.get("DELAY", "")) or 0) > 0
