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
    "M-01": (449, 473, 304, 60),
    "M-02": (22, 115, 474, 6),
    "M-03": (22, 115, 214, 474),
    "M-04": (72, 175, 398, 450),
    "M-05a": (493, 43, 381, 238),
    "M-05b": (349,),
    "M-08": (143, 201, 325, 418),
    "M-13": (70, 271, 321, 386),
    "M-14a": (427, 47, 34, 325),
    "M-14b": (153, 385, 41, 23),
    "M-15a": (64, 137, 324, 169),
    "M-15b": (376,),
    "M-16": (41, 373, 160, 77),
    "M-17": (390, 163, 427, 319),
    "M-18": (48, 100, 143, 152),
    "M-19": (338, 475, 64, 111),
    "M-20": (49, 105, 333, 127),
    "M-21": (321, 54, 122, 315),
    "M-23": (321, 54, 122, 315),
    "M-24": (49, 70, 73, 81),
    "M-26": (111,),
    "M-27": (49, 70, 73, 81),
    "M-28": (273, 447, 498, 289),
    "M-29": (44, 64, 408, 239),
    "M-31": (138,),
    "M-32": (338, 475, 64, 111),
    "M-36": (49, 70, 73, 81),
    "M-51": (62, 246, 367, 463),
    "M-64": (17,),
    "M-68": (151, 327, 38, 48),
    "M-73a": (128, 440, 76, 232),
    "M-73b": (99, 479, 259, 272),
    "M-75": (291, 20, 419, 488),
    "M-76a": (151, 153, 410, 72),
    "M-76b": (151, 72, 128, 440),
    "M-78": (179, 87, 162, 139),
    "M-79": (419, 455, 302, 415),
    "M-80": (259, 162, 425, 108),
    "M-85a": (49, 73, 81, 99),
    "M-85b": (49, 73, 81, 99),
    "M-85c": (291, 377, 126, 220),
    "M-86": (49, 73, 81, 99),
    "M-87": (49, 73, 81, 99),
    "M-88": (49, 73, 81, 99),
    "M-90": (17,),
    "M-91": (151, 327, 38, 48),
    "M-92a": (151, 128, 336, 388),
    "M-92b": (151, 128, 336, 388),
    "M-93a": (151, 327, 25, 38),
    "M-93b": (151, 327, 25, 38),
    "M-94": (353,),
    "M-101": (456, 363, 1, 196),
    "M-102a": (49, 184, 496, 28),
    "M-102b": (65, 108, 14, 205),
    "M-103a": (188, 450, 93, 146),
    "M-105": (25, 95, 188, 450),
    "M-114": (42, 451),
    "M-115": (313,),
    "M-116": (18, 313, 483, 106),
    "M-117": (125, 150, 249, 311),
    "M-118b": (138, 178, 231, 434),
    "M-120a": (73, 81, 99, 105),
    "M-120b": (130, 193, 338, 449),
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
