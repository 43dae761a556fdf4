"""Group findings by cause. Several judges may report one fault of a broker, in a response and in the store.

Two findings have the same cause if one of these holds:

- The smallest program of one finding shows the other too, and is not larger than the other's smallest program.
- The smallest program of one finding is a part of the other's: the same steps in the same order with at least the same arguments, and at
  least one argument. A shrunk program only contains what its finding needs, so both findings need that part. A program that contains the
  programs of several causes is assigned to none of them, because it may need them all.

Only shrunk programs are compared. A finding whose program was not repeated has its own group, and so has a finding about topics that
programs share or about a whole log. All findings are reported: a cause is the name of a group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ..judging.judging import judge_file
from ..programs.vocabulary import Step
from .report import UNSERVED, ValidationFinding

Key = tuple[str, str]


def name_causes(findings: Sequence[ValidationFinding], folder: Path, profile: str) -> None:
    """Set the cause of each finding: the property of the finding in its group with the shortest program.

    `folder` has the histories. Unserved requests have a cause already.
    """
    findings = [finding for finding in findings if finding.cause != UNSERVED]
    shown = {finding.key: _shown(folder / finding.history, profile) for finding in findings if _is_small(finding)}
    for group in groups(findings, shown):
        first = min(group, key=_size)
        for finding in group:
            finding.cause = f"{first.verdict.property} by {first.verdict.judge}"


def groups(findings: Sequence[ValidationFinding], shown: Mapping[Key, frozenset[Key]]) -> list[list[ValidationFinding]]:
    """Group the findings by cause, in their order.

    `shown` maps each finding with a smallest program to the findings that this program shows.
    """
    by_program: list[list[ValidationFinding]] = []
    for finding in findings:
        merged = [group for group in by_program if any(_shows_both(finding, other, shown) for other in group)]
        by_program = [group for group in by_program if group not in merged]
        by_program.append([*(other for group in merged for other in group), finding])
    by_part: list[list[ValidationFinding]] = []
    for group in sorted(by_program, key=lambda group: min(map(_size, group))):
        fitting = [known for known in by_part if any(_is_part(small, large, shown) for small in known for large in group)]
        if len(fitting) == 1:
            fitting[0].extend(group)
        else:
            by_part.append(group)
    order = {finding.key: number for number, finding in enumerate(findings)}
    ordered = [sorted(group, key=lambda finding: order[finding.key]) for group in by_part]
    return sorted(ordered, key=lambda group: order[group[0].key])


def by_cause(findings: Iterable[ValidationFinding]) -> list[list[ValidationFinding]]:
    """Group findings whose causes are named, in their order. In each group, the finding with the shortest program is first."""
    by_name: dict[str, list[ValidationFinding]] = {}
    for number, finding in enumerate(findings):
        by_name.setdefault(finding.cause or str(number), []).append(finding)
    return [sorted(group, key=_size) for group in by_name.values()]


def _size(finding: ValidationFinding) -> tuple[int, int]:
    return len(finding.program.steps), _arguments(finding.program.steps)


def _shows_both(first: ValidationFinding, second: ValidationFinding, shown: Mapping[Key, frozenset[Key]]) -> bool:
    if first.key not in shown or second.key not in shown:
        return False
    return any(b.key in shown[a.key] and _size(a) <= _size(b) for a, b in ((first, second), (second, first)))


def _is_part(small: ValidationFinding, large: ValidationFinding, shown: Mapping[Key, frozenset[Key]]) -> bool:
    """Return whether the first program is part of the second; both must be shrunk and have the same settings."""
    known = small.key in shown and large.key in shown and small.program.needs == large.program.needs
    return known and _is_inside(small.program.steps, large.program.steps)


def _is_small(finding: ValidationFinding) -> bool:
    """Return whether the finding's program was repeated and shrunk."""
    return bool(finding.again and finding.program.steps)


def _shown(path: Path, profile: str) -> frozenset[Key]:
    """Return the findings of all judges in a program's history; none if the file is missing."""
    return frozenset((finding.judge, finding.property) for finding in judge_file(path, profile).findings) if path.exists() else frozenset()


def _is_inside(smaller: Sequence[Step], larger: Sequence[Step]) -> bool:
    if not _arguments(smaller):
        return False
    rest = iter(larger)
    return all(any(name == other and _names(args) <= _names(more) for other, more in rest) for name, args in smaller)


def _names(args: Mapping[str, object]) -> set[str]:
    """Return the names of arguments; for properties, the name of each property."""
    names: set[str] = set()
    for name, value in args.items():
        names |= {f"{name}.{key}" for key in value} if isinstance(value, dict) and value else {name}
    return names


def _arguments(steps: Sequence[Step]) -> int:
    return sum(len(_names(args)) for _, args in steps)
