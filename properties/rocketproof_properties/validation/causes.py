"""Which findings stem from one cause: one fault of a broker is seen by several judges, in an answer and in what is stored.

Two findings have one cause if

- the smallest program of one shows the other too, and is no larger than that one's own: one smallest program shows both; or
- the smallest program of one is a part of the other's: the same steps in the same order with at least the same arguments, of which there
  has to be one. What is left of a program that was made smaller is what the finding needs, so both need that. A program that has parts of
  several causes in it belongs to none of them: it may need them all.

Only programs that were made smaller say so: a finding whose program was not repeated stands alone, and so does one about topics that
programs share or about a whole log. Nothing is left out by it: a cause is the name under which findings are shown together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ..judging.judging import judge_file
from ..programs.vocabulary import Step
from .report import UNSERVED, ValidationFinding

Key = tuple[str, str]


def name_causes(findings: Sequence[ValidationFinding], folder: Path, profile: str) -> None:
    """Give each finding its cause: the property of the group's finding with the shortest program. `folder` has the histories. Requests that
    are not served have theirs."""
    findings = [one for one in findings if one.cause != UNSERVED]
    shown = {one.key: _shown(folder / one.history, profile) for one in findings if _is_small(one)}
    for group in groups(findings, shown):
        first = min(group, key=_size)
        for one in group:
            one.cause = f"{first.verdict.property} by {first.verdict.judge}"


def groups(findings: Sequence[ValidationFinding], shown: Mapping[Key, frozenset[Key]]) -> list[list[ValidationFinding]]:
    """The findings by cause, in their order; `shown` is what the smallest program of each shows, without those that have none."""
    made: list[list[ValidationFinding]] = []
    for one in findings:
        alike = [group for group in made if any(_shows_both(one, other, shown) for other in group)]
        made = [group for group in made if group not in alike]
        made.append([*(other for group in alike for other in group), one])
    whole: list[list[ValidationFinding]] = []
    for group in sorted(made, key=lambda group: min(map(_size, group))):
        parts = [known for known in whole if any(_is_part(small, large, shown) for small in known for large in group)]
        if len(parts) == 1:
            parts[0].extend(group)
        else:
            whole.append(group)
    order = {one.key: number for number, one in enumerate(findings)}
    ordered = [sorted(group, key=lambda one: order[one.key]) for group in whole]
    return sorted(ordered, key=lambda group: order[group[0].key])


def by_cause(findings: Iterable[ValidationFinding]) -> list[list[ValidationFinding]]:
    """Findings whose causes are named, together by cause, in their order; of each cause the one with the shortest program first."""
    found: dict[str, list[ValidationFinding]] = {}
    for number, one in enumerate(findings):
        found.setdefault(one.cause or str(number), []).append(one)
    return [sorted(group, key=_size) for group in found.values()]


def _size(one: ValidationFinding) -> tuple[int, int]:
    return len(one.program.steps), _arguments(one.program.steps)


def _shows_both(one: ValidationFinding, other: ValidationFinding, shown: Mapping[Key, frozenset[Key]]) -> bool:
    if one.key not in shown or other.key not in shown:
        return False
    return any(b.key in shown[a.key] and _size(a) <= _size(b) for a, b in ((one, other), (other, one)))


def _is_part(small: ValidationFinding, large: ValidationFinding, shown: Mapping[Key, frozenset[Key]]) -> bool:
    """Whether the program of one is inside that of the other, both made smaller and under the same settings."""
    known = small.key in shown and large.key in shown and small.program.needs == large.program.needs
    return known and _is_inside(small.program.steps, large.program.steps)


def _is_small(one: ValidationFinding) -> bool:
    """Whether its program was repeated and made smaller."""
    return bool(one.again and one.program.steps)


def _shown(path: Path, profile: str) -> frozenset[Key]:
    """What a program's history shows to all judges; nothing where it is gone."""
    return frozenset((one.judge, one.property) for one in judge_file(path, profile).findings) if path.exists() else frozenset()


def _is_inside(smaller: Sequence[Step], larger: Sequence[Step]) -> bool:
    if not _arguments(smaller):
        return False
    rest = iter(larger)
    return all(any(name == other and _names(args) <= _names(more) for other, more in rest) for name, args in smaller)


def _names(args: Mapping[str, object]) -> set[str]:
    """The names of arguments, of properties each of them."""
    found: set[str] = set()
    for name, value in args.items():
        found |= {f"{name}.{key}" for key in value} if isinstance(value, dict) and value else {name}
    return found


def _arguments(steps: Sequence[Step]) -> int:
    return sum(len(_names(args)) for _, args in steps)
