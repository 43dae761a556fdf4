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
    "M-01": (203, 304, 26, 60),
    "M-02": (467, 310, 215, 14),
    "M-03": (467, 62, 98, 223),
    "M-04": (303, 385, 67, 72),
    "M-05a": (15, 362, 142, 305),
    "M-05b": (362,),
    "M-08": (483, 138),
    "M-13": (18, 151, 383, 17),
    "M-14a": (94, 7, 183, 449),
    "M-14b": (65, 15, 56, 376),
    "M-15a": (115, 85, 129, 64),
    "M-15b": (115, 369, 376),
    "M-16": (85, 129, 10, 45),
    "M-17": (118, 319, 480, 160),
    "M-18": (48, 100, 152, 204),
    "M-19": (463, 235, 230, 64),
    "M-20": (93, 334, 184, 407),
    "M-21": (110, 407, 10, 498),
    "M-23": (110, 407, 10, 498),
    "M-24": (18, 31, 93, 99),
    "M-26": (170,),
    "M-27": (18, 31, 93, 99),
    "M-28": (129, 266, 446, 10),
    "M-29": (44, 64, 408, 239),
    "M-31": (167, 350, 437),
    "M-32": (463, 235, 230, 64),
    "M-36": (18, 31, 93, 99),
    "M-51": (175, 475, 29, 378),
    "M-64": (151, 17),
    "M-68": (157, 334, 386, 48),
    "M-73a": (128, 135, 440, 76),
    "M-73b": (99, 479, 259, 272),
    "M-75": (20, 419, 488, 139),
    "M-76a": (157, 283, 386, 461),
    "M-76b": (157, 283, 386, 72),
    "M-78": (179, 139, 222, 369),
    "M-79": (419, 47, 489, 498),
    "M-80": (259, 251, 222, 369),
    "M-85a": (31, 93, 99, 137),
    "M-85b": (31, 93, 99, 121),
    "M-85c": (220, 472, 56, 4),
    "M-86": (31, 93, 99, 121),
    "M-87": (31, 93, 99, 121),
    "M-88": (31, 93, 99, 121),
    "M-90": (151, 17),
    "M-91": (157, 334, 386, 48),
    "M-92a": (128, 336, 388, 492),
    "M-92b": (128, 336, 388, 492),
    "M-93a": (157, 334, 386, 48),
    "M-93b": (157, 334, 386, 48),
    "M-94": (331,),
    "M-101": (456, 70, 214, 305),
    "M-102a": (184, 496, 28, 80),
    "M-102b": (54, 347, 47, 108),
    "M-103a": (103, 188, 94, 101),
    "M-105": (54, 188, 307, 38),
    "M-114": (301,),
    "M-115": (177, 454, 418),
    "M-116": (75, 301, 310, 449),
    "M-117": (367, 450, 271, 483),
    "M-118b": (265, 150, 263, 258),
    "M-120a": (31, 93, 99, 121),
    "M-120b": (137, 262, 309, 385),
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
