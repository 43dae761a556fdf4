"""The store's log of errors that it repairs or does not raise. Silent unless a handler is attached."""

from __future__ import annotations

import logging

log = logging.getLogger("rocketproof_impl.store")
log.addHandler(logging.NullHandler())
