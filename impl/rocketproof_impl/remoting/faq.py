"""The line that several texts for users end with."""

from __future__ import annotations

from typing import Final

SUGGESTION: Final = "\nSee http://rocketmq.apache.org/docs/faq/ for further details."
