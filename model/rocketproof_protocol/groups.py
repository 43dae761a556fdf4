"""Consumer groups of the brokers themselves, and the default number of retries of a group (DLQ-02, DLQ-03)."""

from __future__ import annotations

from typing import Final

SYSTEM_GROUPS: Final = (
    "TOOLS_CONSUMER",
    "FILTERSRV_CONSUMER",
    "SELF_TEST_C_GROUP",
    "CID_ONS-HTTP-PROXY",
    "CID_ONSAPI_PULL",
    "CID_ONSAPI_PERMISSION",
    "CID_ONSAPI_OWNER",
)
SYSTEM_GROUP_PREFIX: Final = "CID_RMQ_SYS_"
CHECK_GROUP: Final = f"{SYSTEM_GROUP_PREFIX}TRANS"
"""The group in which a broker stores the position of the check of half messages."""

RETRY_MAX_TIMES: Final = 16
"""The default maximum number of retries of a message in a group."""
