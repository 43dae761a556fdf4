"""The client's log of errors that it does not raise. Silent unless a handler is attached."""

from __future__ import annotations

import logging

log = logging.getLogger("rocketproof_impl.client")
log.addHandler(logging.NullHandler())
