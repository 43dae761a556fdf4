"""Keys of a message's properties, and the bytes that separate them in their text (SEND-26)."""

from __future__ import annotations

from typing import Final

# what a client sets
TAGS: Final = "TAGS"
KEYS: Final = "KEYS"
DELAY: Final = "DELAY"
WAIT: Final = "WAIT"
TRAN_MSG: Final = "TRAN_MSG"
PGROUP: Final = "PGROUP"
UNIQ_KEY: Final = "UNIQ_KEY"
CHECK_IMMUNITY_TIME_IN_SECONDS: Final = "CHECK_IMMUNITY_TIME_IN_SECONDS"

# what a broker or a consumer adds
RETRY_TOPIC: Final = "RETRY_TOPIC"
REAL_TOPIC: Final = "REAL_TOPIC"
REAL_QID: Final = "REAL_QID"
CLUSTER: Final = "CLUSTER"
ORIGIN_MESSAGE_ID: Final = "ORIGIN_MESSAGE_ID"
RECONSUME_TIME: Final = "RECONSUME_TIME"
MAX_RECONSUME_TIMES: Final = "MAX_RECONSUME_TIMES"
MSG_REGION: Final = "MSG_REGION"
TRACE_ON: Final = "TRACE_ON"
CHECK_TIMES: Final = "TRANSACTION_CHECK_TIMES"
PREPARED_QUEUE_OFFSET: Final = "TRAN_PREPARED_QUEUE_OFFSET"
TRANSACTION_ID: Final = "__transactionId__"
INNER_NUM: Final = "INNER_NUM"
INNER_MULTI_DISPATCH: Final = "INNER_MULTI_DISPATCH"
CRC32: Final = "__CRC32#"

NAME_END: Final = "\x01"
PROPERTY_END: Final = "\x02"
