"""The conditions of cases about histories: what their programs may do. `programs.selections` has the phrases of each.

A case of P40, P45 or P49 also applies to the profiles that refine it, unless these have their own case.
"""

from __future__ import annotations

ANYTHING = ""
PLAIN = "plain messages"
SENT = "sends of every kind, and no send-back"
DELAYED = "messages with a delay"
TIMED = "messages with a delivery time"
HALF_ONES = "half messages"
HALF_DELAYED = "half messages with a delay"
AT_LIMIT = "retried messages sent at their limit"
LOCKED = "messages sent to be retried while their group holds a queue lock"
SENT_BACK = "messages sent back to be retried"
GIVEN_UP = "messages given up when they are sent back"
NO_RETRY = "groups without retry queues"
TOO_LARGE = "records larger than a file"
BATCHED = "batches"
REFUSED = "messages that the store refuses"
DRAWN = "sends that leave the queue to the broker"
THROWN = "no body, a send hook and a store that refuses"
FULL = "an executor with no room for what follows a put"
UNKNOWN = "requests with unknown codes"
BUSY = "a page cache that is busy"
HOOKED = "a send hook"
BY_NAME = "sends to the schedule topic by its name"
FAILING = "messages whose consumption always fails"
REGISTERED = "brokers that come, change and go"
MOVED = "brokers whose address comes under another id"
REJECTED = "topics registered with brokers that a name server has rejected"
KEPT_OFFSETS = "groups deleted without their offsets"
LOST = "registrations of new topics get lost"
CRASHED = "processes that end and start again"
STOPPED = "brokers that stop and start again"
WAITING = "power losses, and every put waits for the device"
HASTY = "power losses, and no put waits for the device"
SET_BACK = "clocks that are set back"
WIDE_NAMES = "names with more bytes than their length says"
OWN_PROPERTIES = "batches whose properties are too long with the broker's own"
LONGER_HOSTS = "messages with flags of IPv6"
UNCOUNTED = "half messages without room for the count of their checks"
CORRUPTED = "bytes of files that change while a broker is down"
RESET = "brokers that start with another clock"
FAILED_IN_LOCK = "batches that fail in the lock, behind which a store seems busy for hours"
UNREAD = (WIDE_NAMES, OWN_PROPERTIES, LONGER_HOSTS)
"""Stored records that no reader can read. The records after them are lost when the process ends (HAZ-49 to HAZ-51)."""
DAMAGING = (*UNREAD, FAILED_IN_LOCK, CORRUPTED, RESET)
"""Conditions after which other programs cannot use the broker."""

LATER_FAULTY = {"P40": "holds", "P45": "holds", "P49": "violated"}
LATER_GOOD = {"P40": "violated", "P45": "violated", "P49": "holds"}
WITH_HALF = ("P45", "P49")
"""The profiles with half messages; earlier releases have none."""
