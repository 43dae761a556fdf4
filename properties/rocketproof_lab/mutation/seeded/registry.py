"""All seeded mutants: the rows of the table joined with the patches in the modules listed here.

A module of patches has one mapping, `PATCHES`, from a mutant's id to its changes, such as {"M-14a": [Text("package.module:function", ">
127", "> 128")]}. The id includes the letter of the variant if the mutant has variants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rocketproof_properties.catalogue.mutants import ROWS, MutantRow
from rocketproof_properties.reports.choices import known

from ..mutant import PatchedMutant
from ..patch import Patch, PatchError, SourcePatch, Text
from . import client, creation, nameserver, persistence, recovery, remoting, sendback, sending, store

SECTIONS: Sequence[Mapping[str, Patch]] = tuple(
    module.PATCHES for module in (sending, creation, persistence, store, recovery, sendback, client, nameserver, remoting)
)


@dataclass(frozen=True, kw_only=True)
class SeededMutant(PatchedMutant):
    """A row of the table with the patches of its variants by letter. `letters`: the letters of the row."""

    letters: str
    patches: Mapping[str, Patch]

    def variants(self) -> Mapping[str, Patch]:
        return self.patches


def _mutant(row: MutantRow, patches: Mapping[str, Patch]) -> SeededMutant:
    changes = [change for patch in patches.values() for change in patch]
    return SeededMutant(
        id=row.id,
        source="seeded",
        part="",
        place=", ".join(dict.fromkeys(change.where for change in changes)),
        kind="patch",
        before="; ".join(change.old for change in changes if isinstance(change, Text)),
        after="; ".join(change.new for change in changes if isinstance(change, Text | SourcePatch)),
        sentence=row.sentence,
        killers=row.killers,
        equivalent=row.equivalent,
        letters=row.variants,
        patches=patches,
    )


def joined(rows: Sequence[MutantRow], sections: Sequence[Mapping[str, Patch]]) -> list[SeededMutant]:
    """Return all mutants in the table's order. Raises PatchError for a patch without a row and for duplicate patches."""
    patches: dict[str, Patch] = {}
    for section in sections:
        duplicates = sorted(patches.keys() & section.keys())
        if duplicates:
            raise PatchError(f"mutant {duplicates[0]} has two patches; leave one")
        patches.update(section)
    named = {row.id + letter for row in rows for letter in row.variants or ("",)}
    without_row = sorted(patches.keys() - named)
    if without_row:
        raise PatchError(f"there is a patch for {without_row[0]}, which the table does not have; add a row or a variant")
    return [
        _mutant(row, {letter: patches[row.id + letter] for letter in row.variants or ("",) if row.id + letter in patches}) for row in rows
    ]


def mutants(ids: Sequence[str] = ()) -> list[SeededMutant]:
    """Return the mutants with these ids, all if none is given. Raises InputError for an unknown id or a mutant without patches."""
    every = {mutant.id: mutant for mutant in joined(ROWS, SECTIONS)}
    chosen = [every[id_] for id_ in dict.fromkeys(known("mutant", given, every) for given in ids)] or list(every.values())
    without_patch = [mutant.id for mutant in chosen if len(mutant.patches) < len(mutant.letters or " ")]
    if without_patch:
        raise PatchError(f"no patch is written for {', '.join(without_patch)}; choose others, or add it to a module of patches")
    return chosen
