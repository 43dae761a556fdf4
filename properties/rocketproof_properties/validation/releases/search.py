"""Find the witnesses of switches: `python -m rocketproof_properties.validation.releases.search --profile P533 --programs 300 --seed 1`.

Each program runs on the implementation of a profile in this process. The reference implementation replays its history with one switch
changed. If the replay differs, the program distinguishes the two values. For a switch without witness, such a program is shrunk and added
to the file. A witness that no longer distinguishes its values is removed. With `--recorded tests/data/releases`, the programs of the
histories that justify switches are tried too.
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
    """Return the new rows of the file: those that still distinguish their values, and one for each other value that a generated or
    `further` program distinguishes.
    """
    base = PROFILES[profile]
    stage = Stage(InProcess(profile), folder, seed, Bounds(2))
    foreign = [row for row in rows() if row["profile"] != profile]
    own = [row for row in rows() if row["profile"] == profile]
    old = [program(row, number) for number, row in enumerate(own, 1)]
    general = generate(ProgramOptions(profile, programs, seed, configure=True, start=True, waits=False, concurrent=False, drawn=False))
    drawn = [
        Program(number, program_.source, program_.steps, program_.needs)
        for number, program_ in enumerate([*general, *further], len(old) + 1)
    ]
    recorded = stage.record([*old, *drawn], progress)
    by_size = sorted((program_ for program_ in recorded.values() if program_.is_comparable), key=lambda program_: program_.size)
    others = {(row["switch"], row["value"]) for row in foreign}
    candidates = [change for change in changes(base) if (change.switch, shown(change.value)) not in others]
    witness_of: dict[SwitchChange, RecordedProgram] = {}
    for number, change in enumerate(candidates, 1):
        progress("switch", number, len(candidates))
        witness = next((program_ for program_ in by_size if _distinguishes(program_, change, profile)), None)
        if witness is not None:
            witness_of[change] = witness
    result = []
    texts = {(row["switch"], row["value"]): row for row in own}
    number = 0
    for needs in dict.fromkeys(program_.program.needs for program_ in witness_of.values()):
        group = {change: program_ for change, program_ in witness_of.items() if program_.program.needs == needs}
        for runner, _ in stage.runners([next(iter(group.values())).program]):
            for change, program_ in group.items():
                number += 1
                progress("making smaller", number, len(witness_of))
                row = texts.get((change.switch, shown(change.value)))
                if row is None or program(row).steps != program_.program.steps:
                    program_ = smallest(runner, program_, partial(_distinguishes, change=change, profile=profile), _SECONDS)
                result.append(_row(profile, change, program_.program))
    return [*foreign, *result]


def _distinguishes(recorded: RecordedProgram, change: SwitchChange, profile: str) -> bool:
    base = PROFILES[profile]
    return not recorded.differences(base) and bool(recorded.differences(base, (change,)))


def _row(profile: str, change: SwitchChange, program_: Program) -> dict[str, Any]:
    return {"switch": change.switch, "value": shown(change.value), "profile": profile, "needs": program_.needs, "steps": steps_of(program_)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", required=True, choices=tuple(PROFILES))
    parser.add_argument("--programs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--recorded", type=Path, help="a folder of histories, whose programs are tried too, such as tests/data/releases")
    options = parser.parse_args()
    recorded = [load(path).program for path in sorted(options.recorded.glob(f"*{SUFFIX}"))] if options.recorded else []
    further = [program_ for program_ in recorded if program_.needs != ENDED]  # an in-process target cannot run them
    with output.phases() as progress, tempfile.TemporaryDirectory(prefix="rocketproof-") as folder:
        found_rows = search(options.profile, options.programs, options.seed, Path(folder), progress, further)
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in found_rows)
    FILE.write_text(f"[\n{lines}\n]\n", "utf-8")
    switches = {row["switch"] for row in found_rows}
    output.tell(f"{len(found_rows)} rows tell {len(switches)} switches")


if __name__ == "__main__":
    main()
