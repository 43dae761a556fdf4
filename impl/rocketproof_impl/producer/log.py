"""Where a client writes what it swallows. Silent unless a handler is attached."""

from __future__ import annotations

import logging

log = logging.getLogger("rocketproof_impl.client")
log.addHandler(logging.NullHandler())
