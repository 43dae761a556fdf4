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
    "M-01": (13, 120, 463, 374), "M-02": (66, 191, 75, 327), "M-03": (1, 66, 191, 331), "M-04": (482, 70, 112, 201),
    "M-05a": (205, 463, 95, 350), "M-05b": (205, 463, 95), "M-08": (491, 414), "M-13": (43, 110, 25, 48), "M-14a": (65, 182, 354, 34),
    "M-14b": (83, 251, 472, 86), "M-15a": (326, 245, 185, 90), "M-15b": (185,), "M-16": (326, 90, 428, 251), "M-17": (199, 159, 439, 377),
    "M-18": (48, 204, 412, 464), "M-19": (143, 13, 467, 329), "M-20": (94, 111, 109, 230), "M-21": (167, 317, 403, 370),
    "M-23": (167, 317, 403, 370), "M-24": (27, 43, 53, 94), "M-26": (407,), "M-27": (27, 43, 53, 94), "M-28": (178, 285, 489, 282),
    "M-29": (120, 12, 307, 223), "M-31": (169,), "M-32": (143, 13, 467, 329), "M-36": (27, 43, 53, 94), "M-51": (127, 59, 233, 34),
    "M-64": (7,), "M-68": (194, 16, 30, 122), "M-73a": (128, 180, 232, 336), "M-73b": (316, 324), "M-75": (142, 488, 20, 259),
    "M-76a": (197, 122, 142, 311), "M-76b": (122, 142, 488, 128), "M-78": (339, 459, 79, 279), "M-79": (473, 339, 133, 395),
    "M-80": (480, 231, 366, 418), "M-85a": (27, 53, 94, 99), "M-85b": (27, 53, 94, 99), "M-85c": (264, 272, 454, 472),
    "M-86": (27, 53, 94, 99), "M-87": (27, 53, 94, 99), "M-88": (27, 53, 94, 99), "M-90": (7,), "M-91": (194, 16, 30, 122),
    "M-92a": (194, 30, 179, 492), "M-92b": (194, 30, 179, 492), "M-93a": (194, 16, 30, 122), "M-93b": (194, 16, 30, 122),
    "M-94": (259, 366), "M-101": (486, 40, 386, 370), "M-102a": (109, 80, 28, 236), "M-102b": (113, 107, 73, 262),
    "M-103a": (74, 147, 188, 404), "M-105": (201, 127, 147, 188), "M-114": (50, 449), "M-115": (307,), "M-116": (51, 306, 363, 50),
    "M-117": (435, 229, 46, 14), "M-118b": (162, 481, 270, 450), "M-120a": (27, 53, 94, 99), "M-120b": (141, 482, 494, 6),
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
