"""Request and response codes, the numbers on the wire (0.1, REM-03)."""

from __future__ import annotations

from typing import Final

# requests
SEND_MESSAGE: Final = 10
PULL_MESSAGE: Final = 11
QUERY_MESSAGE: Final = 12
QUERY_CONSUMER_OFFSET: Final = 14
UPDATE_CONSUMER_OFFSET: Final = 15
UPDATE_AND_CREATE_TOPIC: Final = 17
GET_ALL_TOPIC_CONFIG: Final = 21
UPDATE_BROKER_CONFIG: Final = 25
GET_BROKER_CONFIG: Final = 26
SEARCH_OFFSET_BY_TIMESTAMP: Final = 29
GET_MAX_OFFSET: Final = 30
GET_MIN_OFFSET: Final = 31
GET_EARLIEST_MSG_STORETIME: Final = 32
VIEW_MESSAGE_BY_ID: Final = 33
HEART_BEAT: Final = 34
UNREGISTER_CLIENT: Final = 35
CONSUMER_SEND_MSG_BACK: Final = 36
END_TRANSACTION: Final = 37
CHECK_TRANSACTION_STATE: Final = 39
NOTIFY_CONSUMER_IDS_CHANGED: Final = 40
GET_ALL_CONSUMER_OFFSET: Final = 43
GET_ALL_DELAY_OFFSET: Final = 45
PUT_KV_CONFIG: Final = 100
REGISTER_BROKER: Final = 103
UNREGISTER_BROKER: Final = 104
GET_ROUTEINFO_BY_TOPIC: Final = 105
GET_BROKER_CLUSTER_INFO: Final = 106
UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: Final = 200
GET_ALL_SUBSCRIPTIONGROUP_CONFIG: Final = 201
GET_TOPIC_STATS_INFO: Final = 202
WIPE_WRITE_PERM_OF_BROKER: Final = 205
DELETE_SUBSCRIPTIONGROUP: Final = 207
DELETE_TOPIC_IN_BROKER: Final = 215
DELETE_TOPIC_IN_NAMESRV: Final = 216
REGISTER_TOPIC: Final = 217
GET_KVLIST_BY_NAMESPACE: Final = 219
SEND_MESSAGE_V2: Final = 310
SEND_BATCH_MESSAGE: Final = 320
QUERY_DATA_VERSION: Final = 322
ADD_WRITE_PERM_OF_BROKER: Final = 327
GET_TOPIC_CONFIG: Final = 351

REQUESTS: Final = {code: name for name, code in list(globals().items()) if name.isupper()}
"""The name of each request by its code: all constants above."""

# responses
UNDECIDED: Final = -1  # a marker inside the broker, never on the wire (INV-05)
SUCCESS: Final = 0
SYSTEM_ERROR: Final = 1
SYSTEM_BUSY: Final = 2
REQUEST_CODE_NOT_SUPPORTED: Final = 3
FLUSH_DISK_TIMEOUT: Final = 10
SLAVE_NOT_AVAILABLE: Final = 11
FLUSH_SLAVE_TIMEOUT: Final = 12
MESSAGE_ILLEGAL: Final = 13
SERVICE_NOT_AVAILABLE: Final = 14
NO_PERMISSION: Final = 16
TOPIC_NOT_EXIST: Final = 17
PULL_NOT_FOUND: Final = 19
PULL_RETRY_IMMEDIATELY: Final = 20
PULL_OFFSET_MOVED: Final = 21
QUERY_NOT_FOUND: Final = 22
SUBSCRIPTION_PARSE_FAILED: Final = 23
SUBSCRIPTION_NOT_EXIST: Final = 24
SUBSCRIPTION_NOT_LATEST: Final = 25
SUBSCRIPTION_GROUP_NOT_EXIST: Final = 26
INVALID_PARAMETER: Final = 29
NO_BUYER_ID: Final = 204
NOT_IN_CURRENT_UNIT: Final = 205

ANSWERS: Final = {
    code: name for name, code in list(globals().items()) if name.isupper() and name != "REQUESTS" and name not in REQUESTS.values()
}
"""The name of each response by its code: all constants between the requests and this one."""
