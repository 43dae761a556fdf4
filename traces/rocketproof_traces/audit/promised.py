"""The columns of rows about one request or one fact that users rely on: promises are rules over them.

A reader of histories fills them (`catalogue.promisefacts`). `known` columns are true only if the history decides the other columns.
"""

from __future__ import annotations

from collections.abc import Mapping

from rocketproof_model import Bool, Int
from rocketproof_model.language import JAVA_INT, Type

_I32 = Int(*JAVA_INT)
_I64 = Int(-(2**60), 2**60)
_MILLIS = Int(-(2**58), 2**58)

MESSAGE: Mapping[str, Type] = {
    "batch": Bool,
    "plain": Bool,
    "half": Bool,
    "askedQueue": _I32,
    "answeredQueue": _I32,
    "queueId": _I32,
    "answeredOffset": _I64,
    "queueOffset": _I64,
    "sameTopic": Bool,
    "sameBody": Bool,
    "hasId": Bool,
    "sameId": Bool,
    "hasKeys": Bool,
    "sameKeys": Bool,
    "hasTags": Bool,
    "sameTags": Bool,
    "hasOwn": Bool,
    "sameOwn": Bool,
    "sameFlag": Bool,
    "sameBorn": Bool,
    "listKnown": Bool,
    "listed": Bool,
}
"""An acknowledged message, one row per message of a batch, and the record at the place in its id.

- `plain`: it is neither delayed nor a half message, and its topic is an ordinary one.
- `askedQueue`: the queue of the request. `answeredQueue`, `answeredOffset`: of the response, counted up for the messages of a batch.
  `queueId`, `queueOffset`: of the record.
- `sameTopic`: the record is in the requested topic, or names it as its target.
- `hasId`, `hasKeys`, `hasTags`: the producer gave the message UNIQ_KEY, KEYS, TAGS. `sameId` and so on: the record has the same value.
- `hasOwn`: the producer gave it other properties of its own. `sameOwn`: the record has all of them.
- `listKnown`: all entries of its queue were read. `listed`: the queue has the record at its queue offset.
"""

FETCH: Mapping[str, Type] = {
    "found": Bool,
    "filtered": Bool,
    "offset": _I64,
    "most": _I32,
    "count": _I32,
    "first": _I64,
    "last": _I64,
    "consecutive": Bool,
    "sameQueue": Bool,
    "unchanged": Bool,
    "bounded": Bool,
    "nextOffset": _I64,
    "minOffset": _I64,
    "maxOffset": _I64,
    "small": Bool,
}
"""A pull with a response about the queue: `found` messages, or none.

- `filtered`: it requests some tags only.
- `offset`, `most`: the requested offset and number of messages.
- `count`, `first`, `last`: number of returned messages, and the queue offsets of the first and the last.
- `consecutive`: their queue offsets are consecutive. `sameQueue`: all are of the requested topic and queue.
- `unchanged`: each has the bytes that were read at its place.
- `bounded`: the response has the next three offsets.
- `small`: all of the queue's records are so short that no limit of bytes applies.
"""

TRACKED: Mapping[str, Type] = {
    "known": Bool,
    "success": Bool,
    "committed": _I64,
    "answered": _I64,
    "lowered": Bool,
    "deleted": Bool,
    "outlives": Bool,
}
"""A query of a group's offset after a commit, or after the deletion of the topic that the offset was committed for.

- `known`: the last commit before the query is certain. `committed`: its offset.
- `lowered`: an earlier commit had a larger offset.
- `success`: the query was answered. `answered`: the offset in the response.
- `deleted`: the topic was deleted after the last commit. `outlives`: the response is an offset that was committed before.
"""

REPEATED: Mapping[str, Type] = {"settled": Bool, "queries": _I32, "differing": _I32, "moved": _I32, "changed": _I32}
"""All queries after a program, sent twice.

- `settled`: nothing of the program can still arrive.
- `differing`: the queries with another response the second time.
- `moved`: queues whose next offset changed meanwhile. `changed`: topics whose entry changed meanwhile.
"""

POSITION: Mapping[str, Type] = {"offset": _I64, "end": _I64}
"""An offset that a broker accepted. `offset`: the committed offset. `end`: the queue's next offset at the end of the program."""

ADMINISTERED: Mapping[str, Type] = {
    "known": Bool,
    "valid": Bool,
    "group": Bool,
    "deleted": Bool,
    "there": Bool,
    "same": Bool,
    "othersDeleted": Bool,
    "restarted": Bool,
}
"""A topic or `group` that an administrator changed, and the broker's entry at the end.

- `known`: the last change is certain. `deleted`: it was a deletion.
- `valid`: its numbers are in their documented ranges: a permission from 0 to 7, no negative number of queues or retries.
- `there`: the broker has the entry. `same`: the entry has all values of the last change.
- `othersDeleted`: something else was deleted after the change. `restarted`: the broker's process restarted after it.
"""

REACH: Mapping[str, Type] = {"nextOffset": _I64}
"""The next offset of a queue whose topic is in no table."""

SUCCESSOR: Mapping[str, Type] = {"predecessor": Bool}
"""A message of a topic that was deleted and created again. `predecessor`: it was sent before the deletion."""

ARRIVAL: Mapping[str, Type] = {
    "delay": _MILLIS,
    "copies": _I32,
    "waited": _MILLIS,
    "overdue": _MILLIS,
    "slack": _MILLIS,
    "sameQueue": Bool,
    "sameMessage": Bool,
}
"""A message with a delay level or a delivery time; times are in milliseconds.

- `delay`: of the level, or as requested. `copies`: how often it is in its target topic.
- `waited`: from its storage to the storage of the first copy.
- `overdue`: the time since it was due when its target was last read, without a copy; else 0. Always 0 for a delivery time.
- `slack`: the precision of the measurement.
- `sameQueue`: the first copy is in the requested queue. `sameMessage`: it has the body, keys, tags and id of the message.
"""

TIMED: Mapping[str, Type] = {"cancelled": Bool, "foreign": Bool, "passed": Bool, "copies": _I32}
"""A message with a delivery time, which waits in the broker's timer.

- `cancelled`: a message to its topic, for the same second, was acknowledged that cancels its key.
- `foreign`: no message to its topic cancels it, but one to another topic cancels the same key.
- `passed`: another message of its second was delivered at least a tick before its target was last read.
- `copies`: how often it is in its target topic.
"""

HALF: Mapping[str, Type] = {
    "committed": Bool,
    "rolledBack": Bool,
    "rolledBackFirst": Bool,
    "acknowledged": Bool,
    "copies": _I32,
    "sameMessage": Bool,
    "sameQueue": Bool,
    "readAfter": Bool,
    "discarded": Bool,
    "asked": Bool,
    "questionsKnown": Bool,
    "askedLater": Bool,
}
"""An acknowledged half message.

- `committed`, `rolledBack`: a request to do so was sent. `acknowledged`: such a commit, and no rollback, got a successful response.
- `rolledBackFirst`: its first end was a rollback that got a successful response before any other end was sent.
- `copies`: how often it is in its target topic. `sameMessage`, `sameQueue`: the first copy has its body, keys, tags and id, and its queue.
- `readAfter`: the target's queue was read after the commit had been dispatched.
- `discarded`: the broker moved it to the topic of messages that were checked too often.
- `asked`: its producer was asked about it. `questionsKnown`: the producer was connected, and all questions were recorded.
- `askedLater`: its producer was asked about it after a request that ended it got a successful response.
"""

RETURNED: Mapping[str, Type] = {
    "sameBody": Bool,
    "sameId": Bool,
    "sameKeys": Bool,
    "sameTags": Bool,
    "sameBorn": Bool,
    "moreTimes": Bool,
    "times": _I32,
    "limitKnown": Bool,
    "limit": _I32,
    "dead": Bool,
}
"""A record that a send-back stored, compared with the record that was sent back.

- `moreTimes`: its reconsumeTimes is larger by one. `times`: reconsumeTimes of the record that was sent back.
- `limitKnown`: an administrator certainly gave the group a maximum number of retries before. `limit`: this maximum.
- `dead`: the new record is a dead letter.
"""

LOOKUP: Mapping[str, Type] = {
    "byKey": Bool,
    "byTime": Bool,
    "sent": Bool,
    "byPlace": Bool,
    "earliest": Bool,
    "bounds": Bool,
    "wrong": _I32,
    "missing": _I32,
    "answered": _I64,
    "expected": _I64,
}
"""A query by key, by store time, by place, for the time of a queue's `earliest` message, or for the offsets of a queue (`bounds`).

- `sent`: the program itself sent the query; the others follow each program.
- `wrong`: returned records that do not fit the query. `missing`: fitting records that were not returned.
- `answered`, `expected`: the offset or time in the response, and the one that the queue's records show.
"""

ROUTED: Mapping[str, Type] = {"addressed": Bool, "namedTwice": Bool}
"""A broker in a route. `addressed`: the route has an address of it. `namedTwice`: the route lists it twice."""

REGISTERED: Mapping[str, Type] = {"there": Bool, "left": Bool, "same": Bool}
"""A broker whose last registration was accepted on a connection that is open, or that `left` by an accepted request; and a topic's route.

- `there`: the route has it.
- `same`: the route has the number of queues and the permission that the broker registered.
"""

ANNOUNCED: Mapping[str, Type] = {"same": Bool}
"""A route after the last change of its topic by an administrator. `same`: its broker has the number of queues of the change."""

ANSWERED: Mapping[str, Type] = {"thrown": Bool}
"""A response. `thrown`: it is an error whose text is an exception of Java's own libraries, such as a NullPointerException."""

PROMISED: Mapping[str, Mapping[str, Type]] = {
    "message": MESSAGE,
    "fetch": FETCH,
    "tracked": TRACKED,
    "position": POSITION,
    "repeated": REPEATED,
    "administered": ADMINISTERED,
    "reach": REACH,
    "successor": SUCCESSOR,
    "arrival": ARRIVAL,
    "timed": TIMED,
    "half": HALF,
    "returned": RETURNED,
    "lookup": LOOKUP,
    "routed": ROUTED,
    "registered": REGISTERED,
    "announced": ANNOUNCED,
    "answered": ANSWERED,
}
"""The columns of each kind of rows."""
