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
    "M-01": (7, 47, 120, 369), "M-02": (3, 403, 105, 43), "M-03": (3, 187, 381, 403), "M-04": (41, 112, 162, 178),
    "M-05a": (310, 427, 21, 327), "M-05b": (194,), "M-08": (130, 321, 151), "M-13": (48, 90, 254, 443), "M-14a": (14, 458, 422, 423),
    "M-14b": (269, 458, 5, 46), "M-15a": (167, 386, 394, 357), "M-15b": (350,), "M-16": (386, 394, 13, 35), "M-17": (199, 159, 439, 469),
    "M-18": (48, 204, 386, 412), "M-19": (113, 301, 195, 407), "M-20": (65, 85, 251, 322), "M-21": (254, 443, 477, 354), "M-22": (482,),
    "M-23": (254, 443, 477, 354), "M-24": (33, 62, 65, 99), "M-27": (33, 62, 65, 99), "M-28": (130, 246), "M-29": (443, 7, 120, 369),
    "M-32": (113, 301, 195, 407), "M-36": (33, 62, 65, 99), "M-51": (322, 483, 7, 59), "M-64": (78,), "M-68": (62, 16, 41, 179),
    "M-73a": (306, 128, 180, 232), "M-73b": (316, 324), "M-75": (41, 488, 20, 210), "M-76a": (229, 306, 329, 387),
    "M-76b": (306, 387, 488, 128), "M-78": (63, 481, 339, 285), "M-79": (410, 339, 71, 272), "M-80": (480, 206, 481, 331),
    "M-85a": (33, 62, 65, 99), "M-85b": (33, 62, 65, 99), "M-85c": (264, 210, 469, 272), "M-86": (33, 62, 65, 99),
    "M-87": (33, 62, 65, 99), "M-88": (33, 62, 65, 99), "M-90": (78,), "M-91": (62, 16, 179, 492), "M-92a": (179, 492, 128, 232),
    "M-92b": (87, 179, 492, 128), "M-93a": (62, 10, 16, 18), "M-93b": (62, 10, 16, 18), "M-94": (63, 259, 301),
    "M-101": (40, 127, 92, 352), "M-102a": (85, 80, 28, 236), "M-102b": (6, 322, 110, 226), "M-103a": (10, 165, 213, 81),
    "M-105": (6, 10, 18, 87), "M-114": (355, 137), "M-115": (437, 181, 243), "M-116": (241, 101, 307, 355), "M-117": (237, 393, 154, 471),
    "M-118b": (27, 66, 185, 493), "M-120a": (33, 62, 65, 99), "M-120b": (133, 169, 249, 349),
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
