"""The broker's log of warnings and of errors that no response contains. Silent unless a handler is attached."""

from __future__ import annotations

import logging

log = logging.getLogger("rocketproof_impl.broker")
log.addHandler(logging.NullHandler())
