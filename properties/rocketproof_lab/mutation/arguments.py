"""Reasons why a mutant that nothing noticed need not be noticed. A test rejects an entry that no mutant needs.

A generated mutant is named by a prefix of its id, a mutant of the specification by a regular expression for its complete id. The reason of
a seeded mutant is in its row of the catalogue. `generated/reasons` computes further reasons from the source. A reason that names P494 holds
for this profile and earlier ones only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from rocketproof_profiles import lineage

UNSEEN: Final[Mapping[str, tuple[str, ...]]] = {
    "no producer of ours runs when a broker is validated": ("producer/",),
    "under P494 only clients read and compare routes": ("route:decode_", "route:TopicRouteData."),
    "the name server of P494 does not serve the registration of topics by administrators": (
        *("nameserver:_register_topic", "routeinfo:RouteInfoManager.register_topic"),
    ),
    "a field of a route that is null means the same as an absent one": (
        "route:encode_route fixed route.order_topic_conf is not None → True",
    ),
    "no client connects from port 65,535": ("store/record:decode boundary 0 <= born_host",),
    "no program stores as much in a name server as this implementation allows": ("kvconfig:KvConfig.put arithmetic",),
    "no request calls it": ("broker/topics:TopicConfigManager.set_flag",),
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
        "broker/answering:handle_put_message_result attribute broker.settings.commercial_base_count",
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
    "nobody overloads the broker": (
        *("broker/fastfailure:", "executor:ThreadPool.head", "executor:ThreadPool.submit", "executor:ThreadPool.take"),
        "remoting/dispatch:Dispatcher._overloaded",
        (
            "broker/hold:PullRequestHoldService._wake swapped self.under_way.leave(pull.channel, size) → "
            "self.under_way.leave(size, pull.channel) #2"
        ),
    ),
    "nobody deletes a topic between the check of a message and the choice of its queue": ("broker/queue_id:queue_id_of dropped raise",),
    "the device of a broker that is validated is neither full nor slow, and what a commit stores is no longer than its half message": (
        *(
            f"broker/answering:failure boundary status is status_of.{name}"
            for name in ("SERVICE_NOT_AVAILABLE", "OS_PAGECACHE_BUSY", "WHEEL_TIMER_MSG_ILLEGAL")
        ),
        "broker/answering:failure constant 'create mapped file failed",
        "broker/answering:failure dropped return (SERVICE_NOT_AVAILABLE",
        "broker/transaction:final_answer",
    ),
    "a broker that is validated does not dispatch a message to several queues": (
        *("broker/answering:failure constant '[LMQ", "broker/answering:failure dropped return (SYSTEM_ERROR, '[LMQ"),
    ),
    "a silent client is forgotten after two minutes": ("broker/clients:expired",),
    "under P494 a message is encoded and measured before it gets its place": (
        "store/commitlog:CommitLog._append_message boundary exceeded",
    ),
    "what is brought to the device shows when a machine loses its power or a device fails": (
        *("store/flush:", "store/flushing:", "store/threads:", "store/transient:", "store/settings:StoreSettings.transient_store_pool"),
        *("store/checkpoint:", "store/recovery:recover constant 0 → 1"),
    ),
    "a name is the same one in JSON, however its text is written": ("broker/offsets:_entry lost json.dumps",),
    "an id that a broker makes up has something of its own process in it": (
        "broker/parts:BrokerParts.__init__ attribute settings.listen_port",
    ),
    "files of the log are kept for an hour at least, which is longer than programs take": (
        "store/consumequeue:ConsumeQueue.correct_min",
        "store/bytime:offset_at dropped return 0",
        "broker/progress:ConsumerManageProcessor._query boundary store.min_offset",
    ),
    "no buffer is written before the file": (
        *("store/files:MappedFile.__init__ dropped self.committed_position", "store/files:MappedFileQueue.commit"),
        *(f"store/files:MappedFile.commit {kind} self.committed_position" for kind in ("negated", "fixed")),
        *(
            f"store/files:MappedFile.commit {change}"
            for change in (
                "swapped",
                "part",
                "attribute",
                "dropped self.",
                "dropped return self.committed",
                "negated start",
                "fixed start",
                "boundary start",
                "boundary self.",
            )
        ),
    ),
    "a queue begins in the middle if log files were deleted, or by chance if a topic is deleted before its message is in its queue": (
        "store/consumequeue:ConsumeQueue._fill",
    ),
    "a broker that stops has dispatched its last message already, because it waits for the last puts before": (
        "store/reput:ReputMessageService.shutdown",
    ),
    "an operation record is hardly younger than the round of checks that reads it": (
        "broker/transactioncheck:HalfQueueRound._is_to_be_asked attribute self._broker.settings.transaction_time_out",
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
    "all records are dispatched, however many at a time": (
        *("store/service:MessageStore.dispatch constant 1 → 0 #2", "store/reput:ReputMessageService._catch_up part done == BATCH"),
    ),
}
"""Changes of the implementation that are not visible over the wire: by reason, the beginnings of their ids."""
EQUIVALENT: Final[Mapping[str, tuple[str, ...]]] = {
    "under P494 no broker acts as a master": (
        "routeinfo:RouteInfoManager._clean boundary min(broker.broker_addrs)",
        "route:broker_to_data lost {'enableActingMaster'",
    ),
    "a lock that was taken 10,000 s ago or earlier counts as free (STO-03)": ("store/commitlog:CommitLog.put constant 0 → 1",),
    "no record ends at the first byte of the log": ("store/consumequeue:ConsumeQueue.__init__ constant 1 → 0",),
    "a place in a queue's file is a multiple of an entry's size": ("store/consumequeue:ConsumeQueue.truncate boundary position > 0",),
    "a store says of every message what came of it": (
        "broker/sendback:answer_put swapped",
        "broker/sendback:answer_put constant 'putMessageResult is null'",
    ),
    "under P494 a registrant is its address, in whatever cluster": (
        *("routeinfo:RouteInfoManager.remove lost {None", "routeinfo:RouteInfoManager.route attribute broker.cluster"),
    ),
    "a name server forgets the queues of a broker with its last address": ("routeinfo:RouteInfoManager.route fixed not brokers → False",),
    "an answer is made as one, and its flag says so from then": ("broker/answering:do_response dropped response.flag |= RESPONSE",),
    "the names of a request's fields are short or not": ("remoting/headers:parse_request_header part short and (not",),
    "the name of a thread": ("store/reput:ReputMessageService.__init__ constant",),
    "a queue without messages has no last one": ("broker/inspection:InspectionProcessor._offsets boundary end > 0",),
    "a topic of a long name is refused before, and a batch may go to a retry topic": ("broker/batch:send_batch_message fixed problem",),
    "profiles up to P494 do not ask for it": (
        *("broker/operations:GatheredOperations.", "store/timers:"),
        "broker/parts:BrokerParts.__init__ dropped self.unique_ids",
        *(
            f"broker/answering:failure {change}"
            for change in (
                "arithmetic settings.timer_max_delay_sec",
                "attribute settings.timer_max_delay_sec",
                "constant 1000",
                "constant 'accurate timer",
                "dropped return (SYSTEM_ERROR, 'accurate timer",
                "dropped return (MESSAGE_ILLEGAL, f'timer",
            )
        ),
        "nameserver:_register attribute response.code → response.queue_id #2",
        *("message:properties_text fixed trailing", "store/service:MessageStore._dispatch_end part", "route:broker_to_data fixed"),
    ),
    "a record is longer than one byte": ("store/reput:ReputMessageService.shutdown boundary",),
    "a record has properties behind its topic, and their length": ("store/record:_open boundary topic_end + 2",),
}
"""Changes of the implementation without any effect: by reason, the beginnings of their ids."""

SPECIFICATION: Final[Mapping[str, Sequence[str]]] = {
    # sending
    "how much is sent before the 30 s are over is the scope's choice: to the implementation they may be over at any time": [
        r"sending/(refresh: guard 'timer'|send: guard 'before the timer') (?!negated).*"
    ],
    "when a producer's counter gets its first value before its first use is the scope's choice: nobody sees it": [
        r"sending/find_route: guard 'started' dropped"
    ],
    # answers
    "only what is in the queue has a place, and this request is not there": [
        r"answers/(unknown_code|reject|overload|completion_rejected): job\.place not set"
    ],
    "where the thread is free the queue is empty (AUX-11), so that there is room anyway": [
        r"answers/(submit|overload|put_fails|completion_rejected): guard '(room|full)' without ~.*"
    ],
    "a request has a future only where the release puts asynchronously": [
        r"answers/(put|put_fails|completion_rejected|future_throws|reply|end): guard 'asynchronous' dropped"
    ],
    # locks
    "who does not wait has waited 0 s this time": [
        r"locks/give_up: guard 'waits' dropped",
        r"locks/second: guard 'nobody has to give up' without \(job\[.*\]\.step != waits\)",
    ],
    "only a request for a retry topic waits a second time": [r"locks/give_up: job\.second (set to job\.retry|with job\[r\]\.retry .*)"],
    "whoever waits, waits for one that holds the lock": [
        r"locks/second: guard 'somebody waits or holds' with(out)? \(job\[.*\]\.step == waits\).*"
    ],
    # expiry
    "a broker that registers is alive, and has been dead for 0 s": [r"expiry/register: age set to dead"],
    "a dead broker is out of the routes after 130 s, and the scope ends there": [r"expiry/second: (age|dead) with .* < 140\) one earlier"],
    # news
    "since is 0 until the topic is created": [r"news/create: since not set"],
    "asked is 0 while nothing is asked": [r"news/(ask: asked not set|second: guard 'no answer due' without \(asking == nothing\))"],
    "the scope ends once the producer knows the topic: it asks no more": [r"news/learn: seen set to good"],
    # recovery
    "a start builds the queue anew in every condition, so that the next offset is the number of records": [
        r"recovery/append: (odd (not set|set to its initial value|without odd)|offset with written .*)",
        r"recovery/start: (torn set to odd|(entries|offset) (set to written|with (\(entries < written\)|forced) (?!taken).*))",
    ],
    "never are more entries forced than there are": [r"recovery/start: forced with (\(entries < written\) one earlier|forced .*)"],
    "nothing torn is in the log of a broker that runs": [r"recovery/(crash|power_loss): up set to torn"],
    # controller
    "nothing says how soon a master asks for a slave that it may ask for": [
        r"controller/ask: guard 'caught up' (without \(log\[r, .\] == (0|log\[master, .\])\)|with .* (one less|taken for <))"
    ],
    "a cut at the end of a log takes nothing that is there, and what is taken for confirmed beyond it is in no log": [
        r"controller/cut: guard 'parts' (dropped|without .*|with .* one less)"
    ],
    "what a slave takes for confirmed its master has, too": [r"controller/acknowledge: guard 'master' (dropped|negated)"],
    "where the two differ, a record has a wrong queue offset already": [
        r"controller/(append|elect_again): offset with length\[r\] read for offset\[r\]",
        r"controller/elect: offset with offset\[r\] read for entries\[r\]",
    ],
    "one of two replicas is treated otherwise, and the other one shows the same": [r"controller/confirm: guard 'had by all' without .*"],
    "of two replicas only one can be asked for": [r"controller/expand: guard 'asked for' without \(asked == r\)"],
    # sizes
    "where two limits refuse with one answer, nobody sees which of them was asked first": [
        r"sizes/refuse_(text|bytes|size): guard 'passed' (without|with) \(127 < \(128 if \(job\.topic == more characters\) else 127\)\).*",
        r"sizes/refuse_(bytes|size): guard 'passed' without \(\(job\.kind != batch\) .*",
        r"sizes/refuse_(bytes|size): guard 'passed' with (\(job\.text == .*\) taken for .*|\(\(\(32768 if .*\) <= 32767\) one later.*)",
        r"sizes/refuse_bytes: guard 'passed' with stores_parsed the other way round",
        r"sizes/refuse_hosts: guard 'passed' with \(job\.body == limit\) taken for more",
    ],
    # transactions, and where they meet delays
    "one message is what the scopes look at: a broker takes more": [
        r"transactions/(put_other|refuse|put_prepared): guard 'first' .*",
        r"meeting/half_put_other: guard 'first' .*",
        r"meeting/retry: guard '(once|checked)' dropped",
    ],
    "what a producer knows and says is the condition's choice: a broker ends whichever copy it is told to": [
        r"(transactions/|meeting/half_)(commit|roll_back): guard '(known|the same)' .*",
    ],
    "whether messages have a delay, and whether clocks are set back, is the condition's choice": [
        r"meeting/(delay_set_clock_back: guard 'may be set back'|half_put_half: guard 'may be delayed') .*",
    ],
    # persistence
    "only a release that replaces the file comes to this phase": [
        r"persistence/(half_tmp|fill_tmp|rename_tmp|rename_fails): guard 'by way of a temporary file' dropped"
    ],
    "only a release that overwrites the file in place comes to this phase": [
        r"persistence/(half_main|fill_main): guard 'in place' dropped"
    ],
    "the file was opened for writing, and has no topics any more": [r"persistence/half_(tmp|bak|main): (tmp|bak|main)\.topics not set"],
    "without a process there is no table in memory that could have news": [r"persistence/register: guard 'broker runs' dropped"],
    "no condition has both errors and losses of power": [
        r"persistence/(disk_full|delete_fails|rename_fails): errors with powers read for errors"
    ],
    "the main file is gone then: had the delete failed, it were the second error": [
        r"persistence/rename_fails: backup\.text set to main\.text"
    ],
    "a start that is refused has read no topics": [r"persistence/start: memory set always"],
    "an update of a topic that is there persists the same table; the scope has first creations only": [
        r"persistence/create: guard 'unknown' dropped"
    ],
    "the system writes back whatever runs; that it does so between an end and a start is what it could do before the end": [
        r"persistence/write_back: guard 'broker runs' dropped"
    ],
    # backs
    "which way the consumer takes is the condition's choice, and a broker serves either": [r"backs/back_retry: guard 'its way' dropped"],
    # flush
    "the group commit is one thread, which flushes for the request that it looks at; one flush more only brings more to the device": [
        r"flush/flush_unasked: guard 'none begun' dropped"
    ],
    "no flush is counted while the service looks at no request": [r"flush/exchange: passes not set"],
    "a service that does not run has read no request": [r"flush/(confirm|flush|deny): guard 'service runs' dropped"],
    # dispatch
    "an administrator deletes a topic at any time; before it is checked, the creation that follows is in the scopes of sending": [
        r"dispatch/delete_topic: guard 'checked' dropped"
    ],
    "no two puts end at one place of the log": [r"flush/(confirm|flush|deny): guard 'its turn' with .* taken for <="],
}
"""Mutants of the specification that differ: by reason, regular expressions for their complete ids."""


def of_implementation(reasons: Mapping[str, Sequence[str]], id_: str, profile: str) -> str:
    """Return the reason for a generated change of the implementation under a profile, "" if there is none."""
    later = "P533" in lineage(profile)
    return next(
        (reason for reason, beginnings in reasons.items() if id_.startswith(tuple(beginnings)) and not (later and "P494" in reason)), ""
    )


def of_specification(id_: str) -> str:
    """Return the reason for a mutant of the specification, "" if there is none."""
    return next((reason for reason, patterns in SPECIFICATION.items() if any(re.fullmatch(ids, id_) for ids in patterns)), "")
