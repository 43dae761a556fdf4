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
    "M-01": (155, 191, 83, 120), "M-02": (54, 295, 430, 458), "M-03": (54, 110, 295, 409), "M-04": (112, 493, 96, 285),
    "M-05a": (15, 223, 361, 449), "M-05b": (479, 387, 39, 399), "M-08": (327, 274, 202), "M-13": (31, 155, 229, 243),
    "M-14a": (89, 82, 331, 309), "M-14b": (66, 90, 417, 317), "M-15a": (82, 142, 178, 213), "M-15b": (213, 306),
    "M-16": (82, 213, 335, 407), "M-17": (119, 419, 19, 139), "M-18": (48, 204, 412, 464), "M-19": (146, 185),
    "M-20": (7, 50, 145, 245), "M-21": (242, 277, 317), "M-22": (358,), "M-23": (242, 277, 317), "M-24": (7, 31, 55, 109),
    "M-26": (366,), "M-27": (7, 31, 55, 109), "M-28": (366,), "M-29": (191, 120, 159, 319), "M-32": (146, 185),
    "M-36": (7, 31, 55, 109), "M-51": (145, 350, 265, 445), "M-64": (50, 437), "M-68": (109, 351, 16, 492),
    "M-73a": (128, 180, 232, 336), "M-73b": (324, 420), "M-75": (488, 20, 189, 423), "M-76a": (351, 378, 478, 488),
    "M-76b": (351, 378, 488, 128), "M-78": (278, 139, 170, 359), "M-79": (317, 9, 278, 385), "M-80": (366, 298, 170, 359),
    "M-85a": (7, 55, 109, 111), "M-85b": (7, 55, 109, 111), "M-85c": (272, 108, 230, 160), "M-86": (7, 55, 109, 111),
    "M-87": (7, 55, 109, 111), "M-88": (7, 55, 109, 111), "M-90": (50, 437, 30), "M-91": (55, 109, 351, 16),
    "M-92a": (351, 492, 128, 232), "M-92b": (351, 492, 38, 128), "M-93a": (55, 109, 351, 16), "M-93b": (55, 109, 351, 16),
    "M-94": (254, 407), "M-101": (40, 307, 211, 263), "M-102a": (350, 80, 28, 398), "M-102b": (85, 289, 313, 431),
    "M-103a": (206, 450, 145, 188), "M-105": (206, 271, 38, 145), "M-115": (337, 486, 345, 260), "M-116": (173, 426, 483, 269),
    "M-117": (222, 258, 230, 330), "M-118b": (215, 73, 138, 169), "M-120a": (7, 55, 109, 111), "M-120b": (31, 146, 193, 233),
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
