"""Where a broker writes what nobody is answered: warnings and swallowed errors. Silent unless a handler is attached."""

from __future__ import annotations

import logging

log = logging.getLogger("rocketproof_impl.broker")
log.addHandler(logging.NullHandler())
