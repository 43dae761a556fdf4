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
    "M-01": (354, 120, 435, 85), "M-02": (22, 42, 137, 185), "M-03": (22, 1, 15, 14), "M-04": (71, 112, 362, 96),
    "M-05a": (438, 395, 149, 397), "M-05b": (438, 397), "M-08": (351, 470), "M-13": (7, 38, 366, 498), "M-14a": (106, 487, 377, 67),
    "M-14b": (17, 14, 472), "M-15a": (253, 9, 273, 354), "M-15b": (273, 229), "M-16": (253, 9, 428, 50), "M-17": (199, 159, 439, 150),
    "M-18": (48, 487, 204, 412), "M-19": (345, 214, 10, 154), "M-20": (6, 37, 211, 305), "M-21": (303, 254, 154), "M-23": (303, 254, 154),
    "M-24": (7, 38, 53, 70), "M-27": (7, 38, 53, 70), "M-28": (61, 426), "M-29": (120, 12, 193, 258), "M-31": (193,),
    "M-32": (345, 214, 10, 154), "M-36": (7, 38, 53, 70), "M-51": (421, 483, 59, 123), "M-64": (7,), "M-68": (70, 5, 16, 37),
    "M-73a": (128, 180, 232, 336), "M-73b": (316, 324), "M-75": (488, 20, 259, 374), "M-76a": (350, 488, 128, 180),
    "M-76b": (488, 128, 180, 232), "M-78": (115, 303, 339, 459), "M-79": (51, 339, 269, 272), "M-80": (480, 433, 459, 79),
    "M-85a": (53, 70, 99, 121), "M-85b": (53, 70, 99, 121), "M-85c": (429, 264, 374, 272), "M-86": (53, 70, 99, 121),
    "M-87": (53, 70, 99, 121), "M-88": (53, 70, 99, 121), "M-90": (7,), "M-91": (70, 16, 37, 71), "M-92a": (179, 367, 492, 128),
    "M-92b": (179, 367, 492, 128), "M-93a": (70, 16, 37, 71), "M-93b": (70, 16, 37, 71), "M-94": (259,), "M-101": (40, 258, 441, 129),
    "M-102a": (327, 80, 28, 236), "M-102b": (33, 247, 137, 233), "M-103a": (81, 188, 404, 421), "M-105": (188, 404, 421, 452),
    "M-114": (446, 198), "M-115": (461, 226), "M-116": (143, 329, 103, 194), "M-117": (163, 349, 193, 461), "M-118b": (357, 46, 194, 425),
    "M-120a": (53, 70, 99, 121), "M-120b": (227, 342, 453, 474),
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
