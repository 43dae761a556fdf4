"""Bits of a message's sysFlag, of a pull's sysFlag, and of a topic's permission (PERM-01)."""

from __future__ import annotations

from typing import Final

# a message's sysFlag
COMPRESSED: Final = 1
MULTI_TAGS: Final = 2
TRANSACTION_BITS: Final = 12
BORN_IPV6: Final = 16
STORE_IPV6: Final = 32
HOSTS_IPV6: Final = BORN_IPV6 | STORE_IPV6
UNWRAP: Final = 64
INNER_BATCH: Final = 128

# the values of the transaction bits
NOT: Final = 0
PREPARED: Final = 4
COMMIT: Final = 8
ROLLBACK: Final = 12

# a pull's sysFlag: which of its other fields count
PULL_COMMITS_OFFSET: Final = 1
PULL_SUSPENDS: Final = 2
PULL_SUBSCRIBES: Final = 4

# a topic's permission
INHERIT: Final = 1
WRITE: Final = 2
READ: Final = 4
PRIORITY: Final = 8
