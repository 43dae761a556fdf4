"""The kinds of findings about histories, as the column `kind` of the table of findings names them. Commands on one history read them too,
so this module needs no Arrow."""

from __future__ import annotations

UNREADABLE = "not readable"
UNEXPLAINED = "not explained"
BROKEN = "rule broken"
