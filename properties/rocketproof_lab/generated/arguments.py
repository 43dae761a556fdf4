"""Reasons why a change that survived or is not reached need not be noticed: it is equivalent, or it is not visible over the wire.

An entry names a module, a function or a change by a prefix of its id. These reasons are computed:

- the profile's switches make both versions equal;
- nothing calls the function;
- no program sets such a value;
- a time changes by one millisecond.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from rocketproof_profiles import PROFILES

from .constant_folding import same_under, uncalled
from .results import EQUIVALENT, SURVIVED, UNREACHED, UNSEEN, GeneratedResult
from .sampling import GeneratedMutant
from .switched import Switched, Tried

_UNSEEN: Final[Mapping[str, tuple[str, ...]]] = {
    "no producer of ours runs when a broker is validated": ("producer/",),
    "no slave runs beside the broker while programs do": (
        *(
            "broker/slave:",
            "store/ha:",
            "store/haclient:",
            "store/commitlog:CommitLog.append_data",
            "store/delay:ScheduleMessageService.take",
            "broker/groups:SubscriptionGroupManager.take",
            "broker/offsets:ConsumerOffsetManager.take",
            "broker/inspection:InspectionProcessor._get_all_offsets",
            "broker/inspection:InspectionProcessor._get_all_delays",
            "broker/settings:BrokerSettings.ha_address",
        ),
        "broker/parts:BrokerParts.__init__ swapped SlaveSynchronize",
    ),
    "the names of settings are made when modules are imported, which is before a change": ("broker/settingstext:property_name",),
    "no request of ours tells what a broker counts": (
        *("broker/statistics:", "broker/answering:count_", "broker/sendback:count_", "store/result:PutResult.ok"),
        "store/commitlog:Statistics.",
    ),
    "a record of ends that one round of checks leaves is closed by the next": (
        "broker/transactioncheck:_Operations.take dropped self._close",
    ),
    "no request of ours asks who the clients of a group are": (
        "broker/heartbeat:ClientManageProcessor._heartbeat part data.get('clientID')",
    ),
    "a broker that is validated has no hooks": ("broker/hooks:", "broker/answering:handle_put_message_result part context"),
    "nobody holds the lock of topics for three seconds": (
        "broker/topics:TopicConfigManager._create part config is not None and create_new",
        "broker/retry:to_dead_letter_topic negated config is None",
    ),
    "nobody overloads the broker": ("broker/fastfailure:", "executor:ThreadPool.head", "executor:ThreadPool.submit"),
    "nobody deletes a topic between the check of a message and the choice of its queue": ("broker/queue_id:queue_id_of dropped raise",),
    "the device of a broker that is validated is neither full nor slow, and what a commit stores is no longer than its half message": (
        *(f"broker/answering:failure boundary status is status_of.{name}" for name in ("SERVICE_NOT_AVAILABLE", "OS_PAGECACHE_BUSY")),
        "broker/answering:failure dropped return (SERVICE_NOT_AVAILABLE",
        "broker/transaction:final_answer",
    ),
    "a silent client is forgotten after two minutes": ("broker/clients:expired",),
    "what is brought to the device shows when a machine loses its power or a device fails": (
        *("store/flush:", "store/flushing:", "store/threads:", "store/transient:", "store/settings:StoreSettings.transient_store_pool"),
        *("store/checkpoint:", "store/recovery:recover constant 0 → 1"),
    ),
    "a name is the same one in JSON, however its text is written": ("broker/offsets:_entry lost json.dumps",),
    "an id that a broker makes up has something of its own process in it": (
        "broker/parts:BrokerParts.__init__ attribute settings.listen_port",
    ),
    "no administrator makes a topic ordered under P494, and no program lists one in a name server": (
        "topic:TopicConfig.__str__ fixed self.order",
    ),
    "files of the log are kept for an hour at least, which is longer than programs take": (
        "store/consumequeue:ConsumeQueue.correct_min",
        "store/bytime:offset_at dropped return 0",
        "broker/progress:ConsumerManageProcessor._query boundary store.min_offset",
    ),
    "no buffer is written before the file": (
        "store/files:MappedFile.__init__ dropped self.committed_position",
        *(f"store/files:MappedFile.commit {kind} self.committed_position" for kind in ("negated", "fixed")),
    ),
    "files are whole when a broker starts": (
        "broker/groups:SubscriptionGroupManager._decode fixed data is None → False",
        "persistence:_load_backup",
        "broker/offsets:_table part",
    ),
    "the words of a thrown exception differ between Java machines, and are left out of the comparison": (
        *("remoting/dispatch:describe", "remoting/headers:command_error"),
    ),
    "the queue is drawn by chance, and each is as likely": ("broker/queue_id:random_queue_id negated signed",),
    "a broker registers every half minute, which is longer than programs take": (
        *(f"broker/registration:Registration.{name}" for name in ("register_periodically", "_needed", "_differs")),
    ),
    "the index goes on in another file where one is full, and who asks is told what is in all of them": (
        "store/index:IndexService.__init__ attribute settings.max_index_num",
    ),
    "all records are dispatched, however many at a time": ("store/service:MessageStore.dispatch constant 1 → 0 #2",),
}
_EQUIVALENT: Final[Mapping[str, tuple[str, ...]]] = {
    "a place in a queue's file is a multiple of an entry's size": ("store/consumequeue:ConsumeQueue.truncate boundary position > 0",),
    "a store says of every message what came of it": (
        "broker/sendback:answer_put swapped",
        "broker/sendback:answer_put constant 'putMessageResult is null'",
    ),
    "a name server forgets the queues of a broker with its last address": ("routeinfo:RouteInfoManager.route fixed not brokers → False",),
    "an answer is made as one, and its flag says so from then": ("broker/answering:do_response dropped response.flag |= RESPONSE",),
    "the names of a request's fields are short or not": ("remoting/headers:parse_request_header part short and (not",),
    "the name of a thread": ("store/reput:ReputMessageService.__init__ constant",),
    "a queue without messages has no last one": ("broker/inspection:InspectionProcessor._offsets boundary end > 0",),
    "a topic of a long name is refused before, and a batch may go to a retry topic": ("broker/batch:send_batch_message fixed problem",),
    "profiles up to P494 do not ask for it": (
        *("broker/operations:GatheredOperations.", "store/timers:"),
        *("broker/registration:Registration._register_topic", "broker/parts:BrokerParts.__init__ dropped self.unique_ids"),
        "broker/answering:failure arithmetic settings.timer_max_delay_sec",
        *("message:properties_text fixed trailing", "store/service:MessageStore._dispatch_end part", "route:broker_to_data fixed"),
    ),
    "a record is longer than one byte": ("store/reput:ReputMessageService.shutdown boundary",),
    "a record has properties behind its topic, and their length": ("store/record:_open boundary topic_end + 2",),
}
ARGUMENTS: Final[Mapping[str, tuple[str, str]]] = {
    begin: (verdict, why)
    for verdict, argued in ((UNSEEN, _UNSEEN), (EQUIVALENT, _EQUIVALENT))
    for why, begins in argued.items()
    for begin in begins
}
"""By prefix of a change's id: its verdict and the reason."""


def argued(row: GeneratedResult, change: Tried, profile: str) -> GeneratedResult:
    """Return the row with its argument if it needs one and one exists."""
    if row.verdict not in (SURVIVED, UNREACHED) or isinstance(change, Switched):
        return row
    if same_under(PROFILES[profile], *change.trees):
        return replace(row, verdict=EQUIVALENT, how=f"the switches of {profile} make the same of both")
    if change.function.rpartition(".")[2] in uncalled(PROFILES[profile]):
        return replace(row, verdict=EQUIVALENT, how=f"nothing calls it under {profile}")
    if same_under(PROFILES[profile], *change.trees, words=True):
        return replace(row, verdict=UNSEEN, how="no broker that is validated has a setting with such a value")
    if _is_of_a_moment(change):
        return replace(row, verdict=UNSEEN, how="nobody asks at this very millisecond")
    argument = next((argument for begin, argument in ARGUMENTS.items() if row.id.startswith(begin)), None)
    return row if argument is None else replace(row, verdict=argument[0], how=argument[1])


def _is_of_a_moment(change: GeneratedMutant) -> bool:
    """Whether the change moves a comparison with the clock by one millisecond."""
    before = ast.parse(change.before, mode="eval").body if change.kind == "boundary" else None
    match before:
        case ast.Compare(ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()]):
            return any(
                (isinstance(part, ast.Attribute) and part.attr == "now") or (isinstance(part, ast.Name) and part.id == "now")
                for part in ast.walk(before)
            )
    return False
