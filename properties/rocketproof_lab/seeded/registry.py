"""Each mutant with its changes: the table's rows joined with the patches of the modules listed here.

A module of patches has one mapping, `PATCHES`, from a mutant's id, with the letter of the variant if it has variants, to
its changes, such as {"M-14a": [Text("package.module:function", "> 127", "> 128")]}.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rocketproof_properties.catalogue.mutants import ROWS, MutantRow
from rocketproof_properties.reports.choices import known

from . import client, creation, nameserver, persistence, recovery, remoting, sendback, sending, store
from .patch import Patch, PatchError

SECTIONS: Sequence[Mapping[str, Patch]] = tuple(
    module.PATCHES for module in (sending, creation, persistence, store, recovery, sendback, client, nameserver, remoting)
)


@dataclass(frozen=True)
class SeededMutant:
    """A row of the table and the patches of its variants by letter; a mutant without variants has the letter ''."""

    row: MutantRow
    patches: Mapping[str, Patch]


def joined(rows: Sequence[MutantRow], sections: Sequence[Mapping[str, Patch]]) -> list[SeededMutant]:
    """All mutants in the table's order. Raises PatchError for a patch that no row knows or that is given twice."""
    given: dict[str, Patch] = {}
    for section in sections:
        twice = sorted(given.keys() & section.keys())
        if twice:
            raise PatchError(f"mutant {twice[0]} has two patches; leave one")
        given.update(section)
    named = {row.id + letter for row in rows for letter in row.variants or ("",)}
    stray = sorted(given.keys() - named)
    if stray:
        raise PatchError(f"there is a patch for {stray[0]}, which the table does not have; add a row or a variant")
    return [
        SeededMutant(row, {letter: given[row.id + letter] for letter in row.variants or ("",) if row.id + letter in given}) for row in rows
    ]


def mutants(ids: Sequence[str] = ()) -> list[SeededMutant]:
    """The mutants with these ids, all if none is given. Raises InputError for an unknown id or one without its patches."""
    every = {mutant.row.id: mutant for mutant in joined(ROWS, SECTIONS)}
    chosen = [every[id_] for id_ in dict.fromkeys(known("mutant", given, every) for given in ids)] or list(every.values())
    bare = [mutant.row.id for mutant in chosen if len(mutant.patches) < len(mutant.row.variants or " ")]
    if bare:
        raise PatchError(f"no patch is written for {', '.join(bare)}; choose others, or add it to a module of patches")
    return chosen
