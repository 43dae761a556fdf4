"""The switches of a profile: the behaviour that each decides, its values since which profile, and the recorded case that is the reason.

A field gives the behaviour of 4.0 and the profiles that change it. A profile inherits every other value from the profile that it refines:
the profile of the release before it, or, for a release that was examined later, the nearest profile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, NamedTuple

from rocketproof_protocol.codes import INVALID_PARAMETER, SYSTEM_ERROR
from rocketproof_protocol.topics import (
    CHECK_MAX_TIME_TOPIC,
    DLQ_PREFIX,
    HALF_TOPIC,
    OFFSET_MOVED_TOPIC,
    OP_HALF_TOPIC,
    RETRY_PREFIX,
    SCHEDULE,
    SELF_TEST_TOPIC,
    TEMPLATE,
    TEMPLATES,
)

ATTRIBUTES_OF_500: Final = ("queue.type", "message.type")
"""The attributes of topics in the first release with attributes."""


class Since(NamedTuple):
    """The value of a switch from a profile on. `reason`: the recorded case that shows it, if brokers were recorded."""

    profile: str
    value: Any
    reason: str


def since(profile: str, value: Any, reason: str = "") -> Since:
    """Return the change of a switch's value from this profile on."""
    return Since(profile, value, reason)


def switch(first: Any, *changes: Since) -> Any:
    """Return a field of `Profile`: the value in the first profile, and its changes."""
    return field(default=first, metadata={"changes": changes})


@dataclass(frozen=True)
class Profile:
    """The switches of one release. `reasons`: the case for each switch that changed in this profile."""

    name: str
    about: str

    # Requests
    null_fields: bool = switch(
        False,
        since("P494", True, "not recorded: 4.9.4 logs the field and continues to read"),
        since("P452", True, "recorded: tests/data/releases"),
    )
    """A required field that is missing in a request's header is null, and an error where it is used; otherwise the header cannot be read
    (REM-04)."""

    null_numbers: bool = switch(
        False, since("P452", True, "recorded: tests/data/releases"), since("P490", True, "recorded: tests/data/releases")
    )
    """A malformed number with a short name is null, like any other field that may be null; otherwise it is an error at once (REM-04)."""

    null_pull_numbers: bool = switch(
        False,
        since("P452", True, "not recorded: as of a number with a short name"),
        since("P493", True, "not recorded: 4.9.3 answered so, and no release before 4.9.4 decodes a pull by itself, by the bytecode"),
    )
    """A malformed number in a pull is null; otherwise it is an error at once (REM-04)."""

    resets_far_pulls: bool = switch(
        False,
        since("P452", True, "not recorded: 4.5.1 and 4.3.2 were asked"),
        since("P493", True, "not recorded, tests/real/test_pulls_behind_the_end.py"),
    )
    """A pull beyond the end of a queue whose first offset is 0 is answered with offset 0; otherwise, and for other queues, with the end."""

    wants_short: bool = switch(
        False, since("P493", True, "recorded: tests/data/releases"), since("P490", False, "recorded: tests/data/releases")
    )
    """A send with short names is checked for all required fields before any is read, and the first missing field is an error (REM-04)."""

    wants_flags: bool = switch(False, since("P520", True, "recorded: tests/data/releases"), since("P514", False, "not recorded: as 5.3.3"))
    """A send with short names that lacks the unit-mode or batch flag is a null-pointer error before anything is checked; otherwise a
    missing flag counts as false (REM-04)."""

    faq: str = switch(
        "http://rocketmq.apache.org/docs/faq/",
        since("P533", "https://rocketmq.apache.org/docs/bestPractice/06FAQ", "A-1, A-30, A-31 and each remark that names it"),
        since("P500", "http://rocketmq.apache.org/docs/faq/", "recorded: tests/data/releases"),
    )
    """The link to further information in a broker's texts for users."""

    check_groups: bool = switch(
        False,
        since("P533", True, "not recorded, tests/real/test_later_switches.py: send-backs and pulls of such groups are answered 26"),
        since("P510", False, "recorded: tests/data/releases"),
    )
    """A look-up does not create a group whose name is longer than `group_limit` or has a character that is illegal in topics (DLQ-02)."""

    group_limit: int = switch(255, since("P540", 120, "recorded: tests/data/releases"))
    """The longest name of a group that a look-up creates, in UTF-16 units (DLQ-02)."""

    hears_unknown_groups: bool = switch(
        True,
        since("P533", False, "not recorded, tests/real/test_unknown_groups.py"),
        since("P510", True, "not recorded, tests/real/test_unknown_groups.py"),
    )
    """A heartbeat of a group that the broker neither knows nor creates registers its client as a consumer of the group, and notifies the
    group's consumers."""

    tests_groups: bool = switch(False, since("P540", True, "not recorded, tests/real/test_groups_of_administrators.py"))
    """An administrator cannot create or change a group whose name is blank, has a character that is illegal in topics, or is longer than
    `group_limit`: 29, with the reason (DLQ-02)."""

    remakes_groups: bool = switch(False, since("P550", True, "recorded: tests/data/releases"))
    """The deletion of a group that leaves its offsets looks the group up afterwards, which creates it again if look-ups create groups
    (DLQ-02)."""

    check_names: bool = switch(False, since("P49", True), since("P460", False, "recorded: tests/data/releases"))
    """The broker checks blank, characters and length, then `forbidden` (CHK-02, CHK-03); otherwise it refuses only the template's name
    (CHK-04)."""

    forbidden: frozenset[str] = switch(
        frozenset(),
        since("P49", frozenset({SCHEDULE})),
        since(
            "P494",
            frozenset({SCHEDULE, HALF_TOPIC, OP_HALF_TOPIC, CHECK_MAX_TIME_TOPIC, SELF_TEST_TOPIC, OFFSET_MOVED_TOPIC}),
            "A-136, A-137, A-139, A-140 and A-141: five more system topics are refused with 16",
        ),
        since("P493", frozenset({SCHEDULE}), "recorded: tests/data/releases"),
        since("P470", frozenset(), "recorded: tests/data/releases"),
    )
    """System topics to which clients may not send (CHK-03)."""

    reserves_template: bool = switch(
        True,
        since("P49", False),
        since("P470", True, "recorded: tests/data/releases"),
    )
    """The template's name is refused (CHK-04), after the checks of the name's text, if there are any."""

    topic_limit: int = switch(127)
    """The longest name of a topic, in UTF-16 units (CHK-02)."""

    retry_limit: int = switch(127, since("P540", 255, "recorded: tests/data/releases"))
    """The longest name of a topic for retries or dead letters (CHK-02)."""

    names_illegal_topic: bool = switch(False, since("P540", True, "recorded: tests/data/releases"))
    """The remark for a name with illegal characters or of excessive length contains the name (CHK-02)."""

    illegal_code: int = switch(
        SYSTEM_ERROR,
        since("P533", INVALID_PARAMETER, "A-14, A-39, A-106, A-118, A-122, A-130 and others: INVALID_PARAMETER in place of SYSTEM_ERROR"),
        since("P520", SYSTEM_ERROR, "recorded: tests/data/releases"),
    )
    """The code for an illegal name or queue (CHK-02, CHK-10, TCM-30)."""

    wants_topic: bool = switch(
        False, since("P533", True, "not recorded, tests/real/test_later_switches.py: the table of queue mappings knows no null")
    )
    """A send without a topic field is a null-pointer error before anything is checked; otherwise its topic is blank (CHK-02)."""

    default_processor: bool = switch(
        False, since("P494", True, "tests/real/test_unknown_codes.py: a one-way request with an unknown code is not answered")
    )
    """A task of an executor refuses a request with an unknown code, and a one-way request gets no response; otherwise it is refused on
    arrival, and every request is answered (REM-05, HAZ-26)."""

    heeds_one_way: bool = switch(
        False,
        since("P533", True, "not recorded: tests/real/test_later_switches.py, a pull that is held for a one-way caller"),
        since("P500", False, "not recorded: by its bytecode, whose remoting has no method that asks for the flag wherever it answers"),
    )
    """A processor that rejects, and a pull that was held, do not answer a one-way request; otherwise both answer it (REM-06, HAZ-26)."""

    leaves_unknown: bool = switch(
        False,
        since("P452", True, "tests/real/test_unknown_codes.py: the broker leaves every unknown code without an answer"),
        since("P490", True, "tests/real/test_unknown_codes.py: as 4.5.2; 4.9.1 is the first that refuses one, by its code"),
    )
    """A broker does not answer a request with an unknown code; otherwise `default_processor` decides which requests are answered
    (REM-05)."""

    name_server_refuses: bool = switch(
        True,
        since("P494", False, "tests/real/test_unknown_codes.py: the name server leaves every unknown code without an answer"),
        since("P533", True, "not recorded, tests/real/test_unknown_codes.py: the name server answers 3"),
        since("P452", False, "tests/real/test_unknown_codes.py: the name server leaves every unknown code without an answer"),
    )
    """A name server answers a request with an unknown code, unless it is one-way; otherwise it never answers such a request."""

    slave_rejects: bool = switch(False, since("P533", True, "L-334 to L-340: every send is answered with 2"))
    """A slave rejects sends before it reads them (REM-06)."""

    slave_rejects_pulls: bool = switch(
        False, since("P533", True, "not recorded: tests/real/test_slaves_of_other_releases.py, a pull when the master has ended")
    )
    """A slave also rejects pulls, unless slaveReadEnable is set (REM-06). Its consumers wait until there is a master."""

    min_offset_remark: str | None = switch(None, since("P533", "", "not recorded, tests/real/test_later_switches.py: request 31"))
    """The remark of an answer with a queue's first offset."""

    bounds_by_time: str = switch(
        "none",
        since("P533", "both", "not recorded, tests/real/test_searches_by_time.py: request 29 about messages of one time"),
        since("P511", "lower", "not recorded, tests/real/test_searches_by_time.py"),
        since("P510", "none", "not recorded, tests/real/test_searches_by_time.py"),
    )
    """The bounds that a search for a queue's offset by time supports: "both", the first offset stored at that time or later or the last one
    stored at that time or earlier, as requested; "lower", for every request; or "none": any message stored at that time, else the
    nearest."""

    notices_ends: bool = switch(
        False,
        since("P533", True, "not recorded, tests/real/test_producers_behind_faults.py: a send is tried again at once"),
        since("P511", False, "not recorded: up to 5.1.1 a client does not look at the end of a channel, from 5.1.4 on it does"),
    )
    """A client that waits for an answer fails at once when the other side closes the connection; otherwise it waits for its timeout, unless
    the connection breaks."""

    # Sends
    signed_random: bool = switch(True, since("P49", False), since("P491", True, "not recorded: no client sees which number is drawn"))
    """A negative queue id becomes abs(r % 99999999) % write with r any int; otherwise u % write with u in 0..99999998 (SEND-22)."""

    keeps_sign: bool = switch(
        False,
        since("P491", True, "recorded: tests/data/releases"),
        since("P461", False, "not recorded: in 112 programs of 4.6.1 no queue is below 0"),
    )
    """The queue of a send with a negative queue id, a message or a batch, is (r % 99999999) % write. It may be negative, and then no
    consumer pulls from it; otherwise `signed_random` decides (SEND-22)."""

    after_hooks: bool = switch(True, since("P49", False))
    """Hooks run after a send (SEND-06)."""

    asynchronous: bool = switch(False, since("P49", True))
    """The put completes a future, and an exception there is never answered (SEND-07, REM-09)."""

    always_traced: bool = switch(False, since("P533", True, "A-5 and every stored message"))
    """Region and trace switch are stored even without hooks (SEND-03)."""

    wants_request_body: bool = switch(
        False,
        since("P533", True, "A-206: a message without a body is a null-pointer error"),
        since("P500", False, "recorded: tests/data/releases"),
    )
    """A send without a body (on the wire also a body of 0 bytes) is a null-pointer error before anything is checked (SEND-03)."""

    stores_parsed: bool = switch(
        False,
        since("P49", True),
        since("P470", False, "recorded: tests/data/releases"),
        since("P461", True, "recorded: tests/data/releases"),
    )
    """The stored properties are the parsed map with CLUSTER and without WAIT; otherwise they are the header's text (SEND-25)."""

    stores_wait: bool = switch(
        False, since("P533", True, "A-204, A-205 and M-1002: WAIT is stored"), since("P490", True, "recorded: tests/data/releases")
    )
    """WAIT stays in the stored properties (SEND-25)."""

    exact_properties: bool = switch(True, since("P49", False), since("P490", True, "not recorded: 4.9.0 splits each item, by its source"))
    """Each item of the properties' text must split into a name and a value; otherwise only its first byte 1 separates them (SEND-26)."""

    ends_properties: bool = switch(
        True,
        since("P49", False),
        since("P533", True, "A-5 and every stored message: its size"),
        since("P514", False, "recorded: tests/data/releases"),
        since("P490", True, "recorded: tests/data/releases"),
    )
    """The text of properties ends with byte 2 (SEND-26)."""

    makes_unique_key: bool = switch(False, since("P533", True, "A-5 and every answered message; A-213: not for batches"))
    """A message without UNIQ_KEY gets one, and the answer has it as transactionId (SEND-46)."""

    queue_statistics: bool = switch(False, since("P49", True))
    """The schedule topic's statistics count per queue (SEND-42)."""

    short_disk_remark: bool = switch(True, since("P45", False))
    """SERVICE_NOT_AVAILABLE has the older text (SEND-41)."""

    size_remark: str = switch(
        "msg body length limit 128k, msg properties length limit 32k.",
        since(
            "P494",
            "msg body length limit {limit}B, msg properties length limit 32KB.",
            "A-192 to A-196: MESSAGE_ILLEGAL names other limits",
        ),
        since("P493", "msg body length limit 128k, msg properties length limit 32k.", "recorded: tests/data/releases"),
    )
    """The limits in the remark of MESSAGE_ILLEGAL. `{limit}` is the broker's limit (SEND-41)."""

    batch_retry: bool = switch(
        False,
        since("P45", True),
        since("P533", False, "A-214: a batch to a retry topic is refused with 13"),
        since("P452", False, "recorded: tests/data/releases"),
        since("P461", False, "recorded: tests/data/releases"),
    )
    """Batches may go to retry topics (BAT-02)."""

    repeats_batch_answer: bool = switch(False, since("P410", True, "not recorded, tests/real/test_batch_answers.py: two answers"))
    """A stored batch is answered when it is stored, and a second time afterwards with the same answer (SEND-42, BAT-01)."""

    batch_properties: bool = switch(
        False,
        since("P49", True),
        since("P540", False, "recorded: tests/data/releases"),
        since("P471", False, "recorded: tests/data/releases"),
    )
    """The header's properties and CLUSTER are appended to the properties of each message of a batch (BAT-04)."""

    separates_batch: bool = switch(True, since("P492", False, "recorded: tests/data/releases"))
    """Properties that are appended to a message's own properties begin after a byte 2 (BAT-04)."""

    limits_batch_properties: bool = switch(True, since("P492", False, "recorded: tests/data/releases"))
    """A batch whose own properties have more than 32,767 bytes is an exception; otherwise the length is stored as a signed 16-bit number,
    and a negative length stores none (BAT-04)."""

    throws_large_batch: bool = switch(False, since("P533", True, "not recorded in its 245 cases: B-0 and B-1 of later-5.3.3"))
    """A batch whose body exceeds the limit is an exception, regardless of other errors; otherwise MESSAGE_ILLEGAL (BAT-04)."""

    refuses_inner: bool = switch(False, since("P533", True, "not recorded in its 245 cases: B-5, B-6, B-9 and B-11 of later-5.3.3"))
    """MESSAGE_ILLEGAL for a message that declares itself an inner batch by a property or a flag: no topic accepts inner batches
    (STO-02)."""

    # Retries and dead letters
    null_limit: bool = switch(False, since("P49", True), since("P490", False, "recorded: tests/data/releases"))
    """A send-back without maxReconsumeTimes uses the group's limit; otherwise it is a null-pointer error (BACK-11)."""

    null_send_limit: bool = switch(False, since("P49", True), since("P492", False, "recorded: tests/data/releases"))
    """A send to a retry topic without maxReconsumeTimes uses the group's limit; otherwise it is a null-pointer error (DLQ-03)."""

    dlq_beyond: bool = switch(
        False, since("P533", True, "A-158, A-161 and A-162: a message with as many retries as the limit goes to the retry topic again")
    )
    """A send to a retry topic retries a message once more than the limit (DLQ-03)."""

    dlq_while_locked: bool = switch(
        False,
        since("P533", True, "not recorded, tests/real/test_later_switches.py"),
        since("P510", False, "recorded: tests/data/releases"),
    )
    """A message that is sent to a retry topic while its group holds a queue lock becomes a dead letter at once (DLQ-07)."""

    dlq_perm: int = switch(2, since("P49", 6), since("P491", 2, "recorded: tests/data/releases"))
    """The permission of a newly created dead-letter topic (DLQ-04)."""

    dlq_clears_delay: bool = switch(False, since("P49", True), since("P491", False, "recorded: tests/data/releases"))
    """A send-back that becomes a dead letter loses its delay level; otherwise it waits on that level (BACK-12)."""

    names_origin: bool = switch(False, since("P49", True), since("P480", False, "recorded: tests/data/releases"))
    """The properties of a send-back are written again with the id of its origin; otherwise only delayed messages have that id, and a dead
    letter from a first send-back has none (BACK-15, HAZ-32)."""

    keeps_store_host: bool = switch(
        False, since("P49", True), since("P461", False, "not recorded: 4.7.0 is the first that takes it over, by its code")
    )
    """A send-back keeps the address of the broker that stored it first; otherwise it gets the address of the second broker (BACK-14)."""

    dlq_keeps_delay: bool = switch(False, since("P533", True, "A-159: DELAY is stored as -1"))
    """The delay level of -1 that the retry step writes is stored (HAZ-17)."""

    wants_origin: bool = switch(
        False,
        since(
            "P533",
            True,
            "not recorded, tests/real/test_later_switches.py: metrics are named by the topic, and what is null there is thrown",
        ),
        since("P500", False, "not recorded, tests/real/test_later_than_510.py"),
    )
    """A request that gives a message up must name the message's original topic; without it there is a null-pointer error (BACK-12)."""

    checks_origin: bool = switch(False, since("P500", True, "recorded: tests/data/releases"))
    """A send-back that names an original topic must name the topic of its record; otherwise it fails as if there were no record
    (BACK-09)."""

    # Consumers' pulls and progress
    stops_pulls_early: bool = switch(
        True,
        since("P45", False, "not recorded, tests/real/test_valid_comparisons.py: 4.2.0 is the first"),
        since("P410", True, "recorded: tests/data/releases"),
    )
    """A pull of at most n messages (n above 1) that finds n or more returns n - 1; otherwise it returns n."""

    pull_reads_first: str = switch(
        "flags, time",
        since("P533", "", "not recorded: a pull without sysFlag of an unknown topic, as 4.9.4 answered it and 5.3.3 did"),
        since("P510", "flags", "not recorded: so do 5.1.0 and 5.0.0, by their code"),
    )
    """The fields of a pull that are read before its topic is looked up, so that a null is an error first: its flags, and the time of a pull
    that may wait."""

    begins_anywhere: bool = switch(
        True,
        since("P533", False, "not recorded in its 245 cases: P-2 and P-5 of later-5.3.3"),
        since("P500", True, "recorded: tests/data/releases"),
    )
    """A group without a committed offset starts at 0 in any queue; otherwise only in a queue that has messages."""

    heeds_set_zero: bool = switch(False, since("P533", True, "not recorded in its 245 cases: P-6 of later-5.3.3"))
    """A query with `setZeroIfNotFound=false` for a group without a committed offset is answered with no offset; otherwise the field is
    ignored."""

    checks_commits: bool = switch(False, since("P533", True, "not recorded in its 245 cases: P-7, P-16 and others of later-5.3.3"))
    """A commit for an unknown topic is refused, and so is a commit without queue or offset."""

    names_null_commits: bool = switch(True, since("P500", False, "recorded: tests/data/releases"))
    """If commits are checked, the answer to a commit without queue or offset names the missing field; otherwise it is an exception."""

    checks_committers: bool = switch(
        False,
        since("P533", True, "not recorded in its 245 cases: P-8, P-9 and others of later-5.3.3"),
        since("P520", False, "recorded: tests/data/releases"),
    )
    """A commit for an unknown group is refused, before the other checks of commits."""

    clean_offsets: str = switch(
        "removeOffset",
        since("P533", "cleanOffset", "not recorded in its 245 cases: P-25 and P-29 of later-5.3.3"),
        since("P452", "", "recorded: tests/data/releases"),
        since("P480", "", "not recorded: up to 4.8.0 the header has no such field, by its code"),
    )
    """The field of request 207 that also deletes the offsets of a deleted group; "" if there is none."""

    deletes_offsets: bool = switch(
        False, since("P533", True, "not recorded: tests/real/test_later_switches.py, a topic that is made again")
    )
    """The deletion of a topic also deletes the offsets that groups have committed for it (TCM-31)."""

    # Transactions
    template: str = switch(TEMPLATE, since("P430", TEMPLATES[1], "recorded: tests/data/releases"))
    """The template topic, which a first message names to create its own topic: in 4.3.0 its name is not TBW102 (TCM-03, TCM-13)."""

    half_messages: bool = switch(False, since("P45", True), since("P420", False, "recorded: tests/data/releases"))
    """Transactional messages go to the half topic, and TRAN_MSG is parsed; otherwise only its presence counts, and only on a broker that
    rejects transactions (TRX-01, TRX-02)."""

    names_transaction: bool = switch(
        False,
        since("P533", True, "A-178 to A-182, A-188, A-190 and A-191: half messages have the property __transactionId__"),
        since("P500", False, "recorded: tests/data/releases"),
    )
    """Half messages have their id as a property (TRX-04)."""

    commit_keeps_place: bool = switch(True, since("P540", False, "recorded: tests/data/releases"))
    """A committed message keeps the properties with its original topic and queue (REAL_TOPIC and REAL_QID), which its half message has."""

    commit_keeps_mark: bool = switch(
        False,
        since("P452", True, "recorded: tests/data/releases"),
        since("P460", True, "recorded: tests/data/releases"),
    )
    """A committed message with a delay level keeps the property TRAN_MSG; otherwise only a message that is stored at once keeps it
    (TRX-01)."""

    gathers_operations: bool = switch(False, since("P533", True, "A-185, A-186 and A-189: no record between them and the next message"))
    """The operation records that end half messages are written together, seconds later (TRX-05)."""

    keeps_operations: bool = switch(
        True,
        since("P45", False, "not recorded, tests/real/test_valid_comparisons.py"),
        since("P49", True, "not recorded, tests/real/test_valid_comparisons.py: 4.9.0 is the first"),
        since("P480", False, "recorded: tests/data/releases"),
    )
    """The deletion of a topic keeps the queue of the operation records that end half messages; otherwise it destroys that queue, because
    its topic is in no table (TCM-31)."""

    keeps_system_queues: bool = switch(
        False,
        since("P533", True, "not recorded, tests/real/test_timers.py: 5.2.0 delivers timers, whose topic is in no table"),
    )
    """The deletion of a topic keeps the queues of all system topics; otherwise it destroys those whose topic is in no table (TCM-31)."""

    retries_are_ordinary: bool = switch(
        False,
        since(
            "P533",
            True,
            "not recorded, tests/real/test_later_switches.py: such a send is to be put into its own topic, as in 4.6.1; not so in 4.9.4",
        ),
        since("P461", True, "recorded: tests/data/releases"),
        since("P460", False, "recorded: tests/data/releases"),
    )
    """A send with TRAN_MSG and a delay level that was retried before is a retry, not a half message (TRX-01, HAZ-47)."""

    # Topics and their file
    all_system_topics: bool = switch(False, since("P49", True))
    """The constructor makes the entries of 4.9, except the schedule topic (TCM-03)."""

    schedule_topic: bool = switch(
        False,
        since("P49", True),
        since("P470", False, "not recorded: a new broker of 4.7.0 has no such topic, by its code"),
    )
    """The constructor makes the schedule topic (TCM-03)."""

    more_system_topics: bool = switch(
        False, since("P533", True, "A-136, A-137, A-147 and A-148: the broker knows these topics from its start")
    )
    """The constructor makes the entries of 5.x too (TCM-03)."""

    timer_topic: bool = switch(
        False,
        since("P533", True, "not recorded: 5.3.3 makes it where timerWheelEnable is set, by its code"),
        since("P520", False, "not recorded: up to 5.2.0 none is made, by the code; a 5.1.4 with timerWheelEnable had none"),
    )
    """The constructor also makes the timer wheel's topic, if the broker has a timer wheel (TCM-03)."""

    trace_topic: bool = switch(False, since("P45", True), since("P432", False, "not recorded: 4.4.0 is the first, by its code"))
    """The constructor may make the trace topic (TCM-03)."""

    topic_attributes: bool = switch(False, since("P533", True, "A-5 and every topic; A-14 and others: the remark says attributes={}"))
    """Topics have attributes (TCM-01)."""

    attribute_names: frozenset[str] = switch(
        frozenset(),
        since(
            "P533", frozenset({*ATTRIBUTES_OF_500, "cleanup.policy", "reserve.time"}), "not recorded, tests/real/test_topic_attributes.py"
        ),
        since("P520", frozenset({*ATTRIBUTES_OF_500, "cleanup.policy"}), "not recorded, tests/real/test_topic_attributes.py"),
        since("P500", frozenset(ATTRIBUTES_OF_500), "not recorded, tests/real/test_topic_attributes.py"),
        since(
            "P550",
            frozenset({*ATTRIBUTES_OF_500, "cleanup.policy", "reserve.time", "lite.topic.expiration"}),
            "not recorded, tests/real/test_topic_attributes.py",
        ),
    )
    """The attributes that a topic may have (TCM-01, TCM-30)."""

    message_types: tuple[str, ...] = switch(
        (),
        since(
            "P533",
            ("UNSPECIFIED", "TRANSACTION", "FIFO", "MIXED", "DELAY", "NORMAL"),
            "not recorded, tests/real/test_topic_attributes.py",
        ),
        since(
            "P514",
            ("UNSPECIFIED", "MIXED", "TRANSACTION", "FIFO", "DELAY", "NORMAL"),
            "not recorded, tests/real/test_topic_attributes.py",
        ),
        since("P511", ("UNSPECIFIED", "TRANSACTION", "FIFO", "DELAY", "NORMAL"), "not recorded, tests/real/test_topic_attributes.py"),
        since(
            "P540",
            ("UNSPECIFIED", "MIXED", "TRANSACTION", "PRIORITY", "FIFO", "DELAY", "NORMAL"),
            "not recorded, tests/real/test_topic_attributes.py",
        ),
        since(
            "P550",
            ("UNSPECIFIED", "MIXED", "TRANSACTION", "PRIORITY", "FIFO", "DELAY", "LITE", "NORMAL"),
            "not recorded, tests/real/test_topic_attributes.py",
        ),
    )
    """The values of a topic's attribute `message.type`, in the order of the remark that rejects another value (TCM-30)."""

    refuses_mixed: bool = switch(
        False,
        since("P533", True, "not recorded, tests/real/test_topic_attributes.py"),
        since("P520", False, "not recorded, tests/real/test_topic_attributes.py"),
    )
    """An administrator cannot set `message.type` to MIXED: 29 (TCM-30)."""

    catches_malformed_attributes: bool = switch(
        False,
        since("P533", True, "not recorded, tests/real/test_topic_attributes.py"),
        since("P520", False, "not recorded, tests/real/test_topic_attributes.py"),
    )
    """The answer to a malformed change of attributes is the error's message; otherwise it also names the exception (TCM-30, REM-08)."""

    slave_creates: bool = switch(
        False, since("P533", True, "L-341: a topic is made on a slave; S-0, S-4 and S-5 of later-5.3.3: groups too, and both are deleted")
    )
    """A slave accepts an administrator's changes of topics and groups (TCM-30)."""

    keeps_order: bool = switch(
        False,
        since("P533", True, "not recorded, tests/real/test_later_switches.py: order=true of an administrator stays"),
        since("P500", False, "recorded: tests/data/releases"),
    )
    """An administrator can make a topic ordered, and a name server's list never removes that. A retry topic is ordered if its consumers'
    topics are, and if they state it (TCM-30, NS-12, TCM-20)."""

    guards_topics: bool = switch(
        True,
        since("P452", False, "recorded: tests/data/releases"),
        since("P470", False, "recorded: tests/data/releases"),
    )
    """An administrator can neither change nor delete a system topic, or a topic with an illegal name; otherwise every topic can be deleted.
    Then every topic can be changed except the cluster's, names that clients may not send to because of their text, and, if text is checked,
    the template's (TCM-30, TCM-31)."""

    answers_when_changed: bool = switch(
        True,
        since("P452", False, "recorded: tests/data/releases"),
        since("P470", False, "recorded: tests/data/releases"),
    )
    """The change of a topic is answered after it is made and registered, with the default remark of answers; otherwise before that, without
    a remark. The next request may then find the old topic, or create one that the registration hides (TCM-30, HAZ-55)."""

    skips_equal_topic: bool = switch(
        False, since("P533", True, "not recorded, tests/real/test_later_switches.py: the version stays the same")
    )
    """An update without a change is skipped: it makes no new version and no registration (TCM-30)."""

    registers_updated_alone: bool = switch(
        False,
        since("P494", True, "not recorded, tests/real/test_later_switches.py: a restarted name server knows the updated topic alone"),
        since("P452", True, "not recorded: 4.5.2's sources register it so, as 4.9.4 does"),
        since("P420", False, "not recorded: 4.3.0 is the first that registers it so, by its code"),
    )
    """A topic that an administrator changes is registered without the other topics, with the table's version when the request is written;
    otherwise the whole table is registered (TCM-30, NS-03, HAZ-55)."""

    registers_created_alone: bool = switch(
        False,
        since("P533", True, "not recorded, tests/real/test_later_switches.py: a restarted name server refuses the created topic"),
        since("P511", False, "recorded: tests/data/releases"),
    )
    """A topic that a message creates, or whose unit flag is set, is registered without the other topics, and its thread waits for the
    answer; otherwise the whole table is registered one-way (TCM-17, TCM-32, TCM-34)."""

    deletes_any_name: bool = switch(
        False,
        since("P533", True, "not recorded: asked of 5.3.3, a delete of 'a b' or of 200 characters is not refused"),
        since("P514", False, "not recorded, tests/real/test_later_than_510.py"),
    )
    """A topic with any name that is not blank and not a system topic's can be deleted; otherwise the name must be legal (TCM-31)."""

    counts_timers: bool = switch(
        False,
        since("P533", True, "not recorded: asked of 5.3.3 with timerWheelEnable=false, a delete is answered 1"),
        since("P520", False, "recorded: tests/data/releases"),
    )
    """The deletion of a topic ends with an error on a broker without a timer wheel (TCM-31)."""

    overwrites_in_place: bool = switch(
        False, since("P533", True, "not recorded: 5.x writes a backup and then the file itself, without a temporary one")
    )
    """A configuration file is overwritten after a backup; otherwise it is replaced by way of a temporary file (PER-02, PER-10)."""

    # Store
    busy_first: bool = switch(False, since("P49", True), since("P461", False, "recorded: tests/data/releases"))
    """The page cache is checked before topic and properties, and their excess is MESSAGE_ILLEGAL (STO-02; otherwise STO-01)."""

    wants_body: bool = switch(
        False, since("P533", True, "not recorded: a batch message without a body is answered MESSAGE_ILLEGAL when it is sent back")
    )
    """The store rejects a message without a body: MESSAGE_ILLEGAL (STO-02)."""

    counts_bytes: bool = switch(
        False, since("P533", True, "not recorded: a send-back whose properties become too long is answered PROPERTIES_SIZE_EXCEEDED")
    )
    """The length of properties is checked in bytes when the message is encoded; otherwise first in characters, before encoding (STO-02)."""

    encode_first: bool = switch(False, since("P49", True), since("P490", False, "recorded: tests/data/releases"))
    """A message is encoded and its sizes are checked before the lock, and before it gets a queue offset (APP-06)."""

    limits_name_bytes: bool = switch(False, since("P510", True, "recorded: tests/data/releases"))
    """The store rejects a topic name of more than 127 bytes; otherwise of more than 127 characters (STO-02)."""

    counts_refused: bool = switch(False, since("P510", True, "recorded: tests/data/releases"))
    """A message gets its queue's next offset before its sizes and its place are checked. A message that is then refused, or fits no file,
    leaves a gap (APP-03, APP-06)."""

    limits_record: bool = switch(
        True,
        since("P494", False, "A-192 to A-196: it is the body that the remark names a limit of"),
        since("P493", True, "recorded: tests/data/releases"),
    )
    """The size limit applies to the whole record, and to all records of a batch together; otherwise it applies to the body alone (APP-06,
    BAT-04)."""

    hosts_by_flag: bool = switch(
        False,
        since(
            "P49", True, "not recorded: 4.9.4 answers 0 to the flags 16 and 32, dispatches no such record, and a start ends its log there"
        ),
    )
    """The flag decides the length of a record's hosts, even if a client has set it; the hosts themselves are written as they are
    (APP-08)."""

    dispatch_ends: bool = switch(
        False, since("P533", True, "not recorded: after a record whose lengths do not add up to its size, 5.3.3 continues at once")
    )
    """The dispatcher checks for the log's end before each record; otherwise it reads all data that it took from a file (REC-04)."""

    keeps_first_entry: bool = switch(
        False, since("P533", True, "not recorded: measured on 5.3.3 to 5.5.0; so have 5.0.0 to 5.2.0, by the code")
    )
    """A start that makes a queue with filler before its first entry leaves the queue's first offset at that entry. Otherwise it is 0, since
    filler names a place in the log (REC-04)."""

    dispatches_after_stop: str = switch(
        "all",
        since("P533", "later", "not recorded, tests/real/test_damaged_queues.py: so do 5.4.0 and 5.5.0"),
        since("P520", "none", "not recorded, tests/real/test_damaged_queues.py: so do 5.0.0 to 5.1.4"),
    )
    """The records that a start after a clean stop dispatches again, by the end of the last record in any queue (REC-02). all: those that
    begin there or later, as after a crash. later: those that begin later. none: no record. From 5.0 on the dispatcher then continues at the
    log's end."""

    resets_lock_time: bool = switch(
        False,
        since("P49", True),
        since("P492", False, "not recorded: 4.9.3 is the first that does, by its code"),
        since("P533", False, "not recorded, tests/real/test_busy_for_hours.py: a batch with a flag of IPv6"),
        since("P550", True, "not recorded, tests/real/test_busy_for_hours.py"),
    )
    """The lock's time is also reset when an append throws (CL-05)."""

    replica_wait: int | None = switch(5000, since("P49", None))
    """Milliseconds to wait for a replica; None is the broker's slaveTimeout (FLU-07)."""

    counts_replicas: bool = switch(False, since("P533", True, "M-1000 and others: a SYNC_MASTER without a slave answers 0"))
    """A SYNC_MASTER waits for inSyncReplicas copies, itself included (FLU-07)."""

    rechecks_after_flush: bool = switch(False, since("P49", True))
    """Group commit checks a request again after its second flush (FLU-03)."""

    wrong_length: str = switch(
        "passed over",
        since("P49", "refused", "not recorded: 4.9.3, 4.9.4 and 4.7.0 to 4.9.1 end with code 253, by their code"),
        since("P452", "refused", "not recorded: so do 4.5.0 to 4.6.1, by their code"),
        since("P440", "passed over", "not recorded: 4.4.0 logs that it ignores such a file, by its code"),
        since("P492", "passed over", "not recorded: 4.9.2 logs that it ignores such a file, by its code"),
        since("P491", "refused", "not recorded: 4.9.1 is as 4.9.3 again, by its code"),
        since("P533", "deleted", "not recorded: 5.1.4 and later delete a last file of length 0, by their code"),
        since(
            "P511",
            "refused",
            "not recorded, tests/real/test_real_kills.py: 5.1.1 starts only without it; so do 5.0.0 and 5.1.0, by their code",
        ),
    )
    """The treatment, at a start, of a mapped file whose length is not the configured one, for example because the process was killed before
    it set the length. refused: the start fails. passed over: no file of its folder from there on is opened. deleted: an empty last file of
    its folder is deleted, and any other ends the start (REC-02, HAZ-59)."""

    # Delayed delivery
    records_each_delivery: bool = switch(
        False,
        since("P494", True, "not recorded: 4.9.4 notes each delivery as it is made, the releases before 4.9.3 a scan's when it ends"),
        since("P492", False, "not recorded: so does 4.9.2, by its source"),
    )
    """The delivered position of a level is stored after each delivery; otherwise when the scan ends (REC-05, HAZ-48)."""

    corrects_delay_offsets: bool = switch(
        False,
        since("P494", True, "not recorded: 4.9.4 reads delayOffset.json after the log, the releases to 4.9.1 before it and unchanged"),
        since("P491", False, "not recorded: so does 4.9.1, by its source"),
    )
    """A start limits the offsets in delayOffset.json to the current queues (REC-05)."""

    discards_delayed_halves: bool = switch(False, since("P49", True), since("P460", False, "recorded: tests/data/releases"))
    """A delayed half message is discarded when its time comes; otherwise it is delivered to the half topic (REC-05, HAZ-39)."""

    trusts_failed_force: bool = switch(
        True, since("P540", False, "not recorded: taken from a description of 5.4.0's sources, as no client sees it")
    )
    """A flush whose force fails moves the flushed position as well, as in every release before 5.4.0 (FLU-05)."""

    dispatches_flushed: bool = switch(False, since("P533", True, "not recorded: since 5.3.0 the end of dispatch is the flushed position"))
    """With synchronous flush only flushed records are dispatched and readable; otherwise all written records are (REC-04)."""

    timers: bool = switch(False, since("P533", True, "not recorded in its 245 cases: T-3, T-7, W-0 and others of later-5.3.3"))
    """A message may have a delivery time (TIMER_DELAY_SEC, TIMER_DELAY_MS, TIMER_DELIVER_MS). Until then it is in a system topic of the
    broker (HAZ-54, HAZ-58)."""

    recalls_by_topic: bool = switch(
        False,
        since("P533", True, "not recorded in its 245 cases, tests/real/test_timers.py"),
        since("P520", False, "recorded: tests/data/releases"),
        since("P540", False, "recorded: tests/data/releases"),
    )
    """A message with TIMER_DEL_UNIQKEY cancels the timer with the topic and unique key that it names as `topic+key`; otherwise it names
    only the unique key (HAZ-54)."""

    tells_recall_handle: bool = switch(
        False,
        since("P533", True, "not recorded in its 245 cases: T-3 and others of later-5.3.3"),
        since("P520", False, "recorded: tests/data/releases"),
    )
    """The answer to a message with a delivery time has a handle with which the message can be recalled (recallHandle)."""

    names_no_wheel: bool = switch(True, since("P510", False, "not recorded, tests/real/test_later_than_510.py"))
    """Without a timer wheel, the answer to a message with a delivery time names the missing wheel; otherwise the service is reported as
    unavailable (SEND-41)."""

    # Name server
    name_server_faq: str = switch(
        "http://rocketmq.apache.org/docs/faq/",
        since("P533", "https://rocketmq.apache.org/docs/bestPractice/06FAQ", "A-1 and each other topic without a route"),
        since("P500", "http://rocketmq.apache.org/docs/faq/", "recorded: tests/data/releases"),
    )
    """The link to further information in a name server's texts for users (NS-06)."""

    null_topic: bool = switch(
        False, since("P494", True, "not recorded, tests/real/test_later_switches.py: the answer 17, of the topic null")
    )
    """A required field that a request to a name server lacks is null, such as the topic of a route (NS-06), and an error where it is used;
    otherwise the header is an error (REM-04)."""

    misspells_flag: bool = switch(
        False, since("P452", True, "recorded: tests/data/releases"), since("P480", True, "recorded: tests/data/releases")
    )
    """Routes name a topic's flag topicSynFlag; otherwise topicSysFlag (NS-06)."""

    slaves_lose_write: bool = switch(False, since("P514", True, "not recorded: up to 5.1.4, by its code"))
    """The topics that a name server reads from the slave with the smallest id lose WRITE in any case. Otherwise they lose it only if that
    slave states that it acts as master (NS-05)."""

    acting_master: bool = switch(False, since("P533", True, "A-0 and every route: enableActingMaster is false"))
    """Routes state whether a slave may act as master (NS-06)."""

    masks_permission: bool = switch(
        False,
        since("P533", True, "not recorded, tests/real/test_registered_permissions.py: the route of a topic with perm 2 has perm 0"),
    )
    """A broker without READ or WRITE registers all topics with the bits that its permission and theirs share; otherwise with its own
    permission (NS-11)."""

    masks_alone: bool = switch(
        False,
        since("P533", True, "not recorded, tests/real/test_later_switches.py: the route of a topic with perm 2 has perm 0"),
        since("P511", False, "recorded: tests/data/releases"),
    )
    """A broker without READ or WRITE registers a topic alone with the bits that both permissions share; otherwise with its own (NS-11)."""

    registers_flag: bool = switch(
        False,
        since("P533", True, "not recorded in its 245 cases: routes of 5.3.3 keep the flag of such a broker's topics, as in 5.1"),
    )
    """A broker without READ or WRITE registers its topics' flags; otherwise 0 (NS-11)."""

    wants_mappings: bool = switch(False, since("P500", True, "recorded: tests/data/releases"))
    """A name server cannot read a compressed registration without the number of queue mappings, as sent by 4.x (NS-02)."""

    unregisters_later: bool = switch(
        False,
        since(
            "P533", True, "not recorded, in 1 of 1,000 programs a route of 5.3.3 had the broker for 60 ms after the response; so has 5.0.0"
        ),
    )
    """A name server answers an unregistration at once, and removes the broker afterwards. Nothing in the response shows when."""

    refuses_single_topic: bool = switch(
        False, since("P533", True, "not recorded, tests/real/test_later_switches.py: the name server answers 1, register broker failed")
    )
    """A name server refuses the first registration of a broker's id if it has only one topic (NS-02)."""

    takes_unknown_topics: bool = switch(
        False, since("P533", True, "not recorded, tests/real/test_later_switches.py: a third topic of the same version has a route")
    )
    """A registration with the stored version adds the topics that the broker lacks at the name server (NS-03)."""

    may_keep_order_topics: bool = switch(False, since("P533", True, "not recorded: the setting exists since 5.0.0, by the classes"))
    """A name server setting leaves the order topics out of the responses to registrations (NS-12)."""

    drops_topics: bool = switch(
        False,
        since("P533", True, "not recorded: route-after-deletion-with-setting.py of the bug reports"),
        since("P511", False, "not recorded: the setting exists since 5.1.4, by the classes"),
    )
    """A name server setting removes a broker's topics that its registration lacks (NS-04)."""

    registers_topics: bool = switch(
        False,
        since("P533", True, "not recorded, tests/real/test_later_switches.py: a name server of 4.9.4 has no route then"),
        since("P511", False, "not recorded: brokers of 5.1.1 have no such setting, by their code"),
    )
    """A broker setting allows the registration of a single topic by a separate request, without a version (TCM-34)."""

    forgets_by_cluster: bool = switch(
        True,
        since("P493", False, "not recorded: up to 4.9.3 the request has no such field, by its code"),
        since("P452", False, "recorded: tests/data/releases"),
    )
    """A request to forget a topic of one cluster removes it from that cluster's brokers; otherwise the name server ignores the cluster and
    forgets the topic (NS-04)."""

    gives_write_permission: bool = switch(
        True,
        since("P491", False, "not recorded: 4.9.2 is the first that serves the request, by its code"),
        since("P452", False, "not recorded: no request was answered in 8 s"),
    )
    """A name server serves the request that returns a broker's write permission (PERM-02)."""

    takes_topics: bool = switch(False, since("P533", True, "not recorded in its 245 cases: R-8, R-9 and others of later-5.3.3"))
    """A name server accepts topics by that request from any client that names a known broker (TCM-34)."""

    compares_versions: bool = switch(True, since("P420", False, "recorded: tests/data/releases"))
    """A name server answers whether a broker's version differs, and reads compressed registrations; otherwise it does not answer that
    request, and cannot read them (NS-02, NS-09)."""

    moves_addresses: bool = switch(True, since("P440", False, "recorded: tests/data/releases"))
    """A broker's address that registers with another id loses its old id; otherwise it has both (NS-02)."""

    leaves_by_address: bool = switch(
        False,
        since("P533", True, "not recorded, tests/real/test_later_switches.py: the master is left when its slave's address leaves"),
        since("P500", False, "recorded: tests/data/releases"),
    )
    """An unregistration removes the address, under any id; otherwise it removes the id, with any address (NS-08)."""

    lives_in_cluster: bool = switch(
        False, since("P533", True, "not recorded, tests/real/test_later_switches.py: a slave of another cluster gets no master")
    )
    """A name server stores the last registration of an address per cluster, so a slave of another cluster gets no master; otherwise it
    stores it per address (NS-01, NS-02)."""

    tells_more: bool = switch(False, since("P533", True, "not recorded: pulls of 5.3.3 are answered with these fields"))
    """The answer to a pull has the flags of group and topic, or the cause that forbids it."""

    tells_broker_forbids: bool = switch(True, since("P510", False, "not recorded, tests/real/test_later_than_510.py"))
    """The cause that forbids a pull (forbiddenType) is also named if it is the broker; otherwise only if it is a group or a topic."""

    tells_second_heartbeat: bool = switch(
        False,
        since("P533", True, "not recorded: heartbeats of 5.3.3 are answered with these fields"),
        since("P511", False, "recorded: tests/data/releases"),
    )
    """The answer to a heartbeat states that the broker knows its second form."""

    tells_totals: bool = switch(False, since("P540", True, "not recorded: so does 5.5.0; 4.9.4 to 5.3.3 state nothing"))
    """The response with the whole table of topics, or of consumer groups, states how many the table has."""

    lite_pulls: bool = switch(False, since("P533", True, "not recorded, tests/real/test_unknown_codes.py"))
    """A pull also has a request code of its own for lite pull consumers, which clients of these releases use."""

    reasons: dict[str, str] = field(default_factory=dict)
    base: str = ""
    """The profile that this profile refines, "" for the first."""

    def longest(self, topic: str) -> int:
        """Return the longest legal name of a topic of this kind, in UTF-16 units."""
        return self.retry_limit if topic.startswith((RETRY_PREFIX, DLQ_PREFIX)) else self.topic_limit


OF_NAME_SERVERS: Final = (
    "name_server_refuses",
    "name_server_faq",
    "null_topic",
    "misspells_flag",
    "acting_master",
    "slaves_lose_write",
    "wants_mappings",
    "unregisters_later",
    "refuses_single_topic",
    "takes_unknown_topics",
    "may_keep_order_topics",
    "drops_topics",
    "forgets_by_cluster",
    "gives_write_permission",
    "takes_topics",
    "compares_versions",
    "moves_addresses",
    "leaves_by_address",
    "lives_in_cluster",
)
"""The switches that the name server's release decides. The broker's release decides all others."""

SWITCHES: Final = {
    switch_field.name: switch_field.metadata["changes"] for switch_field in fields(Profile) if "changes" in switch_field.metadata
}
"""All switches by name, in the order above, with the profiles that change each."""

PAIR: Final = "+"
"""The separator between the profiles of a broker and of its name server, if their releases differ."""


class Profiles(dict[str, Profile]):
    """Profiles by name. Two names joined by `PAIR`, as in P494+P533, are the profile of a broker of the first release with a name server of
    the second. That profile refines the broker's. It is not listed as an item, because there are too many pairs."""

    def __missing__(self, name: object) -> Profile:
        broker_name, pair, name_server_name = str(name).partition(PAIR)
        if not pair or not {broker_name, name_server_name} <= self.keys():
            raise KeyError(name)
        broker, name_server = self[broker_name], self[name_server_name]
        about = f"{broker.about}, beside a name server: {name_server.about}"
        values = {switch: getattr(name_server, switch) for switch in OF_NAME_SERVERS}
        return replace(broker, name=str(name), about=about, reasons={}, base=broker_name, **values)

    def __contains__(self, name: object) -> bool:
        broker_name, pair, name_server_name = str(name).partition(PAIR)
        return {broker_name, name_server_name if pair else broker_name} <= self.keys()


def profiles(about: Mapping[str, tuple[str, str]]) -> Profiles:
    """Build the profiles: name to (name of the refined profile, description). A profile comes after the profile that it refines."""
    built = Profiles()
    for name, (base, text) in about.items():
        values = {switch: getattr(built[base], switch) for switch in SWITCHES} if base else {}
        reasons = {}
        for switch, changes in SWITCHES.items():
            for change in changes:
                if change.profile == name:
                    values[switch] = change.value
                    if change.reason:
                        reasons[switch] = change.reason
        built[name] = Profile(name, text, **values, reasons=reasons, base=base)
    return built
