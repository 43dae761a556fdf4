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
    "M-01": (194, 407, 227, 120), "M-02": (22, 215, 115, 42), "M-03": (22, 1, 15, 349), "M-04": (71, 112, 295, 383),
    "M-05a": (457, 185, 354, 347), "M-05b": (354,), "M-08": (306, 417), "M-13": (7, 38, 123, 194), "M-14a": (110, 67, 475, 108),
    "M-14b": (407, 17, 14, 453), "M-15a": (9, 206, 323, 270), "M-15b": (270, 271, 321), "M-16": (9, 323, 451, 171),
    "M-17": (199, 159, 439, 39), "M-18": (48, 204, 412, 464), "M-19": (330, 10, 462, 231), "M-20": (6, 37, 109, 307),
    "M-21": (123, 314, 407, 147), "M-22": (466,), "M-23": (123, 314, 407, 147), "M-24": (7, 38, 53, 70), "M-26": (447,),
    "M-27": (7, 38, 53, 70), "M-28": (61, 270, 497), "M-29": (194, 206, 407, 227), "M-32": (330, 10, 462, 231), "M-36": (7, 38, 53, 70),
    "M-51": (251, 59, 434, 126), "M-64": (7, 446), "M-68": (70, 145, 415, 5), "M-73a": (128, 180, 232, 336), "M-73b": (316, 324),
    "M-75": (488, 243, 20, 281), "M-76a": (145, 415, 233, 488), "M-76b": (145, 415, 488, 128), "M-78": (370, 339, 167, 373),
    "M-79": (51, 195, 322, 163), "M-80": (480, 167, 265, 459), "M-85a": (53, 70, 99, 129), "M-85b": (53, 70, 99, 139),
    "M-85c": (264, 281, 272, 472), "M-86": (53, 70, 99, 129), "M-87": (53, 70, 99, 129), "M-88": (53, 70, 99, 129), "M-90": (7, 446),
    "M-91": (70, 415, 16, 37), "M-92a": (415, 179, 492, 128), "M-92b": (415, 179, 492, 128), "M-93a": (70, 415, 16, 37),
    "M-93b": (70, 415, 16, 37), "M-94": (370, 259), "M-101": (40, 178, 92, 352), "M-102a": (165, 80, 434, 28),
    "M-102b": (33, 434, 353, 262), "M-103a": (81, 151, 188, 251), "M-105": (151, 188, 251, 403), "M-114": (274,), "M-115": (397, 465),
    "M-116": (105, 478, 223, 397), "M-117": (238, 447, 478, 229), "M-118b": (378, 46, 118, 267), "M-120a": (53, 70, 99, 129),
    "M-120b": (129, 146, 194, 66),
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
