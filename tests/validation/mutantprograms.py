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
    "M-01": (72, 341, 460, 71),
    "M-02": (74, 282, 310, 453),
    "M-03": (74, 450, 282, 310),
    "M-04": (35, 275, 112, 269),
    "M-05a": (322, 69, 201, 46),
    "M-05b": (46,),
    "M-08": (165, 126),
    "M-13": (118, 35, 48, 103),
    "M-14a": (106, 215, 18, 168),
    "M-14b": (47, 58, 357),
    "M-15a": (370, 37, 480, 82),
    "M-15b": (370, 215),
    "M-16": (37, 82, 18, 168),
    "M-17": (139, 419, 499, 39),
    "M-18": (48, 412, 100, 204),
    "M-19": (458, 171, 56, 337),
    "M-20": (25, 263, 93, 231),
    "M-21": (103, 290, 445, 67),
    "M-22": (174,),
    "M-23": (103, 290, 445, 67),
    "M-24": (25, 47, 78, 118),
    "M-26": (405,),
    "M-27": (25, 47, 78, 118),
    "M-28": (171, 75, 281, 362),
    "M-29": (341, 96, 405, 64),
    "M-31": (325, 411),
    "M-32": (458, 171, 56, 337),
    "M-36": (25, 47, 78, 118),
    "M-51": (231, 326, 294, 198),
    "M-64": (38,),
    "M-68": (142, 421, 48, 128),
    "M-73a": (128, 180, 284, 24),
    "M-73b": (272, 376),
    "M-75": (20, 219, 436, 280),
    "M-76a": (189, 253, 16, 128),
    "M-76b": (128, 72, 124, 180),
    "M-78": (219, 414, 179, 319),
    "M-79": (179, 319, 265, 303),
    "M-80": (242, 179, 65, 306),
    "M-85a": (25, 47, 142, 143),
    "M-85b": (25, 47, 142, 143),
    "M-85c": (269, 430, 56, 472),
    "M-86": (25, 47, 142, 143),
    "M-87": (25, 47, 142, 143),
    "M-88": (25, 47, 142, 143),
    "M-90": (38,),
    "M-91": (142, 48, 128, 359),
    "M-92a": (142, 128, 359, 180),
    "M-92b": (142, 128, 359, 180),
    "M-93a": (142, 48, 128, 359),
    "M-93b": (142, 48, 128, 359),
    "M-94": (306,),
    "M-101": (426, 40, 196, 248),
    "M-102a": (25, 231, 426, 288),
    "M-102b": (231, 42, 57, 62),
    "M-103a": (431, 188, 274, 404),
    "M-105": (431, 97, 188, 231),
    "M-115": (251, 298, 497, 135),
    "M-116": (21, 206, 343, 169),
    "M-117": (290, 174, 413, 237),
    "M-118b": (423, 34, 167, 217),
    "M-120a": (47, 142, 143, 189),
    "M-120b": (78, 261, 458, 478),
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
