"""Profiles: which release is described, as named switches and their values. It imports nothing of ours but the names of the wire.

P40, P45 and P49 follow the articles that describe RocketMQ 4.0-4.2, 4.3-4.6 and 4.9; P494 is P49 plus what a recorded
4.9.4 does otherwise, each switch with the recorded case that is its reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from rocketproof_protocol.codes import INVALID_PARAMETER, SYSTEM_ERROR
from rocketproof_protocol.topics import (
    CHECK_MAX_TIME_TOPIC,
    HALF_TOPIC,
    LEGAL,
    OFFSET_MOVED_TOPIC,
    OP_HALF_TOPIC,
    RETRY_PREFIX,
    SCHEDULE,
    SELF_TEST_TOPIC,
    TEMPLATE,
)

NameClass = Literal["ordinary", "template", "cluster", "retry", "forbidden", "blank", "illegal", "long"]


@dataclass(frozen=True)
class Profile:
    """The switches of one release.

    Request:
    `null_fields`: a required field that is not in a request's header is null, and an error where it is used; otherwise the
    header cannot be read (REM-04). `check_names`: the broker tests blank, characters and length, then `forbidden` (CHK-02,
    CHK-03); otherwise it refuses the template's name and nothing else (CHK-04). `signed_random`: a negative queue id becomes
    abs(r % 99999999) % write with r any int, otherwise u % write with u in 0..99999998 (SEND-22). `after_hooks`: hooks run
    after a send (SEND-06). `asynchronous`: the put completes a future, and an exception there is never answered (SEND-07,
    REM-09). `stores_parsed`: the stored properties are the parsed map with CLUSTER and without WAIT, otherwise the header's
    text (SEND-25). `exact_properties`: how a text is parsed; `ends_properties`: that it ends with byte 2
    (SEND-26). `null_limit`: a request
    without maxReconsumeTimes is served by the group's limit, otherwise it is a null-pointer error (DLQ-03, BACK-11).
    `dlq_perm`: permission of a created dead-letter topic (DLQ-04). `dlq_clears_delay`: a message to the dead-letter topic loses
    its delay level, a send-back keeps its store host and is serialised twice (BACK-12, BACK-14, BACK-15). `half_messages`:
    transactional messages go to the half topic, and TRAN_MSG is parsed; otherwise it is only asked whether it is there, and
    only by a broker that refuses it (TRX-01, TRX-02). `batch_retry`: batches may go to retry topics (BAT-02).
    `default_processor`: a request of an unknown code is refused by a task of an executor, and a one-way caller hears nothing; otherwise
    it is refused on arrival, and everybody is answered (REM-05, HAZ-26). `name_server_refuses`: a name server answers a request of an
    unknown code, unless it is one-way; otherwise nobody hears anything.
    `queue_statistics`: the schedule topic is counted by queue (SEND-42). `short_disk_remark`: the older text of
    SERVICE_NOT_AVAILABLE. `size_remark`: how MESSAGE_ILLEGAL names the limits, `{limit}` being the broker's (SEND-41).

    Table: `all_system_topics`: the constructor's entries of P49; `trace_topic`: it may make the trace topic (TCM-03).

    Files: `overwrites_in_place`: a configuration file is written over, behind a backup; otherwise it is replaced by way of a
    temporary file (PER-02, PER-10).

    Store: `busy_first`: the page cache is asked before topic and properties, whose excess is MESSAGE_ILLEGAL
    (STO-02; otherwise STO-01). `encode_first`: a message is encoded, and its sizes are tested, before the lock and before
    its queue has an offset (APP-06). `limits_record`: the size limit is one on the whole record, and on all records of a batch
    together, otherwise on the body alone (APP-06, BAT-04). `resets_lock_time`: also when append throws (CL-05). `replica_wait`:
    milliseconds to wait for a replica, None for the broker's slaveTimeout (FLU-07). `looks_after_flush`: group commit looks
    at a request again after its second flush (FLU-03).

    What 5.x adds: `illegal_code`: the code for a name or queue that is none (CHK-02, CHK-10, TCM-30). `always_traced`: region and trace
    switch are stored without hooks too, and a request without a body, on the wire also one of 0 bytes, is an error before anything is
    checked (SEND-03). `makes_unique_key`: a message without UNIQ_KEY gets one, and an answer says it as transactionId (SEND-46).
    `stores_wait`: WAIT stays in the stored properties (SEND-25). `dlq_beyond`: one more retry than the limit (DLQ-02).
    `dlq_keeps_delay`: what the retry step writes is stored: a delay level of -1 (HAZ-17). `names_transaction`: half messages have their
    id as a property (TRX-04). `gathers_operations`: the records that end half messages are written together, seconds later.
    `topic_attributes`: topics have attributes (TCM-01). `more_system_topics`: the constructor's entries of 5.x (TCM-03).
    `acting_master`: routes say whether a slave may act as master (NS-06). `slave_rejects`: a slave rejects sends before it reads them
    (REM-06). `slave_creates`: topics may be made on a slave (TCM-30). `counts_replicas`: a SYNC_MASTER waits for inSyncReplicas copies,
    itself included (FLU-07). `wants_topic`: a send without the field is a null-pointer error before anything is checked; otherwise its
    topic is blank (CHK-02). `wants_origin`: who gives a message up has to name the topic that it came from, otherwise it is a
    null-pointer error (BACK-12). `keeps_order`: an administrator can make a topic ordered, what a name server lists never takes the
    order away, and a retry topic is ordered as its consumers' topics are, if they say so (TCM-30, NS-12, TCM-20). `skips_equal_topic`:
    an update that changes nothing is no new version and is not registered (TCM-30). `masks_permission`: a broker without READ or WRITE
    registers what it and the topic allow, otherwise its own permission (NS-11). `refuses_single_topic`: a name server refuses the first
    registration of a broker's id if it has one topic alone (NS-02). `takes_unknown_topics`: a registration of the stored version adds
    the topics that the broker does not have there (NS-03). `leaves_by_address`: who unregisters takes its address away, under whatever
    id, otherwise its id, whatever the address (NS-08).

    `reasons`: switch to the case that shows it.
    """

    name: str
    about: str
    null_fields: bool
    check_names: bool
    signed_random: bool
    after_hooks: bool
    asynchronous: bool
    stores_parsed: bool
    exact_properties: bool
    ends_properties: bool
    null_limit: bool
    dlq_perm: int
    dlq_clears_delay: bool
    half_messages: bool
    batch_retry: bool
    queue_statistics: bool
    short_disk_remark: bool
    all_system_topics: bool
    trace_topic: bool
    busy_first: bool
    encode_first: bool
    limits_record: bool
    resets_lock_time: bool
    replica_wait: int | None
    looks_after_flush: bool
    size_remark: str = "msg body length limit 128k, msg properties length limit 32k."
    default_processor: bool = False
    name_server_refuses: bool = True
    forbidden: frozenset[str] = frozenset()
    topic_limit: int = 127
    overwrites_in_place: bool = False
    illegal_code: int = SYSTEM_ERROR
    always_traced: bool = False
    makes_unique_key: bool = False
    stores_wait: bool = False
    dlq_beyond: bool = False
    dlq_keeps_delay: bool = False
    names_transaction: bool = False
    gathers_operations: bool = False
    topic_attributes: bool = False
    more_system_topics: bool = False
    acting_master: bool = False
    slave_rejects: bool = False
    slave_creates: bool = False
    counts_replicas: bool = False
    wants_topic: bool = False
    wants_origin: bool = False
    keeps_order: bool = False
    skips_equal_topic: bool = False
    masks_permission: bool = False
    refuses_single_topic: bool = False
    takes_unknown_topics: bool = False
    leaves_by_address: bool = False
    reasons: dict[str, str] = field(default_factory=dict)

    def plain(self, code: int) -> int:
        """The code that the described releases answer where this one answers `code`."""
        return SYSTEM_ERROR if code == self.illegal_code else code


_P45 = Profile(
    "P45",
    "RocketMQ 4.3 to 4.6 as described",
    null_fields=False,
    check_names=False,
    signed_random=True,
    after_hooks=True,
    asynchronous=False,
    stores_parsed=False,
    exact_properties=True,
    ends_properties=True,
    null_limit=False,
    dlq_perm=2,
    dlq_clears_delay=False,
    half_messages=True,
    batch_retry=True,
    queue_statistics=False,
    short_disk_remark=False,
    all_system_topics=False,
    trace_topic=True,
    busy_first=False,
    encode_first=False,
    limits_record=True,
    resets_lock_time=False,
    replica_wait=5000,
    looks_after_flush=False,
)

_P49 = Profile(
    "P49",
    "RocketMQ 4.7 to 4.9 as described",
    null_fields=False,
    check_names=True,
    signed_random=False,
    after_hooks=False,
    asynchronous=True,
    stores_parsed=True,
    exact_properties=False,
    ends_properties=False,
    null_limit=True,
    dlq_perm=6,
    dlq_clears_delay=True,
    half_messages=True,
    batch_retry=True,
    queue_statistics=True,
    short_disk_remark=False,
    all_system_topics=True,
    trace_topic=True,
    busy_first=True,
    encode_first=True,
    limits_record=True,
    resets_lock_time=True,
    replica_wait=None,
    looks_after_flush=True,
    forbidden=frozenset({SCHEDULE}),
)

PROFILES: dict[str, Profile] = {
    "P40": replace(
        _P45,
        name="P40",
        about="RocketMQ 4.0 to 4.2 as described",
        half_messages=False,
        batch_retry=False,
        short_disk_remark=True,
        trace_topic=False,
    ),
    "P45": _P45,
    "P49": _P49,
    "P494": replace(
        _P49,
        name="P494",
        about="RocketMQ 4.9.4 as recorded",
        null_fields=True,
        limits_record=False,
        default_processor=True,
        name_server_refuses=False,
        size_remark="msg body length limit {limit}B, msg properties length limit 32KB.",
        forbidden=frozenset(
            {
                SCHEDULE,
                HALF_TOPIC,
                OP_HALF_TOPIC,
                CHECK_MAX_TIME_TOPIC,
                SELF_TEST_TOPIC,
                OFFSET_MOVED_TOPIC,
            }
        ),
        reasons={
            "forbidden": "A-136, A-137, A-139, A-140 and A-141: five more system topics are refused with 16",
            "size_remark": "A-192 to A-196: MESSAGE_ILLEGAL names other limits",
            "null_fields": "not recorded: 4.9.4 writes a word about the field into its log and reads on",
            "default_processor": "tests/real/test_unknown_codes.py: a one-way request of an unknown code is not answered",
            "name_server_refuses": "tests/real/test_unknown_codes.py: the name server leaves every unknown code without an answer",
            "limits_record": "A-192 to A-196: it is the body that the remark names a limit of",
        },
    ),
}

PROFILES["P533"] = replace(
    PROFILES["P494"],
    name="P533",
    overwrites_in_place=True,
    about="RocketMQ 5.3.3 as recorded",
    ends_properties=True,
    batch_retry=False,
    illegal_code=INVALID_PARAMETER,
    always_traced=True,
    makes_unique_key=True,
    stores_wait=True,
    dlq_beyond=True,
    dlq_keeps_delay=True,
    names_transaction=True,
    gathers_operations=True,
    topic_attributes=True,
    more_system_topics=True,
    acting_master=True,
    slave_rejects=True,
    slave_creates=True,
    counts_replicas=True,
    wants_topic=True,
    wants_origin=True,
    keeps_order=True,
    skips_equal_topic=True,
    masks_permission=True,
    refuses_single_topic=True,
    takes_unknown_topics=True,
    leaves_by_address=True,
    name_server_refuses=True,
    reasons={
        "overwrites_in_place": "not recorded: 5.x writes a backup and then the file itself, without a temporary one",
        "name_server_refuses": "not recorded, tests/real/test_unknown_codes.py: the name server answers 3",
        "ends_properties": "A-5 and every stored message: its size",
        "batch_retry": "A-214: a batch to a retry topic is refused with 13",
        "illegal_code": "A-14, A-39, A-106, A-118, A-122, A-130 and others: INVALID_PARAMETER in place of SYSTEM_ERROR",
        "always_traced": "A-5 and every stored message; A-206: a message without a body is a null-pointer error",
        "makes_unique_key": "A-5 and every answered message; A-213: not for batches",
        "stores_wait": "A-204, A-205 and M-1002: WAIT is stored",
        "dlq_beyond": "A-158, A-161 and A-162: as many retries as the limit go to the retry topic once more",
        "dlq_keeps_delay": "A-159: DELAY is stored as -1",
        "names_transaction": "A-178 to A-182, A-188, A-190 and A-191: half messages have the property __transactionId__",
        "gathers_operations": "A-185, A-186 and A-189: no record between them and the message behind",
        "topic_attributes": "A-5 and every topic; A-14 and others: the remark says attributes={}",
        "more_system_topics": "A-136, A-137, A-147 and A-148: the broker knows these topics from its start",
        "acting_master": "A-0 and every route: enableActingMaster is false",
        "slave_rejects": "L-334 to L-340: every send is answered with 2",
        "slave_creates": "L-341: a topic is made on a slave",
        "counts_replicas": "M-1000 and others: a SYNC_MASTER without a slave answers 0",
        "wants_topic": "not recorded, tests/real/test_later_switches.py: the table of queue mappings knows no null",
        "wants_origin": "not recorded, tests/real/test_later_switches.py: metrics are named by the topic, and what is null there is thrown",
        "keeps_order": "not recorded, tests/real/test_later_switches.py: order=true of an administrator stays",
        "skips_equal_topic": "not recorded, tests/real/test_later_switches.py: the version stays the same",
        "masks_permission": "not recorded, tests/real/test_later_switches.py: the route of a topic with perm 2 has perm 0",
        "refuses_single_topic": "not recorded, tests/real/test_later_switches.py: the name server answers 1, register broker failed",
        "takes_unknown_topics": "not recorded, tests/real/test_later_switches.py: a third topic of the same version has a route",
        "leaves_by_address": "not recorded, tests/real/test_later_switches.py: the master is left when its slave's address leaves",
    },
)


def profile_of(named: Profile | str) -> Profile:
    """The profile of this name; a profile is taken as it is. Raises ValueError for a name that none has."""
    if isinstance(named, Profile):
        return named
    if named not in PROFILES:
        raise ValueError(f"unknown profile {named!r}: use {', '.join(PROFILES)}")
    return PROFILES[named]


def java_length(text: str) -> int:
    """Length in UTF-16 units, as Java's String.length()."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def classify(name: str | None, profile: Profile) -> NameClass:
    """The class of a topic's name: what the specification knows instead of the text (CHK-02, CHK-03, CHK-04, CHK-06).

    The order is the broker's: blank, characters, length, forbidden. Profiles without name checks know only the template
    and retry names. "cluster" is a role in a scope, never a result.
    """
    if profile.check_names:
        if name is None or not name.strip():
            return "blank"
        if not LEGAL.fullmatch(name):
            return "illegal"
        if java_length(name) > profile.topic_limit:
            return "long"
        if name in profile.forbidden:
            return "forbidden"
    if name == TEMPLATE:
        return "template"
    if name is not None and name.startswith(RETRY_PREFIX):
        return "retry"
    return "ordinary"
