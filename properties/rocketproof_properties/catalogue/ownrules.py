"""Load files with rules of a user, and reject those that an audit or a judge cannot use.

Every error is one line `file:line:column: what; how to fix it`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from rocketproof_traces.audit.own import NONE, DeclaredRule, OwnRules, Patterns, built, collecting, packed
from rocketproof_traces.audit.rules import Rule

from ..reports import userfile
from ..reports.choices import InputError
from ..reports.userfile import UserFileKind

FILE: Final = UserFileKind("file of rules", "a Python file with rules", "rule")


def load(files: Sequence[Path], rows: Collection[str], command: str) -> OwnRules:
    """Run the files and return their rules in the order of their declaration.

    `rows` are the names of the rows that the command has (`fields.RULE_ROWS`). Raises InputError.
    """
    if not files:
        return NONE
    from .stored import stored_rules  # only here: a judge does not need them otherwise

    built_in = {_prefix(rule.id) for rule in stored_rules()}
    patterns, rules, places = Patterns(), list[DeclaredRule](), dict[str, str]()
    ready = list[Rule]()
    for file in dict.fromkeys(files):
        source = userfile.read(str(file), FILE)
        with collecting() as declared:
            module = userfile.execute(str(file), source, FILE)
        imported = [value for value in vars(module).values() if isinstance(value, DeclaredRule)]
        new = [each for each in dict.fromkeys((*declared, *imported)) if each not in rules]
        if not new:
            raise InputError(f"{file}:1:1: has no rule; write one with @rule('SHOP-1', 'its sentence') from rocketproof.rules")
        for each in new:
            _check(each, rows, command, places, built_in)
        rules += new
        try:
            ready += built(new, patterns)
        except (Exception, SystemExit) as error:  # noqa: BLE001  (whatever a user's file does)
            raise userfile.failure(str(file), source, error, FILE) from None
    return packed(ready, patterns)


def _check(declared: DeclaredRule, rows: Collection[str], command: str, places: dict[str, str], built_in: Collection[str]) -> None:
    """Reject a rule over other rows, and an id that another rule has, whose place is in `places`, or a built-in one."""
    if declared.over not in rows:
        raise InputError(
            f"{declared.place}: rule {declared.id} is over {declared.over!r}, and {command} has {', '.join(rows)}; "
            "move it to a file for the other command"
        )
    key = declared.id.upper()
    if key in places:
        raise InputError(f"{declared.place}: rule {declared.id} has the same id as the rule at {places[key]}; give it another id")
    if _prefix(key) in built_in:
        raise InputError(f"{declared.place}: rule {declared.id} has the id of a rule of rocketproof; give it a prefix of your own")
    places[key] = declared.place


def _prefix(id_: str) -> str:
    """Return the part of an id before its dot, in upper case."""
    return id_.partition(".")[0].upper()
