"""Generated programs that show a seeded mutant: few programs then show two mutants, which general programs would need hundreds for.

`python tests/validation/mutantprograms.py` prints the table again after a change of the generator. It records the programs once on the
unchanged implementation. The reference implementation, changed by each mutant, then replays them: a difference shows the mutant.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Final

from rocketproof_lab.mutation.patch import Patch, prepare
from rocketproof_lab.mutation.seeded.registry import mutants
from rocketproof_profiles import PROFILES
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs.parsed import load
from rocketproof_properties.brokers.runs.runner import Bounds, Runner
from rocketproof_properties.judging.reference.differences import differences
from rocketproof_properties.programs.program import Program, ProgramOptions, generate
from rocketproof_properties.validation.validate import mark

PROFILE: Final = "P494"
COUNT: Final = 500
MOST: Final = 4
"""Maximum number of programs per mutant, the shortest first."""
# fmt: off
PROGRAMS: Final[Mapping[str, tuple[int, ...]]] = {
    "M-01": (37, 365, 72, 131),
    "M-02": (10, 327, 94, 215),
    "M-03": (10, 327, 94, 215),
    "M-04": (187, 306, 318, 351),
    "M-05a": (237, 35, 213, 307),
    "M-05b": (307,),
    "M-08": (186, 435, 123),
    "M-13": (37, 81, 155, 371),
    "M-14a": (155, 111, 109, 168),
    "M-14b": (13, 314, 71, 63),
    "M-15a": (101, 45, 34, 480),
    "M-15b": (153,),
    "M-16": (101, 45, 34, 441),
    "M-17": (361, 319, 279, 359),
    "M-18": (48, 412, 100, 204),
    "M-19": (335, 466, 89, 56),
    "M-20": (175, 426, 13, 34),
    "M-21": (286, 122, 471),
    "M-22": (431,),
    "M-23": (286, 122, 471),
    "M-24": (37, 67, 81, 99),
    "M-27": (37, 67, 81, 99),
    "M-28": (193, 138, 235, 447),
    "M-29": (365, 96, 239, 64),
    "M-31": (162, 309),
    "M-32": (335, 466, 89, 56),
    "M-36": (37, 67, 81, 99),
    "M-51": (215, 455, 174, 303),
    "M-64": (31, 301),
    "M-68": (48, 101, 128, 439),
    "M-73a": (128, 180, 284, 24),
    "M-73b": (99, 479, 259, 272),
    "M-75": (20, 419, 139, 359),
    "M-76a": (121, 223, 265, 16),
    "M-76b": (128, 282, 72, 124),
    "M-78": (82, 179, 139, 160),
    "M-79": (149, 419, 89, 323),
    "M-80": (259, 49, 459, 368),
    "M-85a": (67, 99, 110, 121),
    "M-85b": (67, 99, 110, 121),
    "M-85c": (56, 263, 472, 376),
    "M-86": (67, 99, 110, 121),
    "M-87": (67, 99, 110, 121),
    "M-88": (67, 99, 110, 121),
    "M-90": (31, 301),
    "M-91": (48, 101, 128, 388),
    "M-92a": (128, 180, 440, 24),
    "M-92b": (128, 180, 440, 24),
    "M-93a": (48, 101, 128, 351),
    "M-93b": (48, 101, 128, 351),
    "M-94": (335, 82),
    "M-101": (40, 161, 346, 431),
    "M-102a": (288, 28, 379, 496),
    "M-102b": (26, 91, 143, 254),
    "M-103a": (53, 77, 351, 188),
    "M-105": (26, 306, 351, 13),
    "M-114": (298,),
    "M-115": (229, 410, 201, 495),
    "M-116": (369, 298, 210, 270),
    "M-117": (301, 358, 401, 226),
    "M-118b": (338, 447, 134, 153),
    "M-120a": (67, 99, 110, 121),
    "M-120b": (281, 371, 490, 73),
}
# fmt: on
"""The numbers of programs that show a mutant, of COUNT generated ones with seed 1. Mutants that none of them shows are left out."""


def patch_of(mutant: str) -> Patch:
    """Return the change of a mutant with its variant letter, such as M-14a."""
    id_, letter = (mutant[:-1], mutant[-1]) if mutant[-1].isalpha() else (mutant, "")
    (found,) = mutants([id_])
    return found.patches[letter]


@cache
def generated() -> Mapping[int, Program]:
    """Return the generated programs by number."""
    options = ProgramOptions(PROFILE, COUNT, 1, waits=False, concurrent=False, drawn=False)
    return {program.number: program for program in generate(options)}


def programs_of(*names: str) -> list[Program]:
    """Return the programs that show these mutants."""
    return [generated()[number] for name in names for number in PROGRAMS[name]]


def search(names: list[str]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield each mutant with the numbers of the programs that show it."""
    programs = generated()
    with tempfile.TemporaryDirectory() as folder, InProcess(PROFILE).open() as running:
        runner = Runner(running, Path(folder), {"profile": PROFILE}, Bounds(2), mark())
        recorded = {program.number: load(path) for program, path in runner.run(list(programs.values()))}
        runner.close()
    by_size = sorted(recorded, key=lambda number: (len(programs[number].steps), number))
    for name in names:
        with prepare(patch_of(name)).applied():
            showing = (number for number in by_size if differences(recorded[number], PROFILES[PROFILE]))
            yield name, tuple(islice(showing, MOST))


if __name__ == "__main__":
    from seeded import visible

    for mutant, numbers in search(visible()):
        if numbers:
            sys.stdout.write(f'    "{mutant}": {numbers},\n')
