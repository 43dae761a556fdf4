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
    "M-01": (326, 13, 118, 120), "M-02": (307, 323, 310, 438), "M-03": (429, 247, 1, 307), "M-04": (249, 112, 370, 96),
    "M-05a": (461, 134, 333, 443), "M-05b": (443, 190), "M-08": (157, 342, 350), "M-13": (43, 151, 205, 326), "M-14a": (241, 91, 34, 108),
    "M-14b": (241, 77, 472, 109), "M-15a": (221, 295, 447, 313), "M-15b": (295,), "M-16": (447, 313, 428, 69),
    "M-17": (199, 287, 159, 187), "M-18": (48, 204, 412, 464), "M-19": (445, 13, 118, 325), "M-20": (211, 267, 80, 118),
    "M-21": (151, 241, 449, 383), "M-23": (151, 241, 449, 383), "M-24": (27, 43, 53, 90), "M-27": (27, 43, 53, 90),
    "M-28": (63, 273, 129, 182), "M-29": (118, 120, 481, 12), "M-32": (445, 13, 118, 325), "M-36": (27, 43, 53, 90),
    "M-51": (267, 59, 91, 145), "M-64": (7,), "M-68": (233, 405, 16, 30), "M-73a": (128, 180, 225, 232), "M-73b": (316, 324),
    "M-75": (371, 488, 20, 259), "M-76a": (229, 131, 488, 128), "M-76b": (131, 488, 128, 180), "M-78": (301, 339, 423, 459),
    "M-79": (339, 369, 55, 141), "M-80": (480, 374, 423, 317), "M-85a": (27, 53, 90, 98), "M-85b": (27, 53, 90, 98),
    "M-85c": (264, 210, 272, 472), "M-86": (27, 53, 90, 98), "M-87": (27, 53, 90, 98), "M-88": (27, 53, 90, 98), "M-90": (7,),
    "M-91": (16, 30, 179, 492), "M-92a": (30, 179, 492, 128), "M-92b": (30, 179, 492, 128), "M-93a": (16, 30, 89, 179),
    "M-93b": (16, 30, 89, 179), "M-94": (259, 317), "M-101": (40, 477, 92, 352), "M-102a": (80, 167, 28, 236), "M-102b": (167, 402, 77),
    "M-103a": (67, 188, 225, 255), "M-105": (89, 291, 318, 94), "M-115": (147, 217, 417, 321), "M-116": (51, 258, 141, 50),
    "M-117": (125, 46, 185, 406), "M-118b": (486, 325, 387, 350), "M-120a": (27, 53, 90, 98), "M-120b": (205, 249, 326, 445),
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
