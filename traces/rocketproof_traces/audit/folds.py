"""Findings that have one cause told as one: a lost page, a file in another's place, a queue that is gone break a rule row by row.

Findings of one rule that lie near each other in a file are folded into the first of them, and what is left of it in many files into one; so
are the rules that one row breaks, where they are many.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from .findings import AuditFinding

FEW: Final = 2
"""So many findings of a rule near each other in the log stay as they are; in other files one does."""
RULES: Final = 4
"""So many rules that one row breaks are told one by one."""
_FORM: Final = ("INV-37", "INV-39", "INV-40", "INV-41")
_RANK: Final = ("error", "warning", "note")
LOG_NEAR, NEAR = 1 << 16, 256
"""Bytes between two neighbours, in a file of the log and in others."""


def folded(found: Iterable[AuditFinding]) -> list[AuditFinding]:
    """The findings, those of one cause as one. `counts` are kept elsewhere and stay exact."""
    kept: list[AuditFinding] = []
    for _, of_rule in groupby(sorted(found, key=_by_rule), key=lambda each: (each.store, each.property)):
        some = list(of_rule)
        inside, beside = ([each for each in some if _in_log(each) == told] for told in (True, False))
        for part in (inside, beside):
            clusters = [each for _, of_file in groupby(part, key=lambda each: each.file) for each in _clusters(list(of_file))]
            few = FEW if part is inside else 1
            firsts = [one for cluster in clusters for one in (cluster if len(cluster) <= few else [_one(cluster)])]
            kept += firsts if len({each.file for each in firsts}) <= few else [_one(part)]
    return sorted(each for _, there in groupby(sorted(kept, key=_place), key=_place) for each in _at_one_place(list(there)))


def _place(found: AuditFinding) -> tuple[str, str, int, str, int]:
    return found.store, found.file, found.offset, found.topic, found.queue_id


def _at_one_place(found: Sequence[AuditFinding]) -> list[AuditFinding]:
    """Those of one row. Where it breaks many rules, it is its form that is wrong: what tells of form and checksum comes first."""
    if len(found) <= RULES:
        return list(found)
    order = sorted(found, key=lambda each: (not each.property.startswith(_FORM), _RANK.index(each.severity), each.property))
    others = ", ".join(sorted(each.property for each in order[RULES:]))
    return [replace(order[0], reason=f"{order[0].reason}; it breaks {others} too"), *order[1:RULES]]


def _by_rule(found: AuditFinding) -> tuple[str, str, str, int]:
    return found.store, found.property, found.file, found.offset


def _in_log(found: AuditFinding) -> bool:
    return "/consumequeue/" not in found.file and "/index/" not in found.file and "/config/" not in found.file


def _clusters(found: Sequence[AuditFinding]) -> list[list[AuditFinding]]:
    """Those of one file, in order, parted where two are not near each other."""
    near = LOG_NEAR if _in_log(found[0]) else NEAR
    parts: list[list[AuditFinding]] = []
    for each in found:
        if parts and each.offset - parts[-1][-1].offset <= near:
            parts[-1].append(each)
        else:
            parts.append([each])
    return parts


def _one(found: Sequence[AuditFinding]) -> AuditFinding:
    files = len({each.file for each in found})
    where = f"in {files} files" if files > 1 else f"up to {found[-1].offset:,}"
    return replace(found[0], reason=f"{found[0].reason}; and {len(found) - 1:,} more {where}, perhaps of one cause")
