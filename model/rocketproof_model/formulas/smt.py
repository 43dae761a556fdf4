"""z3 without types: type checkers infer unions of all kinds of terms from its source, so tests check its results instead."""

from __future__ import annotations

from typing import Any

import z3 as _z3

from .. import interrupts

z3: Any = _z3

if interrupts.cancelled_by(z3.main_ctx().interrupt):
    z3.set_param("ctrl_c", False)  # otherwise z3 handles SIGINT itself while it works, and Python does not receive it
