"""Consumer groups that are the brokers' own, and how often a group retries (DLQ-02, DLQ-03)."""

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
"""The group under which a broker notes how far the check of half messages is."""

RETRY_MAX_TIMES: Final = 16
"""How often a group retries a message by default."""
