"""The switches of a profile: what each decides, the value it has since which profile, and the recorded case that is the reason.

A field is read as: what 4.0 did, and since which of the profiles it is otherwise. A profile has the values of the one that it refines where
it names none: of the release before it, or, for a release that was looked at later, of the nearest one.
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


class Since(NamedTuple):
    """A value that a switch has from a profile on. `reason`: the case that shows it, where brokers were recorded."""

    profile: str
    value: Any
    reason: str


def since(profile: str, value: Any, reason: str = "") -> Since:
    """From this profile on the switch has another value."""
    return Since(profile, value, reason)


def switch(first: Any, *changes: Since) -> Any:
    """A field of `Profile`: the value of the first profile, and how it changed."""
    return field(default=first, metadata={"changes": changes})


@dataclass(frozen=True)
class Profile:
    """The switches of one release. `reasons`: each switch that changed in this profile, with the case that shows it."""

    name: str
    about: str

    # Requests
    null_fields: bool = switch(
        False,
        since("P494", True, "not recorded: 4.9.4 writes a word about the field into its log and reads on"),
        since("P452", True, "recorded: tests/data/releases"),
    )
    """A required field that is not in a request's header is null, and an error where it is used; otherwise the header cannot be read
    (REM-04)."""

    null_numbers: bool = switch(
        False, since("P452", True, "recorded: tests/data/releases"), since("P490", True, "recorded: tests/data/releases")
    )
    """A number with a short name that is none is null, as any other is where fields may be null; otherwise it is an error at once
    (REM-04)."""

    null_pull_numbers: bool = switch(
        False,
        since("P452", True, "not recorded: as of a number with a short name"),
        since("P493", True, "not recorded: 4.9.3 answered so, and no release before 4.9.4 decodes a pull by itself, by the bytecode"),
    )
    """The same of a number of a pull (REM-04)."""

    resets_far_pulls: bool = switch(
        False,
        since("P452", True, "not recorded: 4.5.1 and 4.3.2 were asked"),
        since("P493", True, "not recorded, tests/real/test_pulls_behind_the_end.py"),
    )
    """A pull from behind the end of a queue whose first offset is 0 is told to go on there; otherwise, and of other queues, at the end."""

    wants_short: bool = switch(
        False, since("P493", True, "recorded: tests/data/releases"), since("P490", False, "recorded: tests/data/releases")
    )
    """Of a send with short names each required field is asked for before any is read, and the first that is missing is an error
    (REM-04)."""

    wants_flags: bool = switch(False, since("P520", True, "recorded: tests/data/releases"), since("P514", False, "not recorded: as 5.3.3"))
    """A send with short names that does not say whether it is in unit mode, or a batch, is a null-pointer error before anything is checked;
    otherwise it is neither (REM-04)."""

    faq: str = switch(
        "http://rocketmq.apache.org/docs/faq/",
        since("P533", "https://rocketmq.apache.org/docs/bestPractice/06FAQ", "A-1, A-30, A-31 and each remark that names it"),
        since("P500", "http://rocketmq.apache.org/docs/faq/", "recorded: tests/data/releases"),
    )
    """Where a broker's texts for users send their readers."""

    check_groups: bool = switch(
        False,
        since("P533", True, "not recorded, tests/real/test_later_switches.py: send-backs and pulls of such groups are answered 26"),
        since("P510", False, "recorded: tests/data/releases"),
    )
    """A group whose name is longer than `group_limit`, or has a character that a topic must not have, is not made by a look-up (DLQ-02)."""

    group_limit: int = switch(255, since("P540", 120, "recorded: tests/data/releases"))
    """The longest name of a group that a look-up makes, in UTF-16 units (DLQ-02)."""

    hears_unknown_groups: bool = switch(
        True,
        since("P533", False, "not recorded, tests/real/test_unknown_groups.py"),
        since("P510", True, "not recorded, tests/real/test_unknown_groups.py"),
    )
    """A heartbeat of a group that the broker neither knows nor makes makes its client one of the group's consumers, and tells them so."""

    tests_groups: bool = switch(False, since("P540", True, "not recorded, tests/real/test_groups_of_administrators.py"))
    """An administrator makes or changes no group whose name is blank, has a character that a topic must not have, or is longer than
    `group_limit`: 29, and what is wrong with it (DLQ-02)."""

    remakes_groups: bool = switch(False, since("P550", True, "recorded: tests/data/releases"))
    """Whoever deletes a group and leaves its offsets looks it up behind that, which makes it again where look-ups make groups (DLQ-02)."""

    check_names: bool = switch(False, since("P49", True), since("P460", False, "recorded: tests/data/releases"))
    """The broker tests blank, characters and length, then `forbidden` (CHK-02, CHK-03); otherwise it refuses the template's name and
    nothing else (CHK-04)."""

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
    """System topics that may not be sent to (CHK-03)."""

    reserves_template: bool = switch(
        True,
        since("P49", False),
        since("P470", True, "recorded: tests/data/releases"),
    )
    """The template's name is refused (CHK-04), as what the text of a name is worth has been looked at, if it is."""

    topic_limit: int = switch(127)
    """The longest name of a topic, in UTF-16 units (CHK-02)."""

    retry_limit: int = switch(127, since("P540", 255, "recorded: tests/data/releases"))
    """The longest name of a topic for retries or dead letters (CHK-02)."""

    names_illegal_topic: bool = switch(False, since("P540", True, "recorded: tests/data/releases"))
    """What is said of a name that has illegal characters or is too long names it (CHK-02)."""

    illegal_code: int = switch(
        SYSTEM_ERROR,
        since("P533", INVALID_PARAMETER, "A-14, A-39, A-106, A-118, A-122, A-130 and others: INVALID_PARAMETER in place of SYSTEM_ERROR"),
        since("P520", SYSTEM_ERROR, "recorded: tests/data/releases"),
    )
    """The code for a name or a queue that is not legal (CHK-02, CHK-10, TCM-30)."""

    wants_topic: bool = switch(
        False, since("P533", True, "not recorded, tests/real/test_later_switches.py: the table of queue mappings knows no null")
    )
    """A send without the field is a null-pointer error before anything is checked; otherwise its topic is blank (CHK-02)."""

    default_processor: bool = switch(
        False, since("P494", True, "tests/real/test_unknown_codes.py: a one-way request of an unknown code is not answered")
    )
    """A request of an unknown code is refused by a task of an executor, and a one-way caller hears nothing; otherwise it is refused on
    arrival, and everybody is answered (REM-05, HAZ-26)."""

    heeds_one_way: bool = switch(
        False,
        since("P533", True, "not recorded: tests/real/test_later_switches.py, a pull that is held for a one-way caller"),
        since("P500", False, "not recorded: by its bytecode, whose remoting has no method that asks for the flag wherever it answers"),
    )
    """A processor that rejects and a pull that was held leave a one-way caller alone; otherwise both answer it (REM-06, HAZ-26)."""

    leaves_unknown: bool = switch(
        False,
        since("P452", True, "tests/real/test_unknown_codes.py: the broker leaves every unknown code without an answer"),
        since("P490", True, "tests/real/test_unknown_codes.py: as 4.5.2; 4.9.1 is the first that refuses one, by its code"),
    )
    """A broker leaves a request of an unknown code without an answer, whoever waits; otherwise `default_processor` says who hears of it
    (REM-05)."""

    name_server_refuses: bool = switch(
        True,
        since("P494", False, "tests/real/test_unknown_codes.py: the name server leaves every unknown code without an answer"),
        since("P533", True, "not recorded, tests/real/test_unknown_codes.py: the name server answers 3"),
        since("P452", False, "tests/real/test_unknown_codes.py: the name server leaves every unknown code without an answer"),
    )
    """A name server answers a request of an unknown code, unless it is one-way; otherwise nobody hears anything."""

    slave_rejects: bool = switch(False, since("P533", True, "L-334 to L-340: every send is answered with 2"))
    """A slave rejects sends before it reads them (REM-06)."""

    slave_rejects_pulls: bool = switch(
        False, since("P533", True, "not recorded: tests/real/test_slaves_of_other_releases.py, a pull when the master has ended")
    )
    """A slave rejects pulls, too, unless slaveReadEnable is set (REM-06): its consumers wait until a master is there."""

    min_offset_remark: str | None = switch(None, since("P533", "", "not recorded, tests/real/test_later_switches.py: request 31"))
    """The remark of an answer with a queue's first offset."""

    bounds_by_time: str = switch(
        "none",
        since("P533", "both", "not recorded, tests/real/test_searches_by_time.py: request 29 about messages of one time"),
        since("P511", "lower", "not recorded, tests/real/test_searches_by_time.py"),
        since("P510", "none", "not recorded, tests/real/test_searches_by_time.py"),
    )
    """Which bounds a search for a queue's offset by a time knows: "both", the first offset stored then or later and the last one stored
    then or earlier, as is asked; the "lower" one, whatever is asked; or "none": of several stored then it finds any, else the nearest."""

    notices_ends: bool = switch(
        False,
        since("P533", True, "not recorded, tests/real/test_producers_behind_faults.py: a send is tried again at once"),
        since("P511", False, "not recorded: up to 5.1.1 a client does not look at the end of a channel, from 5.1.4 on it does"),
    )
    """Who waits for an answer fails at once when the other side ends the connection; otherwise only when the time for it is over, unless
    the connection breaks."""

    # Sends
    signed_random: bool = switch(True, since("P49", False), since("P491", True, "not recorded: no client sees which number is drawn"))
    """A negative queue id becomes abs(r % 99999999) % write with r any int; otherwise u % write with u in 0..99999998 (SEND-22)."""

    keeps_sign: bool = switch(
        False,
        since("P491", True, "recorded: tests/data/releases"),
        since("P461", False, "not recorded: in 112 programs of 4.6.1 no queue is below 0"),
    )
    """Who sends with a negative queue id, a message or a batch, gets (r % 99999999) % write, which may be below 0, where nobody pulls;
    otherwise as `signed_random` says (SEND-22)."""

    after_hooks: bool = switch(True, since("P49", False))
    """Hooks run after a send (SEND-06)."""

    asynchronous: bool = switch(False, since("P49", True))
    """The put completes a future, and an exception there is never answered (SEND-07, REM-09)."""

    always_traced: bool = switch(False, since("P533", True, "A-5 and every stored message"))
    """Region and trace switch are stored without hooks too (SEND-03)."""

    wants_request_body: bool = switch(
        False,
        since("P533", True, "A-206: a message without a body is a null-pointer error"),
        since("P500", False, "recorded: tests/data/releases"),
    )
    """A send without a body, on the wire also one of 0 bytes, is a null-pointer error before anything is checked (SEND-03)."""

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
    """Each item of the properties' text has to split into a name and a value; otherwise only its first byte 1 counts (SEND-26)."""

    ends_properties: bool = switch(
        True,
        since("P49", False),
        since("P533", True, "A-5 and every stored message: its size"),
        since("P514", False, "recorded: tests/data/releases"),
        since("P490", True, "recorded: tests/data/releases"),
    )
    """The text of properties ends with byte 2 (SEND-26)."""

    makes_unique_key: bool = switch(False, since("P533", True, "A-5 and every answered message; A-213: not for batches"))
    """A message without UNIQ_KEY gets one, and the answer carries it as transactionId (SEND-46)."""

    queue_statistics: bool = switch(False, since("P49", True))
    """The schedule topic is counted by queue (SEND-42)."""

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
    """How MESSAGE_ILLEGAL names the limits, `{limit}` being the broker's (SEND-41)."""

    batch_retry: bool = switch(
        False,
        since("P45", True),
        since("P533", False, "A-214: a batch to a retry topic is refused with 13"),
        since("P452", False, "recorded: tests/data/releases"),
        since("P461", False, "recorded: tests/data/releases"),
    )
    """Batches may go to retry topics (BAT-02)."""

    repeats_batch_answer: bool = switch(False, since("P410", True, "not recorded, tests/real/test_batch_answers.py: two answers"))
    """A batch that is stored is answered where it is stored, and once more behind it with the same (SEND-42, BAT-01)."""

    batch_properties: bool = switch(
        False,
        since("P49", True),
        since("P540", False, "recorded: tests/data/releases"),
        since("P471", False, "recorded: tests/data/releases"),
    )
    """The header's properties and CLUSTER are put behind those of each message of a batch (BAT-04)."""

    separates_batch: bool = switch(True, since("P492", False, "recorded: tests/data/releases"))
    """What is put behind a message's properties begins behind a byte 2 (BAT-04)."""

    limits_batch_properties: bool = switch(True, since("P492", False, "recorded: tests/data/releases"))
    """A batch whose own properties have more than 32,767 bytes is an exception; otherwise so many are stored as a short says of them, and
    none where it is negative (BAT-04)."""

    throws_large_batch: bool = switch(False, since("P533", True, "not recorded in its 245 cases: B-0 and B-1 of later-5.3.3"))
    """A batch whose body is above the limit is an exception, whatever else is wrong with it; otherwise MESSAGE_ILLEGAL (BAT-04)."""

    refuses_inner: bool = switch(False, since("P533", True, "not recorded in its 245 cases: B-5, B-6, B-9 and B-11 of later-5.3.3"))
    """MESSAGE_ILLEGAL for what names itself an inner batch, by a property or by a flag: no topic here takes such ones (STO-02)."""

    # Retries and dead letters
    null_limit: bool = switch(False, since("P49", True), since("P490", False, "recorded: tests/data/releases"))
    """A send-back without maxReconsumeTimes is served by the group's limit; otherwise it is a null-pointer error (BACK-11)."""

    null_send_limit: bool = switch(False, since("P49", True), since("P492", False, "recorded: tests/data/releases"))
    """A send to a retry topic without maxReconsumeTimes is served by the group's limit; otherwise it is a null-pointer error (DLQ-03)."""

    dlq_beyond: bool = switch(
        False, since("P533", True, "A-158, A-161 and A-162: as many retries as the limit go to the retry topic once more")
    )
    """A message is retried once more than the limit (DLQ-03)."""

    dlq_perm: int = switch(2, since("P49", 6), since("P491", 2, "recorded: tests/data/releases"))
    """The permission of a dead-letter topic that is created (DLQ-04)."""

    dlq_clears_delay: bool = switch(False, since("P49", True), since("P491", False, "recorded: tests/data/releases"))
    """A message that is given back and becomes a dead letter loses its delay level; otherwise it waits on it (BACK-12)."""

    names_origin: bool = switch(False, since("P49", True), since("P480", False, "recorded: tests/data/releases"))
    """The text of what is given back is made again when it has the id of its origin; otherwise only what waits has it, and no dead letter
    of a first send-back (BACK-15, HAZ-32)."""

    keeps_store_host: bool = switch(
        False, since("P49", True), since("P461", False, "not recorded: 4.7.0 is the first that takes it over, by its code")
    )
    """What is given back has the address of the broker that stored it first; otherwise that of the one which stores it again (BACK-14)."""

    dlq_keeps_delay: bool = switch(False, since("P533", True, "A-159: DELAY is stored as -1"))
    """What the retry step writes is stored: a delay level of -1 (HAZ-17)."""

    wants_origin: bool = switch(
        False,
        since(
            "P533",
            True,
            "not recorded, tests/real/test_later_switches.py: metrics are named by the topic, and what is null there is thrown",
        ),
        since("P500", False, "not recorded, tests/real/test_later_than_510.py"),
    )
    """Who gives a message up has to name the topic that it came from; without it there is a null-pointer error (BACK-12)."""

    checks_origin: bool = switch(False, since("P500", True, "recorded: tests/data/releases"))
    """Who gives a message back and names the topic that it came from has to name that of its record, as if the record were not there
    (BACK-09)."""

    # Consumers' pulls and progress
    stops_pulls_early: bool = switch(
        True,
        since("P45", False, "not recorded, tests/real/test_valid_comparisons.py: 4.2.0 is the first"),
        since("P410", True, "recorded: tests/data/releases"),
    )
    """A pull of at most n messages, n above 1, that finds as many returns n - 1; otherwise n."""

    pull_reads_first: str = switch(
        "flags, time",
        since("P533", "", "not recorded: a pull without sysFlag of an unknown topic, as 4.9.4 answered it and 5.3.3 did"),
        since("P510", "flags", "not recorded: so do 5.1.0 and 5.0.0, by their code"),
    )
    """What of a pull is read before its topic is looked for, so that a null is an error first: its flags, and the time of one that may
    wait."""

    begins_anywhere: bool = switch(
        True,
        since("P533", False, "not recorded in its 245 cases: P-2 and P-5 of later-5.3.3"),
        since("P500", True, "recorded: tests/data/releases"),
    )
    """A group that has told nothing begins at 0 in any queue; otherwise only in one that has messages."""

    heeds_set_zero: bool = switch(False, since("P533", True, "not recorded in its 245 cases: P-6 of later-5.3.3"))
    """A group that has told nothing and says `setZeroIfNotFound=false` is told that there is no offset; otherwise nobody reads that."""

    checks_commits: bool = switch(False, since("P533", True, "not recorded in its 245 cases: P-7, P-16 and others of later-5.3.3"))
    """The offset of an unknown topic is refused, and so is one that lacks queue or offset."""

    names_null_commits: bool = switch(True, since("P500", False, "recorded: tests/data/releases"))
    """Where commits are checked, one that lacks queue or offset is told which; otherwise it is an exception."""

    checks_committers: bool = switch(
        False,
        since("P533", True, "not recorded in its 245 cases: P-8, P-9 and others of later-5.3.3"),
        since("P520", False, "recorded: tests/data/releases"),
    )
    """The offset of an unknown group is refused, before all that."""

    clean_offsets: str = switch(
        "removeOffset",
        since("P533", "cleanOffset", "not recorded in its 245 cases: P-25 and P-29 of later-5.3.3"),
        since("P452", "", "recorded: tests/data/releases"),
        since("P480", "", "not recorded: up to 4.8.0 the header has no such field, by its code"),
    )
    """The field of request 207 that says that a deleted group's offsets go, too; "" where none does."""

    deletes_offsets: bool = switch(
        False, since("P533", True, "not recorded: tests/real/test_later_switches.py, a topic that is made again")
    )
    """Whoever deletes a topic has what groups have told of its queues go, too (TCM-31)."""

    # Transactions
    template: str = switch(TEMPLATE, since("P430", TEMPLATES[1], "recorded: tests/data/releases"))
    """The topic from which a first message makes its own, if it names it: 4.3.0 has none that is called TBW102 (TCM-03, TCM-13)."""

    half_messages: bool = switch(False, since("P45", True), since("P420", False, "recorded: tests/data/releases"))
    """Transactional messages go to the half topic, and TRAN_MSG is parsed; otherwise it is only asked whether it is there, and only by a
    broker that refuses it (TRX-01, TRX-02)."""

    names_transaction: bool = switch(
        False,
        since("P533", True, "A-178 to A-182, A-188, A-190 and A-191: half messages have the property __transactionId__"),
        since("P500", False, "recorded: tests/data/releases"),
    )
    """Half messages have their id as a property (TRX-04)."""

    commit_keeps_place: bool = switch(True, since("P540", False, "recorded: tests/data/releases"))
    """What a commit stores has among its properties where it was meant for, as its half message has (REAL_TOPIC and REAL_QID)."""

    commit_keeps_mark: bool = switch(
        False,
        since("P452", True, "recorded: tests/data/releases"),
        since("P460", True, "recorded: tests/data/releases"),
    )
    """What a commit puts on a delay level has TRAN_MSG among its properties still; otherwise only what it stores at once has (TRX-01)."""

    gathers_operations: bool = switch(False, since("P533", True, "A-185, A-186 and A-189: no record between them and the message behind"))
    """The records that end half messages are written together, seconds later (TRX-05)."""

    keeps_operations: bool = switch(
        True,
        since("P45", False, "not recorded, tests/real/test_valid_comparisons.py"),
        since("P49", True, "not recorded, tests/real/test_valid_comparisons.py: 4.9.0 is the first"),
        since("P480", False, "recorded: tests/data/releases"),
    )
    """The deletion of a topic leaves the queue of the records that end half messages; otherwise it destroys it, as that topic is in no
    table (TCM-31)."""

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
    """A send with TRAN_MSG, retried before and with a delay level, is no half message but a retry (TRX-01, HAZ-47)."""

    # Topics and their file
    all_system_topics: bool = switch(False, since("P49", True))
    """The constructor makes the entries of 4.9, but for the schedule topic (TCM-03)."""

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
    """The constructor makes the topic of the wheel of timers too, where a broker has one (TCM-03)."""

    trace_topic: bool = switch(False, since("P45", True), since("P432", False, "not recorded: 4.4.0 is the first, by its code"))
    """The constructor may make the trace topic (TCM-03)."""

    topic_attributes: bool = switch(False, since("P533", True, "A-5 and every topic; A-14 and others: the remark says attributes={}"))
    """Topics have attributes (TCM-01)."""

    slave_creates: bool = switch(
        False, since("P533", True, "L-341: a topic is made on a slave; S-0, S-4 and S-5 of later-5.3.3: groups too, and both are deleted")
    )
    """A slave takes what an administrator changes of topics and groups (TCM-30)."""

    keeps_order: bool = switch(
        False,
        since("P533", True, "not recorded, tests/real/test_later_switches.py: order=true of an administrator stays"),
        since("P500", False, "recorded: tests/data/releases"),
    )
    """An administrator can make a topic ordered, what a name server lists never takes the order away, and a retry topic is ordered as its
    consumers' topics are, if they say so (TCM-30, NS-12, TCM-20)."""

    guards_topics: bool = switch(
        True,
        since("P452", False, "recorded: tests/data/releases"),
        since("P470", False, "recorded: tests/data/releases"),
    )
    """An administrator can neither change nor delete a topic whose name is not legal, or that is the system's; otherwise he deletes any,
    and changes any but for the one that is called as the cluster, and for a name that nobody may send to for its text, or because it is
    the template's, where text is looked at (TCM-30, TCM-31)."""

    answers_when_changed: bool = switch(
        True,
        since("P452", False, "recorded: tests/data/releases"),
        since("P470", False, "recorded: tests/data/releases"),
    )
    """Who changes a topic is answered when it is changed and registered, with the remark that answers are born with; otherwise before that,
    without a remark, so that the next request may find the topic as it was, or make one that its registration hides (TCM-30, HAZ-55)."""

    skips_equal_topic: bool = switch(
        False, since("P533", True, "not recorded, tests/real/test_later_switches.py: the version stays the same")
    )
    """An update that changes nothing is no new version and is not registered (TCM-30)."""

    registers_updated_alone: bool = switch(
        False,
        since("P494", True, "not recorded, tests/real/test_later_switches.py: a restarted name server knows the updated topic alone"),
        since("P452", True, "not recorded: 4.5.2's sources register it so, as 4.9.4 does"),
        since("P420", False, "not recorded: 4.3.0 is the first that registers it so, by its code"),
    )
    """What an administrator changes is registered without the other topics, with the version that the table has when the request is
    written; otherwise the whole table is (TCM-30, NS-03, HAZ-55)."""

    registers_created_alone: bool = switch(
        False,
        since("P533", True, "not recorded, tests/real/test_later_switches.py: a restarted name server refuses the created topic"),
        since("P511", False, "recorded: tests/data/releases"),
    )
    """So is a topic that a message creates or whose unit flag is set, and its thread waits for the answer; otherwise the whole table is
    registered one way (TCM-17, TCM-32, TCM-34)."""

    deletes_any_name: bool = switch(
        False,
        since("P533", True, "not recorded: asked of 5.3.3, a delete of 'a b' or of 200 characters is not refused"),
        since("P514", False, "not recorded, tests/real/test_later_than_510.py"),
    )
    """A topic is deleted under any name that is not blank and not the system's; otherwise the name has to be legal (TCM-31)."""

    counts_timers: bool = switch(
        False,
        since("P533", True, "not recorded: asked of 5.3.3 with timerWheelEnable=false, a delete is answered 1"),
        since("P520", False, "recorded: tests/data/releases"),
    )
    """Whoever deletes a topic is told an error behind all that by a broker without a wheel of timers (TCM-31)."""

    overwrites_in_place: bool = switch(
        False, since("P533", True, "not recorded: 5.x writes a backup and then the file itself, without a temporary one")
    )
    """A configuration file is written over, behind a backup; otherwise it is replaced by way of a temporary file (PER-02, PER-10)."""

    # Store
    busy_first: bool = switch(False, since("P49", True), since("P461", False, "recorded: tests/data/releases"))
    """The page cache is asked before topic and properties, whose excess is MESSAGE_ILLEGAL (STO-02; otherwise STO-01)."""

    wants_body: bool = switch(
        False, since("P533", True, "not recorded: a message of a batch that has no body is told MESSAGE_ILLEGAL when it is sent back")
    )
    """The store takes no message without a body: MESSAGE_ILLEGAL (STO-02)."""

    counts_bytes: bool = switch(
        False, since("P533", True, "not recorded: a send-back whose properties become too long is told PROPERTIES_SIZE_EXCEEDED")
    )
    """Properties are too long by their bytes, when the message is encoded; otherwise first by their characters, before (STO-02)."""

    encode_first: bool = switch(False, since("P49", True), since("P490", False, "recorded: tests/data/releases"))
    """A message is encoded, and its sizes are tested, before the lock and before its queue has an offset (APP-06)."""

    limits_name_bytes: bool = switch(False, since("P510", True, "recorded: tests/data/releases"))
    """The store takes no message whose topic has more than 127 bytes; otherwise it is 127 characters (STO-02)."""

    counts_refused: bool = switch(False, since("P510", True, "recorded: tests/data/releases"))
    """A message has its queue's next offset before its sizes are tested and its place is looked for: one that is refused for them, or fits
    no file, leaves a gap (APP-03, APP-06)."""

    limits_record: bool = switch(
        True,
        since("P494", False, "A-192 to A-196: it is the body that the remark names a limit of"),
        since("P493", True, "recorded: tests/data/releases"),
    )
    """The size limit is one on the whole record, and on all records of a batch together; otherwise it is one on the body alone (APP-06,
    BAT-04)."""

    hosts_by_flag: bool = switch(
        False,
        since(
            "P49", True, "not recorded: 4.9.4 answers 0 to the flags 16 and 32, dispatches no such record, and a start ends its log there"
        ),
    )
    """A record's hosts have the length that its flag says, though a client has set it, and are written as what they are (APP-08)."""

    dispatch_ends: bool = switch(
        False, since("P533", True, "not recorded: behind a record whose lengths add up to another size than its own, 5.3.3 goes on at once")
    )
    """The dispatcher knows where the log ends: it asks before each record, and begins no further; otherwise it reads to the end of what it
    took of a file, and begins where a queue says that it ends (REC-04)."""

    resets_lock_time: bool = switch(
        False,
        since("P49", True),
        since("P492", False, "not recorded: 4.9.3 is the first that does, by its code"),
        since("P533", False, "not recorded, tests/real/test_busy_for_hours.py: a batch with a flag of IPv6"),
        since("P550", True, "not recorded, tests/real/test_busy_for_hours.py"),
    )
    """The time of the lock is reset when append throws, too (CL-05)."""

    replica_wait: int | None = switch(5000, since("P49", None))
    """Milliseconds to wait for a replica; None stands for the broker's slaveTimeout (FLU-07)."""

    counts_replicas: bool = switch(False, since("P533", True, "M-1000 and others: a SYNC_MASTER without a slave answers 0"))
    """A SYNC_MASTER waits for inSyncReplicas copies, itself included (FLU-07)."""

    rechecks_after_flush: bool = switch(False, since("P49", True))
    """Group commit looks at a request again after its second flush (FLU-03)."""

    wrong_length: str = switch(
        "passed over",
        since("P49", "refused", "not recorded: 4.9.3, 4.9.4 and 4.7.0 to 4.9.1 end with code 253, by their code"),
        since("P452", "refused", "not recorded: so do 4.5.0 to 4.6.1, by their code"),
        since("P440", "passed over", "not recorded: 4.4.0 says of such a file that it is ignored, by its code"),
        since("P492", "passed over", "not recorded: 4.9.2 says of such a file that it is ignored, by its code"),
        since("P491", "refused", "not recorded: 4.9.1 is as 4.9.3 again, by its code"),
        since("P533", "deleted", "not recorded: 5.1.4 and later delete a last file of length 0, by their code"),
        since(
            "P511",
            "refused",
            "not recorded, tests/real/test_real_kills.py: 5.1.1 starts only without it; so do 5.0.0 and 5.1.0, by their code",
        ),
    )
    """What becomes at a start of a mapped file that has not the length of the settings, such as one that a process had made when it ended
    and not yet given its length: it ends the start (refused), no file of its folder from there on is opened (passed over), or it is deleted
    if it is empty and its folder's last one, and ends the start otherwise (deleted) (REC-02, HAZ-59)."""

    # Delayed delivery
    records_each_delivery: bool = switch(
        False,
        since("P494", True, "not recorded: 4.9.4 notes each delivery as it is made, the releases before 4.9.3 a scan's when it ends"),
        since("P492", False, "not recorded: so does 4.9.2, by its source"),
    )
    """How far a level is delivered is known after each delivery; otherwise when the scan ends (REC-05, HAZ-48)."""

    corrects_delay_offsets: bool = switch(
        False,
        since("P494", True, "not recorded: 4.9.4 reads delayOffset.json behind the log, the releases to 4.9.1 before it and as it is"),
        since("P491", False, "not recorded: so does 4.9.1, by its source"),
    )
    """A start moves what delayOffset.json says into the queues as they are now (REC-05)."""

    discards_delayed_halves: bool = switch(False, since("P49", True), since("P460", False, "recorded: tests/data/releases"))
    """A half message that was delayed is not delivered when its time comes; otherwise it comes into the half topic (REC-05, HAZ-39)."""
    trusts_failed_force: bool = switch(
        True, since("P540", False, "not recorded: taken from a description of 5.4.0's sources, as no client sees it")
    )
    """A flush whose force fails moves the flushed position all the same, as every release before 5.4.0 does (FLU-05)."""

    dispatches_flushed: bool = switch(False, since("P533", True, "not recorded: since 5.3.0 the end of dispatch is the flushed position"))
    """With synchronous flush only what is flushed is dispatched, and can be read; otherwise whatever is written (REC-04)."""

    timers: bool = switch(False, since("P533", True, "not recorded in its 245 cases: T-3, T-7, W-0 and others of later-5.3.3"))
    """A message may name the time at which it is delivered (TIMER_DELAY_SEC, TIMER_DELAY_MS, TIMER_DELIVER_MS): until then it is in a topic
    of the broker's own (HAZ-54, HAZ-58)."""

    recalls_by_topic: bool = switch(
        False,
        since("P533", True, "not recorded in its 245 cases, tests/real/test_timers.py"),
        since("P520", False, "recorded: tests/data/releases"),
        since("P540", False, "recorded: tests/data/releases"),
    )
    """A message with TIMER_DEL_UNIQKEY cancels the timer whose topic and unique key it names, as `topic+key`; otherwise it names the
    unique key alone (HAZ-54)."""

    tells_recall_handle: bool = switch(
        False,
        since("P533", True, "not recorded in its 245 cases: T-3 and others of later-5.3.3"),
        since("P520", False, "recorded: tests/data/releases"),
    )
    """The answer to a message with a time of its own has a handle by which the message can be taken back (recallHandle)."""

    names_no_wheel: bool = switch(True, since("P510", False, "not recorded, tests/real/test_later_than_510.py"))
    """Without a timer wheel the sender of a message with a time is told of that; otherwise that the service is not available (SEND-41)."""

    # Name server
    name_server_faq: str = switch(
        "http://rocketmq.apache.org/docs/faq/",
        since("P533", "https://rocketmq.apache.org/docs/bestPractice/06FAQ", "A-1 and each other topic without a route"),
        since("P500", "http://rocketmq.apache.org/docs/faq/", "recorded: tests/data/releases"),
    )
    """Where a name server's texts for users send their readers (NS-06)."""

    null_topic: bool = switch(
        False, since("P494", True, "not recorded, tests/real/test_later_switches.py: the answer 17, of the topic null")
    )
    """A name server that is asked for a route without the name of a topic has none for null; otherwise the header is an error (NS-06)."""

    misspells_flag: bool = switch(
        False, since("P452", True, "recorded: tests/data/releases"), since("P480", True, "recorded: tests/data/releases")
    )
    """Routes call a topic's flag topicSynFlag; otherwise topicSysFlag (NS-06)."""

    acting_master: bool = switch(False, since("P533", True, "A-0 and every route: enableActingMaster is false"))
    """Routes say whether a slave may act as master (NS-06)."""

    masks_permission: bool = switch(
        False,
        since("P533", True, "not recorded, tests/real/test_registered_permissions.py: the route of a topic with perm 2 has perm 0"),
    )
    """A broker without READ or WRITE registers of all its topics what it and they allow; otherwise its own permission (NS-11)."""

    masks_alone: bool = switch(
        False,
        since("P533", True, "not recorded, tests/real/test_later_switches.py: the route of a topic with perm 2 has perm 0"),
        since("P511", False, "recorded: tests/data/releases"),
    )
    """The same of a topic that it registers alone (NS-11)."""

    registers_flag: bool = switch(
        False,
        since("P533", True, "not recorded in its 245 cases: routes of 5.3.3 keep the flag of such a broker's topics, as those of 5.1 do"),
    )
    """A broker without READ or WRITE registers its topics' flags; otherwise 0 (NS-11)."""

    wants_mappings: bool = switch(False, since("P500", True, "recorded: tests/data/releases"))
    """A name server cannot read a compressed registration that ends without the number of queue mappings, as those of 4.x do (NS-02)."""

    refuses_single_topic: bool = switch(
        False, since("P533", True, "not recorded, tests/real/test_later_switches.py: the name server answers 1, register broker failed")
    )
    """A name server refuses the first registration of a broker's id if it has one topic alone (NS-02)."""

    takes_unknown_topics: bool = switch(
        False, since("P533", True, "not recorded, tests/real/test_later_switches.py: a third topic of the same version has a route")
    )
    """A registration of the stored version adds the topics that the broker does not have there (NS-03)."""

    registers_topics: bool = switch(
        False,
        since("P533", True, "not recorded, tests/real/test_later_switches.py: a name server of 4.9.4 has no route then"),
        since("P511", False, "not recorded: 5.1.1's brokers have no such setting, by their code, and tell none"),
    )
    """A setting of brokers lets them register a single topic by a request of its own, without a version (TCM-34)."""

    forgets_by_cluster: bool = switch(
        True,
        since("P493", False, "not recorded: up to 4.9.3 the request has no such field, by its code"),
        since("P452", False, "recorded: tests/data/releases"),
    )
    """A name server that is told to forget a topic of one cluster forgets it of that cluster's brokers; otherwise it does not look at the
    cluster, and forgets the topic (NS-04)."""

    gives_write_permission: bool = switch(
        True,
        since("P491", False, "not recorded: 4.9.2 is the first that serves the request, by its code"),
        since("P452", False, "not recorded: nobody was answered in 8 s"),
    )
    """A name server serves the request by which a broker gets its write permission back (PERM-02)."""

    takes_topics: bool = switch(False, since("P533", True, "not recorded in its 245 cases: R-8, R-9 and others of later-5.3.3"))
    """A name server takes topics by that request from whoever names a broker that it knows (TCM-34)."""

    compares_versions: bool = switch(True, since("P420", False, "recorded: tests/data/releases"))
    """A name server tells a broker whether its topics are of another version, and reads compressed registrations; otherwise it does not
    answer that question, and cannot read these (NS-02, NS-09)."""

    moves_addresses: bool = switch(True, since("P440", False, "recorded: tests/data/releases"))
    """A broker's address that registers under another id leaves the one that it had; otherwise it is under both (NS-02)."""

    leaves_by_address: bool = switch(
        False,
        since("P533", True, "not recorded, tests/real/test_later_switches.py: the master is left when its slave's address leaves"),
        since("P500", False, "recorded: tests/data/releases"),
    )
    """Who unregisters takes its address away, under whatever id; otherwise it takes its id away, whatever the address (NS-08)."""

    lives_in_cluster: bool = switch(
        False, since("P533", True, "not recorded, tests/real/test_later_switches.py: a slave of another cluster is told of no master")
    )
    """A name server keeps what an address registered last for each cluster that it named, so that a slave is told of no master of another
    cluster; otherwise for the address alone (NS-01, NS-02)."""

    tells_more: bool = switch(False, since("P533", True, "not recorded: pulls of 5.3.3 are answered with these fields"))
    """A pull is answered with the flags of group and topic, or with who forbids it."""

    tells_broker_forbids: bool = switch(True, since("P510", False, "not recorded, tests/real/test_later_than_510.py"))
    """Who forbids a pull (forbiddenType) is also told where it is the broker; otherwise only where it is a group or a topic."""

    tells_second_heartbeat: bool = switch(
        False,
        since("P533", True, "not recorded: heartbeats of 5.3.3 are answered with these fields"),
        since("P511", False, "recorded: tests/data/releases"),
    )
    """A heartbeat is answered with that the broker knows its second form."""

    reasons: dict[str, str] = field(default_factory=dict)
    base: str = ""
    """The profile that this one refines, "" for the first."""

    def longest(self, topic: str) -> int:
        """The longest name of a topic of this kind."""
        return self.retry_limit if topic.startswith((RETRY_PREFIX, DLQ_PREFIX)) else self.topic_limit

    def plain(self, code: int) -> int:
        """The code that the described releases answer where this one answers `code`."""
        return SYSTEM_ERROR if code == self.illegal_code else code


OF_NAME_SERVERS: Final = (
    "name_server_refuses",
    "name_server_faq",
    "null_topic",
    "misspells_flag",
    "acting_master",
    "wants_mappings",
    "refuses_single_topic",
    "takes_unknown_topics",
    "forgets_by_cluster",
    "gives_write_permission",
    "takes_topics",
    "compares_versions",
    "moves_addresses",
    "leaves_by_address",
    "lives_in_cluster",
)
"""The switches that a name server decides, whatever its brokers' release; all others are a broker's."""

SWITCHES: Final = {each.name: each.metadata["changes"] for each in fields(Profile) if "changes" in each.metadata}
"""All switches by name, in the order above, each with the profiles that change it."""

PAIR: Final = "+"
"""Between a broker and its name server, where they are of different releases."""


class Profiles(dict[str, Profile]):
    """Profiles by name. Two names with `PAIR` between them, as in P494+P533, name that of a broker of the one beside a name server of the
    other: it refines the broker's, and is no item of its own, as there are too many."""

    def __missing__(self, name: object) -> Profile:
        broker, pair, name_server = str(name).partition(PAIR)
        if not pair or not {broker, name_server} <= self.keys():
            raise KeyError(name)
        one, other = self[broker], self[name_server]
        about = f"{one.about}, beside a name server: {other.about}"
        given = {switch: getattr(other, switch) for switch in OF_NAME_SERVERS}
        return replace(one, name=str(name), about=about, reasons={}, base=broker, **given)

    def __contains__(self, name: object) -> bool:
        broker, pair, name_server = str(name).partition(PAIR)
        return {broker, name_server if pair else broker} <= self.keys()


def profiles(about: Mapping[str, tuple[str, str]]) -> Profiles:
    """The profiles of these names, each with the name of the one that it refines and a line about it; a profile comes behind its base."""
    made = Profiles()
    for name, (base, text) in about.items():
        values = {switch: getattr(made[base], switch) for switch in SWITCHES} if base else {}
        reasons = {}
        for switch, changes in SWITCHES.items():
            for change in changes:
                if change.profile == name:
                    values[switch] = change.value
                    if change.reason:
                        reasons[switch] = change.reason
        made[name] = Profile(name, text, **values, reasons=reasons, base=base)
    return made
