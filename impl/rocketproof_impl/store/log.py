"""Where a store writes what it swallows and repairs. Silent unless a handler is attached."""

from __future__ import annotations

import logging

log = logging.getLogger("rocketproof_impl.store")
log.addHandler(logging.NullHandler())
