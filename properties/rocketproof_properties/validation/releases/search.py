"""Find the witnesses of switches: `python -m rocketproof_properties.validation.releases.search --profile P533 --programs 300 --seed 1`.

Each program runs on the implementation of a profile in this process, and its history is asked of the reference implementation under the
profile with one switch changed: where that would have answered otherwise, the program tells the two values. Those of a switch that has
none yet are made smaller and added to the file; one that tells nothing any more is taken out. With `--recorded tests/data/releases` the
programs of the histories that are the reasons of switches are tried too.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rocketproof_profiles import PROFILES
from rocketproof_profiles.differing import SwitchChange, changes, shown

from ...brokers.inprocess import InProcess
from ...brokers.runs.parsed import load
from ...brokers.runs.runner import Bounds
from ...programs.program import Program, ProgramOptions, generate
from ...programs.settings import ENDED
from ...reports import output
from .page import SUFFIX
from .smaller import smallest, steps_of
from .staging import Progress, Stage
from .switching import RecordedProgram
from .witnesses import FILE, program, rows

_SECONDS = 20.0


def search(
    profile: str, programs: int, seed: int, folder: Path, progress: Progress, further: Sequence[Program] = ()
) -> list[dict[str, Any]]:
    """The rows of the file anew: those that still tell their values, and one for each other value that a program tells, a drawn or a
    `further` one."""
    base = PROFILES[profile]
    stage = Stage(InProcess(profile), folder, seed, Bounds(2))
    kept = [row for row in rows() if row["profile"] != profile]
    mine = [row for row in rows() if row["profile"] == profile]
    old = [program(row, number) for number, row in enumerate(mine, 1)]
    general = generate(ProgramOptions(profile, programs, seed, configure=True, start=True, waits=False, concurrent=False, drawn=False))
    drawn = [Program(number, one.source, one.steps, one.needs) for number, one in enumerate([*general, *further], len(old) + 1)]
    recorded = stage.record([*old, *drawn], progress)
    by_size = sorted((one for one in recorded.values() if one.tells), key=lambda one: one.size)
    others = {(row["switch"], row["value"]) for row in kept}
    wanted = [one for one in changes(base) if (one.switch, shown(one.value)) not in others]
    found: dict[SwitchChange, RecordedProgram] = {}
    for number, change in enumerate(wanted, 1):
        progress("switch", number, len(wanted))
        teller = next((one for one in by_size if _tells(one, change, profile)), None)
        if teller is not None:
            found[change] = teller
    made = []
    texts = {(row["switch"], row["value"]): row for row in mine}
    number = 0
    for needs in dict.fromkeys(one.program.needs for one in found.values()):
        group = {change: one for change, one in found.items() if one.program.needs == needs}
        for runner, _ in stage.runners([next(iter(group.values())).program]):
            for change, one in group.items():
                number += 1
                progress("making smaller", number, len(found))
                row = texts.get((change.switch, shown(change.value)))
                if row is None or program(row).steps != one.program.steps:
                    one = smallest(runner, one, partial(_tells, change=change, profile=profile), _SECONDS)
                made.append(_row(profile, change, one.program))
    return [*kept, *made]


def _tells(one: RecordedProgram, change: SwitchChange, profile: str) -> bool:
    base = PROFILES[profile]
    return not one.differences(base) and bool(one.differences(base, (change,)))


def _row(profile: str, change: SwitchChange, made: Program) -> dict[str, Any]:
    return {"switch": change.switch, "value": shown(change.value), "profile": profile, "needs": made.needs, "steps": steps_of(made)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", required=True, choices=tuple(PROFILES))
    parser.add_argument("--programs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--recorded", type=Path, help="a folder of histories, whose programs are tried too, such as tests/data/releases")
    given = parser.parse_args()
    recorded = [load(path).program for path in sorted(given.recorded.glob(f"*{SUFFIX}"))] if given.recorded else []
    further = [one for one in recorded if one.needs != ENDED]  # which a target in this process cannot do
    with output.phases() as progress, tempfile.TemporaryDirectory(prefix="rocketproof-") as folder:
        made = search(given.profile, given.programs, given.seed, Path(folder), progress, further)
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in made)
    FILE.write_text(f"[\n{lines}\n]\n", "utf-8")
    told = {row["switch"] for row in made}
    output.tell(f"{len(made)} rows tell {len(told)} switches")


if __name__ == "__main__":
    main()
