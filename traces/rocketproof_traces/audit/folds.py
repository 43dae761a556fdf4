"""Combine findings that probably have one cause: a lost page, a misplaced file or a missing queue breaks a rule row by row.

Findings of one rule that are near each other in a file are combined into the first. If such findings remain in many files, they are
combined into one. If a row breaks many rules, the rules after the first ones are listed in one finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from .findings import AuditFinding

FEW: Final = 2
"""The number of neighbouring findings of a rule in the log that stay separate; in other files it is 1."""
RULES: Final = 4
"""The number of findings of one row that stay separate."""
_FORM: Final = ("INV-37", "INV-39", "INV-40", "INV-41")
_RANK: Final = ("error", "warning", "note")
LOG_NEAR, NEAR = 1 << 16, 256
"""The largest distance in bytes between neighbours, in a file of the log and in other files."""


def folded(findings: Iterable[AuditFinding]) -> list[AuditFinding]:
    """Return the findings, combined by cause. The exact `counts` are kept elsewhere."""
    kept: list[AuditFinding] = []
    for _, of_rule in groupby(sorted(findings, key=_by_rule), key=lambda finding: (finding.store, finding.property)):
        of_one_rule = list(of_rule)
        in_log, elsewhere = ([finding for finding in of_one_rule if _in_log(finding) == is_log] for is_log in (True, False))
        for part in (in_log, elsewhere):
            clusters = [finding for _, of_file in groupby(part, key=lambda finding: finding.file) for finding in _clusters(list(of_file))]
            few = FEW if part is in_log else 1
            firsts = [finding for cluster in clusters for finding in (cluster if len(cluster) <= few else [_combined(cluster)])]
            kept += firsts if len({finding.file for finding in firsts}) <= few else [_combined(part)]
    return sorted(finding for _, of_row in groupby(sorted(kept, key=_place), key=_place) for finding in _at_one_place(list(of_row)))


def _place(finding: AuditFinding) -> tuple[str, str, int, str, int]:
    return finding.store, finding.file, finding.offset, finding.topic, finding.queue_id


def _at_one_place(findings: Sequence[AuditFinding]) -> list[AuditFinding]:
    """Return the findings of one row. If there are many, its format is probably wrong.

    Findings about format and checksum are first.
    """
    if len(findings) <= RULES:
        return list(findings)
    order = sorted(findings, key=lambda finding: (not finding.property.startswith(_FORM), _RANK.index(finding.severity), finding.property))
    others = ", ".join(sorted(finding.property for finding in order[RULES:]))
    return [replace(order[0], reason=f"{order[0].reason}; it breaks {others} too"), *order[1:RULES]]


def _by_rule(finding: AuditFinding) -> tuple[str, str, str, int]:
    return finding.store, finding.property, finding.file, finding.offset


def _in_log(finding: AuditFinding) -> bool:
    return "/consumequeue/" not in finding.file and "/index/" not in finding.file and "/config/" not in finding.file


def _clusters(findings: Sequence[AuditFinding]) -> list[list[AuditFinding]]:
    """Split the sorted findings of one file where two are not near each other."""
    near = LOG_NEAR if _in_log(findings[0]) else NEAR
    parts: list[list[AuditFinding]] = []
    for finding in findings:
        if parts and finding.offset - parts[-1][-1].offset <= near:
            parts[-1].append(finding)
        else:
            parts.append([finding])
    return parts


def _combined(findings: Sequence[AuditFinding]) -> AuditFinding:
    files = len({finding.file for finding in findings})
    where = f"in {files} files" if files > 1 else f"up to {findings[-1].offset:,}"
    return replace(findings[0], reason=f"{findings[0].reason}; and {len(findings) - 1:,} more {where}, perhaps of one cause")
