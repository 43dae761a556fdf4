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
    "M-01": (154, 114, 304, 442),
    "M-02": (206, 55, 274, 57),
    "M-03": (450, 331, 206, 315),
    "M-04": (282, 72, 82, 102),
    "M-05a": (82, 454, 306, 15),
    "M-05b": (326,),
    "M-08": (121, 297),
    "M-13": (18, 154, 358, 363),
    "M-14a": (50, 7, 150, 220),
    "M-14b": (54, 15, 437, 56),
    "M-15a": (358, 64, 121, 324),
    "M-15b": (121, 481, 376),
    "M-16": (358, 434, 43, 314),
    "M-17": (319, 480, 314, 255),
    "M-18": (48, 100, 152, 204),
    "M-19": (64, 225, 454, 29),
    "M-20": (77, 421, 184, 233),
    "M-21": (121, 89, 346, 10),
    "M-23": (121, 89, 346, 10),
    "M-24": (18, 31, 38, 99),
    "M-26": (45,),
    "M-27": (18, 31, 38, 99),
    "M-28": (398, 134, 10, 350),
    "M-29": (154, 44, 64, 408),
    "M-31": (327, 73, 494),
    "M-32": (64, 225, 454, 29),
    "M-36": (18, 31, 38, 99),
    "M-51": (233, 58, 117, 357),
    "M-64": (17,),
    "M-68": (241, 365, 48, 72),
    "M-73a": (128, 440, 76, 178),
    "M-73b": (99, 479, 259, 272),
    "M-75": (20, 419, 488, 139),
    "M-76a": (38, 218, 365, 475),
    "M-76b": (365, 475, 72, 83),
    "M-78": (89, 118, 179, 139),
    "M-79": (210, 419, 482, 43),
    "M-80": (259, 249, 297, 108),
    "M-85a": (31, 38, 99, 199),
    "M-85b": (31, 38, 99, 199),
    "M-85c": (255, 220, 472, 56),
    "M-86": (31, 38, 99, 199),
    "M-87": (31, 38, 99, 199),
    "M-88": (31, 38, 99, 199),
    "M-90": (17,),
    "M-91": (365, 48, 128, 284),
    "M-92a": (128, 298, 336, 388),
    "M-92b": (128, 298, 336, 388),
    "M-93a": (365, 48, 128, 188),
    "M-93b": (365, 48, 128, 188),
    "M-94": (307,),
    "M-101": (67, 456, 196, 248),
    "M-102a": (184, 496, 28, 80),
    "M-102b": (46, 125, 108, 85),
    "M-103a": (90, 188, 427, 233),
    "M-105": (188, 427, 88, 140),
    "M-114": (203, 151),
    "M-115": (166, 486, 433, 215),
    "M-116": (290, 25, 45, 349),
    "M-117": (386, 465, 407, 25),
    "M-118b": (234, 395, 361, 438),
    "M-120a": (31, 38, 99, 199),
    "M-120b": (154, 226, 282, 22),
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
