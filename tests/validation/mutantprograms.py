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
    "M-01": (186, 321, 29, 120), "M-02": (15, 174, 23, 462), "M-03": (190, 15, 25, 174), "M-04": (13, 30, 65, 112),
    "M-05a": (25, 474, 462, 195), "M-05b": (462, 195), "M-08": (313, 298), "M-13": (186, 321, 487, 48), "M-14a": (110, 35, 473, 369),
    "M-14b": (497, 109, 472, 462), "M-15a": (201, 51, 143, 347), "M-15b": (143, 207), "M-16": (51, 347, 428, 67),
    "M-17": (221, 199, 159, 439), "M-18": (48, 204, 412, 464), "M-19": (193, 222, 91, 302), "M-20": (46, 198, 267, 335),
    "M-21": (113, 327, 395, 110), "M-22": (365,), "M-23": (113, 327, 395, 110), "M-24": (14, 46, 83, 86), "M-27": (14, 46, 83, 86),
    "M-28": (133, 437, 103), "M-29": (120, 12, 314, 354), "M-32": (193, 222, 91, 302), "M-36": (14, 46, 83, 86), "M-51": (371, 59, 250, 2),
    "M-64": (22,), "M-68": (87, 16, 30, 65), "M-73a": (128, 180, 206, 232), "M-73b": (316, 324), "M-75": (488, 20, 259, 159),
    "M-76a": (87, 118, 341, 470), "M-76b": (87, 341, 395, 488), "M-78": (205, 123, 339, 459), "M-79": (177, 490, 105, 291),
    "M-80": (480, 123, 459, 79), "M-85a": (14, 46, 83, 86), "M-85b": (14, 46, 83, 86), "M-85c": (270, 177, 206, 264),
    "M-86": (14, 46, 83, 86), "M-87": (14, 46, 83, 86), "M-88": (14, 46, 83, 86), "M-90": (22,), "M-91": (87, 16, 179, 492),
    "M-92a": (179, 492, 42, 128), "M-92b": (179, 492, 42, 128), "M-93a": (87, 16, 57, 179), "M-93b": (87, 16, 57, 179), "M-94": (259, 273),
    "M-101": (222, 40, 122, 92), "M-102a": (22, 80, 28, 236), "M-102b": (314, 3, 466, 10), "M-103a": (47, 188, 371, 394),
    "M-105": (57, 323, 45, 188), "M-115": (202, 150, 226, 454), "M-116": (3, 467, 158, 281), "M-117": (301, 481, 49, 415),
    "M-118b": (315, 215, 386, 97), "M-120a": (14, 46, 83, 87), "M-120b": (134, 193, 321, 345),
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
