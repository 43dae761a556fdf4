"""Injected corruptions of stores that 4.9.4 and 5.3.3 wrote: the audit finds them at their location, with few findings.

`python tests/long/test_corruptions.py` prints the table of traces/docs/audit.md.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from corruptions import CORRUPTIONS, Corruption, Damaged

from rocketproof_properties.catalogue.stored import settings, stored_rules
from rocketproof_traces.audit.findings import AuditFinding
from rocketproof_traces.audit.programs import AuditPlan
from rocketproof_traces.audit.run import SavedAnswers, audit
from rocketproof_traces.common.pools import on_processes
from unpacking import unpack

DATA = Path(__file__).parents[1] / "data"
STORES = {"4.9.4": "P494", "5.3.3": "P533"}
MOST = 12
"""Maximum number of findings per corruption."""


@dataclass(frozen=True)
class Met:
    """The audit's findings in a corrupted store that the sound store does not have. `there`: a required rule was found at the location."""

    corruption: Corruption
    there: bool
    findings: tuple[AuditFinding, ...]
    problems: tuple[str, ...]

    @property
    def told(self) -> int:
        return len(self.findings) + len(self.problems)

    @property
    def found(self) -> bool:
        return self.there or not self.corruption.rules


def audited(root: Path, profile: str) -> tuple[set[AuditFinding], list[str]]:
    plan = AuditPlan(stored_rules, tuple(settings(profile).items()))
    (totals,) = audit(plan, [str(root)], on_processes(1), SavedAnswers(None)).totals
    return set(totals.findings), totals.problems


def met(version: str, folder: Path) -> Iterator[Met]:
    """Audit every corruption of the store of a release, each on its own copy, always at the same path."""
    root = folder / "store"
    unpack(DATA / f"store-mixed-{version}.tar.gz", folder)
    files = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    sound, problems = audited(root, STORES[version])
    assert not problems
    assert not {found.property for found in sound if found.severity != "note"}
    for corruption in CORRUPTIONS:
        where, place = corruption.do(Damaged(root))
        found, problems = audited(root, STORES[version])
        new = sorted(found - sound)
        there = any(one.property.startswith(corruption.rules) and where in one.file and place in (None, one.offset) for one in new) or any(
            where and where in problem for problem in problems
        )
        yield Met(corruption, there, tuple(new), tuple(problems))
        _restored(root, files)


def _restored(root: Path, files: dict[Path, bytes]) -> None:
    for path in [each for each in root.rglob("*") if each.is_file()]:
        if path not in files:
            path.unlink()
    for path, data in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != data:
            path.write_bytes(data)


@pytest.mark.parametrize("version", STORES)
def test_corruptions_are_found_at_their_location(version: str, tmp_path: Path) -> None:
    all_ = list(met(version, tmp_path))
    detectable = [one for one in all_ if one.corruption.rules]
    assert len(detectable) >= 110
    missed = [one.corruption.name for one in detectable if not one.there]
    assert len(missed) <= len(detectable) // 20, missed
    assert not [(one.corruption.name, one.told) for one in detectable if one.told > MOST]


if __name__ == "__main__":
    for release in STORES:
        with tempfile.TemporaryDirectory() as name:
            rows = list(met(release, Path(name)))
        wanted = [one for one in rows if one.corruption.rules]
        numbers = (len(rows), len(wanted), sum(one.there for one in wanted), max(one.told for one in wanted))
        sys.stdout.write(f"| {release} | {' | '.join(map(str, numbers))} |\n")
        for one in rows:
            if not one.found or one.told > MOST or "--all" in sys.argv:
                said = sorted({f"{found.property}@{found.offset}" for found in one.findings})
                sys.stdout.write(f"    {one.corruption.name}: {'found' if one.there else 'missed'}, {one.told} {said} {one.problems[:1]}\n")
