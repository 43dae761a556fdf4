"""The small models of single kinds of requests, driven by steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

DRIVEN: Final[Mapping[str, Any]] = {}
