"""Serve with a mutant: its name, such as M-14a, then the arguments of `rocketproof`.

The module is separate from the judges, whose imports take longer than starting a broker.
"""

from __future__ import annotations

import sys

from rocketproof_lab.mutation.patch import prepare
from rocketproof_lab.mutation.seeded.registry import mutants
from rocketproof_properties.commands import run


def main(name: str, *words: str) -> int:
    id_, letter = (name[:-1], name[-1]) if name[-1].isalpha() else (name, "")
    (found,) = mutants([id_])
    with prepare(found.patches[letter]).applied():
        return run(words)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
